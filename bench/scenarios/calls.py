"""Round trips of calls: invoke, eager drain, respond, answer; next to requests that the same front answers at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bench.calls import Caller, Measured, callers, eager_workers, run_calls
from bench.client import connect
from bench.figures import middle, p50_ms, p99_ms, spread
from bench.report import Row, Table
from bench.services import make_service
from bench.targets import Target
from bench.workshop import Lengths, Workshop

WORKERS_MAX = 8


@asynccontextmanager
async def clients_at(target: Target, clients: int) -> AsyncIterator[Sequence[Caller]]:
    """Clients of a service with as many eager workers, eight at most; or of a server that only answers."""
    if target.operator_token is None:
        connections = [await connect(target.root) for _ in range(clients)]
        yield [Caller(each, target, "none", "noop") for each in connections]
        for each in connections:
            await each.close()
        return
    service = await make_service(target)
    async with (
        eager_workers([target], service, min(WORKERS_MAX, clients)),
        callers(target, service, clients) as found,
    ):
        yield found


@dataclass
class Arrangement:
    """A server, a number of clients, and what the rounds showed."""

    target: Target
    clients: int
    rounds: list[Measured] = field(default_factory=list)

    async def run(self, lengths: Lengths) -> None:
        """One round on a service of its own."""
        async with clients_at(self.target, self.clients) as found:
            self.rounds.append(await run_calls([self.target], found, lengths.seconds, lengths.warm_up_seconds))

    def row(self, noop: Arrangement | None) -> Row:
        """The arrangement as a line of the table."""
        rounds = self.rounds
        rate = middle(each.per_second for each in rounds)
        return {
            "server": self.target.name,
            "clients": self.clients,
            "calls/s": rate,
            "lowest…highest": spread(each.per_second for each in rounds),
            "p50 ms": middle(p50_ms(each.seconds) for each in rounds),
            "p99": middle(p99_ms(each.seconds) for each in rounds),
            "server µs/call": middle(each.server_us for each in rounds),
            "database µs/call": middle(each.database_us for each in rounds) if self.target.database_pid else None,
            "× no-op requests/s": None if noop is None else rate / middle(each.per_second for each in noop.rounds),
            "generator % of a core": middle(100 * each.spent.own_share for each in rounds),
        }


async def measure(workshop: Workshop) -> Table:
    """All client counts on the no-op front and on each database."""
    lengths = workshop.lengths
    async with AsyncExitStack() as stack:
        noop = await stack.enter_async_context(workshop.noop())
        halls = [await stack.enter_async_context(workshop.hall(each)) for each in workshop.databases]
        arrangements = [Arrangement(target, clients) for clients in lengths.client_counts for target in (noop, *halls)]
        for _ in range(lengths.rounds):
            for arrangement in arrangements:
                await arrangement.run(lengths)
    beside = {each.clients: each for each in arrangements if each.target is noop}
    rows = [each.row(beside[each.clients] if each.target is not noop else None) for each in arrangements]
    title = f"calls answered by eager workers, medians of {lengths.rounds} interleaved rounds of {lengths.seconds} s"
    notes = [
        "a no-op request is one POST that is answered at once; a call is that POST, a drain and a response, durable",
        f"as many eager workers as clients, at most {WORKERS_MAX}; each answers over eight connections",
    ]
    return Table("calls", title, rows, notes=notes)
