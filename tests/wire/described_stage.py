"""The plan, tasks and worker that generated requests are about, so that they do not all speak of what is not there."""

from __future__ import annotations

import zlib
from typing import Any

from schemathesis import Case, GenerationMode
from schemathesis.core.parameters import ParameterLocation

from tests.hall_client import HallClient, Worker, fine, part
from tests.wire.described_service_stage import ServiceStage

PLAN = "plan of the description"
SECRET = "secret of the description"
SERVICE, CLIENT = "service of the description", "client of the description"
METHOD = f"{SERVICE}/hello"
FAILED, DONE, HELD, PENDING = "T-failed", "T-done", "T 1/held", "T-pending"
STANDING = {FAILED: "FAILED", DONE: "DONE", HELD: "CLAIMED", PENDING: "PENDING"}
LEFT_ALONE_ONE_IN = 4
"""So many cases keep the identifiers that were made up for them."""
OF_VERB = {"retry": FAILED, "reset": DONE, "reprioritise": PENDING, "skip": PENDING}
"""The task that an operator's verb can do something with; that of the others is the held one."""


class Stage:
    """A plan with a failed, a done, a held and a pending task, and a worker; made again when a case changed them."""

    def __init__(self, url: str) -> None:
        self.client = HallClient(url)
        self.services = ServiceStage(self.client)
        self._worker: Worker | None = None
        self._ended: str | None = None

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def set_for(self, case: Case[Any]) -> None:
        """Have all stand as at the start, and the case speak of it wherever it is valid and any identifier would do."""
        _shorten(case)
        if case.operation.path.startswith("/worker/") and not case.operation.path.endswith("/auth_token"):
            self.services.set_for(case)
            return
        if zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode()) % LEFT_ALONE_ONE_IN == 0:
            return
        worker, tasks = self._standing()
        verb = case.operation.path.rpartition("/")[2]
        task_id = OF_VERB.get(verb, HELD) if case.operation.path.startswith("/admin") else HELD
        unit = f"{part(PLAN)}/{part(task_id)}"
        if _is_valid(case, ParameterLocation.PATH):
            names = {"plan_id": PLAN, "worker_id": worker.id, "task_id": task_id, "work_id": unit}
            names |= {"service_id": SERVICE, "client_id": CLIENT}
            if "request_id" in case.path_parameters:
                names["request_id"] = self._call(ended=case.method != "DELETE")
            case.path_parameters = {name: part(names[name]) for name in case.path_parameters}
        if _is_valid(case, ParameterLocation.QUERY):
            names = {"plan": PLAN, "task": task_id, "id": unit, "after": FAILED}
            case.query = {name: names.get(name, value) for name, value in case.query.items()}
        if (
            isinstance(case.body, dict)
            and _is_valid(case, ParameterLocation.BODY)
            and case.operation.path.startswith(("/tasks", "/workers"))
        ):
            held = {"worker_id": worker.id, "plan_id": PLAN, "version": tasks[HELD]["version"]}
            case.body = {name: held.get(name, value) for name, value in case.body.items()}
        if (
            isinstance(case.body, dict)
            and _is_valid(case, ParameterLocation.BODY)
            and case.operation.path == "/client/requests"
        ):
            case.body["method"] = METHOD
        if (
            isinstance(case.body, dict)
            and _is_valid(case, ParameterLocation.BODY)
            and case.operation.path.endswith("/auth_token")
        ):
            names = {"service_id": SERVICE, "client_id": CLIENT, "auth_secret": SECRET, "client_secret": SECRET}
            case.body = {name: names.get(name, value) for name, value in case.body.items()}

    def _standing(self) -> tuple[Worker, dict[str, Any]]:
        if self._worker is None or self._worker.id not in self.client.workers():
            self._worker = self.client.register()
        self.client.direct(self._worker.id, "resume")
        answer = self.client.call("GET", f"/admin/plans/{part(PLAN)}")
        tasks = {} if answer.status_code == 404 else {task["id"]: task for task in fine(answer)["plan"]["tasks"]}
        self.client.call("PUT", f"/admin/services/{part(SERVICE)}?retire=true", {"secret": SECRET})
        self.client.call("PUT", f"/admin/clients/{part(CLIENT)}?retire=true", {"secret": SECRET, "allow": ["*"]})
        stands = {name: task["status"] for name, task in tasks.items()} == STANDING
        if not stands or tasks[HELD]["worker_id"] != self._worker.id or answer.json()["plan"]["paused"]:
            tasks = self._made_again(self._worker)
        return self._worker, tasks

    def _call(self, *, ended: bool) -> str:
        """A call: one that nobody took back yet, or one that has ended, since a stream of another would not end."""
        if ended and self._ended is not None and self.client.call("GET", f"/client/requests/{self._ended}").is_success:
            return self._ended
        made = fine(self.client.call("POST", "/client/requests", {"method": METHOD, "params": None}))
        if ended:
            self._ended = str(made["request_id"])
            fine(self.client.call("DELETE", f"/client/requests/{self._ended}"))
        return str(made["request_id"])

    def _made_again(self, worker: Worker) -> dict[str, Any]:
        self.client.call("DELETE", f"/admin/plans/{part(PLAN)}?force=true")
        self.client.apply(PLAN, *STANDING)
        assert worker.settle("fail", worker.claim(PLAN), reason="to be retried").is_success
        worker.complete(worker.claim(PLAN))
        assert worker.claim(PLAN)["id"] == HELD
        return self.client.tasks(PLAN)


def _is_valid(case: Case[Any], location: ParameterLocation) -> bool:
    """Whether what a case holds there is as the description wants it, so that an identifier may be put in its place."""
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode is GenerationMode.POSITIVE


def _shorten(case: Case[Any]) -> None:
    """A claim that finds nothing is held for as long as it asks, for which there is no time here."""
    body = case.body
    if isinstance(body, dict) and isinstance(wait := body.get("wait"), int | float) and wait > 0:
        body["wait"] = 0
