"""What the oracle remembers, and what follows from a change of one unit: skipped descendants, closed edges, rings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hiringhall.domain import work
from hiringhall.domain.lease import Cause, Pulse, Terms
from hiringhall.domain.lifecycle import SATISFIED, State
from hiringhall.domain.plan import TaskSpec
from hiringhall.domain.topics import topic_of, topic_of_worker
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import TaskView
from hiringhall.ports.questions import HistoryLine
from hiringhall.storage.model import endings
from hiringhall.storage.model.call_book import Call, CallBook
from hiringhall.storage.model.identity import Gate


@dataclass(slots=True)
class Task:
    """A unit of work, its contents, and the idempotency records of what its holders answered."""

    unit: Unit
    spec: TaskSpec  # as the last file said
    made_at: int
    history: list[HistoryLine] = field(default_factory=list)
    answers: dict[tuple[str, int], tuple[bytes, bytes | None]] = field(default_factory=dict)

    @property
    def view(self) -> TaskView:
        """The task as the wire shows it."""
        unit = self.unit
        return TaskView(
            unit.id, unit.plan, unit.name, unit.state, unit.started, unit.version, unit.priority, self.spec.detail
        )

    def spec_changed(self, spec: TaskSpec) -> bool:
        """Whether a file says something else of the task than the file before."""
        return (spec.priority, spec.policy, spec.detail) != (self.spec.priority, self.spec.policy, self.spec.detail)


@dataclass(slots=True)
class Plan:
    """A plan and its tasks by id."""

    id: str
    name: str
    lane: int
    applied_at: int
    paused: bool = False
    traceparent: str | None = None
    finished_at: int | None = None
    tasks: dict[str, Task] = field(default_factory=dict)


@dataclass(slots=True)
class HandOver:
    """One delivery of a unit to a worker. `gone_at`: when its task ceased to exist."""

    work: int
    lane_key: str
    cause: Cause
    at: int
    key: bytes | None = None
    deliveries: int = 1
    gone_at: int | None = None


@dataclass(slots=True)
class Worker:
    """A worker, its signs of life, and the units that it has to stop."""

    hostname: str
    token_hash: bytes | None
    registered_at: int
    pulse: Pulse
    quiet: bool = False
    terminate: bool = False
    offline: bool = False


@dataclass(slots=True)
class Hall:
    """Everything there is."""

    terms: Terms
    now: int = 0
    heard_since: int = 0
    pulse_at: int = 0
    next_work: int = 1
    next_lane: int = 1
    noted: int = 0  # how many decisions were written down so far
    plans: dict[str, Plan] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    edges: set[tuple[int, int]] = field(default_factory=set)  # (dependency, dependent)
    unmet: set[tuple[int, int]] = field(default_factory=set)  # those of them that are open
    hand_overs: dict[tuple[str, str, int], HandOver] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    doomed: dict[int, list[Task]] = field(default_factory=dict)  # tasks of deleted plans, by lane
    directives: dict[tuple[str, str], int] = field(default_factory=dict)  # (worker, PLAN/TASK) -> since when
    rings: Counter[str] = field(default_factory=Counter)
    gate: Gate = field(default_factory=Gate)
    book: CallBook = field(default_factory=CallBook)

    def find(self, plan: str, task_id: str) -> Task | None:
        """A task by name."""
        found = self.plans.get(plan)
        return None if found is None else found.tasks.get(task_id)

    def units(self) -> Iterator[Unit]:
        """All units in ascending order of their ids."""
        return (self.entry(id_).unit for id_ in sorted((*self.tasks, *self.book.calls)))

    def entry(self, work_id: int) -> Task | Call:
        """A task or call by the number of its unit."""
        return self.tasks.get(work_id) or self.book.calls[work_id]

    def held_by(self, worker: str) -> list[Unit]:
        """What the worker holds."""
        return [unit for unit in self.units() if unit.holder == worker]

    def dependents(self, work_id: int) -> list[Unit]:
        """The units that depend on one, whether or not the edge is open."""
        return [self.tasks[dependent].unit for dependency, dependent in sorted(self.edges) if dependency == work_id]

    def ring_lane(self, unit: Unit) -> None:
        """Ring for a unit that can be taken now."""
        if unit.state is State.READY:
            self.rings[topic_of(unit.lane_key)] += 1

    def pause_lanes(self, service: str, *, paused: bool) -> None:
        """Stop or go on handing out what is in the lanes of a service; whoever waits there is woken when it goes on."""
        for lane in self.book.lanes.values():
            if lane.service == service:
                lane.paused = paused
        for call in self.book.calls.values():
            if call.service == service and not paused:
                self.ring_lane(call.unit)

    def ring_worker(self, worker: str) -> None:
        """Ring for a worker that has to be told something."""
        self.rings[topic_of_worker(worker)] += 1

    def note(self, event: Event) -> None:
        """Append what was decided to the unit's history, and carry out what follows from it."""
        self.follow(self.record(event))

    def record(self, event: Event) -> Unit:
        """Append what was decided to the unit's history."""
        self.noted += 1
        entry = self.entry(event.work)
        cause = None if event.cause is None else event.cause.value
        move, state = event.move.value, event.state.value
        entry.history.append(HistoryLine(self.now, event.version, move, state, event.worker, cause, event.reason))
        if isinstance(entry, Call):
            endings.conclude(self, entry, event)
        return entry.unit

    def follow(self, unit: Unit) -> None:
        """Carry out what follows from the state of a unit that moved: close its edges, or skip what waits for it."""
        if unit.id in self.book.calls:
            endings.follow(self, self.book.calls[unit.id])
        elif unit.state in SATISFIED:
            self.close_edges(unit.id)
        elif unit.failed_for_good and unit.policy.on_failure == "skip":
            self.skip_descendants(unit)

    def close_edges(self, work_id: int) -> int:
        """Close the open edges of a satisfied unit; return how many there were."""
        closed = sorted(edge for edge in self.unmet if edge[0] == work_id)
        for edge in closed:
            self.unmet.discard(edge)
            dependent = self.tasks[edge[1]].unit
            if work.satisfy_dependencies(dependent, 1):
                self.ring_lane(dependent)
        return len(closed)

    def open_edges(self, edges: Iterable[tuple[int, int]]) -> None:
        """Open edges that were closed, or are new."""
        for edge in edges:
            if edge not in self.unmet:
                self.unmet.add(edge)
                work.reopen_dependencies(self.tasks[edge[1]].unit, 1)

    def skip_descendants(self, failed: Unit) -> None:
        """Skip everything that waits, directly or not, for a unit that failed for good."""
        found = self.descendants(failed.id)
        waiting = [unit for unit in found if unit.state is State.WAITING]
        skipped = [work.skip_after_failure(unit, failed.name) for unit in waiting]
        for event in skipped:
            self.note(event)

    def descendants(self, work_id: int) -> list[Unit]:
        """What depends on a unit over open edges, directly or not, in ascending order of ids."""
        found: set[int] = set()
        fresh = {work_id}
        while fresh:
            fresh = {dependent for dependency, dependent in self.unmet if dependency in fresh} - found
            found |= fresh
        return [self.tasks[id_].unit for id_ in sorted(found)]

    def tell_to_stop(self, unit: Unit, worker: str | None) -> None:
        """Have a worker told that it has to stop a unit that it held."""
        if worker is not None:
            self.directives[worker, unit.target] = self.now
            self.ring_worker(worker)

    def take_back(self, unit: Unit, cause: Cause) -> None:
        """Take a held unit back on its holder's behalf; ring its lane if it can be taken again."""
        self.note(work.release(unit, unit.holder, cause))
        self.ring_lane(unit)

    def remove_task(self, task: Task) -> None:
        """Forget a task, but for the records of its hand-overs."""
        unit = task.unit
        del self.plans[unit.plan].tasks[unit.name]
        del self.tasks[unit.id]
        self.edges = {edge for edge in self.edges if unit.id not in edge}
        self.unmet = {edge for edge in self.unmet if unit.id not in edge}

    def part_hand_overs(self, work_id: int) -> None:
        """The unit of these hand-overs is gone; they are kept for a while, so that late answers are understood."""
        for hand_over in self.hand_overs.values():
            if hand_over.work == work_id:
                hand_over.gone_at = self.now
