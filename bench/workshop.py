"""Everything that a scenario needs: how long to measure, where servers come from, and what had to be left out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.cores import Cores
from bench.databases import Databases
from bench.halls import NotStarted, running_hall
from bench.load import LoadFailed
from bench.targets import Target
from bench.wires import Refused


@dataclass(frozen=True)
class Lengths:
    """How much of everything; `short` keeps the kit from rotting, `full` gives numbers."""

    rounds: int = 3
    seconds: float = 2.5
    warm_up_seconds: float = 0.5
    worker_counts: tuple[int, ...] = (1, 8, 64, 256)
    replica_worker_counts: tuple[int, ...] = (64, 256)
    pair_tasks: int = 50_000
    wake_rounds: int = 300
    backlog_sizes: tuple[int, ...] = (1_000, 100_000, 1_000_000)
    backlog_shapes: tuple[str, ...] = ("flat", "chains", "fan-in")
    backlog_claims: int = 200
    backlog_rounds: int = 4
    parked_claims: int = 10_000
    idle_seconds: float = 40.0  # shorter than a claim is held; of the sweeps that come seldom, some fall into it
    apply_tasks: int = 10_000
    apply_rounds: int = 5
    client_counts: tuple[int, ...] = (1, 8, 64)
    parked_drains: int = 2_000
    neighbour_seconds: float = 10.0


FULL = Lengths()
SHORT = Lengths(
    rounds=1,
    seconds=0.4,
    warm_up_seconds=0.1,
    worker_counts=(1, 8),
    replica_worker_counts=(8,),
    pair_tasks=5_000,
    wake_rounds=5,
    backlog_sizes=(200, 1_000),
    backlog_shapes=("fan-in",),
    backlog_claims=40,
    backlog_rounds=2,
    parked_claims=100,
    idle_seconds=1.0,
    apply_tasks=500,
    apply_rounds=1,
    client_counts=(1, 8),
    parked_drains=40,
    neighbour_seconds=1.0,
)


@dataclass(frozen=True)
class Outside:
    """A server that somebody else started, and the plans on it that may be used up."""

    target: Target
    plan: str | None
    wake_plan: str | None


@dataclass
class Workshop:
    """Makes servers for the scenarios."""

    lengths: Lengths
    cores: Cores
    hall_command: tuple[str, ...]
    noop_command: tuple[str, ...]
    memory_command: tuple[str, ...]
    data_folder: Path
    postgres: Databases | None = None
    outside: Outside | None = None
    runs_halls: bool = True
    left_out: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Do a part of a scenario; if a server refuses or fails, note it and let the other parts go on."""
        try:
            yield
        except (LoadFailed, NotStarted, Refused, ConnectionError) as error:
            self.problems.append(f"{what}: {error}")

    @property
    def databases(self) -> tuple[str, ...]:
        """The databases that can be measured here."""
        return ("sqlite", "postgres") if self.postgres else ("sqlite",)

    @asynccontextmanager
    async def hall(self, database: str, *, pinned: bool = True) -> AsyncIterator[Target]:
        """One hall on an empty database of the given kind."""
        async with self.halls(database, 1, pinned=pinned) as (target,):
            yield target

    @asynccontextmanager
    async def halls(self, database: str, count: int, *, pinned: bool = True) -> AsyncIterator[list[Target]]:
        """`count` halls on one empty database. Several, or unpinned ones, may use every core."""
        cores = self.cores.server if pinned and count == 1 else None
        if database == "sqlite":
            async with running_hall("sqlite", self.hall_command, cores=cores, data_folder=self.data_folder) as hall:
                yield [hall]
            return
        assert self.postgres is not None, "no PostgreSQL here: ask `databases` first"
        async with (
            self.postgres.fresh() as url,
            self.replicas(url, self.postgres.pid, count, cores) as targets,
        ):
            yield targets

    @asynccontextmanager
    async def replicas(
        self, url: str, pid: int | None, count: int, cores: frozenset[int] | None
    ) -> AsyncIterator[list[Target]]:
        """`count` halls on the database of `url`, started one after the other."""
        if count == 0:
            yield []
            return
        async with (
            self.replicas(url, pid, count - 1, cores) as earlier,
            running_hall(
                "postgres",
                self.hall_command,
                cores=cores,
                data_folder=self.data_folder,
                database_url=url,
                database_pid=pid,
                operator_token=earlier[0].operator_token if earlier else None,
            ) as hall,
        ):
            yield [*earlier, hall]

    @asynccontextmanager
    async def noop(self) -> AsyncIterator[Target]:
        """The hall's HTTP front over handlers that decode and encode the same bodies and store nothing."""
        async with self.stand_in("no-op", self.noop_command) as found:
            yield replace(found, operator_token=None)

    @asynccontextmanager
    async def memory(self) -> AsyncIterator[Target]:
        """The server in plain dicts."""
        async with self.stand_in("in memory", self.memory_command) as found:
            yield found

    def stand_in(self, name: str, command: tuple[str, ...]) -> AbstractAsyncContextManager[Target]:
        """A server that is started like a hall, and is none."""
        return running_hall(name, command, cores=self.cores.server, data_folder=self.data_folder)
