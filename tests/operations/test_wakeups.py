"""Lanes and topics: who is rung, in what order, and what is remembered."""

from __future__ import annotations

from hiringhall.domain.topics import EVERYTHING, topic_of
from hiringhall.ports.wakeups import HOPS_MAX, Lane
from hiringhall.wakeups.local import UNUSED_LANES_MAX, LocalWakeups


class Waiter:
    """Writes down that it was rung."""

    def __init__(self, name: str, heard: list[str]) -> None:
        self.name = name
        self.heard = heard
        self.hops = 0

    def rung(self, lane: Lane, hops: int) -> None:
        self.heard.append(self.name)
        self.hops = hops


def test_a_ring_wakes_as_many_as_it_counts_first_come_first() -> None:
    """A ring of n wakes the n who wait longest, once."""
    wakeups, heard = LocalWakeups(), list[str]()
    lane = wakeups.lane("lane")
    for name in "abcd":
        lane.park(Waiter(name, heard))
    wakeups.ring(topic_of("lane"), 2)
    assert heard == ["a", "b"]
    wakeups.ring(topic_of("lane"), 9)
    assert heard == ["a", "b", "c", "d"]
    wakeups.ring(topic_of("lane"), 9)
    assert heard == ["a", "b", "c", "d"]


def test_one_who_left_is_not_rung() -> None:
    """Whoever leaves the line is passed over."""
    wakeups, heard = LocalWakeups(), list[str]()
    lane = wakeups.lane("lane")
    first, second = Waiter("a", heard), Waiter("b", heard)
    lane.park(first)
    lane.park(second)
    lane.leave(first)
    lane.leave(first)
    wakeups.ring(topic_of("lane"))
    assert heard == ["b"]


def test_other_topics_wake_nobody() -> None:
    """A ring is heard in its own lane only."""
    wakeups, heard = LocalWakeups(), list[str]()
    wakeups.lane("lane").park(Waiter("a", heard))
    wakeups.ring(topic_of("other"))
    assert not heard


def test_the_topic_of_everything_wakes_everybody() -> None:
    """ "*" rings all lanes."""
    wakeups, heard = LocalWakeups(), list[str]()
    for key in ("one", "two"):
        lane = wakeups.lane(key)
        lane.mark_drained(lane.rings)
        lane.park(Waiter(key, heard))
        lane.park(Waiter(key, heard))
    wakeups.ring(EVERYTHING)
    assert heard == ["one", "one", "two", "two"]
    assert not wakeups.lane("one").drained


def test_a_drained_lane_stays_so_until_it_is_rung() -> None:
    """The mark holds until the next ring."""
    wakeups = LocalWakeups()
    lane = wakeups.lane("lane")
    assert not lane.drained
    lane.mark_drained(lane.rings)
    assert lane.drained
    wakeups.ring(topic_of("lane"))
    assert not lane.drained


def test_a_ring_during_a_look_is_not_lost() -> None:
    """A look that began before a ring does not mark the lane as drained."""
    wakeups = LocalWakeups()
    lane = wakeups.lane("lane")
    before = lane.rings
    wakeups.ring(topic_of("lane"))
    lane.mark_drained(before)
    assert not lane.drained


def test_a_useless_ring_is_passed_on_while_there_may_be_something() -> None:
    """Passing on ends when the lane is known to be drained, when nobody waits, or after enough have heard it."""
    wakeups, heard = LocalWakeups(), list[str]()
    lane = wakeups.lane("lane")
    waiters = [Waiter(name, heard) for name in "abc"]
    for waiter in waiters:
        lane.park(waiter)
    wakeups.ring(topic_of("lane"))
    assert waiters[0].hops == 2
    lane.pass_on(waiters[0].hops)
    assert heard == ["a", "b"]
    assert waiters[1].hops == 1
    lane.pass_on(0)
    assert heard == ["a", "b"]
    lane.mark_drained(lane.rings)
    lane.pass_on(waiters[1].hops)
    assert heard == ["a", "b"]


def test_hops_are_bounded() -> None:
    """However many wait, a ring is passed on a bounded number of times."""
    wakeups, heard = LocalWakeups(), list[str]()
    lane = wakeups.lane("lane")
    first = Waiter("first", heard)
    lane.park(first)
    for _ in range(10 * HOPS_MAX):
        lane.park(Waiter("other", heard))
    wakeups.ring(topic_of("lane"))
    assert first.hops == HOPS_MAX


def test_hooks_come_before_waiters() -> None:
    """Caches are told before anybody acts on a ring."""
    wakeups, heard = LocalWakeups(), list[str]()
    wakeups.before(lambda topic: heard.append("hook"))
    wakeups.lane("lane").park(Waiter("a", heard))
    wakeups.ring(topic_of("lane"))
    assert heard == ["hook", "a"]


def test_lanes_with_a_lost_ring_are_woken() -> None:
    """What the re-check found to be ready is looked at again by those who wait there."""
    wakeups, heard = LocalWakeups(), list[str]()
    lane = wakeups.lane("lane")
    lane.mark_drained(lane.rings)
    lane.park(Waiter("a", heard))
    assert wakeups.waited_for() == ["lane"]
    wakeups.found_ready(["lane", "unknown"])
    assert heard == ["a"]
    assert not lane.drained
    assert not wakeups.waited_for()


def test_unused_lanes_are_forgotten_in_the_end() -> None:
    """Lanes that nobody uses do not pile up; used ones stay."""
    wakeups = LocalWakeups()
    used = wakeups.lane("used")
    for number in range(3 * UNUSED_LANES_MAX):
        wakeups.done_with(wakeups.lane(f"lane {number}"))
    assert wakeups.lane("used") is used
    assert len(wakeups._by_key) <= 2 * UNUSED_LANES_MAX + 1


def test_rings_of_commits_are_told_apart() -> None:
    """Whoever wants to know what this process committed hears of no other ring, and after those who wait."""
    wakeups, heard, told = LocalWakeups(), list[str](), list[dict[str, int]]()
    wakeups.lane("lane").park(Waiter("a", heard))
    wakeups.after_commit(lambda rings: told.append(dict(rings)) if heard else None)
    wakeups.ring(topic_of("other"))
    wakeups.ring_committed({topic_of("lane"): 3})
    assert told == [{topic_of("lane"): 3}]
