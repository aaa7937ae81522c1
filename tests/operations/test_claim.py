"""Claims: looking, waiting in line, races between rings and looks, callers that go away, and the end of the hold."""

from __future__ import annotations

import asyncio

from hiringhall.domain.lease import Cause
from hiringhall.operations.recheck import Recheck
from hiringhall.ports.asks import DirectWorker, PausePlan, RemoveWorker, Return, Take
from hiringhall.ports.questions import FindTasks, ReadHistory, ReadyLanes
from tests.operations.parts import SHARED, Conversation, Office, office, plan_of
from tests.waiting import until_async


async def parked(made: Office, *workers: str, plan: str = "p", wait: float = 30) -> list[Conversation]:
    """Claims of these workers that wait in line."""
    before = len(made.hall.parked)
    conversations = [made.claim(worker, plan, wait=wait) for worker in workers]

    async def all_parked() -> bool:
        return len(made.hall.parked) == before + len(workers)

    await until_async(all_parked, waiting_for="claims to be parked")
    return conversations


async def causes(made: Office, task: str) -> list[str | None]:
    """The causes of all moves of a task that have one."""
    row = (await made.store.read(FindTasks(task)))[0]
    return [line.cause for line in await made.store.read(ReadHistory(row.view.work)) if line.cause]


async def test_a_claim_takes_what_is_ready() -> None:
    """A claim is answered with the next task, CLAIMED, its version raised."""
    async with office() as made:
        await made.apply("T1", "T2")
        task = (await made.claim().json())["task"]
        assert (task["id"], task["plan_id"], task["status"], task["version"]) == ("T1", "p", "CLAIMED", 2)


async def test_a_parked_claim_is_woken_by_anplan_of() -> None:
    """Work that comes later is handed to whoever waits longest, and to nobody else."""
    async with office() as made:
        first, second = await parked(made, "a", "b")
        await made.apply("T1")
        assert (await first.json())["task"]["id"] == "T1"
        await made.turns()
        assert not second.answered


async def test_one_new_unit_wakes_one_waiter() -> None:
    """Of many who wait, as many look as there is work."""
    async with office() as made:
        waiting = await parked(made, *"abcdefgh")
        before = len(made.store.asked(Take))
        await made.apply("T1", "T2")
        await made.hall.coalescer.idle()
        assert sum(conversation.answered for conversation in waiting) == 2
        assert len(made.store.asked(Take)) == before + 2


async def test_idle_claims_cost_no_statement() -> None:
    """Claims on a lane that is known to be drained park without asking the store."""
    async with office() as made:
        await made.admit(*"abcd")
        await parked(made, "a")
        looks = len(made.store.asked(Take))
        await parked(made, "b", "c", "d")
        assert len(made.store.asked(Take)) == looks == 1
        empty = made.claim("a", wait=0)
        assert (await empty.reply()).status == 204
        assert len(made.store.asked(Take)) == 1


async def test_a_ring_during_the_look_is_not_lost() -> None:
    """Work that becomes ready while a claim is being looked for in vain is found by it."""
    async with office() as made:
        await made.admit("w")
        claim = made.claim("w")
        made.store.hold_up()
        await until_async(lambda: _true(made.store.asked(Take)))
        made.wakeups.ring_committed({made.wakeups._by_key["plan:p"].topic: 1})
        made.store.go_on()
        await until_async(lambda: _true(len(made.store.asked(Take)) == 2), waiting_for="a second look")
        await made.turns()
        assert not claim.answered
        assert len(made.hall.parked) == 1


async def _true(value: object) -> bool:
    return bool(value)


async def test_a_caller_gone_before_the_batch_gets_nothing() -> None:
    """A claim whose caller went away before the batch was formed is not looked for."""
    async with office() as made:
        await made.admit("w", "x")
        await made.apply("T1")
        made.store.hold_up()
        held_up = made.claim("x", plan="other")
        await until_async(lambda: _true(made.store.asked(Take)))
        gone = made.claim("w")
        await until_async(lambda: _true(made.hall.coalescer.waiting))
        gone.hang_up()
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert [ask.worker for ask in made.store.asked(Take)] == ["plan:x"]
        assert not gone.answered
        assert not held_up.answered
        assert (await made.claim("x").json())["task"]["id"] == "T1"


