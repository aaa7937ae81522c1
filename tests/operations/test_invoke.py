"""A client that waits for its call, and reads that began before the call was made."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.operations.follow import Followers
from hiringhall.operations.hall import Hall
from hiringhall.operations.invoke import Inquiry
from hiringhall.ports.calls import News, RequestView, Submit, Submitted
from tests.waiting import until_async


class Asker:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def is_there(self) -> bool:
        return True

    def ended(self, view: RequestView) -> None:
        self.told.append(view)

    def pending(self, request_id: str, status: str) -> None:
        self.told.append(status)

    def refused(self, refused: Refused) -> None:
        self.told.append(refused.code)

    def failed(self, failure: Exception) -> None:
        self.told.append(failure)


class SlowStore:
    """A store whose first read comes back late, with what was true when it began."""

    def __init__(self, before: list[Any], now: list[Any]) -> None:
        self.gate = asyncio.Event()
        self.reads: list[Any] = []
        self._before = before
        self._now = now

    async def read(self, query: Any) -> list[Any]:
        self.reads.append(query)
        if len(self.reads) > 1:
            return self._now
        await self.gate.wait()
        return self._before


def inquiry(store: Any, asker: Asker, decided: list[Any]) -> Inquiry:
    loop = asyncio.get_running_loop()
    followers = Followers(store, cast("Any", SimpleNamespace(before=lambda rung: None)))
    coalescer = SimpleNamespace(ask=lambda ask, done, **_: decided.append(done))
    hall = SimpleNamespace(
        followers=followers, coalescer=coalescer, loop=loop, time=loop.time, jitter=lambda: 0.5, draining=False
    )
    return Inquiry(cast("Hall", hall), asker, "shop", "r-1", 30.0)


def view(answer: str | None) -> Any:
    return SimpleNamespace(
        request_id="r-1", client="shop", answer=answer, feedback_count=0, cancelling=False, state=State.HELD
    )


async def test_a_read_from_before_the_call_was_made_does_not_deny_it() -> None:
    """The re-check may have asked for a call whose commit was still under way: it is looked for again."""
    found = view("success")
    store, asker, decided = SlowStore([News("r-1", 0, ended=True)], [found]), Asker(), list[Any]()
    waiting = inquiry(store, asker, decided)
    waiting.submit(cast("Submit", None))
    recheck = asyncio.ensure_future(waiting._hall.followers.recheck())
    await asyncio.sleep(0)
    decided[0](Submitted("r-1", repeated=False))
    store.gate.set()
    await recheck
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert asker.told == [found]


async def test_a_look_from_before_the_call_was_made_does_not_deny_it() -> None:
    """A look that somebody else wanted may not have found it yet."""
    found = view("success")
    store, asker, decided = SlowStore([], [found]), Asker(), list[Any]()
    waiting = inquiry(store, asker, decided)
    waiting.submit(cast("Submit", None))
    waiting._hall.followers.look("r-1")
    await until_async(lambda: _now(store.reads), waiting_for="the look to begin")
    decided[0](Submitted("r-1", repeated=False))
    store.gate.set()
    await until_async(lambda: _now(waiting._hall.followers._task is None), waiting_for="the look to end")
    assert asker.told == []
    waiting._hall.followers.look("r-1")
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert asker.told == [found]


async def test_a_call_that_is_really_gone_is_denied() -> None:
    """What a look that began later does not find is not there."""
    store, asker, decided = SlowStore([], []), Asker(), list[Any]()
    waiting = inquiry(store, asker, decided)
    waiting.submit(cast("Submit", None))
    decided[0](Submitted("r-1", repeated=False))
    store.gate.set()
    waiting._hall.followers.look("r-1")
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert asker.told == ["not_found"]


async def test_whoever_asks_later_is_told_how_it_stands_later() -> None:
    """A look under way, which others wanted, is too old for one who asks now and does not wait."""
    store, asker = SlowStore([view(None)], [view("success")]), Asker()
    asking = inquiry(store, asker, [])
    asking._hold = 0.0
    asking._hall.followers.follow(asking)
    asking._hall.followers.look("r-1")
    await until_async(lambda: _now(store.reads), waiting_for="the first look to begin")
    asking.look()
    store.gate.set()
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert [told.answer for told in asker.told] == ["success"]
    assert len(store.reads) == 2


async def _now(value: Any) -> Any:
    return value
