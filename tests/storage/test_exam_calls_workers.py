"""The exam on service calls, part 6: service workers, from their registration until they are forgotten."""

from __future__ import annotations

from hiringhall.domain.call import Capabilities, Dispatch, Requires, worker_lane
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import DirectWorker, Forget, Reconcile, RemoveWorker, Return, SweepRunLimit, SweepSilent
from hiringhall.ports.calls import (
    Drain,
    Drained,
    Goodbye,
    LazyWorkers,
    LazyWorkerView,
    ListMethods,
    MethodView,
    Registered,
)
from hiringhall.ports.identity import PauseService
from hiringhall.ports.questions import FindWorkers, ReadyLanes
from tests.storage.call_desk import ANN, BEN, CAT, DAY_MS, MATH, CallDesk, registration
from tests.storage.desk import refused

RACE = Dispatch.RACE


async def test_registration(calls: CallDesk) -> None:
    """A registration makes a new incarnation, is a sign of life, and wakes who looks after worker and service."""
    await calls.service()
    await calls.login(ANN)
    assert await calls.ask(registration(ANN, "add", "mul")) == Registered(1)
    assert calls.rung_for(ANN)
    assert calls.rung_service()
    worker = await calls.worker(ANN)
    assert (worker.key, worker.last_seen, worker.offline, worker.has_token) == (ANN, calls.now, False, False)
    assert await calls.register(ANN) == 2


async def test_unknown_service(calls: CallDesk) -> None:
    """A worker of a service that does not exist cannot register."""
    await calls.service()
    await calls.login(ANN)
    refused(await calls.ask(registration(ANN, service="none")), "unknown_service")
    assert await calls.read(FindWorkers((ANN,))) == []


async def test_superseded(calls: CallDesk) -> None:
    """A session that is bound to an earlier incarnation, has ended or never was, may not register."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.register(ANN, sid="second")
    for sid in (ANN, "unknown", ""):
        refused(await calls.ask(registration(ANN, sid=sid)), "worker_superseded")
    assert await calls.register(ANN, sid="second") == 3


async def test_a_restart_returns_what_was_held(calls: CallDesk) -> None:
    """The old incarnation's leases return at once, which does not count as abandoned; its offers are dropped."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.calls("r-2", dispatch=RACE)
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    await calls.register(ANN)
    assert calls.rung_lane() == 1
    assert (await calls.view("r-1")).abandoned == 0
    assert not (await calls.view("r-2")).offered
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    (*_, held) = await calls.past("r-1")
    assert (held.move, held.cause) == ("hold", "worker_restarted")


async def test_a_restart_is_a_return(calls: CallDesk) -> None:
    """A worker that said goodbye, was offline or told to terminate gets work again once it has registered anew."""
    await calls.hire(ANN, BEN)
    for how in ("leaving", "terminate", "offline"):
        await calls.away(ANN, how)
        await calls.register(ANN)
        await calls.calls(f"r-{how}")
        assert await calls.drained(ANN) == [f"r-{how}"], how
        await calls.answer(ANN, f"r-{how}")


async def test_a_quiet_worker_stays_quiet(calls: CallDesk) -> None:
    """What an operator quieted stays quiet over a restart."""
    await calls.hire(ANN)
    await calls.away(ANN, "quiet")
    await calls.register(ANN)
    await calls.calls("r-1")
    assert await calls.drained(ANN) == []


async def test_lease(calls: CallDesk) -> None:
    """A drained call comes back if its worker goes silent; not while it is heard."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2")
    assert [await calls.drained(worker) for worker in (ANN, BEN)] == [["r-1"], ["r-2"]]
    await calls.pass_time(calls.terms.visibility_timeout_ms + calls.terms.slack_ms + 10, BEN)
    assert (await calls.ask(SweepSilent())).changed == 1
    assert calls.rung_lane() == 1
    assert [(await calls.view(name)).state for name in ("r-1", "r-2")] == [State.READY, State.HELD]
    assert await calls.drained(BEN) == ["r-1"]
    (*_, held) = await calls.past("r-1")
    assert held.cause == "lease_expired"


async def test_offers_of_a_silent_worker(calls: CallDesk) -> None:
    """Offers to a worker that goes offline are dropped."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=RACE)
    await calls.take_call(ANN)
    await calls.away(ANN, "offline")
    assert not (await calls.view("r-1")).offered


async def test_run_limit(calls: CallDesk) -> None:
    """Signs of life extend a hand-over by the run limit at most: of the call, or else of the method."""
    await calls.service(MATH, mul={"run_limit_seconds": 20})
    await calls.hire(ANN, methods=("add", "mul"))
    await calls.calls("r-1", run_limit_ms=10_000)
    await calls.calls("r-2", method="mul")
    await calls.calls("r-3", method="mul", run_limit_ms=0)
    await calls.calls("r-4")
    assert len(await calls.drained(ANN)) == 4
    due = calls.terms.visibility_timeout_ms + calls.terms.slack_ms
    await calls.pass_time(due + 11_000, ANN)
    assert (await calls.ask(SweepRunLimit())).changed == 1
    assert (await calls.view("r-1")).state is State.READY
    await calls.pass_time(10_000, ANN)
    assert (await calls.ask(SweepRunLimit())).changed == 1
    assert (await calls.view("r-2")).state is State.READY
    await calls.pass_time(60_000, ANN)
    assert (await calls.ask(SweepRunLimit())).changed == 0