async def test_what_was_taken_for_a_caller_who_left_returns_at_once() -> None:
    """A caller who goes away while the batch is committed loses its hand-over: cause `connection_lost`."""
    async with office() as made:
        await made.admit("w")
        await made.apply("T1")
        made.store.hold_up()
        gone = made.claim("w")
        await until_async(lambda: _true(made.store.asked(Take)))
        gone.hang_up()
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert not gone.answered
        assert [ask.cause for ask in made.store.asked(Return)] == [Cause.CONNECTION_LOST]
        assert (await made.claim("x").json())["task"]["version"] == 4
        assert await causes(made, "T1") == ["first", "connection_lost", "connection_lost"]


async def test_a_lost_answer_returns_at_once() -> None:
    """An answer that certainly did not arrive gives the task back, and the next in line gets it."""
    async with office() as made:
        await made.apply("T1")
        claim = made.claim("w")
        await claim.reply()
        (waiting,) = await parked(made, "x")
        assert claim.lost is not None
        claim.lost()
        assert (await waiting.json())["task"]["id"] == "T1"


async def test_a_lost_answer_to_a_claim_with_a_key_waits_for_the_repeat() -> None:
    """With an Idempotency-Key the hand-over is kept for a repeated claim, which is answered with the same version."""
    async with office() as made:
        await made.apply("T1", "T2")
        headers = {"Idempotency-Key": "k1"}
        first = made.claim("w", headers=headers)
        task = (await first.json())["task"]
        assert first.lost is not None
        first.lost()
        await made.hall.coalescer.idle()
        assert not made.store.asked(Return)
        again = (await made.claim("w", headers=headers).json())["task"]
        assert again == task
        assert not made.hall.hand_back._waiting
        other = (await made.claim("w", headers={"Idempotency-Key": "k2"}).json())["task"]
        assert other["id"] == "T2"


async def test_a_repeated_claim_may_be_lost_too() -> None:
    """If the answer to the repetition is lost as well, it is given back once, counted from the last loss."""
    async with office() as made:
        await made.apply("T1")
        headers = {"Idempotency-Key": "k1"}
        first = made.claim("w", headers=headers)
        await first.reply()
        assert first.lost is not None
        first.lost()
        ((_, earlier),) = made.hall.hand_back._waiting.values()
        made.store.hold_up()
        again = made.claim("w", headers=headers)
        await until_async(lambda: _true(len(made.store.asked(Take)) == 2))
        again.hang_up()
        made.store.go_on()
        await made.hall.coalescer.idle()
        ((ask, _),) = made.hall.hand_back._waiting.values()
        assert ask.delivery == 2
        assert earlier.cancelled()


async def test_whoever_does_not_wait_needs_no_ring() -> None:
    """A claim that does not wait finds what became ready unrung, although the lane was seen drained before."""
    async with office() as made:
        assert (await made.claim("w", wait=0).reply()).status == 204
        await made.store.commit([plan_of("T1")])
        assert (await made.claim("w", wait=0).json())["task"]["id"] == "T1"


async def test_a_hand_over_that_cannot_be_given_back_is_told() -> None:
    """What goes wrong where no caller waits is not passed over in silence."""
    async with office() as made:
        told: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        await made.apply("T1")
        claim = made.claim("w")
        await claim.reply()
        made.store.bad = lambda ask: isinstance(ask, Return)
        assert claim.lost is not None
        claim.lost()
        await made.hall.coalescer.idle()
        assert told == ["a hand-over could not be given back"]


async def test_a_waiter_that_leaves_the_line_is_not_rung() -> None:
    """A parked caller who went away is out of the line: the next one gets the work."""
    async with office() as made:
        first, second = await parked(made, "a", "b")
        first.hang_up()
        await made.apply("T1")
        assert (await second.json())["task"]["id"] == "T1"
        assert not first.answered


