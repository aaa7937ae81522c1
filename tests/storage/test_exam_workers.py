"""The exam, part 4: workers, their signs of life, and the sweeps."""

from __future__ import annotations

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move
from hiringhall.domain.retry import Policy
from hiringhall.ports.asks import (
    Beat,
    Beaten,
    DeletePlan,
    DirectWorker,
    FoldTallies,
    Forget,
    MarkSeen,
    Reconcile,
    Register,
    RemoveWorker,
    Sign,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Swept,
    Unblock,
)
from hiringhall.ports.questions import Alive, FindPlan, FindWorkers, ListWorkers
from tests.storage.desk import ANN, BEN, START, Desk, accepted, task

HOUR_MS = 3_600_000


async def beat_for(desk: Desk, milliseconds: int, *alive: str) -> None:
    """Let time pass in a hall that hears, with some workers heard and the others silent."""
    end = desk.now + milliseconds
    while desk.now < end:
        desk.now = min(end, desk.now + 3_900) - 1
        await desk.ask_all(Beat(), MarkSeen(tuple(Sign(worker, 0) for worker in alive)))


async def test_the_database_answers(desk: Desk) -> None:
    """A store that is open tells that its database answers."""
    assert await desk.read(Alive()) is True


async def test_register(desk: Desk) -> None:
    """A worker is admitted once; a second one of that id, or of that token, is not, unless a known one is fine."""
    assert await desk.ask(Register(ANN, "host \x00 ü", b"t" * 32)) is True
    assert desk.rung_for(ANN)
    assert await desk.ask(Register(ANN, "other")) is False
    assert await desk.ask(Register(ANN, "other", known_is_fine=True)) is True
    assert await desk.ask(Register(BEN, "other", b"t" * 32)) is False
    worker = await desk.worker(ANN)
    assert (worker.hostname, worker.has_token, worker.registered_at) == ("host \x00 ü", True, START + 1)
    assert (worker.last_seen, worker.last_beat, worker.offline) == (START + 1, None, False)
    assert await desk.read(FindWorkers(token_hashes=(b"t" * 32, b"u" * 32))) == [worker]
    assert await desk.read(FindWorkers((BEN, "plan:none"))) == []


async def test_direct(desk: Desk) -> None:
    """Quiet, resume and terminate are told; what is not said stays as it is."""
    assert await desk.ask(DirectWorker(ANN, quiet=True)) is False
    await desk.hire(ANN)
    seen = []
    for quiet, terminate in ((True, None), (None, True), (False, None), (None, False)):
        assert await desk.ask(DirectWorker(ANN, quiet, terminate)) is True
        assert desk.rung_for(ANN)
        worker = await desk.worker(ANN)
        seen.append((worker.quiet, worker.terminate))
    assert seen == [(True, False), (True, True), (False, True), (False, False)]


async def test_remove(desk: Desk) -> None:
    """Removing a worker returns what it holds at once, which does not count as abandoned."""
    await desk.hire(ANN)
    await desk.plan("p", task("a", policy=Policy(max_abandoned=1)))
    await desk.take_one(ANN, "p")
    assert await desk.ask(RemoveWorker(ANN)) is True
    assert desk.rung("p") == 1
    assert desk.rung_for(ANN)
    assert (await desk.row("p", "a")).abandoned == 0
    assert await desk.read(FindWorkers((ANN,))) == []
    assert await desk.ask(RemoveWorker(ANN)) is False
    await desk.hire(ANN)
    assert (await desk.take_one(ANN, "p")).version == 4


async def test_workers_are_listed(desk: Desk) -> None:
    """Workers come in pages, by key, each with the number of units that it holds."""
    await desk.hire(BEN, ANN)
    await desk.plan("p", task("a"), task("b"))
    await desk.take(ANN, "p", limit=2)
    assert [(worker.key, worker.holds) for worker in await desk.read(ListWorkers())] == [(ANN, 2), (BEN, 0)]
    assert [worker.key for worker in await desk.read(ListWorkers(after=ANN, limit=1))] == [BEN]
    assert [worker.key for worker in await desk.read(ListWorkers(limit=1))] == [ANN]


async def test_signs_of_life(desk: Desk) -> None:
    """A sign never moves a pulse back, and only known workers have one."""
    await desk.hire(ANN)
    desk.now += 10_000
    await desk.ask(MarkSeen((Sign(ANN, 1_000, 2_000), Sign("plan:unknown", 0))))
    seen, beaten = desk.now - 1_000, desk.now - 2_000
    assert ((await desk.worker(ANN)).last_seen, (await desk.worker(ANN)).last_beat) == (seen, beaten)
    await desk.ask(MarkSeen((Sign(ANN, 9_000, 9_000),)))
    assert ((await desk.worker(ANN)).last_seen, (await desk.worker(ANN)).last_beat) == (seen, beaten)
    assert await desk.read(FindWorkers(("plan:unknown",))) == []