async def test_no_run_limit_for_who_says_what_it_holds(calls: CallDesk) -> None:
    """A drain of a worker that says what it holds has no run limit."""
    await calls.hire(ANN)
    await calls.calls("r-1", run_limit_ms=10_000)
    await calls.drain(ANN, limited=False)
    await calls.pass_time(calls.terms.visibility_timeout_ms + 30_000, ANN)
    assert (await calls.ask(SweepRunLimit())).changed == 0


async def test_abandoned(calls: CallDesk) -> None:
    """A call whose leases ran out five times is an `error` that says so."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    for _ in range(5):
        await calls.drain(ANN)
        await calls.away(ANN, "offline")
        await calls.register(ANN)
    view = await calls.view("r-1")
    assert await calls.stands("r-1") == "failed: error"
    assert "abandoned 5 times" in (view.error_text or "")
    assert view.result is None


async def test_what_is_not_named_returns(calls: CallDesk) -> None:
    """What a worker holds but does not name, and was handed long enough ago, returns (cause `answer_lost`)."""
    await calls.hire(ANN)
    await calls.calls("r-1", "r-2")
    await calls.drain(ANN)
    calls.now += calls.terms.answer_lost_after_ms
    await calls.calls("r-3")
    await calls.drain(ANN)
    assert await calls.ask(Reconcile(ANN, frozenset({("", "r-1", 0)}))) == 1
    assert calls.rung_lane() == 1
    states = [(await calls.view(f"r-{number}")).state for number in (1, 2, 3)]
    assert states == [State.HELD, State.READY, State.HELD]
    assert await calls.drained(ANN) == ["r-2"]
    assert (await calls.past("r-2"))[-1].cause == "answer_lost"


async def test_a_lost_hand_over_returns(calls: CallDesk) -> None:
    """A hand-over whose answer did not arrive returns, if it is still held so."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    assert await calls.ask(Return(message.work, message.version - 1, ANN, Cause.CONNECTION_LOST)) is False
    assert await calls.ask(Return(message.work, message.version, BEN, Cause.CONNECTION_LOST)) is False
    assert await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST)) is True
    assert calls.rung_lane() == 1
    again = await calls.take_call(ANN)
    assert again.version == message.version + 2
    await calls.answer(ANN, "r-1")
    assert await calls.ask(Return(again.work, again.version, ANN, Cause.CONNECTION_LOST)) is False


async def test_goodbye(calls: CallDesk) -> None:
    """No new work; offers that it has not locked return at once, and so does what it names as unstarted; everything
    else may still be answered."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2", "r-3")
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    assert await calls.drained(BEN) == ["r-3"]
    await calls.calls("r-5", dispatch=RACE)
    await calls.calls("r-6", dispatch=RACE)
    await calls.drain(ANN)
    await calls.drain(ANN)
    await calls.locked(ANN, "r-6")
    assert await calls.ask(Goodbye(ANN, ANN, frozenset({"r-2", "r-3", "unknown"}))) == 2
    assert calls.rung_for(ANN)
    assert calls.rung_lane() == 1
    assert calls.rung_lane(dispatch=RACE) == 1
    assert not (await calls.view("r-5")).offered
    states = [(await calls.view(name)).state.value for name in ("r-1", "r-2", "r-6")]
    assert states == ["held", "ready", "held"]
    assert await calls.drain(ANN) == Drained()
    await calls.answer(ANN, "r-1")
    (*_, released) = await calls.past("r-2")
    assert (released.move, released.cause, (await calls.view("r-2")).abandoned) == ("release", "shutdown", 0)


async def test_goodbye_of_a_superseded_worker(calls: CallDesk) -> None:
    """An old incarnation that says goodbye is not heard: the new one goes on."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.register(ANN, sid="second")
    refused(await calls.ask(Goodbye(ANN, ANN)), "worker_superseded")
    await calls.calls("r-1")
    assert await calls.drained(ANN, sid="second") == ["r-1"]