async def test_one_who_is_rung_and_gone_passes_the_ring_on() -> None:
    """A waiter who is rung, and goes away before its look is in a batch, leaves the work to the next."""
    async with office() as made:
        first, second = await parked(made, "a", "b")
        await made.admit("x")
        made.store.hold_up()
        blocker = made.claim("x", plan="other")
        await until_async(lambda: _true(len(made.store.batches[-1]) == 1 and type(made.store.batches[-1][0]) is Take))
        await made.store.store.commit([plan_of("T1")])  # by another process: its ring arrives below
        made.wakeups.ring(made.wakeups._by_key["plan:p"].topic)
        first.hang_up()
        made.store.go_on()
        assert (await second.json())["task"]["id"] == "T1"
        assert not first.answered
        assert not blocker.answered


async def test_a_lost_ring_is_covered_by_the_re_check() -> None:
    """What became ready without a ring is found by one question for all lanes."""
    async with office() as made:
        recheck = Recheck(made.hall)
        await recheck.run_once()
        assert not [query for query in made.store.reads if isinstance(query, ReadyLanes)]
        (waiting,) = await parked(made, "w")
        await parked(made, "x", plan="other")
        await made.store.store.commit([plan_of("T1")])
        await made.turns()
        assert not waiting.answered
        await recheck.run_once()
        asked = [set(query.keys) for query in made.store.reads if isinstance(query, ReadyLanes)]
        assert asked == [{"plan:p", "plan:other"}]
        assert (await waiting.json())["task"]["id"] == "T1"


async def test_a_database_that_is_away_ends_parked_calls() -> None:
    """Parked claims end with 503 and Retry-After when the database goes away."""
    async with office() as made:
        (waiting,) = await parked(made, "w")
        made.store.away = True
        await Recheck(made.hall).run_once()
        reply = await waiting.reply()
        assert reply.status == 503
        assert (b"retry-after", b"1") in reply.headers
        assert b"taken away" not in reply.body
        assert not made.hall.parked


async def test_the_hold_ends_with_the_empty_answer() -> None:
    """A claim is held for its time, and ends a little before it."""
    async with office() as made:
        (waiting,) = await parked(made, "w", wait=0.2)
        started = made.hall.time()
        assert (await waiting.reply()).status == 204
        assert 0.1 <= made.hall.time() - started <= 1
        assert not made.hall.parked
        assert not made.wakeups.waited_for()


async def test_draining_ends_all_parked_claims_at_once() -> None:
    """When the listener is closed, parked claims get their empty answer, and so do claims that come later."""
    async with office() as made:
        await made.apply("T1", plan="full")
        waiting = await parked(made, "a", "b")
        made.hall.drain_starts()
        assert not waiting[0].answered
        made.hall.drain()
        assert [(await conversation.reply()).status for conversation in waiting] == [204, 204]
        assert (await made.claim("a", plan="full").reply()).status == 204
        assert not made.hall.parked


async def test_settles_go_on_while_draining() -> None:
    """Requests still arriving are answered: settles normally."""
    async with office() as made:
        await made.apply("T1")
        task = (await made.claim().json())["task"]
        made.hall.drain()
        assert (await made.settle("complete", "T1", task["version"]).json())["task"]["status"] == "DONE"


async def test_quieting_a_worker_ends_its_parked_claim_once() -> None:
    """A new directive ends the parked call with the empty answer; later ones park, and get no work."""
    async with office() as made:
        (waiting,) = await parked(made, "w")
        await made.hall.coalescer.one(DirectWorker("plan:w", quiet=True))
        reply = await waiting.reply()
        assert reply.status == 204
        assert reply.headers == ((b"hall-directive", b"quiet"),)
        (later,) = await parked(made, "w")
        looks = len(made.store.asked(Take))
        await made.apply("T1")
        await made.turns()
        assert not later.answered
        assert len(made.store.asked(Take)) == looks
        await made.hall.coalescer.one(DirectWorker("plan:w", quiet=False))
        assert (await later.json())["task"]["id"] == "T1"


