"""The comparison for service calls: random batches go to the oracle and to a database, mixed and verb by verb."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from hiringhall.domain.call import worker_lane
from hiringhall.domain.lifecycle import MOVES, Move
from hiringhall.ports import calls
from hiringhall.ports.asks import ORDER
from hiringhall.ports.identity import BeginSession, DeleteService, EndSessions, PauseService, PutService
from hiringhall.ports.questions import FindWorkers, ReadyLanes
from tests.storage.batches import TERMS, Writer
from tests.storage.call_batches import SERVICE_WORKERS, CallWriter
from tests.storage.call_books import check_call_books, check_offers
from tests.storage.snapshot import Edge, crossed_edges
from tests.storage.subjects import Subject, open_subject
from tests.storage.test_differential import SEEDS, Comparison, nameless, seeds
from tests.storage.test_differential_by_verb import VerbByVerb

OF_CALLS = {kind for kind in ORDER if kind.__module__ == calls.__name__}
OF_SERVICES = {PutService, PauseService, DeleteService, BeginSession, EndSessions}
OF_PLANS = {Move.START, Move.SKIP, Move.CANCEL, Move.RESET, Move.REPRIORITISE, Move.REVISE, Move.BLOCK, Move.UNBLOCK}
TO_CROSS = {(state, move) for state, move in MOVES if move not in OF_PLANS}


class CallComparison(Comparison):
    """One run of one seed of batches about calls."""

    verbs: ClassVar[set[type[Any]]] = OF_CALLS | OF_SERVICES
    edges: ClassVar[set[Edge]] = TO_CROSS

    def _writer(self, seed: int) -> Writer:
        return CallWriter(seed, self.oracle.hall)

    async def _look(self, subject: Subject, *, histories: bool = True) -> dict[str, Any]:
        return await subject.call_snapshot(histories=histories)

    def _check(self, picture: dict[str, Any]) -> None:
        check_call_books(picture)
        check_offers(picture)
        self.crossed |= crossed_edges(self.pictures, picture, "requests", "call_histories")

    async def _numbers(self, subject: Subject) -> dict[tuple[str, str], int]:
        before = tuple(self.pictures["requests"])  # the oracle may have forgotten some by now
        found: list[calls.RequestView] = await subject.store.read(calls.FindRequests(before))
        numbers = {("", view.request_id): view.work for view in found}
        return numbers | await Comparison._numbers(self, subject)

    def _request_ids(self) -> tuple[str, ...]:
        return tuple(self.oracle.hall.book.numbers)

    async def _read_all(self, subject: Subject) -> dict[str, Any]:
        read = subject.store.read
        found: list[calls.RequestView] = await read(calls.FindRequests((*self._request_ids(), "r-none")))
        lanes = tuple({*self.oracle.hall.book.lanes, *map(worker_lane, SERVICE_WORKERS), "call:none"})
        told = {
            view.request_id: await read(calls.ReadFeedback(view.work, 1, 3))
            for view in found
            if view.feedback_count > 1
        }
        return {
            **await Comparison._read_all(self, subject),
            "calls": {view.request_id: nameless(view) for view in found},
            "feedback": told,
            "methods": await read(calls.ListMethods()),
            "page": await read(calls.ListMethods(after=("math", "mul"), limit=1)),
            "lazy": sorted(await read(calls.LazyWorkers(lanes)), key=lambda view: view.worker),
            "counts": _present(await read(calls.CountCalls())),
            "ready lanes": sorted(await read(ReadyLanes(lanes))),
            "service workers": sorted(await read(FindWorkers(SERVICE_WORKERS)), key=lambda view: view.key),
        }


def _present(counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Counts that are not nought, of services that have any."""
    found = {service: {state: n for state, n in each.items() if n} for service, each in counts.items()}
    return {service: each for service, each in found.items() if each}


class CallsVerbByVerb(CallComparison, VerbByVerb):
    """The same, whose batches are split by verb."""


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind in SEEDS for seed in seeds(kind)])
async def test_calls_agree_with_the_oracle(kind: str, seed: int, request: pytest.FixtureRequest) -> None:
    """A database does with calls exactly what the domain decides, whatever the batches, on every edge."""
    async with open_subject(kind, TERMS, request) as subject:
        await CallComparison(seed, subject).run()


@pytest.mark.parametrize("seed", [3, 7])
async def test_calls_agree_verb_by_verb(seed: int, request: pytest.FixtureRequest) -> None:
    """The single statements of the hot verbs do with calls exactly what the domain decides."""
    async with open_subject("postgres", TERMS, request) as subject:
        await CallsVerbByVerb(seed, subject).run()
