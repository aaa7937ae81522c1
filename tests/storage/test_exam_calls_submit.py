"""The exam on service calls, part 1: what clients submit."""

from __future__ import annotations

import pytest

from hiringhall.domain.call import Dispatch, Requires
from hiringhall.domain.lifecycle import State
from hiringhall.ports.calls import FindRequests, ForgetCalls, Submitted, SweepDeadlines
from hiringhall.ports.identity import PauseService
from hiringhall.storage.model import submitting
from hiringhall.storage.procedures import submit
from tests.storage.call_desk import ADD, ANN, BEN, DAY_MS, MATH, CallDesk, call
from tests.storage.desk import refused


async def test_a_call_is_queued(calls: CallDesk) -> None:
    """A call is durable before it is answered, though no worker has ever been there, and wakes whoever waits for it."""
    await calls.service()
    assert await calls.submit("r-1", traceparent="00-1-2-01") == Submitted("r-1")
    assert calls.rung_lane() == 1
    assert calls.rung_service()
    view = await calls.view("r-1")
    assert (view.request_id, view.client, view.service, view.method) == ("r-1", "web", MATH, ADD)
    assert (view.state, view.version, view.made_at, view.deadline_at) == (State.READY, 1, calls.now, calls.now + DAY_MS)
    assert (view.answer, view.result, view.error_text, view.finished_at) == (None, None, None, None)
    assert (view.holder, view.first_handed_at, view.offered, view.cancelling) == (None, None, False, False)
    assert [(line.move, line.state, line.version) for line in await calls.past("r-1")] == [("submit", "ready", 1)]
    await calls.calls("r-2")
    assert calls.rung_lane() == 1
    assert not calls.rung_service(), "the lane was known already"


async def test_unknown_requests_are_not_found(calls: CallDesk) -> None:
    """Calls are found by id, many at once; unknown ones are left out."""
    await calls.service()
    await calls.calls("r-1", "r-2", "R-1")
    found = await calls.read(FindRequests(("r-1", "R-1", "r-3", "r-2")))
    assert sorted(view.request_id for view in found) == ["R-1", "r-1", "r-2"]
    assert await calls.read(FindRequests(())) == []


async def test_contents_come_back_exactly(calls: CallDesk) -> None:
    """Any JSON value is a valid `params`, and travels digit for digit, control characters and all."""
    await calls.hire(ANN)
    texts = [b"null", b"[1e400,0.1000000000000000055,3544790567247868102]", '"ü \\u0000 \' ; --"'.encode(), b" {} "]
    for number, text in enumerate(texts):
        await calls.calls(f"r-{number}", params=text)
    assert [message.params for message in (await calls.drain(ANN)).messages] == texts


async def test_dispatch(calls: CallDesk) -> None:
    """Dispatch policy per service, overridable per method and per call."""
    await calls.service(MATH, Dispatch.RACE, mul={"dispatch": "exclusive"})
    await calls.calls("r-1", method="add")
    await calls.calls("r-2", method="mul")
    await calls.calls("r-3", method="mul", dispatch=Dispatch.RACE)
    found = [(await calls.view(f"r-{number}")).dispatch for number in (1, 2, 3)]
    assert found == [Dispatch.RACE, Dispatch.EXCLUSIVE, Dispatch.RACE]
    await calls.service("plain")
    await calls.calls("r-4", service="plain")
    assert (await calls.view("r-4")).dispatch is Dispatch.EXCLUSIVE


async def test_unknown_service(calls: CallDesk) -> None:
    """Unknown service: `unknown_service`."""
    refused(await calls.submit("r-1"), "unknown_service")
    assert await calls.read(FindRequests(("r-1",))) == []


async def test_unknown_method(calls: CallDesk) -> None:
    """A method that none of the service's known workers ever registered: `unknown_method` with the nearest names."""
    await calls.hire(ANN, methods=("add", "subtract", "multiply"))
    found = refused(await calls.submit("r-1", "substract"), "unknown_method")
    assert "subtract" in found.extra["nearest"]
    assert "multiply" not in found.extra["nearest"]
    await calls.service("text")
    await calls.calls("r-2", service="text", method="whatever")


async def test_a_method_stays_known(calls: CallDesk) -> None:
    """A method that was registered once is queued for, though its worker came back without it."""
    await calls.hire(ANN, methods=("add", "old"))
    await calls.register(ANN, "add")
    await calls.calls("r-1", method="old")
    assert (await calls.drain(ANN)).messages == ()


