"""What a worker says that it holds, and what it does not."""

from __future__ import annotations

from hiringhall.ports.asks import Reconcile, Take
from tests.operations.parts import Office, office
from tests.waiting import until_async


async def _true(value: object) -> bool:
    return bool(value)


def beat(made: Office, held: str) -> None:
    """A heartbeat that names what is held."""
    made.send("POST", "/workers/w/heartbeat", {"worker_id": "w"}, headers={"Hall-Holding": held})


def later(made: Office, seconds: float) -> None:
    """Move the hall's clock on."""
    before = made.hall.time
    made.hall.time = lambda: before() + seconds


async def test_what_is_not_named_returns() -> None:
    """What a worker holds but does not name, and was handed long enough ago, is asked back from the store."""
    async with office() as made:
        await made.apply("T1")
        await made.claim(headers={"Hall-Holding": ""}).json()
        later(made, 11)
        beat(made, "")
        await made.hall.coalescer.idle()
        assert made.store.asked(Reconcile)[-1] == Reconcile("plan:w", frozenset())


async def test_what_is_named_is_passed_on_decoded() -> None:
    """`PLAN/TASK@version`, each part percent-encoded by itself."""
    async with office() as made:
        await made.admit("w")
        beat(made, "a%2Fb/T%201@3, p/T2@4")
        await until_async(lambda: _true(made.store.asked(Reconcile)))
        assert made.store.asked(Reconcile)[0].named == {("a/b", "T 1", 3), ("p", "T2", 4)}


async def test_the_store_is_asked_at_most_once_a_second() -> None:
    """Many calls in one second are one question."""
    async with office() as made:
        await made.admit("w")
        for _ in range(5):
            beat(made, "p/T@1")
            await made.hall.coalescer.idle()
            await made.turns()
        assert len(made.store.asked(Reconcile)) == 1


async def test_the_store_is_not_asked_when_all_is_named() -> None:
    """After a comparison, a worker that names all it was handed since costs no question for a while."""
    async with office() as made:
        await made.apply("T1")
        task = (await made.claim(headers={"Hall-Holding": ""}).json())["task"]
        asked = len(made.store.asked(Reconcile))
        later(made, 2)
        beat(made, f"p/T1@{task['version']}")
        await made.hall.coalescer.idle()
        assert len(made.store.asked(Reconcile)) == asked == 1


async def test_what_was_settled_is_no_longer_missed() -> None:
    """A settled task need not be named."""
    async with office() as made:
        await made.apply("T1")
        task = (await made.claim(headers={"Hall-Holding": ""}).json())["task"]
        await made.settle("complete", "T1", task["version"]).json()
        later(made, 9.5)
        beat(made, "")
        await made.hall.coalescer.idle()
        assert len(made.store.asked(Reconcile)) == 1


async def test_a_worker_that_says_what_it_holds_has_no_run_limit() -> None:
    """ "no run limit for a worker that sends Hall-Holding"."""
    async with office() as made:
        await made.admit("w")
        await made.claim(wait=0).reply()
        await made.claim(plan="q", wait=0, headers={"Hall-Holding": ""}).reply()
        assert [ask.limited for ask in made.store.asked(Take)] == [True, False]


async def test_a_worker_that_said_once_what_it_holds_has_none_either() -> None:
    """Later claims of that worker are without a run limit though they do not say it again, parked ones too."""
    async with office() as made:
        await made.admit("w")
        parked = made.claim(wait=30)
        await made.hall.coalescer.idle()
        await made.turns()
        beat(made, "")
        await made.apply("T1")
        await parked.json()
        await made.claim(wait=0).reply()
        assert [ask.limited for ask in made.store.asked(Take)] == [True, False, False]
