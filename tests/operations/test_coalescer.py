"""Batches: who shares one, who waits for the next, and who fails with whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hiringhall.domain.lifecycle import Move
from hiringhall.domain.plan import PlanFile
from hiringhall.ports.asks import Apply, PausePlan, Register, Settle, Take
from hiringhall.ports.store import Overloaded, StoreUnavailable
from tests.operations.parts import office


async def test_what_is_asked_in_one_turn_shares_a_batch() -> None:
    """Asks of one turn of the event loop are one batch, without any delay."""
    async with office() as made:
        outcomes: list[Any] = []
        for name in ("a", "b", "c"):
            made.hall.coalescer.ask(Register(f"plan:{name}"), outcomes.append)
        await made.hall.coalescer.idle()
        assert outcomes == [True, True, True]
        assert [len(batch) for batch in made.store.batches] == [3]


async def test_what_is_asked_during_a_commit_is_the_next_batch() -> None:
    """What gathers while a batch is committed is one batch."""
    async with office() as made:
        made.store.hold_up()
        outcomes: list[Any] = []
        made.hall.coalescer.ask(Register("plan:first"), outcomes.append)
        await made.turns()
        for name in ("a", "b", "c"):
            made.hall.coalescer.ask(Register(f"plan:{name}"), outcomes.append)
            await made.turns()
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert [len(batch) for batch in made.store.batches] == [1, 3]


async def test_a_batch_is_at_most_256_asks() -> None:
    """More than 256 asks are several batches."""
    async with office() as made:
        outcomes: list[Any] = []
        for number in range(600):
            made.hall.coalescer.ask(Register(f"plan:{number}"), outcomes.append)
        await made.hall.coalescer.idle()
        assert [len(batch) for batch in made.store.batches] == [256, 256, 88]
        assert len(outcomes) == 600


async def test_long_reasons_fill_a_batch() -> None:
    """A batch holds about 1 MiB."""
    async with office() as made:
        outcomes: list[Any] = []
        for number in range(250):
            reason = "x" * 2048
            made.hall.coalescer.ask(Settle("plan:w", f"T{number}", 1, Move.FAIL, reason=reason), outcomes.append)
        await made.hall.coalescer.idle()
        assert [len(batch) for batch in made.store.batches] == [128, 122]


async def test_an_apply_is_alone() -> None:
    """A plan file is a batch of its own."""
    async with office() as made:
        outcomes: list[Any] = []
        for ask in (Register("plan:a"), Apply(PlanFile("p", "P", ())), Register("plan:b"), Register("plan:c")):
            made.hall.coalescer.ask(ask, outcomes.append)
        await made.hall.coalescer.idle()
        assert [len(batch) for batch in made.store.batches] == [1, 1, 2]


async def test_two_asks_about_one_unit_are_two_batches() -> None:
    """At most one ask about a unit is in a batch; the second is in the next, before what came after it."""
    async with office() as made:
        outcomes: list[Any] = []
        for task in ("T1", "T1", "T2", "T1"):
            made.hall.coalescer.ask(Settle("plan:w", task, 1, Move.COMPLETE), outcomes.append)
        await made.hall.coalescer.idle()
        tasks = [[ask.task_id for ask in batch if isinstance(ask, Settle)] for batch in made.store.batches]
        assert tasks == [["T1", "T2"], ["T1"], ["T1"]]


async def test_a_bad_ask_fails_alone() -> None:
    """An ask that fails does not harm the others of its batch."""
    async with office() as made:
        made.store.bad = lambda ask: ask == Register("plan:bad")
        found = await asyncio.gather(
            made.hall.coalescer.one(Register("plan:good")),
            made.hall.coalescer.one(Register("plan:bad")),
            made.hall.coalescer.one(PausePlan("nowhere", True)),
            return_exceptions=True,
        )
        assert found[0] is True
        assert isinstance(found[1], ValueError)
        assert found[2] is False
        assert len(made.store.batches) == 1


async def test_a_database_that_is_away_fails_all() -> None:
    """StoreUnavailable goes to every ask of the batch, and the next batch is tried."""
    async with office() as made:
        made.store.away = True
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await made.hall.coalescer.one(Register("plan:a"))
        made.store.away = False
        assert await made.hall.coalescer.one(Register("plan:a")) is True


async def test_one_who_is_gone_is_dropped() -> None:
    """An ask whose caller is gone when the batch is formed is not committed."""
    async with office() as made:
        made.store.hold_up()
        told: list[str] = []
        made.hall.coalescer.ask(Register("plan:first"), lambda _: None)
        await made.turns()
        made.hall.coalescer.ask(
            Register("plan:gone"),
            lambda _: told.append("done"),
            alive=lambda: False,
            on_gone=lambda: told.append("gone"),
        )
        made.hall.coalescer.ask(Register("plan:there"), lambda _: told.append("there"), alive=lambda: True)
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert told == ["gone", "there"]
        assert [ask.worker for ask in made.store.asked(Register)] == ["plan:first", "plan:there"]


async def test_a_batch_hands_over_at_most_256_units() -> None:
    """Claims of several tasks fill a batch by the tasks that they want."""
    async with office() as made:
        made.store.hold_up()
        outcomes: list[Any] = []
        made.hall.coalescer.ask(Register("plan:first"), outcomes.append)
        await made.turns()
        for number in range(6):
            made.hall.coalescer.ask(Take(f"plan:{number}", ("plan:p",), 100), outcomes.append)
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert [len(batch) for batch in made.store.batches] == [1, 3, 3]


async def test_the_queue_is_bounded() -> None:
    """Beyond the limit an ask is refused at once."""
    async with office(waiting_limit=256) as made:
        made.store.hold_up()
        outcomes: list[Any] = []
        made.hall.coalescer.ask(Register("plan:first"), outcomes.append)
        await made.turns()
        for number in range(257):
            made.hall.coalescer.ask(Register(f"plan:{number}"), outcomes.append)
        assert [type(outcome) for outcome in outcomes] == [Overloaded]
        assert made.hall.coalescer.waiting == 256
        made.store.go_on()
        await made.hall.coalescer.idle()
        assert outcomes.count(True) == 257


async def test_a_bug_in_one_callback_harms_nobody_else() -> None:
    """A callback that fails is given its own error; the others get their outcomes."""
    async with office() as made:
        outcomes: list[Any] = []

        def clumsy(outcome: Any) -> None:
            outcomes.append(outcome)
            if outcome is True:
                raise LookupError("clumsy")

        made.hall.coalescer.ask(Register("plan:a"), clumsy)
        made.hall.coalescer.ask(Register("plan:b"), outcomes.append)
        await made.hall.coalescer.idle()
        assert outcomes[0] is True
        assert isinstance(outcomes[1], LookupError)
        assert outcomes[2] is True


async def test_rings_come_with_the_outcomes() -> None:
    """Whoever waits is rung before the outcomes of the commit are handed out."""
    async with office() as made:
        rung: list[str] = []
        made.wakeups.before(rung.append)
        seen: list[int] = []
        made.hall.coalescer.ask(Apply(PlanFile("p", "P", ())), lambda _: seen.append(len(rung)))
        await made.apply("T1")
        assert rung
        assert seen == [0]