async def test_a_quiet_worker_does_not_swallow_a_ring() -> None:
    """A ring goes to one who may take work."""
    async with office() as made:
        await made.admit("q")
        await made.hall.coalescer.one(DirectWorker("plan:q", quiet=True))
        (quiet,) = await parked(made, "q")
        (other,) = await parked(made, "w")
        await made.apply("T1")
        assert (await other.json())["task"]["id"] == "T1"
        assert not quiet.answered


async def test_terminate_is_told() -> None:
    """Terminating a worker ends its parked call and shows on every answer to it."""
    async with office() as made:
        (waiting,) = await parked(made, "w")
        await made.hall.coalescer.one(DirectWorker("plan:w", terminate=True))
        assert (await waiting.reply()).headers == ((b"hall-directive", b"terminate"),)
        beat = made.send("POST", "/workers/w/heartbeat", {"worker_id": "w"}, SHARED)
        assert (b"hall-directive", b"terminate") in (await beat.reply()).headers


async def test_a_removed_worker_waits_no_longer() -> None:
    """Removing a worker ends its parked call."""
    async with office() as made:
        (waiting,) = await parked(made, "w")
        await made.hall.coalescer.one(RemoveWorker("plan:w"))
        assert (await waiting.reply()).status == 204


async def test_pausing_a_plan_leaves_claims_parked() -> None:
    """Pausing leaves parked calls parked; resuming wakes them."""
    async with office() as made:
        await made.apply("T1")
        await made.hall.coalescer.one(PausePlan("p", True))
        (waiting,) = await parked(made, "w")
        await made.turns()
        assert not waiting.answered
        await made.hall.coalescer.one(PausePlan("p", False))
        assert (await waiting.json())["task"]["id"] == "T1"


async def test_a_bad_claim_fails_alone() -> None:
    """A claim that the store fails on is a 500 with a correlation id; the others of its batch are answered."""
    async with office() as made:
        await made.admit("good", "bad")
        await made.apply("T1")
        made.store.bad = lambda ask: isinstance(ask, Take) and ask.worker == "plan:bad"
        bad, good = made.claim("bad"), made.claim("good")
        assert (await good.json())["task"]["id"] == "T1"
        body = await bad.json(500)
        assert body["error_code"] == "internal_error"
        assert "a bad ask" not in str(body)
        assert body["correlation_id"]


async def test_several_tasks_at_once() -> None:
    """With `max_tasks` the answer is a list; nothing is 204."""
    async with office() as made:
        await made.apply("T1", "T2", "T3")
        body = await made.claim(max_tasks=2).json()
        assert [task["id"] for task in body["tasks"]] == ["T1", "T2"]
        assert [task["id"] for task in (await made.claim(max_tasks=100).json())["tasks"]] == ["T3"]
        assert (await made.claim(max_tasks=1, wait=0).reply()).status == 204


async def test_a_hold_that_ends_during_a_look_ends_with_that_look() -> None:
    """A claim whose time is over while it is looked for is answered when the look is done, and not parked again."""
    async with office() as made:
        (waiting,) = await parked(made, "w", wait=0.1)
        made.store.hold_up()
        made.wakeups.ring(made.wakeups._by_key["plan:p"].topic)
        ends_at = made.hall.time() + 0.2
        await until_async(lambda: _true(made.hall.time() > ends_at), waiting_for="the end of the hold")
        assert not waiting.answered
        made.store.go_on()
        assert (await waiting.reply()).status == 204
        assert not made.wakeups.waited_for()


async def test_claims_that_end_together_share_a_timer() -> None:
    """Many parked claims cost one timer per moment in which some of them end."""
    async with office() as made:
        made.hall.jitter = lambda: 0.5
        claims = await parked(made, *"abcdefgh", wait=0.2)
        assert len(made.hall.parked._moments) <= 2
        assert {(await claim.reply()).status for claim in claims} == {204}
        assert not made.hall.parked._moments