async def test_fail_without_worker(calls: CallDesk) -> None:
    """With `if_no_worker: fail` a call is refused as long as nobody eligible is live; else it is queued."""
    await calls.service()
    refused(await calls.submit("r-1", fail_without_worker=True), "no_worker")
    await calls.hire(ANN, platform="linux")
    windows = Requires(platform="windows")
    refused(await calls.submit("r-1", fail_without_worker=True, requires=windows), "no_worker")
    assert await calls.submit("r-1", fail_without_worker=True) == Submitted("r-1")
    assert await calls.submit("r-2", requires=windows) == Submitted("r-2")


async def test_queue_full(calls: CallDesk) -> None:
    """A service has room for so many ready calls, whatever their lanes; another service has room of its own."""
    await calls.hire(ANN, methods=("add", "mul"))
    await calls.calls("r-1", queue_limit=2)
    await calls.calls("r-2", method="mul", queue_limit=2)
    refused(await calls.submit("r-3", queue_limit=2), "queue_full")
    await calls.service("text")
    await calls.calls("r-4", service="text", queue_limit=2)
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    await calls.calls("r-3", queue_limit=2)


async def test_a_service_has_so_many_lanes(calls: CallDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that would be the first of its method, dispatch and requirements is refused while calls of so many others
    are there; others are not, nor are those of another service. An hour later, and without the calls, there is room."""
    for module in (submitting, submit):
        monkeypatch.setattr(module, "LANES_MAX", 3)
    await calls.hire(ANN, BEN)
    await calls.service("text")
    orders = [Requires(tags=(("order", str(number)),)) for number in range(4)]
    *made, beyond = await calls.ask_all(
        *(call(f"r-{number}", requires=requires, deadline_ms=1_000) for number, requires in enumerate(orders))
    )
    assert made == [Submitted("r-0"), Submitted("r-1"), Submitted("r-2")]
    assert "requirements" in refused(beyond, "queue_full").detail
    refused(await calls.submit("r-4"), "queue_full")
    refused(await calls.submit("r-4", dispatch=Dispatch.BROADCAST), "queue_full")
    await calls.calls("r-5", requires=orders[0], deadline_ms=1_000)
    await calls.calls("r-6", service="text")
    calls.now += 1_000
    await calls.ask(SweepDeadlines())
    refused(await calls.submit("r-4"), "queue_full")
    calls.now += 3_600_000
    assert (await calls.ask(ForgetCalls(keep_calls_ms=1_000))).changed >= 4
    await calls.calls("r-4")


async def test_idempotency_key(calls: CallDesk) -> None:
    """A repeat means the request that the first call made, and another body is `idempotency_key_reused`."""
    await calls.service()
    key, other = b"k" * 32, b"o" * 32
    await calls.calls("r-1", key=key, body=b"b" * 32)
    assert await calls.submit("r-2", key=key, body=b"b" * 32) == Submitted("r-1", repeated=True)
    assert calls.rings == {}
    refused(await calls.submit("r-3", key=key, body=b"c" * 32), "idempotency_key_reused")
    await calls.calls("r-4", key=other, body=b"b" * 32)
    assert [view.request_id for view in await calls.read(FindRequests(("r-1", "r-2", "r-3")))] == ["r-1"]


async def test_several_calls_of_one_batch(calls: CallDesk) -> None:
    """Calls that come together are made together, each with an outcome of its own, in the order of arrival."""
    await calls.hire(ANN)
    outcomes = await calls.ask_all(call("r-1"), call("r-2", service="none"), call("r-3"))
    assert [getattr(outcome, "request_id", None) for outcome in outcomes] == ["r-1", None, "r-3"]
    assert calls.rung_lane() == 2
    assert await calls.drained(ANN) == ["r-1", "r-3"]


async def test_a_paused_service_keeps_its_calls(calls: CallDesk) -> None:
    """Pausing a service leaves calls queued, also those of lanes made meanwhile; going on wakes who waits for them."""
    await calls.hire(ANN, BEN, methods=("add", "mul"))
    await calls.calls("r-1")
    assert await calls.ask(PauseService(MATH, True)) is True
    await calls.calls("r-2", method="mul")
    assert (await calls.view("r-1")).lane_paused
    assert await calls.drained(ANN) == []
    assert await calls.ask(PauseService(MATH, False)) is True
    assert (calls.rung_lane("add"), calls.rung_lane("mul")) == (1, 1)
    assert not (await calls.view("r-1")).lane_paused
    assert await calls.drained(ANN) == ["r-1"]
    assert await calls.drained(BEN) == ["r-2"]
    assert await calls.ask(PauseService("none", True)) is False
