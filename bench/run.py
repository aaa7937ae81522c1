"""One run: the machine, the servers, each scenario's table as soon as it is there, the report on disk."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from bench.cores import pin_generator, shared_out
from bench.databases import postgres
from bench.machine import Machine, this_machine
from bench.report import Table
from bench.scenarios import AGAINST_OUTSIDE, SCENARIOS
from bench.workshop import Lengths, Outside, Workshop

METHOD = (
    "CPU is read from the kernel's clocks of the processes (server; all of PostgreSQL's), memory as PSS",
    "latency is taken at the client, from writing the request to the last byte of the answer, keep-alive",
    "one request in flight per worker; every worker has a connection, and an id and token of its own",
    "the client writes the protocol's own bodies: no plan_id in a complete, nothing batched, nothing pipelined",
    "every acknowledged change is durable (SQLite synchronous=FULL, PostgreSQL synchronous_commit=on)",
)


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    names: Sequence[str]
    lengths: Lengths
    hall_command: tuple[str, ...]
    data_folder: Path
    results: Path
    rounds: int | None = None
    seconds: float | None = None
    postgres_url: str | None = None
    without_postgres: bool = False
    outside: Outside | None = None
    runs_halls: bool = True

    @property
    def asked_lengths(self) -> Lengths:
        """The lengths with what was overridden."""
        changed = replace(self.lengths, rounds=self.rounds or self.lengths.rounds)
        return replace(changed, seconds=self.seconds or changed.seconds)


class Report:
    """Prints what it is told, and keeps it for the files."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.tables: list[Table] = []

    def say(self, text: str) -> None:
        """A piece of text."""
        self.parts.append(text)
        print(text, flush=True)

    def write(self, folder: Path, machine: Machine, left_out: Sequence[str]) -> Path:
        """Both files; the path of the readable one."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{datetime.now().astimezone():%Y-%m-%d-%H%M%S}-{machine.host}"
        text = stem.with_name(f"{stem.name}.txt")
        text.write_text("\n".join(self.parts) + "\n")
        found = {
            "machine": asdict(machine),
            "tables": [table.as_json() for table in self.tables],
            "left_out": list(left_out),
        }
        stem.with_name(f"{stem.name}.json").write_text(json.dumps(found, indent=1))
        return text


async def run(wish: Wish) -> int:
    """Run the scenarios; 1 if any part of them failed."""
    this_task = asyncio.current_task()
    assert this_task is not None
    # Ended by a signal, it still stops the servers that it started.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_task.cancel)
    machine = this_machine(wish.data_folder)
    cores = shared_out()
    report = Report()
    async with postgres(wish.postgres_url, wanted=not wish.without_postgres) as databases:
        workshop = Workshop(
            lengths=wish.asked_lengths,
            cores=cores,
            hall_command=wish.hall_command,
            noop_command=(sys.executable, "-m", "bench.noop_server"),
            memory_command=(sys.executable, "-m", "bench.memory_server"),
            data_folder=wish.data_folder,
            postgres=databases,
            outside=wish.outside,
            runs_halls=wish.runs_halls,
        )
        pin_generator(cores)
        report.say("\n".join([*machine.lines(), *lines_about(wish, workshop), ""]))
        if databases is None and wish.runs_halls:
            workshop.left_out.append("everything on PostgreSQL: none is installed, or --no-postgres was given")
        for name in wish.names:
            if wish.runs_halls or name in AGAINST_OUTSIDE:
                await run_one(name, workshop, report)
            else:
                workshop.left_out.append(f"{name}: it starts halls of its own; give --beside")
    left_out = [*workshop.left_out, *(f"{name}: not asked for" for name in SCENARIOS if name not in wish.names)]
    left_out += [f"FAILED {problem}" for problem in workshop.problems]
    report.say("\n".join(["left out:", *(f"  * {each}" for each in left_out or ["nothing"])]))
    print(f"written to {report.write(wish.results, machine, left_out)}")
    return 1 if workshop.problems else 0


async def run_one(name: str, workshop: Workshop, report: Report) -> None:
    """One scenario, and its table as soon as it is there."""
    began_at = time.perf_counter()
    with workshop.attempt(name):
        table = await SCENARIOS[name](workshop)
        table.notes.append(f"took {time.perf_counter() - began_at:.0f} s")
        report.tables.append(table)
        report.say(table.text())


def lines_about(wish: Wish, workshop: Workshop) -> list[str]:
    """What was started and how it was measured."""
    postgres_found = workshop.postgres.description if workshop.postgres else "none"
    lines = [f"postgres {postgres_found}"]
    if wish.runs_halls:
        lines.append(f"hall     {shlex.join(Path(word).name for word in wish.hall_command)}")
        lines.append(f"cores    {workshop.cores.note()}")
    if wish.outside is not None:
        target = wish.outside.target
        host, port, prefix = target.address
        lines.append(f"outside  {host}:{port}{prefix}, wire {target.wire}; it runs wherever it was started")
    return [*lines, *(f"method   {line}" for line in METHOD)]
