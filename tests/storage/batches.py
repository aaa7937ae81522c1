"""Random batches of all verbs on few plans, tasks and workers, so that they collide."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from hiringhall.domain.lease import Cause, Terms
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import plan_worker
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.retry import Backoff, Policy
from hiringhall.domain.topics import plan_lane, plan_of_lane
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import (
    Apply,
    Ask,
    Beat,
    DeletePlan,
    DirectWorker,
    FoldTallies,
    Forget,
    MarkSeen,
    PausePlan,
    Reconcile,
    Register,
    RemoveWorker,
    RetryPlan,
    Return,
    Settle,
    Sign,
    Steer,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Take,
    Unblock,
)
from hiringhall.ports.calls import ForgetCalls, Respond, Submit, SweepDeadlines
from hiringhall.storage.model.hall import Hall

PLANS: Final = ("a", "a/b ü", "a%2Fb")
TASKS: Final = ("T-1", "T-2", "t-2", "T/1@2,3", "ü ' \" ;", "..x", "%", "_")
WORKERS: Final = tuple(plan_worker(name) for name in ("w-a", "w-b", "w-c", "w-ü/ d"))
STRANGER: Final = plan_worker("w-stranger")


@dataclass(frozen=True, slots=True)
class PatientTerms(Terms):
    """A hall that believes that it hears, though its pulses are far apart: else few leases would end here."""

    @property
    def deaf_after_ms(self) -> int:
        """A pulse older than this means that the hall could not hear."""
        return 200_000


TERMS: Final = PatientTerms(
    visibility_timeout_ms=60_000, heartbeat_delay_ms=30_000, run_limit_ms=200_000, call_run_limit_ms=150_000
)
STEPS_MS: Final = (1, 2, 40, 900, 3_000, 9_000, 31_000, 66_000, 140_000, 700_000)
POLICIES: Final = (
    Policy(),
    Policy(on_failure="skip"),
    Policy(max_attempts=3, backoff=Backoff(2.0, 3.0, 30.0)),
    Policy(on_failure="skip", max_attempts=2, max_abandoned=2),
    Policy(max_abandoned=1, run_limit_ms=10_000),
    Policy(run_limit_ms=0, max_abandoned=2),
)


@dataclass(frozen=True, slots=True)
class ReturnByName:
    """A `Return` whose unit is still to be looked up, since each store numbers units in its own way."""

    plan: str
    task_id: str
    version: int
    worker: str
    cause: Cause
    delivery: int


@dataclass(frozen=True, slots=True)
class SteerByName:
    """A `Steer` of a call whose unit is still to be looked up."""

    request_id: str
    move: Move


Draft: TypeAlias = Ask | ReturnByName | SteerByName


class Writer:
    """Writes batches with one source of chance."""

    def __init__(self, seed: int, hall: Hall) -> None:
        self.chance = random.Random(seed)
        self.hall = hall
        self.now = 1_700_000_000_000
        self._verbs: dict[Callable[[], Draft | None], int] = {
            self._take: 40,
            self._settle: 36,
            self._apply: 10,
            self._steer: 34,
            self._mark_seen: 7,
            self._register: 6,
            self._return: 4,
            self._reconcile: 4,
            self._direct: 3,
            self._remove: 1,
            self._delete: 1,
            self._pause: 3,
            self._retry_plan: 2,
            self._unblock: 2,
            self._beat: 2,
            self._sweep: 12,
            self._forget: 2,
        }

    def batch(self) -> tuple[list[Draft], int]:
        """The next batch and its time. No two asks are about one unit of one worker, as the port demands."""
        self._tick()
        if self.chance.random() < 0.06:
            self.now += 150_000
            return [SweepSilent(), SweepRunLimit()], self.now
        length = self.chance.choice((1, 2, 3, 6, 10))
        verbs = self.chance.choices(list(self._verbs), list(self._verbs.values()), k=length)
        if self.chance.random() < 0.3:  # a batch of one channel, as it comes in production
            verbs = [self.chance.choice((self._take, self._settle))] * length
        return self._distinct(verbs), self.now

    def _tick(self) -> None:
        self.now += self.chance.choices(STEPS_MS, (8, 8, 8, 8, 6, 4, 3, 3, 1, 1))[0]

    def _distinct(self, verbs: Sequence[Callable[[], Draft | None]]) -> list[Draft]:
        drafts: list[Draft] = []
        seen: set[Any] = set()
        for verb in verbs:
            draft = verb()
            marks = _marks(draft)
            if draft is not None and not seen & marks:
                seen |= marks
                drafts.append(draft)
        return drafts

    def _pick(self, *shares: tuple[int, Any]) -> Any:
        return self.chance.choices([value for _, value in shares], [share for share, _ in shares])[0]

    def _key(self) -> bytes | None:
        return self.chance.choice((None, None, None, b"k" * 32, b"\x00\xff" * 16))

    def _worker(self) -> str:
        worker: str = self._pick((30, self.chance.choice(WORKERS)), (1, STRANGER))
        return worker

    def _plan(self) -> str:
        plan: str = self._pick((30, self.chance.choice(PLANS)), (1, "none"))
        return plan

    def _some_unit(self, *states: State) -> Unit | None:
        found = [unit for unit in self.hall.units() if not states or unit.state in states]
        return self.chance.choice(found) if found else None

    def _register(self) -> Draft:
        worker = self._worker() if self.chance.random() < 0.05 else self.chance.choice(WORKERS)
        token = self._pick((2, None), (1, worker.encode()[:32]), (1, b"shared by chance"))
        return Register(worker, f"host \x00 {worker}", token, known_is_fine=self.chance.random() < 0.5)

    def _mark_seen(self) -> Draft:
        known = self.chance.sample((*WORKERS, STRANGER), self.chance.randint(1, 4))
        return MarkSeen(
            tuple(
                Sign(worker, self._pick((3, 0), (2, 700), (1, 50_000)), self._pick((2, None), (2, 0), (1, 9_000)))
                for worker in known
            )
        )

    def _take(self) -> Draft:
        lanes = tuple(map(plan_lane, self.chance.sample((*PLANS, "none"), self._pick((5, 1), (2, 2), (1, 4)))))
        limit = self._pick((6, 1), (2, 2), (1, 100))
        return Take(self._worker(), lanes, limit, limited=self.chance.random() < 0.7, key=self._key())

    def _settle(self) -> Draft:
        unit = self._some_unit(State.HELD) if self.chance.random() < 0.8 else self._some_unit()
        move = self._pick((6, Move.COMPLETE), (4, Move.FAIL), (2, Move.RELEASE))
        reason = self._pick((3, None), (2, "broke \x00 'ü'"), (1, "shutdown"), (1, "x" * 3_000))
        if move is Move.FAIL:
            reason = reason or ""
        common: dict[str, Any] = {
            "move": move,
            "reason": reason,
            "any_holder": self.chance.random() < 0.2,
            "jitter": self.chance.choice((0.0, 0.25, 1.0)),
            "key": (key := self._key()),
            "body": None if key is None else self.chance.choice((b"b" * 32, b"c" * 32)),
        }
        if unit is None or self.chance.random() < 0.05:
            records = [name for name, each in self.hall.hand_overs.items() if plan_of_lane(each.lane_key)]
            worker, task_id, version = self.chance.choice(records) if records else (STRANGER, "none", 1)
            return Settle(worker, task_id, version, plan=self._pick((2, None), (1, self._plan())), **common)
        holder = unit.holder or unit.last_holder
        worker = holder if holder is not None and self.chance.random() < 0.85 else self._worker()
        version = self._pick((12, unit.handed_version), (2, unit.version), (1, max(0, unit.version - 1)), (1, 2))
        plan = self._pick((4, unit.plan), (4, None), (1, self._plan()))
        return Settle(worker, unit.name, version, plan=plan, **common)

    def _return(self) -> Draft | None:
        unit = self._some_unit(State.HELD) or self._some_unit()
        if unit is None:
            return None
        worker = self._pick((5, unit.holder), (1, self._worker())) or self._worker()
        version = self._pick((5, unit.handed_version), (1, unit.version), (1, 2))
        cause = self.chance.choice((Cause.CONNECTION_LOST, Cause.ANSWER_LOST))
        return ReturnByName(unit.plan, unit.name, version, worker, cause, self._pick((6, 1), (1, 2)))

    def _reconcile(self) -> Draft:
        worker = self._worker()
        held = [(unit.plan, unit.name, unit.handed_version) for unit in self.hall.held_by(worker)]
        named = frozenset(name for name in held if self.chance.random() < 0.5) | {("a", "T-1", 2)}
        return Reconcile(worker, named, self.chance.choice((0, 20, 9_000)))

    def _direct(self) -> Draft:
        quiet, terminate = self._pick((1, (True, None)), (3, (False, None)), (1, (None, True)), (3, (False, False)))
        return DirectWorker(self._worker(), quiet, terminate)

    def _remove(self) -> Draft:
        return RemoveWorker(self._worker())

    def _apply(self) -> Draft:
        plan = self.chance.choice(PLANS)
        stored = [task.spec for task in self.hall.plans[plan].tasks.values()] if plan in self.hall.plans else []
        if not stored or self.chance.random() < 0.35:
            specs = [self._spec(name, TASKS) for name in self.chance.sample(TASKS, self.chance.randint(0, len(TASKS)))]
        else:
            specs = [spec if self.chance.random() < 0.7 else self._spec(spec.task_id, TASKS) for spec in stored]
            self.chance.shuffle(specs) if self.chance.random() < 0.3 else None
            specs = specs[: self.chance.randint(0, len(specs))] if self.chance.random() < 0.3 else specs
        specs = self._without_own_faults(specs)
        return Apply(
            PlanFile(plan, self._pick((5, "name"), (1, "other \x00 name")), tuple(specs)),
            self.chance.random() < 0.3,
            self._pick((2, None), (1, "00-" + "a" * 32 + "-" + "b" * 16 + "-01")),
        )

    def _spec(self, name: str, others: Sequence[str]) -> TaskSpec:
        needs = tuple(self.chance.choices(others, k=self._pick((3, 0), (3, 1), (2, 2), (1, 4))))
        state = self._pick((20, None), (1, State.DONE), (1, State.SKIPPED), (1, State.FAILED))
        return self._write(TaskSpec(name, needs, self.chance.randint(0, 3), "", self.chance.choice(POLICIES), state))

    def _write(self, spec: TaskSpec) -> TaskSpec:
        note = self.chance.choice(("", "n", "\\u0000 ü"))
        return replace(spec, detail=f'"description":"{note}","dependencies":{list(spec.dependencies)}')

    def _without_own_faults(self, specs: list[TaskSpec]) -> list[TaskSpec]:
        """What the reading of a file refuses is not in it: dependencies on itself, cycles within the file."""
        place = {spec.task_id: number for number, spec in enumerate(specs)}
        order = list(place)
        if self.chance.random() < 0.5:
            self.chance.shuffle(order)
        rank = {name: number for number, name in enumerate(order)}
        mended = []
        for spec in specs:
            needs = tuple(
                name
                for name in spec.dependencies
                if (name in rank and rank[name] < rank[spec.task_id]) or (name not in rank and self._sensible(name))
            )
            mended.append(spec if needs == spec.dependencies else self._write(replace(spec, dependencies=needs)))
        return mended

    def _sensible(self, name: str) -> bool:
        known = any(name in plan.tasks for plan in self.hall.plans.values())
        return self.chance.random() < (0.6 if known else 0.03)

    def _delete(self) -> Draft:
        return DeletePlan(self._plan(), force=self.chance.random() < 0.6)

    def _pause(self) -> Draft:
        return PausePlan(self._plan(), self.chance.random() < 0.3)

    def _retry_plan(self) -> Draft:
        return RetryPlan(self._plan())

    def _steer(self) -> Draft:
        move = self._pick(
            (2, Move.START), (3, Move.SKIP), (2, Move.CANCEL), (3, Move.RETRY), (4, Move.RESET), (1, Move.RELEASE),
            (2, Move.REPRIORITISE),
        )  # fmt: skip
        unit = (self._some_unit(State.HELD) if self.chance.random() < 0.4 else None) or self._some_unit()
        plan, task_id = (unit.plan, unit.name) if unit else (self._plan(), "none")
        return Steer(
            plan, task_id, move, self.chance.random() < 0.5, self.chance.random() < 0.6, self.chance.randint(0, 3)
        )

    def _unblock(self) -> Draft:
        return Unblock(self._pick((1, None), (1, self._plan())), self._pick((1, None), (1, 60_000)))

    def _beat(self) -> Draft:
        return Beat()

    def _sweep(self) -> Draft:
        return self.chance.choice(
            (SweepSilent(), SweepSilent(orphans=False), SweepRunLimit(), SweepRetries(), FoldTallies())
        )

    def _forget(self) -> Draft:
        return Forget(
            self._pick((3, None), (1, 600_000)),
            self._pick((3, 600_000), (1, 0)),
            keep_hand_overs_ms=self._pick((2, 700_000), (1, 0)),
        )


def _marks(draft: Draft | None) -> set[Any]:
    """What no two drafts of a batch may have in common."""
    match draft:
        case Settle():
            return {draft.task_id}  # two about one unit may be decided in either order
        case ReturnByName():
            return {(draft.worker, draft.task_id)}
        case Take() if draft.key is not None:
            return {(draft.worker, draft.key)}
        case Register():
            return {draft.worker, draft.token_hash} - {None}
        case Respond():
            return {draft.unit}
        case Submit() if draft.key is not None:
            return {draft.unit}
        case Beat() | SweepDeadlines() | ForgetCalls() | Forget() | SweepRetries():
            return {type(draft)}
        case _:
            return set()


def addressed(draft: Draft, work_of: dict[tuple[str, str], int]) -> Ask:
    """The ask for one store, whose units have these numbers."""
    if isinstance(draft, ReturnByName):
        work = work_of.get((draft.plan, draft.task_id), -1)
        return Return(work, draft.version, draft.worker, draft.cause, draft.delivery)
    if isinstance(draft, SteerByName):
        return Steer("", "", draft.move, work=work_of.get(("", draft.request_id), -1))
    return draft
