"""`GET /worker/messages`: what a drain brings, to whom, and when."""

from __future__ import annotations

import json

import pytest

from hiringhall.domain.call import Dispatch, Requires
from hiringhall.ports.asks import Return
from hiringhall.ports.calls import Drain, Submit
from hiringhall.ports.identity import PauseService
from tests.waiting import until_async
from tests.wire.services.bureau import SERVICE, Bureau, header, in_turn, on_databases, refused

PARAMS = (
    b"null",
    b"false",
    b'""',
    b"[null]",
    b'{"id":3544790567247868102,"neg":-9223372036854775809}',
    b"1e400",
    b"0.1000000000000000055",
    b'"a\\u0000b"',
    '"ä€😀"'.encode(),
    b'{"a":1,"a":2}',
)


async def _true(value: object) -> bool:
    return bool(value)


@on_databases
async def test_a_drain_empties_the_queue(made: Bureau) -> None:
    """`GET /worker/messages` returns an array of `{ request_id, method, lock_required, params }` and empties the queue
    in one atomic read."""
    worker = await made.hire("w")
    first = await made.submit(params=b'{"name":"Ann"}')
    second = await made.submit(params=b"[1]")
    assert await worker.messages() == [
        {"request_id": first, "method": "hello", "lock_required": False, "params": {"name": "Ann"}},
        {"request_id": second, "method": "hello", "lock_required": False, "params": [1]},
    ]
    assert await worker.messages() == []


@on_databases
async def test_params_travel_digit_for_digit(made: Bureau) -> None:
    """Any JSON value is a valid `params`; payloads are kept as raw JSON text."""
    worker = await made.hire("w")
    for params in PARAMS:
        request_id = await made.submit(params=params)
        reply = await worker.drain().reply()
        assert reply.body == (
            b'[{"request_id":"%b","method":"hello","lock_required":false,"params":%b}]' % (request_id.encode(), params)
        )


async def test_the_bare_method_name(made: Bureau) -> None:
    """The worker sees the bare method name (hello), not service/hello, whatever is in it."""
    worker = await made.hire("w", 'say "ä"/\\')
    await made.submit('say "ä"/\\')
    assert [message["method"] for message in await worker.messages()] == ['say "ä"/\\']


async def test_a_drain_without_wait_answers_at_once(made: Bureau) -> None:
    """A drain without `wait` answers at once."""
    worker = await made.hire("w")
    reply = await worker.drain().reply()
    assert (reply.status, reply.body) == (200, b"[]")
    assert not made.hall.parked


async def test_a_drain_hangs_until_work_arrives(made: Bureau) -> None:
    """Eager mode adds ?wait=N so the call hangs until work arrives or about N seconds pass."""
    worker = await made.hire("w")
    await made.submit()
    await worker.ids()
    waiting = await worker.waiting()
    request_id = await made.submit()
    assert [message["request_id"] for message in await waiting.json()] == [request_id]
    assert not made.hall.parked
    assert not made.wakeups.waited_for()


@on_databases
async def test_the_first_call_of_a_method_wakes_too(made: Bureau) -> None:
    """A parked drain moves to lanes that are made while it is parked, and returns within milliseconds."""
    worker = await made.hire("w", "hello", "longtask")
    waiting = await worker.waiting()
    request_id = await made.submit("longtask")
    assert [message["request_id"] for message in await waiting.json()] == [request_id]


async def test_the_hold_is_over(made: Bureau) -> None:
    """A held call ends after 0.9 to 1.0 of its time, with `[]`."""
    worker = await made.hire("w")
    started = made.hall.time()
    assert await worker.messages("?wait=0.3") == []
    assert 0.25 <= made.hall.time() - started <= 2
    assert not made.hall.parked


async def test_wait_is_clamped(made: Bureau) -> None:
    """`wait` is clamped to 0..55."""
    worker = await made.hire("w")
    await worker.waiting("?wait=1e9")
    (call,) = made.hall.parked
    assert call._ends_at - made.hall.time() <= 55.1