async def test_pulse(desk: Desk) -> None:
    """A pulse tells whether the hall was deaf before, and what is due."""
    assert await desk.ask(Beat()) == Beaten(True, False, False, None)
    desk.now += desk.terms.deaf_after_ms - 2
    assert not (await desk.ask(Beat())).deaf
    desk.now += desk.terms.deaf_after_ms + 1
    assert (await desk.ask(Beat())).deaf
    desk.now -= 10_000
    assert (await desk.ask(Beat())).deaf


async def test_a_silent_worker_loses_its_lease(desk: Desk) -> None:
    """A lease ends at the last sign of life plus the visibility timeout and slack; a living worker's does not."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b"))
    await desk.ask(Beat())
    await desk.take_one(ANN, "p")
    await desk.take_one(BEN, "p")
    due = desk.terms.visibility_timeout_ms + desk.terms.slack_ms
    await beat_for(desk, due - 10, BEN)
    assert await desk.ask(SweepSilent()) == Swept(0)
    await beat_for(desk, 20, BEN)
    assert (await desk.ask(Beat())).silent_due
    assert await desk.ask(SweepSilent()) == Swept(1)
    assert desk.rung("p") == 1
    assert [await desk.state("p", name) for name in "ab"] == ["ready", "held"]
    assert (await desk.row("p", "a")).abandoned == 1
    assert (await desk.history("p", "a"))[-1].cause == "lease_expired"
    assert (await desk.worker(ANN)).offline
    assert not (await desk.worker(BEN)).offline
    await desk.ask(MarkSeen((Sign(ANN, 0),)))
    assert not (await desk.worker(ANN)).offline


async def test_a_worker_that_sends_heartbeats_is_judged_by_them(desk: Desk) -> None:
    """Offline is no sign of life for twice the longest of the last five heartbeat gaps."""
    await desk.hire(ANN)
    for _ in range(3):
        await beat_for(desk, 50_000, ANN)
        await desk.ask(MarkSeen((Sign(ANN, 0, 0),)))
    await beat_for(desk, 100_000)
    assert not (await desk.worker(ANN)).offline
    await desk.ask(SweepSilent())
    assert not (await desk.worker(ANN)).offline
    await beat_for(desk, 10_000)
    await desk.ask(SweepSilent())
    assert (await desk.worker(ANN)).offline


async def test_time_in_which_the_hall_could_not_hear_does_not_count(desk: Desk) -> None:
    """After an outage no lease ends, and nobody goes offline, before the timeout has passed anew."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    await desk.ask(Beat())
    await desk.take_one(ANN, "p")
    desk.now += HOUR_MS
    assert (await desk.ask(Beat())).deaf
    assert await desk.ask(SweepSilent()) == Swept(0)
    assert not (await desk.worker(ANN)).offline
    await beat_for(desk, desk.terms.visibility_timeout_ms + desk.terms.slack_ms + 10)
    assert (await desk.ask(SweepSilent())).changed == 1


async def test_a_sweep_before_the_pulse_judges_nobody(desk: Desk) -> None:
    """A sweep that is the first thing after an outage knows by the age of the pulse that nobody could be heard."""
    await desk.hire(ANN)
    await desk.plan("p", task("a", policy=Policy(run_limit_ms=1_000)))
    await desk.ask(Beat())
    await desk.take_one(ANN, "p")
    desk.now += HOUR_MS
    for sweep in (SweepSilent(), SweepSilent(orphans=False), SweepRunLimit()):
        assert (await desk.ask(sweep)).changed == 0
    assert not (await desk.worker(ANN)).offline
    assert (await desk.ask(Beat())).deaf
    assert (await desk.ask(SweepSilent())).changed == 0
    await beat_for(desk, desk.terms.visibility_timeout_ms + desk.terms.slack_ms + 10)
    assert (await desk.ask(SweepSilent())).changed == 1


