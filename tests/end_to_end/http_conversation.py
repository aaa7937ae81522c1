"""Steps of operators and workers in a conversation with a real server, each judged at once by what was seen."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import note

from hiringhall.domain.refusals import CODES
from tests.end_to_end.http_model import SETTLED, VERBS, Ledger, Task
from tests.hall_client import HallClient, Worker, fine, part
from tests.hall_process import WORKER_TOKEN


class Conversation:
    """Operators apply and steer, workers claim and settle, rightly and wrongly."""

    def __init__(self, client: HallClient) -> None:
        self.client = client
        for plan in fine(client.call("GET", "/admin/plans"))["plans"]:
            fine(client.call("DELETE", f"/admin/plans/{part(plan['id'])}?force=true"))
        for worker_id in client.workers():
            client.remove(worker_id)
        self.ledger = Ledger(client)
        self.files: dict[str, Any] = {}
        self.claims: dict[tuple[str, str, int, str], list[tuple[str, int]]] = {}
        self.removed: set[str] = set()
        self.pool: list[Worker] = []
        self.hand_overs: list[tuple[Worker, Task]] = []

    # --- operators

    def apply(self, plan: str, file: dict[str, Any], prune: bool) -> None:
        before = set(self._ids(plan))
        answer = self._ask("PUT", f"/admin/plans/{part(plan)}?prune={str(prune).lower()}", file)
        if answer.status_code in (200, 201):
            told, named = answer.json(), {task["id"] for task in file["tasks"]}
            assert answer.status_code == (200 if plan in self.ledger.plans else 201)
            self.ledger.look()
            after = set(self._ids(plan))
            assert told["added"] == len(named - before) == len(after - before)
            assert told["pruned"] == len(before - after)
            assert prune or not told["pruned"]
            assert named <= after
            assert told["changed"] + told["unchanged"] == len(named & before)
            self.files[plan] = file
        else:
            code = self._refused(answer, 409, 422)
            assert code in ("plan_conflict", "validation_error")

    def apply_again(self, plan: str) -> None:
        if plan not in self.files:
            return
        known = self._ids(plan)
        answer = self._ask("PUT", f"/admin/plans/{part(plan)}", self.files[plan])
        if answer.is_success and all(task["id"] in known for task in self.files[plan]["tasks"]):
            told = answer.json()
            if told["changed"] == 0:
                self.ledger.look(unchanged=True)
        self.ledger.look()
        again = self._ask("PUT", f"/admin/plans/{part(plan)}", self.files[plan])
        if answer.is_success:
            told = fine(again)
            assert (again.status_code, told["added"], told["changed"], told["pruned"]) == (200, 0, 0, 0)
        self.ledger.look(unchanged=True)

    def delete_plan(self, plan: str, force: bool) -> None:
        held = [task for (of, _), task in self.ledger.tasks.items() if of == plan and task["worker_id"]]
        answer = self._ask("DELETE", f"/admin/plans/{part(plan)}?force={str(force).lower()}")
        if plan not in self.ledger.plans:
            assert self._refused(answer, 404) == "not_found"
        elif held and not force:
            assert self._refused(answer, 409) == "in_use"
        else:
            fine(answer)
            self.files.pop(plan, None)
            self.ledger.look()
            assert plan not in self.ledger.plans

    def steer_plan(self, plan: str, verb: str) -> None:
        failed = [task for (of, _), task in self.ledger.tasks.items() if of == plan and task["status"] == "FAILED"]
        answer = self._ask("POST", f"/admin/plans/{part(plan)}/{verb}")
        if plan not in self.ledger.plans:
            assert self._refused(answer, 404) == "not_found"
            return
        told = fine(answer)
        self.ledger.look(may_reopen=verb == "retry")
        if verb == "retry":
            assert told["retried"] == len(failed)
            assert all(self.ledger.status(plan, task["id"]) == "PENDING" for task in failed)
        else:
            assert told["plan"] == self.ledger.plans[plan]
            assert told["plan"]["paused"] == (verb == "pause")

    def steer_task(self, plan: str, task_id: str, verb: str, switch: bool, urgency: str) -> None:
        task = self.ledger.tasks.get((plan, task_id))
        query = {"skip": "?force=true", "reset": "?cascade=true"}.get(verb, "") if switch else ""
        body = {"priority": urgency} if verb == "reprioritise" else None
        answer = self._ask("POST", f"/admin/plans/{part(plan)}/tasks/{part(task_id)}/{verb}{query}", body)
        if task is None:
            assert self._refused(answer, 404) == "not_found"
            return
        allowed, status = VERBS[verb]
        if verb == "skip" and switch:
            allowed |= {"CLAIMED", "IN_PROGRESS"}
        if task["status"] not in allowed or (verb == "reset" and not switch and self._in_the_way(task)):
            assert self._refused(answer, 409) == "wrong_state"
            return
        shown = fine(answer)["task"]
        self.ledger.look(may_reopen=verb in ("retry", "reset", "skip"))
        now = self.ledger.tasks[plan, task_id]
        assert now["status"] == status
        assert shown == {name: now[name] for name in shown}
        assert verb == "reprioritise" or now["version"] > task["version"]
        assert verb != "reprioritise" or now["priority"] == urgency

    def _in_the_way(self, task: Task) -> bool:
        return any(
            task["id"] in other["dependencies"] and other["status"] != "PENDING"
            for (plan, _), other in self.ledger.tasks.items()
            if plan == task["plan_id"]
        )

    def direct(self, worker: Worker, verb: str) -> None:
        answer = self._ask("POST", f"/admin/workers/{part(worker.id)}/{verb}")
        if worker.id not in self.ledger.workers:
            assert self._refused(answer, 404) == "not_found"
            return
        told = fine(answer)["worker"]
        self.ledger.look(unchanged=True)
        assert told["quiet"] == self.ledger.workers[worker.id]["quiet"]
        assert self._is_quiet(worker) == (verb != "resume")

    def remove_worker(self, worker: Worker) -> None:
        answer = self._ask("DELETE", f"/admin/workers/{part(worker.id)}")
        if worker.id not in self.ledger.workers:
            assert self._refused(answer, 404) == "not_found"
            return
        fine(answer)
        self.removed.add(worker.id)
        self.ledger.look()
        assert worker.id not in self.ledger.workers

    # --- workers

    def register(self, hostname: str) -> None:
        worker = self.client.register(hostname)
        self.ledger.look(unchanged=True)
        assert self.ledger.workers[worker.id]["hostname"] == hostname
        self.pool.append(worker)

    def shared(self, worker_id: str) -> None:
        self.pool.append(self.client.shared(worker_id))

    def heartbeat(self, worker: Worker) -> None:
        answer = self._of(worker, f"/workers/{part(worker.id)}/heartbeat", {"worker_id": worker.id})
        if not self._is_revoked(worker, answer):
            assert fine(answer)["ok"] == (worker.id in self.ledger.workers)
        self.ledger.look(unchanged=True)

    def claim(self, worker: Worker, plan: str, key: str | None, most: int | None) -> None:
        body: dict[str, Any] = {"worker_id": worker.id, "plan_id": plan, "wait": 0}
        if most is not None:
            body["max_tasks"] = most
        claimable = [] if self._is_quiet(worker) else self.ledger.claimable(plan)
        answer = self._of(worker, "/tasks/claim", body, key)
        if self._is_revoked(worker, answer):
            return
        assert answer.status_code in (200, 204), answer.text
        tasks = [] if answer.status_code == 204 else answer.json()["tasks"] if most else [answer.json()["task"]]
        assert {task["plan_id"] for task in tasks} <= {plan}
        stand = self._still_held(worker, plan, most, key)
        if stand:
            assert {(task["id"], task["version"]) for task in tasks} <= stand
            assert tasks, "a repeated claim is answered again while its hand-over stands"
            self.ledger.look(unchanged=True)
            return
        assert [task["id"] for task in tasks] == claimable[: most or 1]
        for task in tasks:
            self.ledger.hand_over(worker.id, task)
        if key is not None:
            self.claims.setdefault((worker.id, plan, most or 0, key), []).extend(
                (task["id"], task["version"]) for task in tasks
            )
        self.ledger.look(unchanged=not tasks)
        self.hand_overs += [(worker, task) for task in tasks]

    def _still_held(self, worker: Worker, plan: str, most: int | None, key: str | None) -> set[tuple[str, int]]:
        found = self.claims.get((worker.id, plan, most or 0, key or ""), [])
        return {(task_id, version) for task_id, version in found if self._stands(worker, plan, task_id, version)}

    def _stands(self, worker: Worker, plan: str, task_id: str, version: int) -> bool:
        task = self.ledger.tasks.get((plan, task_id))
        if task is None or task["worker_id"] != worker.id:
            return False
        return self.ledger.held_by[task["work"]] == (worker.id, version)

    def settle(
        self, task: Task, worker: Worker, verb: str, *, named: bool, key: str | None, prefer: bool, off: int
    ) -> None:
        plan, version = task["plan_id"] if named else None, task["version"] + off
        body = {"worker_id": worker.id, "version": version, **({"plan_id": plan} if plan else {})}
        if verb == "fail":
            body["reason"] = "exit_code=1"
        extra = {"Prefer": "next"} if prefer else {}
        answer = self._of(worker, f"/tasks/{part(task['id'])}/{verb}", body, key, **extra)
        if self._is_revoked(worker, answer):
            return
        shared = worker.token == WORKER_TOKEN
        found = self.ledger.meant(worker.id, task["id"], version, plan)
        if found == "ambiguous":
            assert self._refused(answer, 409) == "ambiguous_task_id"
            return
        if not isinstance(found, dict) or not self.ledger.accepts(found, worker.id, version, shared=shared):
            self._not_accepted(answer, found, worker, version, key, {**body, "verb": verb})
            return
        told = fine(answer)
        status = {"complete": "DONE", "fail": "FAILED", "release": "PENDING"}[verb]
        assert (told["task"]["id"], told["task"]["plan_id"], told["task"]["status"]) == (
            task["id"],
            found["plan_id"],
            status,
        )
        assert told["task"]["version"] > found["version"]
        if key is not None:
            self.ledger.answers.setdefault((found["work"], worker.id, version), (key, {**body, "verb": verb}))
        if verb != "release":
            self.ledger.finished_by[found["work"], told["task"]["version"]] = worker.id
        self._with_next(worker, found, told, may_have=bool(prefer and plan and verb != "release"))

    def _with_next(self, worker: Worker, found: Task, told: Any, *, may_have: bool) -> None:
        following = told.get("next")
        if following is not None:
            assert may_have
            assert not self._is_quiet(worker)
            self.ledger.hand_over(worker.id, following)
        self.ledger.look()
        now = self.ledger.tasks[found["plan_id"], found["id"]]
        if following is None or following["id"] != found["id"]:
            assert (now["status"], now["version"]) == (told["task"]["status"], told["task"]["version"])
        known = worker.id in self.ledger.workers
        assert ("next" in told) == (may_have and known)
        if following is not None:
            self.hand_overs.append((worker, following))
            return
        if may_have and known and not self._is_quiet(worker):
            assert not self.ledger.claimable(found["plan_id"]), "there was a next task, which was not handed over"
        return

    def _not_accepted(
        self, answer: httpx.Response, found: Task | str | None, worker: Worker, version: int, key: str | None, body: Any
    ) -> None:
        unit = found["work"] if isinstance(found, dict) else 0
        first = self.ledger.answers.get((unit, worker.id, version))
        if key is not None and first is not None and first[0] == key:
            if first[1] == body:
                assert isinstance(found, dict)
                shown = fine(answer)["task"]
                assert (shown["status"], shown["version"]) == (found["status"], found["version"])
                following = answer.json().get("next")
                if following is not None:
                    self.ledger.hand_over(worker.id, following)
                    self.hand_overs.append((worker, following))
                self.ledger.look(unchanged=following is None)
            else:
                assert self._refused(answer, 422) == "idempotency_key_reused"
            return
        assert self._refused(answer, 409) == "version_conflict"
        told = answer.json()
        assert told["expected_version"] == version
        truth = (found["version"], found["status"]) if isinstance(found, dict) else (None, None)
        assert (told["actual_version"], told["actual_status"]) == truth
        finisher = answer.headers.get("Hall-Finished-By")
        assert (finisher is not None) == (truth[1] in SETTLED)
        if finisher is not None:
            by_self = self.ledger.finished_by.get((unit, truth[0] or 0)) == worker.id
            assert finisher == ("self" if by_self else "other")

    # --- what they share

    def _ids(self, plan: str) -> list[str]:
        return [task_id for of, task_id in self.ledger.tasks if of == plan]

    def _is_quiet(self, worker: Worker) -> bool:
        shown = self.ledger.workers.get(worker.id)
        return shown is not None and (shown["quiet"] or shown["terminating"])

    def _is_revoked(self, worker: Worker, answer: httpx.Response) -> bool:
        """Whether the worker speaks with its own token and was removed, which has to end the token."""
        if worker.token == WORKER_TOKEN or worker.id not in self.removed:
            return False
        assert answer.status_code == 401
        return True

    def _ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        note(f"{method} {path} {json.dumps(body)}")
        return self._noted(self.client.call(method, path, body))

    def _of(self, worker: Worker, path: str, body: Any, key: str | None = None, **headers: str) -> httpx.Response:
        if key is not None:
            headers["Idempotency-Key"] = key
        note(f"POST {path} {json.dumps(body)} {headers}")
        return self._noted(self.client.call("POST", path, body, token=worker.token, headers=headers))

    def _noted(self, answer: httpx.Response) -> httpx.Response:
        note(f"    {answer.status_code} {answer.text[:300]}")
        assert answer.status_code < 500
        return answer

    def _refused(self, answer: httpx.Response, *statuses: int) -> str:
        """The code of a refusal, after which everything stands as before."""
        assert answer.status_code in statuses, f"{answer.status_code} {answer.text}"
        envelope = answer.json()
        code: str = envelope["error_code"]
        assert CODES[code] == answer.status_code
        assert envelope["detail"]
        assert "task_id" in envelope
        self.ledger.look(unchanged=True)
        return code