@pytest.mark.parametrize("wait", ["-1", "soon", "", "NaN", "inf", "0x10", "1,5"])
async def test_an_invalid_wait(made: Bureau, wait: str) -> None:
    """Negative or non-numeric is 400 `invalid_wait`."""
    worker = await made.hire("w")
    await refused(worker.drain(f"?wait={wait}"), 400, "invalid_wait")


@pytest.mark.parametrize("most", ["0", "-1", "1.5", "many", ""])
async def test_an_invalid_max(made: Bureau, most: str) -> None:
    """`max` has to be a number of messages: 422 names it."""
    worker = await made.hire("w")
    assert (await refused(worker.drain(f"?max={most}"), 422, "validation_error"))["detail"].startswith("max")


async def test_at_most_max(made: Bureau) -> None:
    """At most `?max=N` if given, and 100 messages."""
    worker = await made.hire("w")
    made_ids = [await made.submit() for _ in range(104)]
    assert await worker.ids("?max=3") == made_ids[:3]
    assert await worker.ids("?max=1000&colour=red") == made_ids[3:103]
    assert await worker.ids() == made_ids[103:]


@on_databases
async def test_a_share(made: Bureau) -> None:
    """A drain takes a share: at most max(1, ceil(ready / live)). A lone worker gets everything within these caps."""
    lone = await made.hire("a")
    ready = [await made.submit() for _ in range(10)]
    await made.hire("b")
    await made.hire("c")
    assert await lone.ids() == ready[:4]


@on_databases
async def test_spare_concurrency(made: Bureau) -> None:
    """At most the worker's spare `concurrency` tag if it gave one; an answer makes room, also for a parked drain."""
    worker = await made.hire("w", tags={"concurrency": "2"})
    ready = [await made.submit() for _ in range(3)]
    assert await worker.ids() == ready[:2]
    waiting = await worker.waiting()
    await worker.respond(ready[0]).json()
    assert [message["request_id"] for message in await waiting.json()] == ready[2:]


@on_databases
async def test_eligible(made: Bureau) -> None:
    """Eligible = registered the method, and platform, executors, desktop, browser and tags satisfy the call's
    `requires`."""
    plain = await made.hire("plain")
    able = await made.hire(
        "able", "hello", platform="linux", supported_executors=["python"], interactive_desktop=True,
        browser_runtime=True, tags={"gpu": "yes"},
    )  # fmt: skip
    for requires in (
        Requires(platform="linux"),
        Requires(executors=("python",)),
        Requires(interactive_desktop=True),
        Requires(browser_runtime=True),
        Requires(tags=(("gpu", "yes"),)),
    ):
        request_id = await made.submit(requires=requires)
        assert await plain.ids() == []
        assert await able.ids() == [request_id]


async def test_one_unit_wakes_one_receiver(made: Bureau) -> None:
    """One new unit of work wakes one receiver (per replica)."""
    workers = [await made.hire(name) for name in "abcd"]
    await made.submit()
    await workers[0].ids()
    waiting = [await worker.waiting() for worker in workers]
    before = len(made.store.asked(Drain))
    await made.submit()
    await made.settle_down()
    assert [drain.answered for drain in waiting].count(True) == 1
    assert len(made.store.asked(Drain)) == before + 1


@on_databases
async def test_several_units_wake_several(made: Bureau) -> None:
    """Every unit of work finds a receiver of its own among those who wait."""
    workers = [await made.hire(name) for name in "abcd"]
    await made.submit()
    await workers[0].ids()
    waiting = [await worker.waiting() for worker in workers]
    ids = [await made.submit() for _ in range(4)]
    bodies = await in_turn(*waiting)
    assert sorted(message["request_id"] for body in bodies for message in body) == sorted(ids)
    assert [len(body) for body in bodies] == [1, 1, 1, 1]


