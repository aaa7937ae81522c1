"""The exam on service calls, part 2: who is handed what."""

from __future__ import annotations

import pytest

from hiringhall.domain.call import MESSAGE_BYTES_MAX, MESSAGES_MAX, Answer, Dispatch, Requires
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import DirectWorker
from hiringhall.ports.calls import Drain, Drained
from tests.storage.call_desk import ANN, BEN, CAT, FOREIGN, CallDesk, call
from tests.storage.desk import refused

EVERYTHING = {
    "platform": "linux",
    "executors": ("python", "node"),
    "interactive_desktop": True,
    "browser_runtime": True,
    "tags": (("gpu", "yes"), ("os", "linux")),
}


async def test_a_drained_message_is_held(calls: CallDesk) -> None:
    """A drained message is held by that worker, under a version of its own; nobody gets it a second time."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", traceparent="00-1-2-01")
    drained = await calls.drain(ANN)
    (message,) = drained.messages
    assert drained.drained
    view = await calls.view("r-1")
    assert (message.work, message.request_id, message.method) == (view.work, "r-1", "add")
    assert (message.params, message.version, message.traceparent) == (b"[1,2]", 2, "00-1-2-01")
    assert not message.lock_required
    assert (view.state, view.version, view.holder, view.first_handed_at) == (State.HELD, 2, ANN, calls.now)
    assert await calls.drain(ANN) == Drained((), drained=True)
    assert await calls.drain(BEN) == Drained((), drained=True)
    (_, held) = await calls.past("r-1")
    assert (held.move, held.worker, held.cause, held.version) == ("hold", ANN, "first", 2)


async def test_order(calls: CallDesk) -> None:
    """Order: the higher priority first, then the older call, over all lanes together."""
    await calls.hire(ANN, methods=("add", "mul"))
    await calls.calls("r-1", priority=-100)
    await calls.calls("r-2", method="mul")
    await calls.calls("r-3")
    await calls.calls("r-4", priority=100, method="mul")
    await calls.calls("r-5", method="mul")
    assert await calls.drained(ANN) == ["r-4", "r-2", "r-3", "r-5", "r-1"]


async def test_drains_of_one_batch(calls: CallDesk) -> None:
    """Drains that come together, even of one worker, never get the same message."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2", "r-3", "r-4")
    outcomes: list[Drained] = await calls.ask_all(
        Drain(ANN, ANN, limit=1), Drain(BEN, BEN, limit=1), Drain(ANN, ANN, limit=1)
    )
    assert [[message.request_id for message in each.messages] for each in outcomes] == [["r-1"], ["r-2"], ["r-3"]]
    assert not outcomes[2].drained


@pytest.mark.parametrize(
    ("requires", "lacking"),
    [
        (Requires(platform="linux"), {"platform": "windows"}),
        (Requires(platform="linux"), {"platform": None}),
        (Requires(executors=("node", "python")), {"executors": ("python", "ruby")}),
        (Requires(interactive_desktop=True), {"interactive_desktop": False}),
        (Requires(browser_runtime=True), {"browser_runtime": False}),
        (Requires(tags=(("gpu", "yes"), ("os", "linux"))), {"tags": (("gpu", "no"), ("os", "linux"))}),
        (Requires(tags=(("gpu", "yes"),)), {"tags": ()}),
    ],
)
async def test_eligible(calls: CallDesk, requires: Requires, lacking: dict[str, object]) -> None:
    """Eligible = registered the method, and platform, executors, desktop, browser and tags satisfy `requires`."""
    await calls.hire(ANN, **EVERYTHING)
    await calls.hire(BEN, **{**EVERYTHING, **lacking})
    await calls.hire(CAT, methods=("mul",), **EVERYTHING)
    await calls.calls("r-1", requires=requires)
    assert await calls.drain(BEN) == Drained((), drained=True)
    assert await calls.drained(CAT) == []
    assert await calls.drained(ANN) == ["r-1"]


async def test_equal_requirements_are_one_lane(calls: CallDesk) -> None:
    """In what order requirements are listed makes no difference."""
    await calls.hire(ANN, **EVERYTHING)
    await calls.calls("r-1", requires=Requires(executors=("python", "node")))
    await calls.calls("r-2", requires=Requires(executors=("node", "python")))
    assert not calls.rung_service()
    assert await calls.drained(ANN) == ["r-1", "r-2"]