async def test_a_unit_abandoned_too_often_fails(desk: Desk) -> None:
    """Leases that ran out count, at the limit the task fails with that reason; an answer counts from zero again."""
    await desk.hire(ANN)
    await desk.plan("p", task("a", policy=Policy(max_abandoned=2, on_failure="skip")), task("b", "a"))
    due = desk.terms.visibility_timeout_ms + desk.terms.slack_ms + 10
    for expected in ("ready", "failed"):
        await desk.take_one(ANN, "p")
        desk.now += due
        await desk.ask(SweepSilent())
        assert await desk.state("p", "a") == expected
    assert "abandoned 2 times" in str((await desk.history("p", "a"))[-1].reason)
    assert await desk.state("p", "b") == "skipped"
    accepted(await desk.steer("p", "a", Move.RETRY))
    assert (await desk.row("p", "a")).abandoned == 0


async def test_an_offline_worker_that_was_handed_a_unit_since(desk: Desk) -> None:
    """A hold of a worker that is offline already ends too, also if its signs of life were never written."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    desk.now += 2 * desk.terms.visibility_timeout_ms
    await desk.ask(SweepSilent())
    assert (await desk.worker(ANN)).offline
    await desk.take_one(ANN, "p")
    desk.now += 2 * desk.terms.visibility_timeout_ms
    assert (await desk.ask(SweepSilent())).changed == 1
    assert await desk.state("p", "a") == "ready"


async def test_run_limit(desk: Desk) -> None:
    """Signs of life extend one hand-over by at most the run limit, for a worker that does not say what it holds."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("own", policy=Policy(run_limit_ms=HOUR_MS)), task("hall"), task("none"), task("named"))
    await desk.take(ANN, "p", limit=1)
    for limited in (True, False):
        await desk.take(BEN, "p", limit=1, limited=limited)
    desk.now += HOUR_MS + desk.terms.overrun_after_ms - 10
    await desk.ask(MarkSeen((Sign(ANN, 0), Sign(BEN, 0))))
    assert await desk.ask(SweepRunLimit()) == Swept(0)
    desk.now += 20
    await desk.ask(MarkSeen((Sign(ANN, 0), Sign(BEN, 0))))
    assert (await desk.ask(SweepRunLimit())).changed == 1
    assert (await desk.history("p", "own"))[-1].cause == "run_limit"
    desk.now += 4 * HOUR_MS
    await desk.ask(MarkSeen((Sign(BEN, 0),)))
    assert (await desk.ask(SweepRunLimit())).changed == 1
    assert [await desk.state("p", name) for name in ("own", "hall", "none")] == ["ready", "ready", "held"]


async def test_a_worker_that_begins_to_say_what_it_holds(desk: Desk) -> None:
    """The run limit of all that a worker keeps is lifted once it says what it holds; that of others stays."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b"), task("c"))
    view = await desk.take_one(ANN, "p")
    accepted(await desk.steer("p", "a", Move.START))
    await desk.take_one(ANN, "p")
    await desk.take_one(BEN, "p")
    desk.now += 100
    assert await desk.ask(Reconcile(ANN, frozenset({("p", "a", view.version)}))) == 0
    unit = (await desk.row("p", "a")).view
    assert (unit.state, unit.version, unit.started) == ("held", view.version + 1, True)
    desk.now += desk.terms.run_limit_ms + desk.terms.overrun_after_ms
    await desk.ask(MarkSeen((Sign(ANN, 0), Sign(BEN, 0))))
    assert (await desk.ask(SweepRunLimit())).changed == 1
    assert [await desk.state("p", name) for name in "abc"] == ["held", "held", "ready"]


async def test_the_pulse_tells_of_run_limits(desk: Desk) -> None:
    """The pulse tells that something has been held for long enough to be looked at."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    await desk.take_one(ANN, "p")
    desk.now += desk.terms.run_limit_ms + desk.terms.overrun_after_ms - 1
    assert not (await desk.ask(Beat())).overrun_due
    assert (await desk.ask(Beat())).overrun_due


async def test_no_run_limit(desk: Desk) -> None:
    """A run limit of 0 is none."""
    await desk.hire(ANN)
    await desk.plan("p", task("a", policy=Policy(run_limit_ms=0)))
    await desk.take_one(ANN, "p")
    desk.now += 100 * HOUR_MS
    await desk.ask(MarkSeen((Sign(ANN, 0),)))
    assert await desk.ask(SweepRunLimit()) == Swept(0)


async def test_sweeps_are_bounded(desk: Desk) -> None:
    """A sweep over more than its limit tells that there is more to do at once."""
    await desk.hire(ANN)
    await desk.plan("p", *(task(str(number), policy=Policy(max_attempts=2)) for number in range(5)))
    for view in (await desk.take(ANN, "p", limit=5)).tasks:
        await desk.fail(ANN, view)
    desk.now += 60_000
    assert (await desk.ask(Beat())).retry_in_ms == 0
    found = [await desk.ask(SweepRetries(limit=2)) for _ in range(3)]
    assert [(swept.changed, swept.more) for swept in found] == [(2, True), (2, True), (1, False)]


