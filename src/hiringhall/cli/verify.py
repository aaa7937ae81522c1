"""`hall verify …`: prove that a worker or a server keeps to the protocols."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from hiringhall.cli.output import print_columns, visible
from hiringhall.cli.trouble import USAGE, Trouble
from hiringhall.verify.cases import Case, Described
from hiringhall.verify.known_failing import Verdicts, judge, read_known, unknown_titles
from hiringhall.verify.loading import PROTOCOLS, BadCase, chosen, load_cases, load_server_cases
from hiringhall.verify.player import Player
from hiringhall.verify.report import failure_lines, junit, summary
from hiringhall.verify.result import Result
from hiringhall.verify.running import play_all
from hiringhall.verify.server_cases import ServerCase
from hiringhall.verify.server_player import LONGEST_ANSWER_SECONDS, ServerPlayer
from hiringhall.verify.worker_process import CannotStart

AnyCase = TypeVar("AnyCase", bound=Described)
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
def cases_command(
    protocol: ProtocolOption = None,
    only: OnlyOption = None,
    level: LevelOption = None,
    server: Annotated[bool, typer.Option("--server", help="The cases for servers instead.")] = False,
) -> None:
    """List the cases for workers."""
    if server:
        for_servers = _chosen(load_server_cases, protocol, only, level)
        _list(for_servers)
    else:
        for_workers = _chosen(load_cases, protocol, only, level)
        _list(for_workers)


def _list(found: Sequence[Described]) -> None:
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
    found = _chosen(load_cases, protocol, only, level)
    known = _known(known_failing, load_cases)
    began = time.monotonic()
    results = asyncio.run(_play(found, command, jobs, patience, known))
    _finish(judge(results, known), junit_file, time.monotonic() - began)


@app.command("server")
def server_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the server is.")],
    operator: Annotated[
        str | None, typer.Option("--operator", metavar="TOKEN", help="The operator's token. [HALL_ADMIN_TOKEN]")
    ] = None,
    bootstrap: Annotated[
        str | None, typer.Option("--bootstrap", metavar="TOKEN", help="The bootstrap token. [HALL_BOOTSTRAP_TOKEN]")
    ] = None,
    protocol: ProtocolOption = None,
    only: OnlyOption = None,
    level: LevelOption = None,
    junit_file: JunitOption = None,
    known_failing: KnownOption = None,
    jobs: JobsOption = 6,
    patience: PatienceOption = 1.0,
) -> None:
    """Play the cases for servers against one that runs: as workers, as clients, and as its operator.

    Each case makes plans, services and workers of its own, whose names begin with `verify-`, and leaves them behind.
    Cases that need a token which is not given are skipped.
    """
    found = _chosen(load_server_cases, protocol, only, level)
    known = _known(known_failing, load_server_cases)
    tokens = {"operator": operator or os.environ.get("HALL_ADMIN_TOKEN", "")}
    tokens["bootstrap"] = bootstrap or os.environ.get("HALL_BOOTSTRAP_TOKEN", "")
    given = {name: token.split(",")[0].strip() for name, token in tokens.items() if token}
    began = time.monotonic()
    results = asyncio.run(_play_server(found, url, given, jobs, patience, known))
    _finish(judge(results, known), junit_file, time.monotonic() - began)


def _chosen(
    load: Callable[[Sequence[str]], list[AnyCase]],
    protocol: str | None,
    only: list[str] | None,
    level: list[str] | None,
) -> list[AnyCase]:
    if protocol is not None and protocol not in PROTOCOLS:
        raise Trouble(f"--protocol: {protocol} is none of {', '.join(PROTOCOLS)}", status=USAGE)
    for one in level or ():
        if one not in LEVELS:
            raise Trouble(f"--level: {one} is none of {', '.join(LEVELS)}", status=USAGE)
    try:
        every = load((protocol,) if protocol else PROTOCOLS)
    except BadCase as problem:
        raise Trouble(str(problem)) from None
    found = [case for case in every if chosen(only or (), case.title) and (not level or case.level in level)]
    if not found:
        raise Trouble("there is no such case; `hall verify cases` lists them", status=USAGE)
    return found


def _known(path: Path | None, load: Callable[[], Sequence[Described]]) -> list[str]:
    if path is None:
        return []
    try:
        known = read_known(path)
        unknown = unknown_titles(known, [case.title for case in load()])
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


async def _play_server(
    cases: list[ServerCase], url: str, tokens: dict[str, str], jobs: int, patience: float, known: list[str]
) -> list[Result]:
    import httpx

    results = []
    limits = httpx.Limits(max_connections=None)
    try:
        async with httpx.AsyncClient(
            base_url=url, timeout=LONGEST_ANSWER_SECONDS, limits=limits, trust_env=False
        ) as http:
            await http.get("/health")
            async for result in play_all(cases, lambda case: ServerPlayer(case, http, tokens, patience).play(), jobs):
                results.append(result)
                show(result, result.case.title in known)
    except httpx.HTTPError as problem:
        raise Trouble(f"no server answers at {url} ({problem or type(problem).__name__})", status=USAGE) from None
    return results


def show(result: Result, known: bool) -> None:
    """Print one result as it comes."""
    word = "ok  " if result.passed else "FAIL"
    if result.skipped:
        print(f"skip  {result.case.title}: {result.skipped}")
        return
    if known:
        word = "ODD " if result.passed else "known"
    print(f"{word:5} {result.case.title} ({result.seconds:.1f} s)")
    if not result.passed and not known:
        for line in failure_lines(result):
            print(visible(line))
    sys.stdout.flush()


def _finish(verdicts: Verdicts, junit_file: Path | None, seconds: float) -> None:
    if junit_file is not None:
        junit_file.write_bytes(junit(verdicts, seconds))
    for result in verdicts.surprising:
        print(f"{result.case.title} is listed as known-failing, and passes: take it off the list")
    print(f"{summary(verdicts)}, in {seconds:.1f} s")
    if not verdicts.good:
        raise typer.Exit(1)