async def test_a_worker_is_of_one_service(calls: CallDesk) -> None:
    """A worker is (service, worker id) everywhere: one of another service gets nothing, whatever its id."""
    await calls.hire(ANN, FOREIGN)
    await calls.calls("r-1")
    assert await calls.drained(FOREIGN) == []
    assert await calls.drained(ANN) == ["r-1"]


async def test_workers_come_after_the_call(calls: CallDesk) -> None:
    """A worker that registers later, or anew with other methods, gets what waits."""
    await calls.service()
    await calls.calls("r-1", "r-2", method="mul")
    await calls.hire(ANN)
    assert await calls.drained(ANN) == []
    await calls.register(ANN, "mul")
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    await calls.register(ANN, "add")
    assert await calls.drained(ANN) == []


async def test_share(calls: CallDesk) -> None:
    """A drain takes at most max(1, ceil(ready / live)) of each lane's; a lone worker gets everything."""
    await calls.hire(ANN, BEN)
    await calls.calls(*(f"r-{number}" for number in range(5)))
    first = await calls.drain(ANN)
    assert [message.request_id for message in first.messages] == ["r-0", "r-1", "r-2"]
    assert not first.drained
    assert await calls.drained(BEN) == ["r-3"]
    assert await calls.drained(BEN) == ["r-4"]
    await calls.hire(CAT, methods=("mul",))
    await calls.calls(*(f"m-{number}" for number in range(5)), method="mul")
    assert len(await calls.drained(CAT)) == 5


async def test_a_share_of_several_lanes(calls: CallDesk) -> None:
    """The share is the sum of the lanes' parts, rounded up once."""
    await calls.hire(ANN, BEN, methods=("add", "mul"))
    await calls.hire(CAT, methods=("add",))
    await calls.calls("a-1")
    await calls.calls("m-1", "m-2", "m-3", method="mul")
    assert await calls.drained(ANN) == ["a-1", "m-1"], "ceil(1/3 + 3/2)"


@pytest.mark.parametrize("away", ["quiet", "terminate", "leaving", "offline"])
async def test_who_is_live(calls: CallDesk, away: str) -> None:
    """Live = eligible workers not offline, quiet, told to terminate, or leaving: the others get their part."""
    await calls.hire(ANN, BEN)
    await calls.away(BEN, away)
    await calls.calls("r-1", "r-2", "r-3")
    assert len(await calls.drained(ANN)) == 3


async def test_quiet_workers_get_nothing(calls: CallDesk) -> None:
    """A quiet worker, or one that is told to terminate, gets nothing until it may go on."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    for directive in ({"quiet": True}, {"quiet": False, "terminate": True}):
        assert await calls.ask(DirectWorker(ANN, **directive)) is True
        assert await calls.drain(ANN) == Drained()
    assert await calls.ask(DirectWorker(ANN, terminate=False)) is True
    assert await calls.drained(ANN) == ["r-1"]


async def test_limits(calls: CallDesk) -> None:
    """A drain takes at most what it asks for, and 100 messages whatever it asks for."""
    await calls.hire(ANN)
    await calls.ask_all(*(call(f"r-{number:03}") for number in range(MESSAGES_MAX + 5)))
    assert len(await calls.drained(ANN, limit=2)) == 2
    drained = await calls.drain(ANN, limit=1_000)
    assert (len(drained.messages), drained.drained) == (MESSAGES_MAX, False)
    drained = await calls.drain(ANN, limit=3)
    assert (len(drained.messages), drained.drained) == (3, True)


async def test_spare_concurrency(calls: CallDesk) -> None:
    """A worker that tells its `concurrency` gets no more than it has room for; what it holds and is offered counts."""
    await calls.hire(ANN, methods=("add", "raced"), tags=(("concurrency", "3"),))
    await calls.calls("r-1", "r-2", "r-3", "r-4")
    assert await calls.drained(ANN) == ["r-1", "r-2", "r-3"]
    assert (await calls.drain(ANN)).messages == ()
    await calls.answer(ANN, "r-2")
    await calls.answer(ANN, "r-3")
    await calls.calls("r-5", method="raced", dispatch=Dispatch.RACE, priority=1)
    assert await calls.drained(ANN) == ["r-5", "r-4"]
    await calls.answer(ANN, "r-4")
    await calls.answer(ANN, "r-1")
    await calls.calls("r-6", "r-7", "r-8")
    assert await calls.drained(ANN) == ["r-6", "r-7"]


async def test_8_mib(calls: CallDesk) -> None:
    """A drain carries at most 8 MiB of payload, but always one message."""
    await calls.hire(ANN)
    part = b'"' + b"x" * (MESSAGE_BYTES_MAX // 3) + b'"'
    for request_id in ("r-1", "r-2", "r-3", "r-4"):
        await calls.calls(request_id, params=part)
    await calls.calls("r-5", params=b'"' + b"x" * MESSAGE_BYTES_MAX + b'"')
    first = await calls.drain(ANN)
    assert [message.request_id for message in first.messages] == ["r-1", "r-2"]
    assert not first.drained
    assert await calls.drained(ANN) == ["r-3", "r-4"]
    assert await calls.drained(ANN) == ["r-5"]


async def test_race(calls: CallDesk) -> None:
    """`race`: offered to every eligible worker and to later ones, `lock_required`; the unit stays ready."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=Dispatch.RACE)
    assert calls.rung_lane(dispatch=Dispatch.RACE) == 1
    for worker in (ANN, BEN):
        message = await calls.take_call(worker)
        assert (message.request_id, message.lock_required, message.version) == ("r-1", True, 1)
        assert await calls.drain(worker) == Drained((), drained=True)
    view = await calls.view("r-1")
    assert (view.state, view.version, view.offered, view.first_handed_at) == (State.READY, 1, True, None)
    await calls.hire(CAT)
    assert await calls.drained(CAT) == ["r-1"]


