"""A client that waits for its call, and reads that began before the call was made."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from hiringhall.domain.refusals import Refused
from hiringhall.operations.follow import Followers
from hiringhall.operations.hall import Hall
from hiringhall.operations.invoke import Inquiry
from hiringhall.ports.calls import RequestView, Submit, Submitted
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
    """A store whose first read began before anything was committed, and comes back late."""

    def __init__(self, found: Any) -> None:
        self.gate = asyncio.Event()
        self._found = found
        self._reads = 0

    async def read(self, _: Any) -> list[Any]:
        self._reads += 1
        if self._reads == 1:
            await self.gate.wait()
            return []
        return [self._found] if self._found else []


def inquiry(store: Any, asker: Asker, decided: list[Any]) -> Inquiry:
    loop = asyncio.get_running_loop()
    followers = Followers(store, cast("Any", SimpleNamespace(before=lambda rung: None)))
    coalescer = SimpleNamespace(ask=lambda ask, done, **_: decided.append(done))
    hall = SimpleNamespace(
        followers=followers, coalescer=coalescer, loop=loop, time=loop.time, jitter=lambda: 0.5, draining=False
    )
    return Inquiry(cast("Hall", hall), asker, "shop", "r-1", 30.0)


async def test_a_read_from_before_the_call_was_made_does_not_deny_it() -> None:
    """The re-check may have asked for a call whose commit was still under way: it is looked for again."""
    view = SimpleNamespace(request_id="r-1", client="shop", answer="success")
    store, asker, decided = SlowStore(view), Asker(), list[Any]()
    waiting = inquiry(store, asker, decided)
    waiting.submit(cast("Submit", None))
    recheck = asyncio.ensure_future(waiting._hall.followers.recheck())
    await asyncio.sleep(0)
    decided[0](Submitted("r-1", repeated=False))
    store.gate.set()
    await recheck
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert asker.told == [view]


async def test_a_call_that_is_really_gone_is_denied() -> None:
    """It is looked for a few times, not for ever."""
    store, asker, decided = SlowStore(None), Asker(), list[Any]()
    waiting = inquiry(store, asker, decided)
    waiting.submit(cast("Submit", None))
    decided[0](Submitted("r-1", repeated=False))
    store.gate.set()
    waiting._hall.followers.look("r-1")
    await until_async(lambda: _now(asker.told), waiting_for="an answer")
    assert asker.told == ["not_found"]


async def _now(value: Any) -> Any:
    return value
