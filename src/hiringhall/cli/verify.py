"""`hall verify …`: prove that a worker or a server keeps to the protocols."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from hiringhall.cli.output import print_columns, visible
from hiringhall.cli.trouble import USAGE, Trouble
from hiringhall.verify.cases import Case
from hiringhall.verify.known_failing import Verdicts, judge, read_known, unknown_titles
from hiringhall.verify.loading import PROTOCOLS, BadCase, chosen, load_cases
from hiringhall.verify.player import Player
from hiringhall.verify.report import failure_lines, junit, summary
from hiringhall.verify.result import Result
from hiringhall.verify.running import play_all
from hiringhall.verify.worker_process import CannotStart

LEVELS: Final = ("core", "fault", "optional")

app: Final = typer.Typer(help="Prove that a worker or a server keeps to the protocols.", no_args_is_help=True)

ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", metavar="NAME", help="Only cases of this protocol: services or plans.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="Only this case; shell patterns like 'claim-*' too. May be repeated."),
]
LevelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--level", metavar="LEVEL", help="Only cases of this level: core, fault or optional. May be repeated."
    ),
]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")]
KnownOption = Annotated[
    Path | None,
    typer.Option(
        "--known-failing",
        metavar="FILE",
        help="Cases that are known to fail, one a line. One of them that passes is a failure.",
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, max=64, help="How many cases are played at once.")]
PatienceOption = Annotated[
    float, typer.Option("--patience", min=0.1, max=100.0, help="Stretches every time limit, for slow machines.")
]


@app.command("cases")
def cases_command(protocol: ProtocolOption = None, only: OnlyOption = None, level: LevelOption = None) -> None:
    """List the cases for workers."""
    found = _chosen(protocol, only, level)
    print_columns(("CASE", "LEVEL", "FEATURE", "SENTENCE"), [(c.title, c.level, c.feature, c.sentence) for c in found])


@app.command("worker")
def worker_command(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="Starts the verification worker.")],
    protocol: ProtocolOption = None,
    only: OnlyOption = None,
    level: LevelOption = None,
    junit_file: JunitOption = None,
    known_failing: KnownOption = None,
    jobs: JobsOption = 6,
    patience: PatienceOption = 1.0,
) -> None:
    """Play the cases with a worker program, each with a fresh run of it.

    The program reads from its environment where the hall is and what it is called, and offers the methods of the
    verification worker: `conformance/README.md` lists them.
    """
    found = _chosen(protocol, only, level)
    known = _known(known_failing)
    began = time.monotonic()
    results = asyncio.run(_play(found, command, jobs, patience, known))
    verdicts = judge(results, known)
    if junit_file is not None:
        junit_file.write_bytes(junit(verdicts, time.monotonic() - began))
    _end(verdicts, time.monotonic() - began)


def _chosen(protocol: str | None, only: list[str] | None, level: list[str] | None) -> list[Case]:
    if protocol is not None and protocol not in PROTOCOLS:
        raise Trouble(f"--protocol: {protocol} is none of {', '.join(PROTOCOLS)}", status=USAGE)
    for one in level or ():
        if one not in LEVELS:
            raise Trouble(f"--level: {one} is none of {', '.join(LEVELS)}", status=USAGE)
    try:
        every = load_cases((protocol,) if protocol else PROTOCOLS)
    except BadCase as problem:
        raise Trouble(str(problem)) from None
    found = [case for case in every if chosen(only or (), case.title) and (not level or case.level in level)]
    if not found:
        raise Trouble("there is no such case; `hall verify cases` lists them", status=USAGE)
    return found


def _known(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        known = read_known(path)
        unknown = unknown_titles(known, [case.title for case in load_cases()])
    except OSError as problem:
        raise Trouble(f"{path} cannot be read: {problem.strerror}", status=USAGE) from None
    if unknown:
        raise Trouble(f"{path} names what is no case: {', '.join(unknown)}", status=USAGE)
    return known


async def _play(cases: list[Case], command: list[str], jobs: int, patience: float, known: list[str]) -> list[Result]:
    results = []
    try:
        async for result in play_all(cases, lambda case: Player(case, command, patience).play(), jobs):
            results.append(result)
            show(result, result.case.title in known)
    except CannotStart as problem:
        raise Trouble(str(problem), status=USAGE) from None
    return results


def show(result: Result, known: bool) -> None:
    """Print one result as it comes."""
    word = "ok  " if result.passed else "FAIL"
    if known:
        word = "ODD " if result.passed else "known"
    print(f"{word:5} {result.case.title} ({result.seconds:.1f} s)")
    if not result.passed and not known:
        for line in failure_lines(result):
            print(visible(line))
    sys.stdout.flush()


def _end(verdicts: Verdicts, seconds: float) -> None:
    for result in verdicts.surprising:
        print(f"{result.case.title} is listed as known-failing, and passes: take it off the list")
    print(f"{summary(verdicts)}, in {seconds:.0f} s")
    if not verdicts.good:
        raise typer.Exit(1)
