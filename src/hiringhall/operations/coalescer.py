"""Group commit: collects what concurrent requests ask of the store while the batch before is being committed.

Nothing is delayed for it: when a channel is idle, an ask is sent at the end of the present turn of the event loop,
together with what else arrived in that turn; when it is busy, the asks that gather meanwhile are the next batch.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from hiringhall.ports.asks import Apply, Ask, Take
from hiringhall.ports.calls import AddFeedback, Drain, Respond, Responded, Submit
from hiringhall.ports.store import Committed, Overloaded, Store
from hiringhall.ports.wakeups import Wakeups

BATCH_ASKS_MAX: Final = 256
BATCH_BYTES_MAX: Final = 1024 * 1024
DRAINED_USUALLY: Final = 8
LONG_REASON_CHARACTERS: Final = 256

Done: TypeAlias = Callable[[Any], None]
"""Called once with the outcome of an ask, or with the exception that it failed with."""
_Entry: TypeAlias = tuple[Ask, Done, Callable[[], bool] | None, Callable[[], None] | None]


class Coalescer:
    """Sends asks to the store in batches and hands out their outcomes. Belongs to the event loop's thread."""

    def __init__(self, store: Store, wakeups: Wakeups, *, waiting_limit: int = 20_000) -> None:
        self._store = store
        self._wakeups = wakeups
        self._waiting_limit = waiting_limit
        self._channels: dict[str, _Channel] = {}
        self._channel_of: Callable[[Ask], str] = store.channel
        self._loop = asyncio.get_running_loop()
        self.batches = 0
        self.asks: Counter[str] = Counter()
        """How many asks of each verb were committed."""
        self.answers: Counter[str] = Counter()
        """How many answers to calls were accepted, by their status."""
        self.feedback_items = 0
        """How many items of feedback were accepted."""

    def ask(
        self,
        ask: Ask,
        done: Done,
        *,
        alive: Callable[[], bool] | None = None,
        on_gone: Callable[[], None] | None = None,
    ) -> None:
        """Have `ask` committed with the next batch and call `done` with its outcome.

        One whose caller is no longer `alive` when the batch is formed is dropped, and `on_gone` is called instead. With
        too many asks waiting, `done` gets a StoreUnavailable at once.
        """
        name = self._channel_of(ask)
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = _Channel(self)
        if len(channel.queue) >= self._waiting_limit:
            done(Overloaded("too many requests are waiting for the database"))
            return
        channel.queue.append((ask, done, alive, on_gone))
        if not channel.busy:
            channel.busy = True
            channel.task = self._loop.create_task(channel.run())  # which begins when this turn of the loop is over

    @property
    def waiting(self) -> int:
        """How many asks wait for their batch."""
        return sum(len(channel.queue) for channel in self._channels.values())

    async def one(self, ask: Ask) -> Any:
        """The outcome of one ask, for callers that are not in a hurry.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        found: asyncio.Future[Any] = self._loop.create_future()

        def done(outcome: Any) -> None:
            if found.done():
                return
            if isinstance(outcome, BaseException):
                found.set_exception(outcome)
            else:
                found.set_result(outcome)

        self.ask(ask, done, alive=lambda: not found.done())
        return await found

    async def idle(self) -> None:
        """Return when nothing is waiting or under way."""
        while busy := [channel for channel in self._channels.values() if channel.busy]:
            running = [channel.task for channel in busy if channel.task is not None]
            if running:
                await asyncio.wait(running)
            await asyncio.sleep(0)

    async def commit(self, batch: list[_Entry]) -> None:
        """Commit a batch and hand out what came of it; never raises."""
        asks = [entry[0] for entry in batch]
        try:
            committed = await self._store.commit(asks)
        except Exception as failure:  # noqa: BLE001 - whatever it is, every caller has to hear of it
            self._hand_out(batch, [failure] * len(batch))
            return
        assert isinstance(committed, Committed)
        self._count(asks, committed.outcomes)
        if committed.rings:
            self._wakeups.ring_committed(committed.rings)
        self._hand_out(batch, committed.outcomes)

    def _count(self, asks: list[Ask], outcomes: list[Any]) -> None:
        self.batches += 1
        verbs = self.asks
        for ask, outcome in zip(asks, outcomes, strict=True):
            kind = type(ask)
            verbs[kind.__name__] += 1
            if kind is Respond:
                if type(outcome) is Responded and not outcome.again:
                    self.answers[ask.answer.value] += 1  # type: ignore[union-attr]
            elif kind is AddFeedback and type(outcome) is int:
                self.feedback_items += outcome

    def _hand_out(self, batch: list[_Entry], outcomes: list[Any]) -> None:
        for entry, outcome in zip(batch, outcomes, strict=True):
            try:
                entry[1](outcome)
            except Exception as bug:  # noqa: BLE001 - the others of the batch have nothing to do with it
                self.tell(partial(entry[1], bug))  # its caller waits for some answer

    def tell(self, callback: Callable[[], None]) -> None:
        """Call a callback whose bugs are its own."""
        try:
            callback()
        except Exception as bug:  # noqa: BLE001 - the others of the batch have nothing to do with it
            self._loop.call_exception_handler({"message": "a callback of the coalescer failed", "exception": bug})


class _Channel:
    """The queue of asks that are committed together."""

    __slots__ = ("_coalescer", "busy", "queue", "task")

    def __init__(self, coalescer: Coalescer) -> None:
        self._coalescer = coalescer
        self.queue: deque[_Entry] = deque()
        self.busy = False
        self.task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Commit batches until nothing is left."""
        coalescer = self._coalescer
        while self.queue:
            batch = self._form()
            if batch:
                await coalescer.commit(batch)
        self.busy = False

    def _form(self) -> list[_Entry]:
        """Take the next batch off the queue: an Apply alone, else what fits, at most one ask about a unit."""
        queue = self.queue
        batch: list[_Entry] = []
        units: set[object] = set()
        later: list[_Entry] = []
        size = units_wanted = 0
        while queue and len(batch) < BATCH_ASKS_MAX and units_wanted < BATCH_ASKS_MAX and size < BATCH_BYTES_MAX:
            ask, _, alive, on_gone = entry = queue.popleft()
            if alive is not None and not alive():
                if on_gone is not None:
                    self._coalescer.tell(on_gone)
                continue
            kind = type(ask)
            if kind is Take:
                units_wanted += ask.limit  # type: ignore[union-attr]
                if ask.key is None:  # type: ignore[union-attr]
                    batch.append(entry)
                    continue
            elif kind is Drain:  # which mostly get far less than their limit
                units_wanted += min(ask.limit, DRAINED_USUALLY)  # type: ignore[union-attr]
                batch.append(entry)
                continue
            if kind is Apply and batch:
                queue.appendleft(entry)
                break
            unit = getattr(ask, "unit", None)
            if unit is not None and unit in units:
                later.append(entry)
                continue
            units.add(unit)
            batch.append(entry)
            size += _size_of(ask)
        queue.extendleft(reversed(later))
        return batch


def _size_of(ask: Ask) -> int:
    """Roughly how many bytes the ask adds to its batch; small ones count for nothing."""
    kind = type(ask)
    if kind is Apply:
        return BATCH_BYTES_MAX
    if kind is Respond:
        return len(ask.result or b"") + 4 * len(ask.error_text or "")  # type: ignore[union-attr]
    if kind is Submit:
        return len(ask.params)  # type: ignore[union-attr]
    if kind is AddFeedback:
        return sum(len(item.fc) for item in ask.items)  # type: ignore[union-attr,misc]
    reason = getattr(ask, "reason", None)
    return 4 * len(reason) if reason is not None and len(reason) > LONG_REASON_CHARACTERS else 0
