"""A wire between a hall and its database that can fall silent: nothing arrives any more, and nothing is closed."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from urllib.parse import urlsplit, urlunsplit

LOOK_EVERY_SECONDS = 0.02
START_SECONDS = 10.0


class SilentWire:
    """Passes the bytes of every connection on, unless it is silent. What was sent into the silence is lost for good."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        credentials = parts.netloc.rpartition("@")[0]
        self.url = urlunsplit(parts._replace(netloc=f"{credentials}@127.0.0.1:{self._listener.getsockname()[1]}"))
        self._ends = threading.Event()
        self._cut = threading.Event()
        self._lost: set[socket.socket] = set()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._thread = threading.Thread(target=self._run, name="silent wire", daemon=True)

    def __enter__(self) -> SilentWire:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(START_SECONDS)

    def fall_silent(self) -> None:
        """From now on nothing passes, and connections that are there now stay mute for ever."""
        self._cut.set()

    def speak_again(self) -> None:
        """New connections pass again."""
        self._cut.clear()

    def _run(self) -> None:
        while not self._ends.is_set():
            if self._cut.is_set():
                self._lost |= set(self._peers)
            listened = [] if self._cut.is_set() else [self._listener]
            speaking = [each for each in self._peers if each not in self._lost]
            readable, _, _ = select.select([*listened, *speaking], [], [], LOOK_EVERY_SECONDS)
            for each in readable:
                if each is self._listener:
                    self._accept()
                elif each in self._peers and not self._cut.is_set():
                    self._pass_on(each)
        for each in [self._listener, *self._peers]:
            each.close()

    def _accept(self) -> None:
        here, _ = self._listener.accept()
        there = socket.create_connection(self._target)
        self._peers |= {here: there, there: here}

    def _pass_on(self, source: socket.socket) -> None:
        target = self._peers[source]
        with contextlib.suppress(OSError):
            data = source.recv(65536)
            if data:
                target.sendall(data)
                return
        for each in (source, target):
            del self._peers[each]
            each.close()