async def test_unblock_finds_nothing_to_heal(desk: Desk) -> None:
    """Edges are closed with the move that satisfies them, so that there is nothing left to close."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"))
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    for ask in (Unblock(), Unblock("p"), Unblock(applied_within_ms=60_000)):
        assert await desk.ask(ask) == Swept(0)


async def test_counts_are_folded(desk: Desk) -> None:
    """Folding changes how counts are kept, not what they are."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b"))
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    for _ in range(3):
        await desk.ask(FoldTallies())
        assert (await desk.read(FindPlan("p"))).counts == {"ready": 1, "done": 1}


async def test_forget_finished_plans(desk: Desk) -> None:
    """A plan is kept until deleted, or until it has been finished for long enough."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"))
    await desk.plan("q", task("a"))
    for _ in range(2):
        await desk.complete(ANN, await desk.take_one(ANN, "p"))
    for keep_plans_ms in (None, HOUR_MS):
        await desk.ask(Forget(keep_plans_ms))
        desk.now += HOUR_MS - 10
        await desk.ask(Forget(keep_plans_ms))
        assert await desk.read(FindPlan("p")) is not None
    desk.now += 20
    await desk.ask(Forget(HOUR_MS))
    assert await desk.read(FindPlan("p")) is None
    assert await desk.read(FindPlan("q")) is not None


async def test_a_plan_that_goes_on_is_not_forgotten(desk: Desk) -> None:
    """What was finished once, and is no longer, counts anew."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    await desk.ask(Forget(HOUR_MS))
    accepted(await desk.steer("p", "a", Move.RESET))
    desk.now += 2 * HOUR_MS
    await desk.ask(Forget(HOUR_MS))
    assert await desk.read(FindPlan("p")) is not None


async def test_forget_workers(desk: Desk) -> None:
    """An offline worker that holds nothing is kept for a while; one that holds something, or is online, stays."""
    await desk.hire(ANN, BEN)
    desk.now += 2 * HOUR_MS
    await desk.ask_all(MarkSeen((Sign(BEN, 0),)), SweepSilent())
    await desk.ask(Forget(keep_workers_ms=3 * HOUR_MS))
    assert len(await desk.read(ListWorkers())) == 2
    await desk.ask(Forget(keep_workers_ms=HOUR_MS))
    assert [worker.key for worker in await desk.read(ListWorkers())] == [BEN]


async def test_hand_over_records_outlive_their_plan(desk: Desk) -> None:
    """Records of a deleted plan's hand-overs stay as long as is said, and then version numbers begin anew."""
    await desk.hire(ANN)

    async def first_version() -> int:
        await desk.plan("p", task("a"))
        version = (await desk.take_one(ANN, "p")).version
        assert await desk.ask(DeletePlan("p", force=True))
        return version

    assert await first_version() == 2
    await desk.ask(Forget(keep_hand_overs_ms=HOUR_MS))
    assert await first_version() == 3
    for _ in range(4):
        desk.now += HOUR_MS + 1
        await desk.ask(Forget(keep_hand_overs_ms=HOUR_MS))
    assert await first_version() == 2


async def test_many_small_deleted_plans_are_forgotten_in_one_pass(desk: Desk) -> None:
    """A pass deletes up to its limit of tasks, of however many deleted plans they are; the next goes on from there."""
    for plan in "pqrs":
        await desk.plan(plan, task("a"), task("b"))
        await desk.ask(DeletePlan(plan))
    assert (await desk.ask(Forget(limit=5))).changed == 5
    assert (await desk.ask(Forget(limit=5))).changed == 3
    assert (await desk.ask(Forget(limit=5))).changed == 0


async def test_words_to_stop_are_forgotten(desk: Desk) -> None:
    """What a worker was told to stop is repeated for ten minutes at most."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    await desk.take_one(ANN, "p")
    accepted(await desk.steer("p", "a", Move.CANCEL))
    desk.now += 9 * 60_000
    await desk.ask(Forget())
    assert (await desk.worker(ANN)).cancels == ("p/a",)
    desk.now += 2 * 60_000
    await desk.ask(Forget())
    assert (await desk.worker(ANN)).cancels == ()


def test_causes_that_sweeps_give_are_known() -> None:
    """Every hand-over has a cause out of a closed list."""
    assert {"lease_expired", "run_limit", "worker_offline"} <= {cause.value for cause in Cause}