async def test_an_offer_is_drained_again(calls: CallDesk) -> None:
    """An offer not locked within the visibility timeout may be drained again."""
    await calls.hire(ANN)
    await calls.calls("r-1", dispatch=Dispatch.RACE)
    assert await calls.drained(ANN) == ["r-1"]
    calls.now += calls.terms.visibility_timeout_ms - 2
    assert await calls.drained(ANN) == []
    assert (await calls.view("r-1")).offered
    assert await calls.drained(ANN) == ["r-1"]


async def test_a_share_of_a_race(calls: CallDesk) -> None:
    """Of a lane in which there is a race a drain takes its share too, and the rest with the next ones."""
    await calls.hire(ANN, BEN)
    for number in range(4):
        await calls.calls(f"r-{number}", dispatch=Dispatch.RACE)
    assert await calls.drained(ANN) == ["r-0", "r-1"]
    assert await calls.drained(ANN) == ["r-2", "r-3"]
    assert await calls.drained(BEN) == ["r-0", "r-1"]


async def test_a_retried_call_prefers_others(calls: CallDesk) -> None:
    """Other workers are preferred for 5 s after a retry became due, then anybody."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2", retries=3)
    assert await calls.drained(ANN, limit=1) == ["r-1"]
    await calls.answer(ANN, "r-1", Answer.ERROR)
    await calls.retry()
    assert await calls.drained(ANN) == ["r-2"]
    assert await calls.drain(ANN) == Drained((), drained=True)
    assert await calls.drained(BEN) == ["r-1"]
    await calls.answer(BEN, "r-1", Answer.ERROR)
    await calls.retry()
    assert await calls.drained(BEN) == []
    calls.now += 5_000
    assert await calls.drained(BEN) == ["r-1"]


async def test_who_never_registered(calls: CallDesk) -> None:
    """A worker that logged in but never registered is told to register."""
    await calls.service()
    await calls.login(ANN)
    await calls.calls("r-1")
    assert "register" in refused(await calls.ask(Drain(ANN, ANN)), "not_registered").detail


async def test_superseded(calls: CallDesk) -> None:
    """Sessions bound to an earlier incarnation, unknown or ended ones get `worker_superseded`; one that never
    registered acts for the present incarnation."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.login(ANN, "third")
    await calls.calls("r-1", "r-2", "r-3")
    assert await calls.drained(ANN, sid="second", limit=1) == ["r-1"]
    assert await calls.register(ANN, "add", sid="second") == 2
    for sid in (ANN, "unknown", ""):
        refused(await calls.ask(Drain(ANN, sid)), "worker_superseded")
    assert await calls.drained(ANN, sid="second", limit=1) == ["r-1"]
    assert await calls.drained(ANN, sid="third", limit=1) == ["r-2"]
