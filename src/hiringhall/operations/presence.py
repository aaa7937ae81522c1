"""Who calls: what is known of workers, at most 5 s old, and their signs of life until they are written down.

A worker's entry stays the same object while it calls; only its view is renewed. A ring of the worker's topic makes the
view stale at once: a revoked token or a new directive shows without delay where the ring arrives, within 5 s elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from hiringhall.domain.lease import Terms
from hiringhall.domain.names import service_of
from hiringhall.domain.topics import EVERYTHING, topic_of_service, topic_of_worker
from hiringhall.operations.coalescer import Coalescer
from hiringhall.ports.asks import MarkSeen, Sign
from hiringhall.ports.calls import ServiceWorkerView
from hiringhall.ports.questions import FindWorkers, WorkerView
from hiringhall.ports.store import Store, StoreUnavailable
from hiringhall.ports.wakeups import Wakeups

VIEW_SECONDS_MAX: Final = 5.0
REFRESH_SECONDS: Final = 3.5
"""A worker that calls with a view this old has it renewed in passing, without waiting for it."""
SIGNS_MAX: Final = 2_000
READ_AT_ONCE_MAX: Final = 500
CANCELS_MAX: Final = 20
KNOWN_MAX: Final = 100_000
STRANGERS_MAX: Final = 10_000
UNUSED_SECONDS: Final = 600.0
NEVER: Final = float("-inf")
LEAVING: Final = b" leaving"
"""At the end of the word of a worker that said goodbye."""


class Parked(Protocol):
    """A parked call of a worker."""

    def told(self) -> None:
        """Something about the worker changed."""

    def look_again(self) -> None:
        """The worker may be given more than before."""


class Known:
    """A worker as this process knows it. Times are seconds of the event loop's clock."""

    __slots__ = (
        "beat_at", "clean_until", "directive", "hash", "holding_at", "key", "offline", "open", "parked", "quiet",
        "read_at", "reading", "registered", "seen_at", "service", "signed", "topic", "word",
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        self.key = key
        self.topic = topic_of_worker(key)
        self.registered = False
        """Whether the store knows it."""
        self.quiet = False
        """Whether it is given nothing, since it is quiet or to end."""
        self.offline = False
        self.service: ServiceWorkerView | None = None
        """What a service worker registered."""
        self.directive = b""
        """The value of its directive header; empty if there is nothing to say."""
        self.word = b""
        """What ends its parked calls when it changes: the directive, and whether it said goodbye."""
        self.read_at = NEVER
        self.reading = False
        self.seen_at = NEVER
        self.beat_at = NEVER
        self.signed = True
        """Whether its last sign of life is on its way to the store."""
        self.parked: tuple[Parked, ...] = ()
        """Its calls that are parked here."""
        self.hash: bytes | None = None
        """Of the token that was found to be its own."""
        self.open: dict[int, tuple[tuple[str, str, int], float]] | None = None
        """What this process handed it: unit to what it would name, and when. None until it says what it holds."""
        self.holding_at = NEVER
        """When what it says was last compared with the store."""
        self.clean_until = NEVER
        """Until then nothing but `open` can be held by it without being named."""

    def renew(self, view: WorkerView | None, now: float) -> None:
        """Take over what the store says."""
        self.read_at = now
        self.registered = view is not None
        self.quiet = view is not None and (view.quiet or view.terminate)
        self.offline = view is not None and view.offline
        self.directive = self.word = directive_of(view) if view is not None else b""
        self.service = view.service if view is not None else None
        if self.service is not None and self.service.leaving:
            self.quiet = True
            self.word += LEAVING


Found: TypeAlias = Callable[[Known | Exception | None], None]
"""Called once: with the worker, with None if there is no such worker, or with why that could not be found out."""


def directive_of(view: WorkerView) -> bytes:
    """What the worker is told with every answer: `quiet`, `terminate`, `cancel=ID,ID`, joined by `; `."""
    if not (view.quiet or view.terminate or view.cancels):
        return b""
    parts = [word for word, said in (("quiet", view.quiet), ("terminate", view.terminate)) if said]
    if view.cancels:
        parts.append("cancel=" + ",".join(view.cancels[:CANCELS_MAX]))
    return "; ".join(parts).encode("ascii")


class Presence:
    """All workers that this process has to do with. Belongs to the event loop's thread."""

    def __init__(self, store: Store, coalescer: Coalescer, wakeups: Wakeups, terms: Terms) -> None:
        self._store = store
        self._coalescer = coalescer
        self._loop = asyncio.get_running_loop()
        self._interval = max(terms.sign_interval_ms, 1) / 1000
        # Short enough that nobody who is parked is judged, and with many of them much cheaper than every interval; the
        # end of a parked call is a sign of life in any case.
        self._parked_interval = max(self._interval, min(4 * self._interval, terms.heartbeat_delay_ms / 1000))
        self._by_key: dict[str, Known] = {}
        self._by_hash: dict[bytes, Known] = {}
        self._by_topic: dict[str, Known] = {}
        self._by_service: dict[str, dict[Known, None]] = {}
        """By the topic of a service, its workers: what they may be given changes with it."""
        self._strangers: dict[bytes, float] = {}
        self._unsigned: list[Known] = []
        self._parked: dict[Known, None] = {}
        self._wanted_keys: dict[str, list[Found]] = {}
        self._wanted_hashes: dict[bytes, list[Found]] = {}
        self._read_task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        wakeups.before(self._rung)

    # --- finding

    def fresh(self, key: str, now: float) -> Known | None:
        """The worker if what is known of it is fresh enough to go by."""
        known = self._by_key.get(key)
        return known if known is not None and self._is_fresh(known, now) else None

    def fresh_by_token(self, token_hash: bytes, now: float) -> Known | None:
        """The worker whose own token has that hash, if what is known of it is fresh enough to go by."""
        known = self._by_hash.get(token_hash)
        return known if known is not None and self._is_fresh(known, now) else None

    def _is_fresh(self, known: Known, now: float) -> bool:
        age = now - known.read_at
        if age > VIEW_SECONDS_MAX or not known.registered:
            return False
        if age > REFRESH_SECONDS and not known.reading:
            known.reading = True
            self._want(self._wanted_keys, known.key, None)
        return True

    def find(self, key: str, found: Found) -> None:
        """Read what the store knows of a worker; many such questions of one turn are one read."""
        self._want(self._wanted_keys, key, found)

    def find_by_token(self, token_hash: bytes, found: Found) -> None:
        """Read whose own token has that hash."""
        known = self._by_hash.get(token_hash)
        if known is not None:
            self._want(self._wanted_keys, known.key, partial(self._found_again, token_hash, found))
        elif self._strangers.get(token_hash, NEVER) > self._loop.time():
            found(None)
        else:
            self._want(self._wanted_hashes, token_hash, found)

    def _found_again(self, token_hash: bytes, found: Found, seen: Known | Exception | None) -> None:
        found(seen if isinstance(seen, Exception) or (seen is not None and token_hash == seen.hash) else None)

    def forget(self, key: str) -> None:
        """What is known of the worker is out of date."""
        known = self._by_key.get(key)
        if known is not None:
            known.read_at = NEVER

    def _rung(self, topic: str) -> None:
        if topic == EVERYTHING:
            stale, rung = list(self._by_key.values()), list(self._parked)
        elif (found := self._by_topic.get(topic)) is not None:
            stale = rung = [found]
        elif (served := self._by_service.get(topic)) is not None:
            stale = rung = list(served)
        else:
            return
        for known in stale:
            known.read_at = NEVER
        for known in rung:
            for call in known.parked:
                call.told()

    def _want(self, wanted: dict[Any, list[Found]], name: Any, found: Found | None) -> None:
        waiting = wanted.setdefault(name, [])
        if found is not None:
            waiting.append(found)
        if self._read_task is None:
            self._read_task = self._loop.create_task(self._read())

    async def _read(self) -> None:
        """Answer what is wanted, one read at a time: what is asked for meanwhile goes into the next."""
        try:
            while self._wanted_keys or self._wanted_hashes:
                if self._wanted_keys:
                    await self._read_keys()
                if self._wanted_hashes:
                    await self._read_hashes()
        finally:
            self._read_task = None

    async def _read_keys(self) -> None:
        names = list(self._wanted_keys)[:READ_AT_ONCE_MAX]
        wanted = {name: self._wanted_keys.pop(name) for name in names}
        asked_at = self._loop.time()
        try:
            views = await self._store.read(FindWorkers(keys=tuple(names)))
        except Exception as failure:  # noqa: BLE001 - every caller has to hear of it
            for name, waiting in wanted.items():
                if (stale := self._by_key.get(name)) is not None:
                    stale.reading = False
                self._tell(waiting, failure)
            return
        by_key: dict[str, WorkerView] = {view.key: view for view in views}
        for name, waiting in wanted.items():
            self._tell(waiting, self._take_over(name, by_key.get(name), asked_at))

    async def _read_hashes(self) -> None:
        names = list(self._wanted_hashes)[:READ_AT_ONCE_MAX]
        wanted = {name: self._wanted_hashes.pop(name) for name in names}
        asked_at = self._loop.time()
        try:
            views = await self._store.read(FindWorkers(token_hashes=tuple(names)))
        except Exception as failure:  # noqa: BLE001 - every caller has to hear of it
            for waiting in wanted.values():
                self._tell(waiting, failure)
            return
        by_hash: dict[bytes, WorkerView] = {view.token_hash: view for view in views}
        for token_hash, waiting in wanted.items():
            view = by_hash.get(token_hash)
            known = None if view is None else self._take_over(view.key, view, asked_at)
            if known is None:
                if len(self._strangers) >= STRANGERS_MAX:
                    self._strangers.clear()
                self._strangers[token_hash] = asked_at + VIEW_SECONDS_MAX
            else:
                known.hash = token_hash
                self._by_hash[token_hash] = known
            self._tell(waiting, known)

    def _take_over(self, key: str, view: WorkerView | None, asked_at: float) -> Known | None:
        known = self._by_key.get(key)
        if known is None:
            if view is None:
                return None
            self._make_room(asked_at)
            known = self._by_key[key] = Known(key)
            self._by_topic[known.topic] = known
            if (topic := _topic_of_its_service(key)) is not None:
                self._by_service.setdefault(topic, {})[known] = None
        known.reading = False
        known.renew(view, asked_at)
        if known.hash is not None and (view is None or view.token_hash != known.hash):
            self._by_hash.pop(known.hash, None)
            known.hash = None
        return known if view is not None else None

    def _make_room(self, now: float) -> None:
        if len(self._by_key) < KNOWN_MAX:
            return
        for known in list(self._by_key.values()):
            if known.signed and not known.parked and now - max(known.seen_at, known.read_at) > UNUSED_SECONDS:
                del self._by_key[known.key]
                self._by_topic.pop(known.topic, None)
                self._leave_service(known)
                if known.hash is not None:
                    self._by_hash.pop(known.hash, None)

    def _leave_service(self, known: Known) -> None:
        topic = _topic_of_its_service(known.key)
        if topic is not None and (served := self._by_service.get(topic)) is not None:
            served.pop(known, None)
            if not served:
                del self._by_service[topic]

    def _tell(self, waiting: Iterable[Found], result: Known | Exception | None) -> None:
        for found in waiting:
            try:
                found(result)
            except Exception as bug:  # noqa: BLE001 - the others have nothing to do with it
                self._loop.call_exception_handler({"message": "a worker's call failed", "exception": bug})

    # --- signs of life

    def seen(self, known: Known, now: float) -> None:
        """The worker made an authenticated call."""
        known.seen_at = now
        if known.signed:
            known.signed = False
            self._unsigned.append(known)
            if known.offline:  # "a known but offline worker that calls is online again"
                known.offline = False
                self._hurry()
            elif self._timer is None:
                self._timer = self._loop.call_later(self._interval, self._flush)

    def beat(self, known: Known, now: float) -> None:
        """The worker sent a heartbeat."""
        known.beat_at = now
        self.seen(known, now)

    def park(self, known: Known, call: Parked) -> None:
        """A call of the worker is parked: while its connection is open the worker is alive."""
        known.parked += (call,)
        self._parked[known] = None
        if self._timer is None:
            self._timer = self._loop.call_later(self._interval, self._flush)

    def unpark(self, known: Known, call: Parked) -> None:
        """A parked call of the worker ended, or its connection did."""
        known.parked = tuple(each for each in known.parked if each is not call)
        if not known.parked:
            del self._parked[known]
        self.seen(known, self._loop.time())

    def _hurry(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(0, self._flush)

    def _flush(self) -> None:
        self._timer = None
        now = self._loop.time()
        self._sign_parked(now)
        if self._timer is None and (self._unsigned or self._parked):
            self._timer = self._loop.call_later(self._interval, self._flush)
        self._write(now)

    def _sign_parked(self, now: float) -> None:
        """Once it is time for one who is parked, those who follow soon sign too, so that all are written at once."""
        soon = [known for known in self._parked if now - known.seen_at >= self._parked_interval / 2]
        if any(now - known.seen_at >= self._parked_interval for known in soon):
            for known in soon:
                self.seen(known, now)

    def _write(self, now: float) -> None:
        unsigned, self._unsigned = self._unsigned, []
        for start in range(0, len(unsigned), SIGNS_MAX):
            chunk = unsigned[start : start + SIGNS_MAX]
            beats = [known.beat_at for known in chunk]
            signs = tuple(_sign(known, now) for known in chunk)
            for known in chunk:
                known.signed, known.beat_at = True, NEVER
            self._coalescer.ask(MarkSeen(signs), partial(self._written, chunk, beats))

    def _written(self, chunk: list[Known], beats: list[float], outcome: Any) -> None:
        if not isinstance(outcome, StoreUnavailable):
            if isinstance(outcome, Exception):
                context = {"message": "signs of life could not be written down", "exception": outcome}
                self._loop.call_exception_handler(context)
            return
        for known, beat_at in zip(chunk, beats, strict=True):
            known.beat_at = max(known.beat_at, beat_at)
            self.seen(known, known.seen_at)

    async def flush(self) -> None:
        """Write down all signs of life now; for the end of the process."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._write(self._loop.time())
        await self._coalescer.idle()
        if self._timer is not None:
            self._timer.cancel()


def _topic_of_its_service(key: str) -> str | None:
    service = service_of(key)
    return None if service is None else topic_of_service(service)


def _sign(known: Known, now: float) -> Sign:
    beat_ms_ago = None if known.beat_at == NEVER else max(0, round((now - known.beat_at) * 1000))
    return Sign(known.key, max(0, round((now - known.seen_at) * 1000)), beat_ms_ago)
