"""A service and one worker of it over plain HTTP, driven step by step, for tests that look from the clients' side."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from tests.hall_client import HallClient, fine

SECRET = "secret-of-the-service"


class ServiceHand:
    """One registered worker. Its calls expect that they are fine."""

    def __init__(self, client: HallClient, service: str = "math", *methods: str, worker_id: str = "w") -> None:
        self._client = client
        self.service = service
        fine(client.call("PUT", f"/admin/services/{quote(service, safe='')}", {"secret": SECRET}))
        login = {
            "grant_type": "client_credentials", "service_id": service, "auth_secret": SECRET, "worker_id": worker_id,
        }  # fmt: skip
        self.token = str(fine(client.call("POST", "/worker/auth_token", login, token=None))["access_token"])
        registration = {
            "worker_id": worker_id, "service_id": service, "run_mode": "Eager", "methods": list(methods or ("add",)),
        }  # fmt: skip
        self._send("POST", "registration", registration)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        return fine(self.ask(method, path, body))

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """The answer as it came."""
        return self._client.call(method, f"/worker/{path}", body, token=self.token)

    def drain(self, wait: float = 20.0) -> Any:
        """The next messages."""
        return self._send("GET", f"messages?wait={wait:g}")

    def next(self) -> Any:
        """The one next message."""
        (message,) = self.drain()
        return message

    def lock(self, request_id: str) -> None:
        """Lock what was offered."""
        self._send("PUT", f"lock_request/{request_id}")

    def tell(self, request_id: str, content: Any, kind: Any = "progress") -> None:
        """Send feedback."""
        item = {"rid": request_id, "st": 1, "sn": "add", "ft": kind, "pr": True, "fc": content}
        assert self._send("POST", "feedback", item) == {"accepted": 1}

    def succeed(self, request_id: str, result: Any = None) -> None:
        """Answer that it is done. A result that is bytes is sent as it is."""
        if isinstance(result, bytes):
            head = f'{{"request_id": "{request_id}", "status": "success", "error_text": null, "result": '.encode()
            self._send("POST", "response", head + result + b"}")
        else:
            self._send("POST", "response", {"request_id": request_id, "status": "success", "result": result})

    def refuse(self, request_id: str, status: str, error_text: str) -> None:
        """Answer that it is not."""
        self._send("POST", "response", {"request_id": request_id, "status": status, "error_text": error_text})
