"""`python -m bench`: run scenarios, print their tables, keep them in bench/results."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
from pathlib import Path

import uvloop

from bench.client import Address
from bench.plans import plan_file
from bench.run import Wish, run
from bench.scenarios import AGAINST_OUTSIDE, SCENARIOS
from bench.targets import Target
from bench.wires import WIRES
from bench.workshop import FULL, SHORT, Outside

HALL = [sys.executable, "-m", "hiringhall.cli.main"]
EPILOG = """examples:
  python -m bench                                    everything, on SQLite and PostgreSQL
  python -m bench --only pairs --only wake --short   a quick look
  python -m bench --write-plan p.json --plan P --tasks 20000
  python -m bench --url http://127.0.0.1:8000 --wire whilly --bootstrap B --bearer T --plan P --wake-plan W --beside
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--only", action="append", choices=list(SCENARIOS), help="run this scenario; repeatable")
    add("--short", action="store_true", help="a few rounds of each: shows that the kit works, the numbers say little")
    add("--rounds", type=int, help="interleaved rounds of pairs (3)")
    add("--seconds", type=float, help="length of one round of pairs (2.5)")
    add("--hall", default=shlex.join(HALL), metavar="COMMAND", help="the hall to start (this repository's)")
    add("--postgres", metavar="URL", help="a PostgreSQL server where databases may be made; else one is started")
    add("--no-postgres", action="store_true", help="SQLite alone")
    add("--data-folder", type=Path, help="where databases and SQLite files go: its disk is what is measured")
    add("--results", type=Path, default=Path(__file__).parent / "results", help="folder of the reports")
    outside = made.add_argument_group("a server that already runs")
    add = outside.add_argument
    add("--url", help="load this server instead of starting halls (scenarios: pairs, wake)")
    add("--wire", choices=WIRES, default="plans", help="what it speaks: plans.txt, or the published 4.x clients' wire")
    add("--bootstrap", metavar="TOKEN", help="register workers with this token")
    add("--bearer", metavar="TOKEN", help="the bearer that all workers share")
    add("--operator", metavar="TOKEN", help="a hall's operator token: plans are then applied by themselves")
    add("--server-pid", type=int, metavar="PID", help="its process, if it is on this machine: adds CPU per pair")
    add("--database-pid", type=int, metavar="PID", help="its database server's first process")
    add("--plan", help="a plan on it whose tasks may be used up")
    add("--wake-plan", help="a plan on it with exactly one ready task")
    add("--tasks", type=int, default=20_000, help="how many tasks to write with --write-plan")
    add("--beside", action="store_true", help="measure our halls in the same run, and compare")
    add("--write-plan", type=Path, metavar="FILE", help="write a flat plan file named by --plan, and end")
    return made


def outside_of(asked: argparse.Namespace) -> Outside | None:
    """The server named by --url; SystemExit with a clear word if something is missing."""
    if asked.url is None:
        return None
    if asked.bootstrap is None and asked.bearer is None:
        raise SystemExit("bench: --url needs --bootstrap TOKEN or --bearer TOKEN, or no worker can come in")
    if asked.plan is None and asked.operator is None:
        raise SystemExit("bench: --url needs --plan ID (its tasks are used up), or --operator TOKEN to apply plans")
    try:
        address = Address.of(asked.url)
    except ValueError as error:
        raise SystemExit(f"bench: --url: {error}") from None
    target = Target(
        "outside",
        address,
        wire=asked.wire,
        bootstrap_token=asked.bootstrap,
        shared_token=asked.bearer,
        operator_token=asked.operator,
        server_pids=() if asked.server_pid is None else (asked.server_pid,),
        database_pid=asked.database_pid,
    )
    return Outside(target, asked.plan, asked.wake_plan)


def main() -> int:
    """Exit status 1 if a scenario failed; goals that are missed are printed, and do not fail."""
    asked = parser().parse_args()
    if asked.write_plan is not None:
        name = asked.plan or "bench"
        asked.write_plan.write_bytes(plan_file(name, "flat", 0, asked.tasks))
        print(f"{asked.write_plan}: plan {name!r} with {asked.tasks:,} tasks")
        return 0
    outside = outside_of(asked)
    names = asked.only or list(SCENARIOS if outside is None or asked.beside else AGAINST_OUTSIDE)
    wish = Wish(
        names=names,
        lengths=SHORT if asked.short else FULL,
        rounds=asked.rounds,
        seconds=asked.seconds,
        hall_command=tuple(shlex.split(asked.hall)),
        postgres_url=asked.postgres,
        without_postgres=asked.no_postgres or (outside is not None and not asked.beside),
        data_folder=asked.data_folder or Path(tempfile.gettempdir()),
        results=asked.results,
        outside=outside,
        runs_halls=outside is None or asked.beside,
    )
    try:
        return uvloop.run(run(wish))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("bench: stopped; nothing was written", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
