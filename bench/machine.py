"""Names the machine that the numbers belong to, and measures what a durable write costs on its disk."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.figures import milliseconds, percentile

FSYNC_ROUNDS = 200
FSYNC_BYTES = 4096
LIBRARIES = ("uvicorn", "uvloop", "httptools", "msgspec", "apsw", "asyncpg")


@dataclass(frozen=True)
class Machine:
    """What decides about the numbers besides the program."""

    host: str
    processor: str
    cores: int
    memory_mib: int
    kernel: str
    python: str
    libraries: str
    file_system: str
    fsync_p50_ms: float
    fsync_p99_ms: float
    load_average: float

    @property
    def forced(self) -> str:
        """What fdatasync takes."""
        return f"p50 {self.fsync_p50_ms:.3f} ms, p99 {self.fsync_p99_ms:.3f} ms"

    def lines(self) -> list[str]:
        """The machine in a few lines."""
        return [
            f"machine  {self.host}: {self.processor}, {self.cores} cores, {self.memory_mib} MiB; kernel {self.kernel}",
            f"software Python {self.python}; {self.libraries}",
            f"disk     {self.file_system}; {FSYNC_BYTES} bytes forced to it: {self.forced}",
            f"load     {self.load_average:.2f} (average of the minute before the start)",
        ]


def processor_name() -> str:
    """The processor's name as the kernel tells it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def file_system_of(folder: Path) -> str:
    """The kind of file system that holds `folder`; on tmpfs a durable write costs nothing and the numbers flatter."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, found, *_ = line.split()
        if len(mount) >= len(best) and (f"{folder.resolve()}/").startswith(mount.rstrip("/") + "/"):
            best, kind = mount, found
    return f"{kind} (no disk behind it: durable writes look free)" if kind in ("tmpfs", "ramfs") else kind


def fsync_seconds(folder: Path, rounds: int = FSYNC_ROUNDS) -> list[float]:
    """Durations of `rounds` writes of one page, each forced to the disk."""
    page = os.urandom(FSYNC_BYTES)
    seconds = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(rounds):
            began = time.perf_counter()
            file.write(page)
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - began)
    return seconds


def library_versions() -> str:
    """The versions of what the server is built on."""
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def this_machine(folder: Path) -> Machine:
    """Look at the machine; `folder` is where the databases will be."""
    seconds = fsync_seconds(folder)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        host=platform.node(),
        processor=processor_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=pages // 2**20,
        kernel=platform.release(),
        python=platform.python_version(),
        libraries=library_versions(),
        file_system=file_system_of(folder),
        fsync_p50_ms=milliseconds(percentile(seconds, 50)),
        fsync_p99_ms=milliseconds(percentile(seconds, 99)),
        load_average=os.getloadavg()[0],
    )
