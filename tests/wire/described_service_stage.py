"""The service worker that generated requests are about, and the calls that it has to do with."""

from __future__ import annotations

from typing import Any, Final

import requests
from schemathesis import Case, GenerationMode
from schemathesis.core.parameters import ParameterLocation

from tests.hall_client import HallClient, fine, part
from tests.service_worker import ServiceWorker, make_service

SERVICE: Final = "service worked for"
WORKER_ID: Final = "worker of the description"
TOKEN_TO_COME: Final = "stands-for-the-token-of-the-service-worker"


class TokenSession(requests.Session):
    """Connections on which the token of the service worker, which is made as late as its hall, is put in its place."""

    token: str = TOKEN_TO_COME

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send with the token that is meant."""
        if request.headers.get("Authorization") == f"Bearer {TOKEN_TO_COME}":
            request.headers["Authorization"] = f"Bearer {self.token}"
        return super().send(request, **options)


class ServiceStage:
    """A worker that holds a call; made to stand so before each request."""

    def __init__(self, client: HallClient) -> None:
        self._client = client
        self._worker: ServiceWorker | None = None

    @property
    def token(self) -> str:
        """The token of the worker, once a request was about it."""
        return TOKEN_TO_COME if self._worker is None else self._worker.token

    def set_for(self, case: Case[Any]) -> None:
        """Have the case speak of the worker and its call wherever it is valid and any identifier would do."""
        worker = self._standing()
        if isinstance(case.query.get("wait"), int | float) and case.query["wait"] > 0:
            case.query["wait"] = 0
        held = "" if case.operation.path == "/worker/messages" else self._held(worker)
        if _is_valid(case, ParameterLocation.PATH):
            names = {"worker_id": worker.id, "request_id": held}
            case.path_parameters = {name: part(names[name]) for name in case.path_parameters}
        if not _is_valid(case, ParameterLocation.BODY):
            return
        for body in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(body, dict):
                names = {"worker_id": worker.id, "service_id": SERVICE, "request_id": held, "rid": held}
                body.update({name: value for name, value in names.items() if body.get(name) is not None})

    def _standing(self) -> ServiceWorker:
        worker = self._worker
        if worker is None:
            make_service(self._client, SERVICE)
            worker = self._worker = ServiceWorker(self._client, SERVICE, worker_id=WORKER_ID)
        body = {"methods": ["hello"]}
        fine(worker.ask("POST", "registration", body))
        return worker

    def _held(self, worker: ServiceWorker) -> str:
        """A call that the worker holds."""
        while True:
            messages: list[dict[str, str]] = fine(worker.ask("GET", "messages?max=1"))
            if messages:
                return messages[0]["request_id"]
            fine(self._client.call("POST", "/client/requests", {"method": f"{SERVICE}/hello", "params": None}))


def _is_valid(case: Case[Any], location: ParameterLocation) -> bool:
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode is GenerationMode.POSITIVE
