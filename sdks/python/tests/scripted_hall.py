"""A small hall on loopback for tests: raw sockets, so that it can cut, delay, split and duplicate its answers."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

PATIENCE_SECONDS = 15.0


@dataclass
class Heard:
    """One request as it arrived."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    method: str = "POST"
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def task_id(self) -> str:
        return unquote(self.path.split("/")[2])


Reaction = Callable[[socket.socket, Heard], bool]


def render(status: int, members: object = None, headers: dict[str, str] | None = None) -> bytes:
    body = b"" if members is None else json.dumps(members).encode()
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    if status != 204:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def answer(status: int, members: object = None, **headers: str) -> Reaction:
    """Answer in full and keep the connection."""
    return sending(render(status, members, {name.replace("_", "-"): value for name, value in headers.items()}))


def sending(*pieces: bytes, then_close: bool = False) -> Reaction:
    def react(sock: socket.socket, heard: Heard) -> bool:
        for piece in pieces:
            sock.sendall(piece)
        return not then_close

    return react


def cut(sock: socket.socket, heard: Heard) -> bool:
    """Reset the connection instead of answering."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def silence(sock: socket.socket, heard: Heard) -> bool:
    """Never answer; hold the connection until the peer has closed it in both directions."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    poller = select.poll()
    poller.register(sock, select.POLLHUP | select.POLLERR)
    poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
    return False


class ScriptedHall:
    """Behaves like a hall, unless `script[verb]` holds a reaction for the next request of that verb."""

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.changed = threading.Condition()
        self.heard: list[Heard] = []
        self.script: dict[str, deque[Reaction]] = defaultdict(deque)
        self.tasks: deque[dict[str, Any]] = deque()
        self.directive: str | None = None
        self.parked = 0
        self.problems: list[str] = []
        self._tls = tls
        self._closing = False
        self._registered = 0
        self._connections = 0
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def hand_out(self, task_id: str, version: int = 2, plan_id: str = "demo", **members: object) -> None:
        with self.changed:
            task = {"id": task_id, "plan_id": plan_id, "status": "CLAIMED", "version": version, **members}
            self.tasks.append(task)
            self.changed.notify_all()

    def of(self, verb: str) -> list[Heard]:
        with self.changed:
            return [heard for heard in self.heard if heard.verb == verb]

    def wait_for(self, condition: Callable[[], object], what: str = "") -> None:
        with self.changed:
            if not self.changed.wait_for(condition, PATIENCE_SECONDS):
                raise AssertionError(f"did not happen: {what}; heard {[h.path for h in self.heard]}")

    def wait_heard(self, verb: str, count: int = 1) -> list[Heard]:
        self.wait_for(lambda: len(self.of(verb)) >= count, f"{count} x {verb}")
        return self.of(verb)

    def wait_parked(self, count: int = 1) -> None:
        self.wait_for(lambda: self.parked >= count, "a parked claim")

    def close(self) -> None:
        """Stop listening and reset what is open, as a killed process would."""
        with self.changed:
            self._closing = True
            self.changed.notify_all()
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self.changed:
                self._connections += 1
                number = self._connections
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            reader = sock.makefile("rb")
            with self.changed:
                self._open.add(sock)
            while (heard := self._read(reader, number)) is not None:
                with self.changed:
                    self.heard.append(heard)
                    self.changed.notify_all()
                    planned = self.script[heard.verb]
                    reaction = planned.popleft() if planned else None
                if not (reaction or self._usual)(sock, heard):
                    break
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError, UnboundLocalError):
                reader.close()
            sock.close()
            with self.changed:
                self._open.discard(sock)
                self.changed.notify_all()

    def _read(self, reader: Any, number: int) -> Heard | None:
        first = reader.readline()
        if not first.strip():
            return None
        method, path, _ = first.decode().split(" ")
        headers: dict[str, str] = {}
        while (line := reader.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        body = reader.read(length)
        if len(body) < length:
            return None
        return Heard(self.verb_of(method, path), path, headers, body, number, method)

    def verb_of(self, method: str, path: str) -> str:
        """The name under which a request is scripted."""
        assert method == "POST"
        return path.rsplit("/", 1)[1]

    def _usual(self, sock: socket.socket, heard: Heard) -> bool:
        extra = {} if self.directive is None else {"Hall-Directive": self.directive}
        if heard.verb == "register":
            with self.changed:
                self._registered += 1
                name = f"w-{self._registered:012d}"
            sock.sendall(render(201, {"worker_id": name, "token": f"minted-{name}"}))
        elif heard.verb == "heartbeat":
            sock.sendall(render(200, {"ok": True}, extra))
        elif heard.verb == "claim":
            return self._claim(sock, heard)
        else:
            sock.sendall(render(200, {"task": {"id": heard.task_id, "status": "DONE", "version": 9}}, extra))
        return True

    def _claim(self, sock: socket.socket, heard: Heard) -> bool:
        deadline = time.monotonic() + heard.json["wait"]
        with self.changed:
            self.parked += 1
            self.changed.notify_all()
            try:
                while not self.tasks:
                    self.changed.wait(0.02)
                    if self._closing or select.select([sock], [], [], 0)[0]:
                        return False
                    if time.monotonic() > deadline or self.directive:
                        extra = {} if self.directive is None else {"Hall-Directive": self.directive}
                        sock.sendall(render(204, None, extra))
                        return True
                task = self.tasks.popleft()
            finally:
                self.parked -= 1
                self.changed.notify_all()
        sock.sendall(render(200, {"task": task}))
        return True
