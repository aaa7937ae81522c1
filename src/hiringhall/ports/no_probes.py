"""Probes for a process that has none: whatever it is told, it does nothing."""

# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Collection, Mapping

from hiringhall.ports.probes import Probes, ProbeState


class NoProbes(Probes):
    """Probes nobody, where there are no Lazy workers."""

    def registered(
        self, worker_key: str, service: str, ip: object, port: object, source: str, forwarded: bool,
        lanes: Collection[str],
    ) -> str | None:  # fmt: skip
        return None

    def heartbeat(self, worker_key: str) -> None:
        return

    def drained(self, worker_key: str, more_ready: bool, taken: bool = True) -> None:
        return

    def gone(self, worker_key: str) -> None:
        return

    def announced(self, lane_key: str, request_id: str) -> None:
        return

    def work_ready(self, lane_topic: str, request_id: str | None = None, count: int = 1) -> None:
        return

    def rings_committed(self, rings: Mapping[str, int]) -> None:
        return

    def state_of(self, worker_key: str) -> ProbeState | None:
        return None
