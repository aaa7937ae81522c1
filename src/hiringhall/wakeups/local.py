"""Wake-ups within this process: lanes with their waiters in line."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from hiringhall.domain.topics import EVERYTHING, topic_of
from hiringhall.ports.wakeups import HOPS_MAX, Lane, Waiter

UNUSED_LANES_MAX: Final = 10_000
"""Lanes that nobody uses are remembered up to this number, since it spares a look to know that they are drained."""


class LocalLane:
    """The line of one lane, first come first rung, and what is known of the lane."""

    __slots__ = ("_drained_at", "_waiting", "alone", "key", "rings", "topic", "users")

    def __init__(self, key: str, topic: str) -> None:
        self.key = key
        self.topic = topic
        self.rings = 0
        self.users = 0
        self.alone: tuple[Lane, ...] = (self,)
        self._drained_at = -1
        self._waiting: OrderedDict[Waiter, None] = OrderedDict()

    @property
    def drained(self) -> bool:
        return self._drained_at == self.rings

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def mark_drained(self, rings: int) -> None:
        if rings == self.rings:
            self._drained_at = rings

    def park(self, waiter: Waiter) -> None:
        self._waiting[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        self._waiting.pop(waiter, None)

    def pass_on(self, hops: int) -> None:
        if hops > 0 and self._waiting and not self.drained:
            waiter, _ = self._waiting.popitem(last=False)
            waiter.rung(self, hops - 1)

    def ring(self, count: int) -> None:
        """Forget that the lane is drained and wake up to `count` waiters."""
        self.rings += 1
        waiting = self._waiting
        if not waiting:
            return
        count = min(count, len(waiting))
        # Taken out first: one who is rung may look, find nothing and park again while the others are still being rung.
        woken = [waiting.popitem(last=False)[0] for _ in range(count)]
        hops = min(len(waiting), HOPS_MAX)
        for waiter in woken:
            waiter.rung(self, hops)


class LocalWakeups:
    """All lanes and topics of this process. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._by_key: dict[str, LocalLane] = {}
        self._by_topic: dict[str, LocalLane] = {}
        self._hooks: list[Callable[[str], None]] = []
        self._commit_hooks: list[Callable[[Mapping[str, int]], None]] = []

    def lane(self, key: str) -> Lane:
        lane = self._by_key.get(key)
        if lane is None:
            topic = topic_of(key)
            lane = self._by_key[key] = self._by_topic[topic] = LocalLane(key, topic)
            if len(self._by_key) > 2 * UNUSED_LANES_MAX:
                self._forget_unused()
        lane.users += 1
        return lane

    def done_with(self, lane: Lane) -> None:
        assert isinstance(lane, LocalLane)
        lane.users -= 1

    def _forget_unused(self) -> None:
        unused = [lane for lane in self._by_key.values() if not lane.users]
        for lane in unused[: max(0, len(unused) - UNUSED_LANES_MAX)]:
            del self._by_key[lane.key]
            self._by_topic.pop(lane.topic, None)

    def before(self, hook: Callable[[str], None]) -> None:
        self._hooks.append(hook)

    def after_commit(self, hook: Callable[[Mapping[str, int]], None]) -> None:
        self._commit_hooks.append(hook)

    def ring(self, topic: str, count: int = 1) -> None:
        for hook in self._hooks:
            hook(topic)
        if topic == EVERYTHING:
            for lane in list(self._by_key.values()):
                lane.ring(lane.waiting)
        elif (found := self._by_topic.get(topic)) is not None:
            found.ring(count)

    def ring_committed(self, rings: Mapping[str, int]) -> None:
        for topic, count in rings.items():
            self.ring(topic, count)
        for hook in self._commit_hooks:
            hook(rings)

    def waited_for(self) -> list[str]:
        return [lane.key for lane in self._by_key.values() if lane.waiting]

    def found_ready(self, keys: Iterable[str]) -> None:
        for key in keys:
            lane = self._by_key.get(key)
            if lane is not None:
                lane.ring(1)  # whoever is served wakes the next while there is more
