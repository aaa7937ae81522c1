"""CPU seconds and memory of processes and of all that they started, from the kernel's own clocks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

KIB_PER_MIB = 1024
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PARENT_FIELD = 1
REAPED_USER_FIELD = 13
REAPED_SYSTEM_FIELD = 14


def stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command's name (state first); None if the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def parent_of(pid: int, name: str) -> int | None:
    """The parent of process `pid`, if `pid` is a process called `name` on this machine."""
    fields = stat_fields(pid)
    if fields is None or Path(f"/proc/{pid}/comm").read_text().strip() != name:
        return None
    return int(fields[PARENT_FIELD])


def process_tree(root: int) -> list[int]:
    """`root` and everything that it started, in any depth."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        fields = stat_fields(pid)
        if fields is not None:
            children.setdefault(int(fields[PARENT_FIELD]), []).append(pid)
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def own_cpu_seconds(pid: int) -> float:
    """CPU time of one process with all its threads, ended ones too, in nanosecond steps; 0 if it is gone."""
    # Linux makes a process's CPU clock from its id: the complement, shifted by three bits, kind 2 (scheduler's count).
    clock = ((~pid) << 3) | 2
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0


def reaped_cpu_seconds(pid: int) -> float:
    """CPU time of children that have ended, counted by the kernel in ticks."""
    fields = stat_fields(pid)
    if fields is None:
        return 0.0
    return (int(fields[REAPED_USER_FIELD]) + int(fields[REAPED_SYSTEM_FIELD])) / TICKS_PER_SECOND


def cpu_seconds(roots: Iterable[int]) -> float:
    """CPU time so far of the given processes and their descendants: a whole PostgreSQL server by its first process."""
    return sum(own_cpu_seconds(pid) + reaped_cpu_seconds(pid) for root in roots for pid in process_tree(root))


def proportional_kib(roots: Iterable[int]) -> int:
    """Memory (PSS: shared pages counted by share) of the given processes and their descendants."""
    total = 0
    for root in roots:
        for pid in process_tree(root):
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total


class CpuWatch:
    """CPU seconds of a server, of its database and of this generator since the watch began."""

    __slots__ = ("began_at", "database_pid", "database_seconds", "own_seconds", "server_pids", "server_seconds")

    def __init__(self, server_pids: tuple[int, ...], database_pid: int | None) -> None:
        self.server_pids = server_pids
        self.database_pid = database_pid
        self.server_seconds, self.database_seconds = self.others_now()
        self.own_seconds = time.process_time()
        self.began_at = time.perf_counter()

    def others_now(self) -> tuple[float, float]:
        """The clocks of server and database. What reading them costs is left out of our own."""
        database = cpu_seconds((self.database_pid,)) if self.database_pid is not None else 0.0
        return cpu_seconds(self.server_pids), database

    def spent(self) -> Spent:
        """What was used since the beginning."""
        elapsed = time.perf_counter() - self.began_at
        own = time.process_time() - self.own_seconds
        server, database = self.others_now()
        return Spent(elapsed, server - self.server_seconds, database - self.database_seconds, own)


class Spent:
    """Seconds of a stretch: elapsed, and of CPU by whom."""

    __slots__ = ("database_seconds", "elapsed_seconds", "own_seconds", "server_seconds")

    def __init__(self, elapsed: float, server: float, database: float, own: float) -> None:
        self.elapsed_seconds = elapsed
        self.server_seconds = server
        self.database_seconds = database
        self.own_seconds = own

    @property
    def own_share(self) -> float:
        """The generator's share of one core."""
        return self.own_seconds / self.elapsed_seconds if self.elapsed_seconds else 0.0
