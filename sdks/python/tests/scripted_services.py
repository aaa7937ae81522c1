"""The scripted hall's service side: it hands out calls to one worker, and answers one client."""

from __future__ import annotations

import json
import select
import socket
import time
from collections import deque
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from scripted_hall import PATIENCE_SECONDS, Heard, ScriptedHall, render

VERBS = {
    ("POST", "worker/auth_token"): "login",
    ("POST", "worker/registration"): "registration",
    ("GET", "worker/messages"): "drain",
    ("POST", "worker/response"): "response",
    ("POST", "worker/feedback"): "feedback",
    ("POST", "client/auth_token"): "client_login",
    ("POST", "client/requests"): "call",
    ("GET", "client/methods"): "methods",
}
FIRST_PARTS = {
    ("PUT", "worker/lock_request"): "lock",
    ("GET", "worker/heartbeat"): "heartbeat",
    ("PUT", "worker/notify_worker_shutdown"): "goodbye",
    ("DELETE", "client/requests"): "cancel",
}


def fields(heard: Heard) -> dict[str, str]:
    """The fields of a form."""
    return {name: values[0] for name, values in parse_qs(heard.body.decode()).items()}


def query(heard: Heard) -> dict[str, str]:
    """The parameters behind the path."""
    return {name: values[0] for name, values in parse_qs(urlsplit(heard.path).query).items()}


