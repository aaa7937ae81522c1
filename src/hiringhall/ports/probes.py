"""Waking workers that wait at a port of their own: what others tell the probe, what it asks for, and what it shows.

A probe is a hint like every wake-up. One that is refused or fails is shown to operators and changes nothing else: the
work stays ready, and the worker finds it whenever it drains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LazyWorker:
    """A worker that waits to be probed, and where.

    `ip` and `port` are what it registered, unchecked; `source` is where its registration came from, and `forwarded`
    whether it came with a header of a proxy. `lanes` are those of the asked lanes that it serves. `beat` and `handed`
    are any numbers that change with each heartbeat of it, and with each hand-over to it; None: not known.
    """

    key: str
    ip: object
    port: object
    source: str
    forwarded: bool
    service: str = ""
    lanes: tuple[str, ...] = ()
    beat: int | None = None
    handed: int | None = None


class LazyWorkers(Protocol):
    """What the probe asks the store for, one question at a time, for the workers that other replicas hear."""

    async def ready_lanes(self, lane_keys: Sequence[str], limit: int) -> Sequence[str]:
        """The keys of up to `limit` lanes that have something ready: of these, and of all that a Lazy worker serves.

        A lane that no Lazy worker was known to serve until a minute ago may be missing, if it is not one of these, nor
        served by a worker that was to be looked at again.
        """
        ...

    def look_again(self, worker_keys: Collection[str]) -> None:
        """These workers may serve other lanes than before."""
        ...

    async def lazy_workers(self, lane_keys: Sequence[str]) -> Sequence[LazyWorker]:
        """The Lazy workers of these lanes, without those that are offline, quiet, or have said goodbye.

        The lane of a worker's own, `worker:KEY`, is served by that worker.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProbeState:
    """What operators see of a worker's probes. `last` and `refused` are sentences or parts of one, in plain words."""

    last: str
    refused: str | None = None
    failures: int = 0  # in a row
    seconds_ago: float | None = None  # since `last`; None: never probed
    next_in_seconds: float | None = (
        None  # until another attempt may follow at a heartbeat; None: whenever work is ready
    )


class Probes(Protocol):
    """What others tell the probe. Every method returns at once and never fails; to be called in the loop's thread."""

    def registered(
        self, worker_key: str, service: str, ip: object, port: object, source: str, forwarded: bool,
        lanes: Collection[str],
    ) -> str | None:  # fmt: skip
        """A Lazy worker registered here. `lanes`: the keys of those that it serves. Returns why it is never probed."""

    def heartbeat(self, worker_key: str) -> None:
        """A heartbeat of any worker arrived."""

    def drained(self, worker_key: str, more_ready: bool, taken: bool = True) -> None:
        """Any worker drained.

        `more_ready`: on the lanes that it serves there is more than it was given. `taken`: it was given something; one
        whose hands are full is not probed again at once.
        """

    def gone(self, worker_key: str) -> None:
        """A worker said goodbye, was removed, or registered in another mode."""

    def announced(self, lane_key: str, request_id: str) -> None:
        """A request is about to be committed to a lane: whoever is probed for it is told this id."""

    def work_ready(self, lane_topic: str, request_id: str | None = None, count: int = 1) -> None:
        """So many units became ready on a lane by a commit of this process."""

    def rings_committed(self, rings: Mapping[str, int]) -> None:
        """The same for all rings of a commit; topics that are no lanes are passed over."""

    def state_of(self, worker_key: str) -> ProbeState | None:
        """What this process knows of a worker's probes; None: it is no Lazy worker known here."""
