"""A service worker that speaks plain HTTP, driven step by step by a test of a whole server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from tests.hall_client import HallClient, fine, part, request_bytes

SECRET = "secret-of-the-service"


def make_service(client: HallClient, service: str, **members: Any) -> None:
    """Make a service whose workers log in with `SECRET`, or change it."""
    fine(client.call("PUT", f"/admin/services/{part(service)}", {"secret": SECRET, **members}))


class ServiceWorker:
    """One worker process as the hall sees it: it is logged in, and registered if it names methods."""

    def __init__(
        self, client: HallClient, service: str, *methods: str, worker_id: str = "w-1", **registration: Any
    ) -> None:
        self.client = client
        self.service = service
        self.id = worker_id
        self.token = self.log_in()
        self.settings: dict[str, str] = {}
        if methods:
            body = {"worker_id": worker_id, "service_id": service, "run_mode": "Eager", "methods": list(methods)}
            self.settings = fine(self.ask("POST", "registration", {**body, **registration}))

    def log_in(self) -> str:
        """A new access token."""
        form = {
            "grant_type": "client_credentials", "service_id": self.service, "auth_secret": SECRET,
            "worker_id": self.id,
        }  # fmt: skip
        return str(fine(self.client.call("POST", "/worker/auth_token", form, token=None))["access_token"])

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Send one request; the answer as it came."""
        return self.client.call(method, f"/worker/{path}", body, token=self.token, headers=headers)

    def drain(self, wait: float | None = None, **headers: str) -> list[dict[str, Any]]:
        """The messages that a drain brings. Underscores in the names of headers stand for hyphens."""
        query = "" if wait is None else f"?wait={wait:g}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        messages: list[dict[str, Any]] = fine(self.ask("GET", f"messages{query}", headers=named))
        return messages

    def ids(self, wait: float | None = None) -> list[str]:
        """The request ids that a drain brings."""
        return [message["request_id"] for message in self.drain(wait)]

    def lock(self, request_id: str) -> httpx.Response:
        """Lock what was offered; the answer as it came."""
        return self.ask("PUT", f"lock_request/{part(request_id)}")

    def respond(self, request_id: str, status: str = "success", **members: Any) -> httpx.Response:
        """Answer a call; the answer as it came."""
        body = {"request_id": request_id, "status": status, "error_text": None, "result": None, **members}
        return self.ask("POST", "response", body)

    def respond_raw(self, request_id: str, result: bytes) -> httpx.Response:
        """Succeed with a result in exactly these digits."""
        return self.ask(
            "POST", "response", b'{"request_id":"%b","status":"success","result":%b}' % (request_id.encode(), result)
        )

    def tell(self, request_id: str, content: Any) -> Any:
        """Send feedback; how much of it was kept."""
        item = {"rid": request_id, "st": 1, "sn": "test", "ft": "progress", "pr": True, "fc": content}
        return fine(self.ask("POST", "feedback", item))["accepted"]

    def beat(self, **headers: str) -> Any:
        """A heartbeat; what it is answered."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return fine(self.ask("GET", f"heartbeat/{part(self.id)}", headers=named))

    def leave(self, *unstarted: str) -> Any:
        """Say goodbye; how much went back at once."""
        body = {"unstarted": list(unstarted)} if unstarted else None
        return fine(self.ask("PUT", f"notify_worker_shutdown/{part(self.id)}", body))["returned"]

    def drain_bytes(self, wait: float) -> bytes:
        """The bytes of a drain, for a connection of the test's own."""
        return request_bytes(f"/worker/messages?wait={wait:g}", b"", token=self.token, method="GET")