@on_databases
async def test_idle_drains_cost_no_statement(made: Bureau) -> None:
    """Drains on lanes that are known to be empty park without asking the store."""
    workers = [await made.hire(name) for name in "abcd"]
    await made.submit()
    await workers[0].ids()
    await workers[0].ids()
    await workers[0].waiting()
    before = len(made.store.asked(Drain))
    for worker in workers[1:]:
        await worker.messages()
    known = len(made.store.asked(Drain))
    for worker in workers[1:]:
        await worker.waiting()
    assert known == before + 3
    assert len(made.store.asked(Drain)) == known


async def test_a_ring_that_was_of_no_use_goes_on(made: Bureau) -> None:
    """Whoever is rung, and goes away before its look is in a batch, leaves the work to the next."""
    first, second, third = await made.hire("a"), await made.hire("b"), await made.hire("c", "longtask")
    await made.submit()
    await first.ids()
    gone, waiting = await first.waiting(), await second.waiting()
    made.store.hold_up()
    blocker = third.drain()
    looks = len(made.store.asked(Drain))
    await until_async(lambda: _true(len(made.store.asked(Drain)) > looks))
    ask = Submit("r-unrung", "client", SERVICE, "hello", b"null", 60_000)
    rings = (await made.store.store.commit([ask])).rings  # by another process
    made.wakeups.ring_committed(rings)
    gone.hang_up()
    made.store.go_on()
    assert [message["request_id"] for message in await waiting.json()] == ["r-unrung"]
    assert await blocker.json() == []
    assert not gone.answered


async def test_a_caller_that_hung_up_gets_nothing(made: Bureau) -> None:
    """If the connection of a parked drain is gone, the work is not handed to it."""
    gone, other = await made.hire("a"), await made.hire("b")
    drain = await gone.waiting()
    drain.hang_up()
    request_id = await made.submit()
    assert await other.ids() == [request_id]
    assert await made.causes(request_id) == ["first"]


@on_databases
async def test_a_lost_answer_returns_at_once(made: Bureau) -> None:
    """What was handed in an answer that was lost returns at once (cause `connection_lost`)."""
    worker, other = await made.hire("a"), await made.hire("b")
    request_id = await made.submit()
    drain = worker.drain()
    await drain.json()
    waiting = await other.waiting()
    assert drain.lost is not None
    drain.lost()
    assert [message["request_id"] for message in await waiting.json()] == [request_id]
    assert await made.causes(request_id) == ["first", "connection_lost"]


async def test_what_was_taken_for_a_caller_who_left_returns(made: Bureau) -> None:
    """Lost = closed before the batch was formed: then the work returns at once; offers need nothing."""
    worker = await made.hire("a")
    request_id, offered = await made.submit(), await made.race()
    made.store.hold_up()
    gone = worker.drain()
    await until_async(lambda: _true(made.store.asked(Drain)))
    gone.hang_up()
    made.store.go_on()
    await made.settle_down()
    assert not gone.answered
    assert len(made.store.asked(Return)) == 1
    other = await made.hire("b")
    assert await other.ids() + await other.ids() == [request_id, offered]
    assert await made.causes(request_id) == ["first", "connection_lost"]


async def test_a_drained_message_is_leased(made: Bureau) -> None:
    """Two drains by the same worker never return the same message twice, except by a new hand-over."""
    worker = await made.hire("w")
    request_id = await made.submit()
    assert await worker.ids() == [request_id]
    assert await worker.ids() == []
    assert (await made.call(request_id)).holder == worker.key


@on_databases
async def test_a_race_is_offered_to_all(made: Bureau) -> None:
    """`race`: offered to every live eligible worker (and later ones at their first drains), `lock_required` true, the
    unit stays ready until the first lock."""
    first, second = await made.hire("a"), await made.hire("b")
    request_id = await made.race()
    for worker in (first, second, await made.hire("c")):
        assert await worker.messages() == [
            {"request_id": request_id, "method": "hello", "lock_required": True, "params": None}
        ]
        assert await worker.messages() == []
    assert (await made.call(request_id)).offered


