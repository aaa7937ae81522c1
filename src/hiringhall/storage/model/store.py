"""The oracle's face: the port of the store on plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import (
    ORDER,
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
    Steer,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Take,
    Unblock,
)
from hiringhall.ports.calls import (
    AddFeedback,
    Drain,
    ForgetCalls,
    Goodbye,
    Lock,
    RegisterServiceWorker,
    Respond,
    Submit,
    SweepDeadlines,
    Withdraw,
)
from hiringhall.ports.identity import DeleteService
from hiringhall.ports.questions import Query
from hiringhall.ports.store import Committed
from hiringhall.storage.model import (
    call_steering,
    call_sweeps,
    draining,
    identity,
    plans,
    queries,
    responding,
    service_workers,
    settling,
    steering,
    submitting,
    sweeps,
    taking,
    workers,
)
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.picture import picture

_CALLS: Final[dict[type[Any], Callable[[Hall, Any], Any]]] = {
    RegisterServiceWorker: service_workers.register,
    Goodbye: service_workers.goodbye,
    Submit: submitting.submit,
    Withdraw: submitting.withdraw,
    Lock: draining.lock,
    Respond: responding.respond,
    AddFeedback: responding.add_feedback,
    SweepDeadlines: call_sweeps.sweep_deadlines,
    ForgetCalls: call_sweeps.forget_calls,
    DeleteService: call_steering.delete_service,
}

_VERBS: Final[dict[type[Any], Callable[[Hall, Any], Any]]] = {
    Beat: sweeps.beat,
    Register: workers.register,
    MarkSeen: workers.mark_seen,
    Return: settling.give_back,
    Reconcile: settling.reconcile,
    DirectWorker: workers.direct,
    RemoveWorker: workers.remove,
    Apply: plans.apply,
    DeletePlan: plans.delete,
    PausePlan: plans.pause,
    RetryPlan: steering.retry_plan,
    Steer: steering.steer,
    SweepSilent: sweeps.sweep_silent,
    SweepRunLimit: sweeps.sweep_run_limit,
    SweepRetries: sweeps.sweep_retries,
    Unblock: sweeps.unblock,
    FoldTallies: sweeps.fold_tallies,
    Forget: sweeps.forget,
    **identity.VERBS,
    **_CALLS,
}

_TOGETHER: Final[dict[type[Any], Callable[[Hall, Any], Any]]] = {
    Settle: settling.settle_all,
    Take: taking.take_all,
    Drain: draining.drain_all,
}


class ModelStore:
    """The port of the store on plain dictionaries. Nothing is durable; nothing is bounded but by the asks themselves.

    `clock` gives the time, in milliseconds, of commits that do not bring their own.
    """

    def __init__(self, terms: Terms, clock: Callable[[], int] | None = None) -> None:
        self.hall = Hall(terms)
        self._clock = clock or self._next_millisecond

    def channel(self, _ask: Ask) -> str:
        """All asks go together."""
        return "all"

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        """Carry out a batch: in the order of verbs, and within a verb in the order of arrival."""
        hall = self.hall
        hall.now = self._clock() if now is None else now
        hall.rings.clear()
        outcomes: list[Any] = [None] * len(asks)
        for kind in ORDER:
            places = [place for place, ask in enumerate(asks) if type(ask) is kind]
            meant: list[Any] = [asks[place] for place in places]
            found = _TOGETHER[kind](hall, meant) if kind in _TOGETHER else [_VERBS[kind](hall, ask) for ask in meant]
            for place, outcome in zip(places, found, strict=True):
                outcomes[place] = outcome
        return Committed(outcomes, dict(hall.rings))

    async def read(self, query: Query) -> Any:
        """Answer a question."""
        return queries.answer(self.hall, query)

    async def close(self) -> None:
        """Nothing is held open."""

    def snapshot(self) -> dict[str, Any]:
        """Everything there is, by names instead of ids, to be compared with another store's."""
        return picture(self.hall)

    def _next_millisecond(self) -> int:
        return self.hall.now + 1
