"""What is known of something in the store, at most 5 s old, and made stale at once by a ring."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from typing import Final, Generic, TypeVar

from hiringhall.domain.topics import EVERYTHING
from hiringhall.ports.wakeups import Wakeups

SECONDS_MAX: Final = 5.0
REFRESH_SECONDS: Final = 3.5
"""What is used at this age is renewed in passing, without anybody waiting for it."""
READ_AT_ONCE_MAX: Final = 500
KNOWN_MAX: Final = 50_000
NEVER: Final = float("-inf")

Name = TypeVar("Name", bound=Hashable)
View = TypeVar("View")


class Seen(Generic[View]):
    """What was seen of one thing: `view` is None if there is no such thing."""

    __slots__ = ("read_at", "reading", "rings", "topics", "view")

    def __init__(self) -> None:
        self.view: View | None = None
        self.read_at = NEVER
        self.reading = False
        self.rings = 0
        self.topics: tuple[str, ...] = ()


class Views(Generic[Name, View]):
    """Reads many names of one turn together. Belongs to the event loop's thread.

    `read` answers for some names at once, leaving out what is not there; `topics` tells by whose rings a thing changes.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        wakeups: Wakeups,
        read: Callable[[tuple[Name, ...]], Awaitable[Mapping[Name, View]]],
        topics: Callable[[Name, View | None], tuple[str, ...]],
    ) -> None:
        self._loop = loop
        self.time = loop.time
        self._read_some = read
        self._topics_of = topics
        self._seen: OrderedDict[Name, Seen[View]] = OrderedDict()
        self._by_topic: dict[str, dict[Name, None]] = {}
        self._wanted: dict[Name, list[Callable[[View | Exception | None], None]]] = {}
        self._task: asyncio.Task[None] | None = None
        wakeups.before(self._rung)

    def fresh(self, name: Name) -> Seen[View] | None:
        """What was seen of it, if that is fresh enough to go by."""
        seen = self._seen.get(name)
        if seen is None:
            return None
        age = self.time() - seen.read_at
        if age > SECONDS_MAX:
            return None
        if age > REFRESH_SECONDS and not seen.reading:
            seen.reading = True
            self._want(name)
        return seen

    def age(self, name: Name) -> float:
        """How many seconds ago it was seen as it was; infinite if it was not, or was rung since."""
        seen = self._seen.get(name)
        return float("inf") if seen is None else self.time() - seen.read_at

    def last(self, name: Name) -> View | None:
        """What was seen of it last, however long ago."""
        seen = self._seen.get(name)
        return None if seen is None else seen.view

    def find(self, name: Name, done: Callable[[View | Exception | None], None]) -> None:
        """Call `done` with what is there now, None if there is nothing, or why that could not be found out."""
        self._want(name).append(done)

    async def one(self, name: Name) -> View | None:
        """What is there now."""
        future: asyncio.Future[View | None] = self._loop.create_future()

        def done(found: View | Exception | None) -> None:
            if future.done():
                return
            if isinstance(found, Exception):
                future.set_exception(found)
            else:
                future.set_result(found)

        self.find(name, done)
        return await future

    def _want(self, name: Name) -> list[Callable[[View | Exception | None], None]]:
        waiting = self._wanted.setdefault(name, [])
        if self._task is None:
            self._task = self._loop.create_task(self._read())
        return waiting

    def _rung(self, topic: str) -> None:
        names: Collection[Name] = self._seen if topic == EVERYTHING else self._by_topic.get(topic, ())
        for name in names:
            seen = self._seen[name]
            seen.read_at = NEVER
            seen.rings += 1

    async def _read(self) -> None:
        try:
            while self._wanted:
                await self._read_once()
        finally:
            self._task = None

    async def _read_once(self) -> None:
        names = list(self._wanted)[:READ_AT_ONCE_MAX]
        wanted = {name: self._wanted.pop(name) for name in names}
        asked_at = self.time()
        rings = {name: seen.rings for name in names if (seen := self._seen.get(name)) is not None}
        try:
            views = await self._read_some(tuple(names))
        except Exception as failure:  # noqa: BLE001 - every caller has to hear of it
            for name, waiting in wanted.items():
                if (stale := self._seen.get(name)) is not None:
                    stale.reading = False
                self._tell(waiting, failure)
            return
        for name, waiting in wanted.items():
            view = views.get(name)
            self._take_over(name, view, asked_at, rings.get(name, 0))
            self._tell(waiting, view)

    def _take_over(self, name: Name, view: View | None, asked_at: float, rings: int) -> None:
        seen = self._seen.get(name)
        if seen is None:
            if len(self._seen) >= KNOWN_MAX:
                self._forget(next(iter(self._seen)))
            seen = self._seen[name] = Seen()
        self._seen.move_to_end(name)
        seen.reading = False
        seen.view = view
        if seen.rings == rings:  # else it changed while it was read
            seen.read_at = asked_at
        topics = self._topics_of(name, view)
        if topics != seen.topics:
            self._unlist(name, seen)
            seen.topics = topics
            for topic in topics:
                self._by_topic.setdefault(topic, {})[name] = None

    def _forget(self, name: Name) -> None:
        self._unlist(name, self._seen.pop(name))

    def _unlist(self, name: Name, seen: Seen[View]) -> None:
        for topic in seen.topics:
            names = self._by_topic[topic]
            del names[name]
            if not names:
                del self._by_topic[topic]

    def _tell(self, waiting: list[Callable[[View | Exception | None], None]], found: View | Exception | None) -> None:
        for done in waiting:
            try:
                done(found)
            except Exception as bug:  # noqa: BLE001 - the others have nothing to do with it
                self._loop.call_exception_handler({"message": "what follows a look failed", "exception": bug})