@on_databases
async def test_a_race_wakes_all(made: Bureau) -> None:
    """A call in a race reaches everybody who waits."""
    workers = [await made.hire(name) for name in "abcd"]
    waiting = [await worker.waiting() for worker in workers]
    request_id = await made.race()
    bodies = await in_turn(*waiting)
    assert [[message["request_id"] for message in body] for body in bodies] == [[request_id]] * 4


@on_databases
async def test_a_broadcast_gives_each_a_child_of_its_own(made: Bureau) -> None:
    """`broadcast`: each worker drains its child under the child's own `request_id`, `lock_required` false."""
    workers = [await made.hire(name) for name in "ab"]
    waiting = [await worker.waiting() for worker in workers]
    parent = await made.submit(params=b"7", dispatch=Dispatch.BROADCAST)
    bodies = await in_turn(*waiting)
    messages = [message for body in bodies for message in body]
    assert len({message["request_id"] for message in messages} - {parent}) == 2
    assert {(message["method"], message["lock_required"], message["params"]) for message in messages} == {
        ("hello", False, 7)
    }


@on_databases
async def test_higher_priority_first(made: Bureau) -> None:
    """Priority: higher first, over all methods together."""
    worker = await made.hire("w", "hello", "longtask")
    low, high = await made.submit(priority=-1), await made.submit("longtask", priority=5)
    middle = await made.submit()
    assert await worker.ids() == [high, middle, low]


@on_databases
async def test_traceparent_for_those_who_want_it(made: Bureau) -> None:
    """S: message member `traceparent` only if the worker registered `"trace": true`."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    plain = await made.hire("plain")
    await made.submit(traceparent=trace)
    assert "traceparent" not in (await plain.messages())[0]
    traced = await made.hire("traced", trace=True)
    await plain.leave().json()
    await made.submit(traceparent=trace)
    assert (await traced.messages())[0]["traceparent"] == trace
    await made.submit()
    assert "traceparent" not in (await traced.messages())[0]


@on_databases
async def test_pausing_leaves_parked_calls_parked(made: Bureau) -> None:
    """Pausing a service leaves parked calls parked."""
    worker = await made.hire("w")
    await made.submit()
    await worker.ids()
    await made.hall.coalescer.one(PauseService(SERVICE, True))
    waiting = await worker.waiting()
    request_id = await made.submit()
    await made.settle_down()
    assert not waiting.answered
    assert await worker.ids() == []
    await made.hall.coalescer.one(PauseService(SERVICE, False))
    assert [message["request_id"] for message in await waiting.json()] == [request_id]


async def test_draining_ends_all(made: Bureau) -> None:
    """When the server ends, parked calls get their empty answer, and so do drains that come later; answers are taken
    normally."""
    worker = await made.hire("w")
    request_id = await made.submit()
    await worker.ids()
    waiting = await worker.waiting()
    made.hall.drain()
    assert await waiting.json() == []
    await made.submit()
    assert await worker.messages() == []
    await worker.respond(request_id).json()


async def test_a_database_that_is_away(made: Bureau) -> None:
    """While the database does not answer: 503 `unavailable` and Retry-After."""
    worker = await made.hire("w")
    made.store.away = True
    asked = worker.drain()
    await refused(asked, 503, "unavailable")
    assert header(await asked.reply(), "retry-after") == "1"


async def test_bodies_are_json(made: Bureau) -> None:
    """What is drained is one JSON text in UTF-8."""
    worker = await made.hire("w")
    for number in range(3):
        await made.submit(params=json.dumps({"n": number}).encode())
    assert [message["params"]["n"] for message in json.loads((await worker.drain().reply()).body)] == [0, 1, 2]
