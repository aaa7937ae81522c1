"""What Prometheus reads: how much work is where, and what the hall has done, with a bounded number of series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from hiringhall import __version__
from hiringhall.domain.call import Answer
from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import RETRYING
from hiringhall.operations.hall import Hall
from hiringhall.operations.progress import COUNTED, progress_of
from hiringhall.ports.calls import CountCalls
from hiringhall.ports.questions import ListPlans, ListWorkers, PlanView, WorkerView
from hiringhall.wire.operators.answers import NO_STORE

PLANS_NAMED_MAX: Final = 100
SERVICES_NAMED_MAX: Final = 100
PAGE: Final = 1_000
PAGES_MAX: Final = 20
OTHERS: Final = ""
"""The label of plans and services that are not named by themselves; none can have this id."""
CALLS_COUNTED: Final = ("queued", State.HELD, State.DONE, State.FAILED, State.CANCELLED, State.EXPIRED)
QUEUED: Final = (State.WAITING, State.READY, RETRYING)
"""What counts as queued: broadcasts that wait for their parts, what is ready, what is to be tried again."""


async def metrics(hall: Hall, _request: Request) -> Response:
    """All metrics in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    calls: dict[str, dict[str, int]] = await hall.store.read(CountCalls())
    registry.register(_Snapshot(hall, await _all_plans(hall), await _all_workers(hall), calls))
    return Response(generate_latest(registry), 200, NO_STORE, CONTENT_TYPE_LATEST)


async def _all_plans(hall: Hall) -> list[PlanView]:
    plans: list[PlanView] = []
    for _ in range(PAGES_MAX):
        page: list[PlanView] = await hall.store.read(ListPlans(plans[-1].id if plans else "", PAGE))
        plans += page
        if len(page) < PAGE:
            break
    return plans


async def _all_workers(hall: Hall) -> list[WorkerView]:
    workers: list[WorkerView] = []
    for _ in range(PAGES_MAX):
        page: list[WorkerView] = await hall.store.read(ListWorkers(workers[-1].key if workers else "", PAGE))
        workers += page
        if len(page) < PAGE:
            break
    return workers


class _Snapshot(Collector):
    """The metrics of one moment."""

    def __init__(
        self, hall: Hall, plans: list[PlanView], workers: list[WorkerView], calls: dict[str, dict[str, int]]
    ) -> None:
        self._hall = hall
        self._calls = calls
        self._plans = plans
        self._workers = workers

    def collect(self) -> Iterator[Metric]:
        """Every family with its values."""
        yield InfoMetricFamily("hall", "The running program.", {"version": __version__})
        yield self._tasks()
        yield _gauge("hall_plans", "Plans.", len(self._plans))
        yield self._worker_states()
        coalescer = self._hall.coalescer
        yield _gauge(
            "hall_parked_claims", "Claims and drains that wait for work in this process.", len(self._hall.parked)
        )
        yield _gauge("hall_asks_waiting", "Asks that wait for the database in this process.", coalescer.waiting)
        yield CounterMetricFamily("hall_batches", "Batches committed by this process.", coalescer.batches)
        asks = CounterMetricFamily("hall_asks", "Asks committed by this process.", labels=["verb"])
        for verb, count in sorted(coalescer.asks.items()):
            asks.add_metric([verb], count)
        yield asks
        statements = getattr(self._hall.store, "statements_run", None)
        if statements is not None:
            yield CounterMetricFamily("hall_statements", "Statements sent to the database by this process.", statements)
        yield self._call_states()
        answers = CounterMetricFamily("hall_answers", "Answers of workers accepted by this process.", labels=["status"])
        for status in (Answer.SUCCESS, Answer.FAILED, Answer.ERROR):
            answers.add_metric([status], coalescer.answers[status])
        yield answers
        yield CounterMetricFamily(
            "hall_feedback_items", "Items of feedback accepted by this process.", coalescer.feedback_items
        )
        waiting = "Clients that wait for an outcome, or follow a call, in this process."
        yield _gauge("hall_following_clients", waiting, len(self._hall.followers))

    def _tasks(self) -> Metric:
        """Plans beyond a hundred, those applied longest ago, are counted together under an empty name."""
        family = GaugeMetricFamily("hall_tasks", "Tasks by plan and state.", labels=["plan", "state"])
        latest = sorted(self._plans, key=lambda plan: plan.applied_at, reverse=True)
        others: Counter[str] = Counter()
        for place, plan in enumerate(latest):
            counts = progress_of(plan).counts
            if place >= PLANS_NAMED_MAX:
                others.update(counts)
                continue
            for state in (*COUNTED, RETRYING):
                family.add_metric([plan.id, str(state)], counts[state])
        if len(latest) > PLANS_NAMED_MAX:
            for state in (*COUNTED, RETRYING):
                family.add_metric([OTHERS, str(state)], others[state])
        return family

    def _call_states(self) -> Metric:
        """Services beyond a hundred, those with the fewest calls, are counted together under an empty name."""
        family = GaugeMetricFamily("hall_calls", "Calls by service and state.", labels=["service", "state"])
        busiest = sorted(self._calls, key=lambda service: -sum(self._calls[service].values()))
        others: Counter[str] = Counter()
        for place, service in enumerate(busiest):
            counts = Counter(self._calls[service])
            counts["queued"] = sum(counts[state] for state in QUEUED)
            if place >= SERVICES_NAMED_MAX:
                others.update(counts)
                continue
            for state in CALLS_COUNTED:
                family.add_metric([service, str(state)], counts[state])
        if len(busiest) > SERVICES_NAMED_MAX:
            for state in CALLS_COUNTED:
                family.add_metric([OTHERS, str(state)], others[state])
        return family

    def _worker_states(self) -> Metric:
        family = GaugeMetricFamily("hall_workers", "Workers by what they are.", labels=["state"])
        states = Counter(
            "offline" if w.offline else "quiet" if w.quiet or w.terminate else "online" for w in self._workers
        )
        for state in ("online", "quiet", "offline"):
            family.add_metric([state], states[state])
        return family


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value)