async def test_removed(calls: CallDesk) -> None:
    """Removing a worker returns what it holds, and forgets its offers and what it can do."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    await calls.calls("r-2", dispatch=RACE)
    assert await calls.drained(ANN) == ["r-1"]
    assert await calls.drained(ANN) == ["r-2"]
    assert await calls.ask(RemoveWorker(ANN)) is True
    assert calls.rung_lane() == 1
    assert (await calls.view("r-1")).abandoned == 0
    assert not (await calls.view("r-2")).offered
    assert await calls.read(FindWorkers((ANN,))) == []
    refused(await calls.ask(Drain(ANN, ANN)), "not_registered")
    (method,) = await calls.read(ListMethods())
    assert (method.workers, method.live) == (1, 1)


async def test_forgotten(calls: CallDesk) -> None:
    """A service worker that was offline for 7 days and holds nothing is forgotten, with all that is known of it."""
    await calls.hire(ANN, BEN)
    await calls.away(ANN, "offline")
    calls.now += 2 * DAY_MS
    await calls.ask(Forget())
    assert (await calls.worker(ANN)).offline
    calls.now += 6 * DAY_MS
    await calls.ask(Forget())
    assert await calls.read(FindWorkers((ANN,))) == []
    assert len(await calls.read(FindWorkers((BEN,)))) == 1
    (method,) = await calls.read(ListMethods())
    assert method.workers == 1


async def test_methods(calls: CallDesk) -> None:
    """Methods on offer by service and name, with how many workers registered them and how many of these are live."""
    await calls.service(MATH, None, mul={"dispatch": "race"})
    await calls.hire(ANN, methods=("add", "mul"))
    await calls.hire(BEN, methods=("add",))
    await calls.hire("service:text/ann", methods=("split",))
    await calls.away(BEN, "quiet")
    add, mul = MethodView(MATH, "add", Dispatch.EXCLUSIVE, 2, 1), MethodView(MATH, "mul", Dispatch.RACE, 1, 1)
    split = MethodView("text", "split", Dispatch.EXCLUSIVE, 1, 1)
    assert await calls.read(ListMethods()) == [add, mul, split]
    assert await calls.read(ListMethods(limit=2)) == [add, mul]
    assert await calls.read(ListMethods(after=(MATH, "add"), limit=1)) == [mul]
    assert await calls.read(ListMethods(service="text")) == [split]


async def test_lazy_workers(calls: CallDesk) -> None:
    """Live lazy workers that fit a lane can be found, with where they can be woken."""
    await calls.hire(ANN, run_mode="lazy", ip="192.0.2.1", port=55222, source="192.0.2.1", forwarded=True)
    await calls.hire(BEN, run_mode="eager", ip="192.0.2.2", port=55222, source="192.0.2.2")
    await calls.hire(CAT, methods=("mul",), run_mode="lazy", ip="192.0.2.3", port=2_000, source=None)
    await calls.calls("r-1", "r-2")
    await calls.calls("m-1", method="mul")
    add, mul = calls.lane("add"), calls.lane("mul")
    ann = LazyWorkerView(ANN, MATH, "192.0.2.1", 55222, "192.0.2.1", True)
    cat = LazyWorkerView(CAT, MATH, "192.0.2.3", 2_000, None, False)
    assert await calls.read(LazyWorkers((add,))) == [ann]
    assert sorted(view.worker for view in await calls.read(LazyWorkers((add, mul, "call:none")))) == [ANN, CAT]
    assert await calls.read(LazyWorkers((mul,))) == [cat]
    await calls.ask(DirectWorker(ANN, quiet=True))
    assert await calls.read(LazyWorkers((add,))) == []


async def test_what_is_known_of_a_worker(calls: CallDesk) -> None:
    """What a worker registered, and the lanes that it fits, its own among them, are told with the worker."""
    await calls.hire(ANN, version="1.2", trace=True, ip="192.0.2.1", port=2_000, platform="linux")
    await calls.calls("r-1")
    await calls.calls("r-2", requires=Requires(platform="windows"))
    view = (await calls.worker(ANN)).service
    assert view is not None
    assert (view.service, view.worker_id, view.run_mode, view.incarnation) == (MATH, "ann", "eager", 1)
    assert view.capabilities == Capabilities(("add",), "linux")
    assert (view.version, view.trace, view.ip, view.port, view.leaving) == ("1.2", True, "192.0.2.1", 2_000, False)
    assert set(view.lanes) == {calls.lane(), worker_lane(ANN)}
    await calls.ask(Goodbye(ANN, ANN))
    view = (await calls.worker(ANN)).service
    assert view is not None
    assert view.leaving


async def test_ready_lanes(calls: CallDesk) -> None:
    """Which lanes have something to be taken is told by their keys; those of a paused service have not."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.submit("r-2", dispatch=Dispatch.BROADCAST)
    meant = (calls.lane(), calls.lane("mul"), worker_lane(ANN), worker_lane(BEN), "plan:p")
    assert sorted(await calls.read(ReadyLanes(meant))) == sorted((calls.lane(), worker_lane(ANN)))
    await calls.ask(PauseService(MATH, True))
    assert await calls.read(ReadyLanes(meant)) == []
    await calls.ask(PauseService(MATH, False))
    assert await calls.drained(ANN) == ["r-1", "r-2.1"]
    assert await calls.read(ReadyLanes(meant)) == []


async def test_capabilities(calls: CallDesk) -> None:
    """A tag `concurrency` that is no positive number says nothing."""
    assert Capabilities(tags=(("concurrency", "0"),)).concurrency is None
    await calls.hire(ANN, tags=(("concurrency", "many"),))
    await calls.calls("r-1", "r-2")
    assert len(await calls.drained(ANN)) == 2
