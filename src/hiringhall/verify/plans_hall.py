"""The scripted hall for plan workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.verify.heard import Heard, Reply
from hiringhall.verify.scripted_hall import USUAL_HOLD_SECONDS, ScriptedHall, answer, refusal

PLAN: Final = "verify"
BOOTSTRAP: Final = "bootstrap-token-1"
SHARED: Final = "shared-worker-token-1"
STATUSES: Final = {"complete": "DONE", "fail": "FAILED", "release": "PENDING"}


class PlansHall(ScriptedHall):
    """Registers workers, hands them the tasks of one plan, and takes what became of them."""

    secrets = (BOOTSTRAP, SHARED, "worker-token-")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._tokens: dict[str, str] = {}
        self._known: set[str] = set()
        self._minted = 0
        self._held: dict[tuple[str, int], dict[str, Any]] = {}
        self._ended: dict[tuple[str, int], tuple[str, str]] = {}
        self._claims: dict[str, dict[str, Any]] = {}

    def environment(self) -> dict[str, str]:
        """What the worker is told."""
        token = {"HALL_WORKER_TOKEN": SHARED} if self.case.hall.shared_token else {"HALL_BOOTSTRAP_TOKEN": BOOTSTRAP}
        return {"HALL_PLAN": PLAN, **token}

    def add(self, work: dict[str, Any]) -> None:
        """Make a task ready."""
        usual = {
            "id": "T-001",
            "plan_id": PLAN,
            "status": "CLAIMED",
            "version": 2,
            "priority": "medium",
            "description": "complete",
            "dependencies": [],
            "key_files": [],
            "acceptance_criteria": [],
            "test_steps": [],
            "prd_requirement": "",
        }
        self.work.append({**usual, **work})
        self.timeline.changed()

    def revoke(self, everything: bool) -> None:
        """Accept no token that was minted so far."""
        del everything  # there are no refresh tokens here
        self._tokens.clear()

    def forget_workers(self) -> None:
        """Know no worker, but accept their tokens."""
        self._known.clear()

    async def reply(self, heard: Heard, gone: Callable[[], bool]) -> Reply | None:
        """Do what a request asks."""
        if heard.route == "register":
            return self._register(heard)
        if heard.route not in ("heartbeat", "claim", *STATUSES):
            return refusal(404, "no such route")
        worker_id = heard.members.get("worker_id")
        owner = worker_id if self.case.hall.shared_token and heard.token == SHARED else self._tokens.get(heard.token)
        if owner is None:
            return refusal(401, "this token is not accepted")
        if heard.route == "heartbeat" and heard.id != worker_id:
            return refusal(400, "path and body name two workers", code="worker_id_mismatch")
        if owner != worker_id:
            return refusal(403, "the token is another worker's")
        if heard.route == "heartbeat":
            found: Reply | None = answer(200, {"ok": worker_id in self._known})
        elif heard.route == "claim":
            self._known |= {str(worker_id)} if self.case.hall.shared_token else set()
            found = await self._claim(heard, gone)
        else:
            found = self._settle(heard)
        return None if found is None else found._replace(headers=(*found.headers, *self._headers(heard.route)))

    def _headers(self, route: str) -> list[tuple[str, str]]:
        headers = [("Hall-Directive", self.directive)] if self.directive else []
        if route in ("register", "heartbeat"):
            headers.append(("Hall-Heartbeat", f"{self.case.hall.heartbeat_seconds:g}"))
        return headers

    def _register(self, heard: Heard) -> Reply:
        if heard.token != BOOTSTRAP:
            return refusal(401, "not the bootstrap token", code="missing_or_invalid_bootstrap")
        if not isinstance(heard.members.get("hostname"), str):
            return refusal(422, "hostname: a text")
        self._minted += 1
        worker_id, token = f"w-verifier{self._minted:04d}", f"worker-token-{self._minted}"
        self._tokens[token] = worker_id
        self._known.add(worker_id)
        told = answer(201, {"worker_id": worker_id, "token": token})
        return told._replace(headers=tuple(self._headers("register")))

    async def _claim(self, heard: Heard, gone: Callable[[], bool]) -> Reply | None:
        if heard.members.get("plan_id") != PLAN:
            return refusal(422, "plan_id: the plan of HALL_PLAN")
        key = heard.headers.get("idempotency-key", "")
        task = self._claims.get(key) if key else None
        if task is None or (task["id"], task["version"]) not in self._held:
            self._take_back_lost()
            seconds = self.hold_seconds(heard.members.get("wait"), USUAL_HOLD_SECONDS)
            if not await self.wait_for_work(seconds, gone):
                return None if gone() else Reply(204)
            task = self.work.popleft()
            self._held[(task["id"], task["version"])] = task
            if key:
                self._claims[key] = task
        self.handed.append(task["id"])
        heard.handed.append(task["id"])
        return answer(200, {"task": task})

    def _take_back_lost(self) -> None:
        """A task whose answer was cut goes back, and is handed over under a higher version."""
        for key in [key for key in self._held if key[0] in self.lost]:
            task = self._held.pop(key)
            self.lost.discard(key[0])
            self.work.appendleft({**task, "version": task["version"] + 2})

    def _settle(self, heard: Heard) -> Reply:
        members = heard.members
        version = members.get("version")
        given = getattr(version, "text", "")
        key = (str(heard.id), int(given) if given.isdigit() else -1)
        mark = f"{heard.headers.get('idempotency-key', '')} {heard.body!r}"
        if heard.route == "fail" and not isinstance(members.get("reason"), str):
            return refusal(422, "reason: a text")
        if key in self._held:
            del self._held[key]
            self._ended[key] = (STATUSES[heard.route], mark)
            return self._task(key, STATUSES[heard.route])
        if key in self._ended:
            status, before = self._ended[key]
            if heard.headers.get("idempotency-key") and before == mark:
                return self._task(key, status)
            return self._conflict(key, key[1] + 1, status, (("Hall-Finished-By", "self"),))
        return self._conflict(key, None, None, ())

    def _task(self, key: tuple[str, int], status: str) -> Reply:
        return answer(200, {"task": {"id": key[0], "plan_id": PLAN, "status": status, "version": key[1] + 1}})

    def _conflict(
        self, key: tuple[str, int], version: int | None, status: str | None, headers: tuple[tuple[str, str], ...]
    ) -> Reply:
        told = refusal(
            409,
            "the task is not in your hands under this version",
            code="version_conflict",
            task_id=key[0],
            expected_version=key[1],
            actual_version=version,
            actual_status=status,
        )
        return told._replace(headers=headers)