class ScriptedServices(ScriptedHall):
    """Behaves like a hall, unless `script[verb]` holds a reaction for the next request of that verb."""

    def __init__(self, port: int = 0) -> None:
        self.messages: deque[dict[str, Any]] = deque()
        self.settings: dict[str, str] = {"heartbeat_delay": "30", "hall_version": "1"}
        self.tokens: set[str] = set()
        self.lifetime_seconds: float = 3600
        self.obeys_max = True
        self.locked_by_others: set[str] = set()
        self.calls: dict[str, dict[str, Any]] = {}
        self.says: dict[str, list[Any]] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self._minted = 0
        super().__init__(port)

    def verb_of(self, method: str, path: str) -> str:
        place = urlsplit(path).path.strip("/")
        if (method, place) in VERBS:
            return VERBS[(method, place)]
        first = "/".join(place.split("/")[:2])
        if (method, first) in FIRST_PARTS:
            return FIRST_PARTS[(method, first)]
        if (method, first) == ("GET", "client/requests"):
            return "listen" if place.endswith("/feedback") else "look"
        return "unknown"

    # --- what a test does

    def call(self, request_id: str, method: str, params: Any = None, lock_required: bool = False, **more: Any) -> None:
        """Put a call into the queue."""
        message = {"request_id": request_id, "method": method, "lock_required": lock_required, "params": params}
        with self.changed:
            self.messages.append({**message, **more})
            self.changed.notify_all()

    def response(self, request_id: str) -> dict[str, Any]:
        """Wait for the answer to a call."""

        def found() -> list[Any]:
            return [h.json for h in self.heard if h.verb == "response" and h.json["request_id"] == request_id]

        self.wait_for(found, f"an answer of {request_id}")
        last = found()[-1]
        assert isinstance(last, dict)
        return last

    def fed_back(self) -> list[dict[str, Any]]:
        """Every item of feedback that arrived."""
        return [item for heard in self.of("feedback") for item in heard.json]

    def revoke(self) -> None:
        """No token that was given so far is accepted any more."""
        with self.changed:
            self.tokens.clear()

    def finish(self, request_id: str, **members: Any) -> None:
        """End a call of the client."""
        with self.changed:
            self.calls[request_id].update({"status": "success", "result": None, "error_text": None, **members})
            self.changed.notify_all()

    def say(self, request_id: str, content: Any, kind: str = "message") -> None:
        """Let the method of a client's call say something."""
        with self.changed:
            self.says.setdefault(request_id, []).append({"rid": request_id, "ft": kind, "fc": content})
            self.changed.notify_all()

    # --- what the hall does

    def _usual(self, sock: socket.socket, heard: Heard) -> bool:
        if heard.verb in ("login", "client_login"):
            return self._mint(sock)
        if heard.headers.get("authorization", "").partition(" ")[2] not in self.tokens:
            sock.sendall(render(401, {"error_code": "missing_or_invalid_bearer", "detail": "no", "task_id": None}))
            return True
        handler = getattr(self, f"_on_{heard.verb}", None)
        if handler is None:
            sock.sendall(render(404, {"error_code": "not_found", "detail": "no such route", "task_id": None}))
            return True
        return bool(handler(sock, heard))

    def _mint(self, sock: socket.socket) -> bool:
        with self.changed:
            self._minted += 1
            number = self._minted
            self.tokens.add(f"secret-token-{number}")
        tokens = {"access_token": f"secret-token-{number}", "refresh_token": f"secret-refresh-{number}"}
        sock.sendall(render(200, {**tokens, "token_type": "Bearer", "expires_in": self.lifetime_seconds}))
        return True

    def _send(self, sock: socket.socket, status: int, members: object) -> bool:
        extra = {} if self.directive is None else {"Hall-Directive": self.directive}
        sock.sendall(render(status, members, extra))
        return True

    def _on_registration(self, sock: socket.socket, heard: Heard) -> bool:
        return self._send(sock, 200, self.settings)

    def _on_lock(self, sock: socket.socket, heard: Heard) -> bool:
        taken = unquote(heard.path.rsplit("/", 1)[1]) in self.locked_by_others
        return self._send(sock, 409 if taken else 200, {"error_code": "locked", "detail": "", "task_id": None})

    def _on_response(self, sock: socket.socket, heard: Heard) -> bool:
        return self._send(sock, 200, {"request_id": heard.json["request_id"]})

    def _on_feedback(self, sock: socket.socket, heard: Heard) -> bool:
        return self._send(sock, 200, {"accepted": len(heard.json)})

    def _on_heartbeat(self, sock: socket.socket, heard: Heard) -> bool:
        return self._send(sock, 200, True)

    def _on_goodbye(self, sock: socket.socket, heard: Heard) -> bool:
        return self._send(sock, 200, {})

    def _on_methods(self, sock: socket.socket, heard: Heard) -> bool:
        last = "after" in query(heard)
        name = "math/sub" if last else "math/add"
        return self._send(sock, 200, {"methods": [{"method": name, "workers": 1}], "next": None if last else name})

    def _on_drain(self, sock: socket.socket, heard: Heard) -> bool:
        asked = query(heard)
        deadline = time.monotonic() + float(asked.get("wait", 0))
        with self.changed:
            self.parked += 1
            self.changed.notify_all()
            try:
                while not self.messages and time.monotonic() < deadline and not self.directive:
                    self.changed.wait(0.02)
                    if self._closing or select.select([sock], [], [], 0)[0]:
                        return False
                most = int(asked["max"]) if self.obeys_max else len(self.messages)
                batch = [self.messages.popleft() for _ in range(min(most, len(self.messages)))]
            finally:
                self.parked -= 1
                self.changed.notify_all()
        return self._send(sock, 200, batch)

    def _on_call(self, sock: socket.socket, heard: Heard) -> bool:
        with self.changed:
            key = heard.headers["idempotency-key"]
            request_id = next((i for i, known in self.calls.items() if known["key"] == key), None)
            if request_id is None:
                request_id = f"r-{len(self.calls) + 1}"
                self.calls[request_id] = {"key": key, "request_id": request_id, "status": "queued"}
                self.calls[request_id].update(self.answers.get(heard.json["method"], {}))
            self.changed.notify_all()
        return self._tell(sock, request_id, heard.json.get("wait", 0))

    def _on_look(self, sock: socket.socket, heard: Heard) -> bool:
        request_id = unquote(urlsplit(heard.path).path.rsplit("/", 1)[1])
        return self._tell(sock, request_id, float(query(heard).get("wait", 0)))

    def _on_cancel(self, sock: socket.socket, heard: Heard) -> bool:
        request_id = unquote(heard.path.rsplit("/", 1)[1])
        found = self.calls[request_id]
        if found["status"] == "queued":
            self.finish(request_id, status="cancelled")
            return self._tell(sock, request_id, 0)
        if found["status"] == "held":
            return self._send(sock, 202, {"request_id": request_id, "status": "cancelling"})
        return self._send(sock, 409, {"error_code": "already_finished", "detail": "", "task_id": None})

    def _tell(self, sock: socket.socket, request_id: str, wait_seconds: float) -> bool:
        pending = ("queued", "held")
        if request_id not in self.calls:
            return self._send(sock, 404, {"error_code": "not_found", "detail": "no such request", "task_id": None})
        with self.changed:
            self.changed.wait_for(lambda: self.calls[request_id]["status"] not in pending, wait_seconds)
            members = {name: value for name, value in self.calls[request_id].items() if name != "key"}
        return self._send(sock, 202 if members["status"] in pending else 200, members)

    def _on_listen(self, sock: socket.socket, heard: Heard) -> bool:
        request_id = unquote(heard.path.split("/")[3])
        sent = int(heard.headers.get("last-event-id", "0"))
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and not self._closing:
            with self.changed:
                said = self.says.get(request_id, [])[sent:]
                ended = self.calls[request_id]["status"] not in ("queued", "held")
                if not said and not ended:
                    self.changed.wait(0.05)
                    continue
            for item in said:
                sent += 1
                sock.sendall(f"event: feedback\nid: {sent}\ndata: {json.dumps(item)}\n\n".encode())
            if ended:
                members = {name: value for name, value in self.calls[request_id].items() if name != "key"}
                sock.sendall(f"event: outcome\ndata: {json.dumps(members)}\n\n".encode())
                break
        return False
