"""Which sweeps are made, and which are left out since they can find nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Ask, Beat, Beaten, DeletePlan, FoldTallies, Forget, Swept, Take
from hiringhall.ports.store import StoreUnavailable
from hiringhall.sweepers import runner as module
from hiringhall.sweepers.runner import SweepRunner
from hiringhall.sweepers.sweeper import Sweeper, tidying
from tests.waiting import until_async


class Ledger:
    """Commits whatever it is given, and answers sweeps with what it was told to."""

    def __init__(self) -> None:
        self.asks: Counter[str] = Counter()
        self.answers: list[Swept | Exception] = []

    async def one(self, ask: Ask) -> object:
        if isinstance(ask, Beat):
            return Beaten(False, False, False, None)
        self.asks[type(ask).__name__] += 1
        answer = self.answers.pop(0) if self.answers and isinstance(ask, FoldTallies) else Swept()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def have(self, verb: str, count: int) -> None:
        """Wait until so many asks of the verb have been committed."""

        async def enough() -> bool:
            return self.asks[verb] >= count

        await until_async(enough, waiting_for=f"{count} times {verb}")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sweeps that could be made many times a second: one always, one after hand-overs only."""

    def sweepers(**_: object) -> tuple[Sweeper, ...]:
        return Sweeper("always", Forget, 0.002), Sweeper("tallies", FoldTallies, 0.002, after=frozenset({Take}))

    monkeypatch.setattr(module, "tidying", sweepers)


@pytest.mark.usefixtures("quick")
async def test_a_sweep_that_can_find_nothing_is_left_out() -> None:
    """After one pass at the start, counts are folded only when this process has changed some."""
    ledger = Ledger()
    runner = SweepRunner(ledger, Terms())
    runner.start()
    try:
        await ledger.have("Forget", 20)
        assert ledger.asks["FoldTallies"] == 1
        ledger.asks["Take"] += 1
        await ledger.have("FoldTallies", 2)
        await ledger.have("Forget", ledger.asks["Forget"] + 20)
        assert ledger.asks["FoldTallies"] == 2
    finally:
        await runner.stop()


@pytest.mark.usefixtures("quick")
async def test_a_sweep_that_found_something_or_failed_is_made_again() -> None:
    """A pass that changed something, and one that the database did not answer, is followed by another."""
    ledger = Ledger()
    ledger.answers = [StoreUnavailable("away"), Swept(3), Swept(3, more=True), Swept()]
    runner = SweepRunner(ledger, Terms())
    runner.start()
    try:
        await ledger.have("FoldTallies", 4)
        await ledger.have("Forget", ledger.asks["Forget"] + 20)
        assert ledger.asks["FoldTallies"] == 4
    finally:
        await runner.stop()


@pytest.mark.parametrize(
    "extra",
    [pytest.param({"lasting_seconds": 3_600.0}, id="lasting"), pytest.param({"idle_seconds": 0.02}, id="idle")],
)
async def test_a_sweep_goes_on_without_changes_if_it_is_made_so(
    extra: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep is made again while the change before it lasts, and now and then where nothing happens."""
    sweeper = Sweeper("tallies", FoldTallies, 0.002, after=frozenset({Take}), **extra)
    monkeypatch.setattr(module, "tidying", lambda **_: (sweeper,))
    ledger = Ledger()
    ledger.asks["Take"] = 1
    runner = SweepRunner(ledger, Terms())
    runner.start()
    try:
        await ledger.have("FoldTallies", 5)
    finally:
        await runner.stop()


def test_an_idle_hall_makes_hardly_a_sweep() -> None:
    """Where nothing is changed, all sweeps together are made at most once in 20 s."""
    sweepers = tidying(keep_plans_ms=None)
    idle = [each.interval_seconds if not each.after else each.idle_seconds for each in sweepers]
    assert sum(1 / seconds for seconds in idle if seconds is not None) <= 1 / 20


def test_the_rows_of_a_deleted_plan_are_deleted_soon() -> None:
    """What has been kept for long is looked for twice a minute, the rows of a plan deleted here within seconds."""
    sweepers = {sweeper.name: sweeper for sweeper in tidying(keep_plans_ms=None)}
    assert sweepers["forget_deleted"].after == {DeletePlan}
    assert sweepers["forget_deleted"].interval_seconds <= 5 < sweepers["forget"].interval_seconds
