"""Who waits for news of which call in this process: one read for each turn of the loop serves all that were rung.

A ring is a hint: a follower is always told by what the store says. The re-check covers lost rings, with one question
for all calls that anybody follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, Protocol

from hiringhall.domain.topics import EVERYTHING, topic_of_request
from hiringhall.ports.calls import FindNews, FindRequests, News, RequestView
from hiringhall.ports.store import Store
from hiringhall.ports.wakeups import Wakeups

READ_AT_ONCE_MAX: Final = 100
"""Results come with the calls that ended, and each may be long."""


class Follower(Protocol):
    """Waits for news of one call."""

    request_id: str
    session: str
    """The login by which it waits; empty for the operator, who has none."""

    def news(self, view: RequestView | None) -> None:
        """How the call stands now, perhaps as before; None if there is none."""

    def failed(self, failure: Exception) -> None:
        """It could not be found out how the call stands."""

    def end(self) -> None:
        """The process is about to end."""

    def login_ended(self) -> None:
        """Whoever waits may not any more. Told again until it has left."""


class Followers:
    """All followers of this process. Belongs to the event loop's thread."""

    def __init__(self, store: Store, wakeups: Wakeups) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._by_id: dict[str, dict[Follower, None]] = {}
        self._id_of_topic: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        """How much feedback each call had when it was looked at."""
        self._begun = 0
        """How many reads have begun. They are made one after the other."""
        self.told = 0
        """The number of the read whose views are being told."""
        self._wanted: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        wakeups.before(self._rung)

    def __len__(self) -> int:
        return sum(map(len, self._by_id.values()))

    def follow(self, follower: Follower) -> None:
        """Be told whenever something happens to the call, until `leave`."""
        request_id = follower.request_id
        followers = self._by_id.get(request_id)
        if followers is None:
            followers = self._by_id[request_id] = {}
            self._id_of_topic[topic_of_request(request_id)] = request_id
        followers[follower] = None

    def leave(self, follower: Follower) -> None:
        """Be told nothing more; nothing happens to one who was not."""
        request_id = follower.request_id
        followers = self._by_id.get(request_id)
        if followers is None:
            return
        followers.pop(follower, None)
        if not followers:
            del self._by_id[request_id]
            self._id_of_topic.pop(topic_of_request(request_id), None)
            self._wanted.pop(request_id, None)
            self._seen.pop(request_id, None)

    def look(self, request_id: str) -> int:
        """Read how the call stands and tell its followers; many such wishes of one turn are one read.

        Returns the number of the first read of which what it tells is no older than this wish.
        """
        self._wanted[request_id] = None
        self._begin()
        return self._begun + 1

    @property
    def next_read(self) -> int:
        """The number of the next read, which sees all that was committed until now."""
        return self._begun + 1

    def _rung(self, topic: str) -> None:
        if topic == EVERYTHING:
            if self._by_id:
                self._wanted.update(dict.fromkeys(self._by_id))
                self._begin()
        elif (request_id := self._id_of_topic.get(topic)) is not None:
            self.look(request_id)

    def _begin(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._read())

    async def _read(self) -> None:
        """Read what is wanted, one read at a time: what is rung meanwhile goes into the next."""
        try:
            while self._wanted:
                request_ids = tuple(islice(self._wanted, READ_AT_ONCE_MAX))
                for request_id in request_ids:
                    del self._wanted[request_id]
                await self._look_at(request_ids)
        finally:
            self._task = None

    async def recheck(self) -> None:
        """Ask once about all calls that are followed, and look at those of which there is news; never raises."""
        request_ids = tuple(self._by_id)
        if not request_ids:
            return
        try:
            found: list[News] = await self._store.read(FindNews(request_ids))
        except Exception as failure:  # noqa: BLE001 - whatever it is, every follower has to hear of it
            self._tell(request_ids, failure)
            return
        for news in found:
            if news.request_id in self._by_id and (
                news.ended or news.feedback_count > self._seen.get(news.request_id, 0)
            ):
                self.look(news.request_id)

    async def _look_at(self, request_ids: tuple[str, ...]) -> None:
        self._begun += 1
        try:
            views: list[RequestView] = await self._store.read(FindRequests(request_ids))
        except Exception as failure:  # noqa: BLE001 - whatever it is, every follower has to hear of it
            self._tell(request_ids, failure)
            return
        self.told = self._begun
        by_id = {view.request_id: view for view in views}
        for request_id in request_ids:
            view = by_id.get(request_id)
            if view is not None and request_id in self._by_id:
                self._seen[request_id] = view.feedback_count
            self._each(request_id, "news", view)

    def _tell(self, request_ids: Iterable[str], failure: Exception) -> None:
        for request_id in request_ids:
            self._each(request_id, "failed", failure)

    def _each(self, request_id: str, told: str, what: Any) -> None:
        for follower in list(self._by_id.get(request_id, ())):
            try:
                getattr(follower, told)(what)
            except Exception as bug:  # noqa: BLE001 - the others have nothing to do with it
                self._loop.call_exception_handler({"message": "a follower of a call failed", "exception": bug})

    def end(self) -> None:
        """The process is about to end: nobody waits any longer."""
        for follower in list(self._all()):
            follower.end()

    def sessions(self) -> set[str]:
        """The logins by which anybody waits."""
        return {follower.session for followers in self._by_id.values() for follower in followers} - {""}

    def login_ended(self, session: str) -> None:
        """Tell all who wait by this login that it has ended."""
        for follower in self._all():
            if follower.session == session:
                follower.login_ended()

    def unavailable(self, failure: Exception) -> None:
        """The database is away."""
        for follower in list(self._all()):
            follower.failed(failure)

    def _all(self) -> Iterable[Follower]:
        return [follower for followers in self._by_id.values() for follower in followers]
