"""The exam on service calls, part 3: who owns a call that was offered to several."""

from __future__ import annotations

import pytest

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import DirectWorker
from hiringhall.ports.calls import Lock, Locked, SweepDeadlines, Withdraw
from hiringhall.ports.identity import PauseService
from tests.storage.call_desk import ANN, BEN, CAT, FOREIGN, MATH, CallDesk
from tests.storage.desk import refused

RACE = Dispatch.RACE


async def test_the_first_lock_wins(calls: CallDesk) -> None:
    """The winner owns the call, also when it repeats itself; for others it is locked, and their offers are gone."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=RACE)
    offered = await calls.take_call(ANN)
    await calls.take_call(BEN)
    assert await calls.locked(ANN, "r-1") == Locked(offered.work, 2)
    view = await calls.view("r-1")
    assert (view.state, view.holder, view.offered, view.first_handed_at) == (State.HELD, ANN, False, calls.now)
    refused(await calls.lock(BEN, "r-1"), "already_locked")
    assert await calls.locked(ANN, "r-1") == Locked(offered.work, 2, again=True)
    (*_, held) = await calls.past("r-1")
    assert (held.move, held.worker, held.cause) == ("hold", ANN, "first")


async def test_locks_of_one_batch(calls: CallDesk) -> None:
    """Locks of one call that come together are decided in the order of arrival."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=RACE)
    asks = [Lock(worker, worker, "math", "r-1") for worker in (BEN, ANN, BEN)]
    first, second, third = await calls.ask_all(*asks)
    assert (first.again, third.again, first.version) == (False, True, third.version)
    refused(second, "already_locked")


async def test_any_live_eligible_worker_may_lock(calls: CallDesk) -> None:
    """Any live eligible worker may lock, whether or not it drained the offer; others may not."""
    await calls.hire(ANN)
    await calls.hire(BEN, methods=("mul",))
    await calls.calls("r-1", dispatch=RACE)
    refused(await calls.lock(BEN, "r-1"), "not_eligible")
    await calls.locked(ANN, "r-1")


@pytest.mark.parametrize("away", ["leaving", "offline"])
async def test_who_is_not_live_may_not_lock(calls: CallDesk, away: str) -> None:
    """A worker that said goodbye, or is offline, may not lock."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=RACE)
    await calls.take_call(BEN)
    await calls.away(BEN, away)
    refused(await calls.lock(BEN, "r-1"), "not_eligible")
    await calls.locked(ANN, "r-1")


async def test_a_quiet_worker_may_lock(calls: CallDesk) -> None:
    """A worker that was quieted since may still lock what it was offered before."""
    await calls.hire(ANN)
    await calls.calls("r-1", dispatch=RACE)
    await calls.take_call(ANN)
    await calls.ask(DirectWorker(ANN, quiet=True))
    await calls.locked(ANN, "r-1")


async def test_what_is_paused_is_not_locked(calls: CallDesk) -> None:
    """A call of a paused service is handed to nobody, by a lock either; whoever holds one keeps it."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2", dispatch=RACE)
    await calls.locked(ANN, "r-1")
    await calls.ask(PauseService(MATH, True))
    refused(await calls.lock(BEN, "r-2"), "not_eligible")
    assert (await calls.locked(ANN, "r-1")).again
    await calls.ask(PauseService(MATH, False))
    await calls.locked(BEN, "r-2")


async def test_an_exclusive_call_is_locked_already(calls: CallDesk) -> None:
    """Locking an exclusive call that one holds is accepted; one that another holds, or nobody yet, is not."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    refused(await calls.lock(ANN, "r-1"), "already_locked")
    message = await calls.take_call(ANN)
    assert await calls.locked(ANN, "r-1") == Locked(message.work, message.version, again=True)
    refused(await calls.lock(BEN, "r-1"), "already_locked")


async def test_unknown_calls(calls: CallDesk) -> None:
    """404: unknown, or another service's."""
    await calls.hire(ANN, FOREIGN)
    await calls.calls("r-1", dispatch=RACE)
    refused(await calls.lock(ANN, "r-2"), "not_found")
    refused(await calls.lock(FOREIGN, "r-1"), "not_found")
    refused(await calls.lock(ANN, "R-1"), "not_found")


async def test_ended_calls(calls: CallDesk) -> None:
    """410: finished, cancelled or expired."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2", dispatch=RACE)
    await calls.calls("r-3", dispatch=RACE, deadline_ms=5_000)
    await calls.locked(ANN, "r-1")
    await calls.answer(ANN, "r-1")
    await calls.ask(Withdraw("r-2", "web"))
    calls.now += 5_000
    await calls.ask(SweepDeadlines())
    for request_id in ("r-1", "r-2", "r-3"):
        for worker in (ANN, BEN):
            refused(await calls.lock(worker, request_id), "gone")


async def test_a_race_that_is_run_again(calls: CallDesk) -> None:
    """A locked call whose worker reports an error is offered again to all when its retry is due."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=RACE, retries=1)
    await calls.locked(ANN, "r-1")
    await calls.answer(ANN, "r-1", Answer.ERROR)
    refused(await calls.lock(BEN, "r-1"), "already_locked")
    await calls.retry()
    assert calls.rung_lane(dispatch=RACE) == 1
    assert await calls.drained(ANN) == []
    assert await calls.drained(BEN) == ["r-1"]
    locked = await calls.locked(BEN, "r-1")
    assert locked.version > 2
    (*_, held) = await calls.past("r-1")
    assert (held.move, held.worker, held.cause) == ("hold", BEN, "retry")


async def test_a_superseded_worker_may_not_lock(calls: CallDesk) -> None:
    """The incarnation is compared when a call is locked; a worker that never registered is told to."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.login(CAT)
    await calls.calls("r-1", dispatch=RACE)
    await calls.register(ANN, sid="second")
    refused(await calls.lock(ANN, "r-1"), "worker_superseded")
    refused(await calls.lock(CAT, "r-1"), "not_registered")
    await calls.locked(ANN, "r-1", sid="second")
