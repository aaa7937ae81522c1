"""Starts server processes on free ports in folders of their own, with known tokens, and stops them."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from bench.client import Address
from bench.cores import children_on
from bench.targets import Target

READY_LINE = re.compile(rb"^hall: ready on (http://\S+)", re.MULTILINE)
SETTINGS = ("HALL_", "WHILLY_")
START_SECONDS = 60.0
STOP_SECONDS = 15.0
LONGEST_HOLD_SECONDS = 55


class NotStarted(Exception):
    """A server did not come up; says what it printed."""


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def spawn(
    command: Sequence[str], environment: Mapping[str, str], output: IO[bytes], cores: frozenset[int] | None
) -> subprocess.Popen[bytes]:
    """Start a process on the given cores; settings of halls in our own environment do not reach it."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    with children_on(cores):
        return subprocess.Popen(command, env={**outside, **environment}, stdout=output, stderr=subprocess.STDOUT)


async def ready_address(process: subprocess.Popen[bytes], log: Path, what: str) -> Address:
    """Wait for the line that says where the server listens."""
    for _ in range(int(START_SECONDS / 0.02)):
        found = READY_LINE.search(log.read_bytes())
        if found is not None:
            return Address.of(found[1].decode())
        if process.poll() is not None:
            raise NotStarted(f"{what} ended with status {process.returncode} before it was ready:\n{log.read_text()}")
        await asyncio.sleep(0.02)
    process.kill()
    raise NotStarted(f"{what} was not ready after {START_SECONDS:.0f} s; it printed:\n{log.read_text()}")


async def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, then insist."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)


@asynccontextmanager
async def running(
    name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path, cores: frozenset[int] | None
) -> AsyncIterator[tuple[subprocess.Popen[bytes], Address]]:
    """A server process that prints `hall: ready on URL`, while the block runs."""
    log = folder / "output.txt"
    with log.open("wb") as output:
        process = spawn(command, environment, output, cores)
    try:
        yield process, await ready_address(process, log, name)
    finally:
        await stop(process)


@asynccontextmanager
async def running_hall(
    name: str,
    command: Sequence[str],
    *,
    cores: frozenset[int] | None,
    data_folder: Path | None = None,
    database_url: str | None = None,
    database_pid: int | None = None,
    operator_token: str | None = None,
) -> AsyncIterator[Target]:
    """A hall on SQLite in a temporary folder or on the given database, with tokens of its own unless one is given.

    Claims are held as long as the protocol allows, so that parked ones stay parked while they are measured.
    """
    folder = Path(tempfile.mkdtemp(prefix="hall-bench-", dir=data_folder))
    tokens = {name: secrets.token_urlsafe(24) for name in ("ADMIN", "BOOTSTRAP")}
    tokens["ADMIN"] = operator_token or tokens["ADMIN"]
    environment = {f"HALL_{name}_TOKEN": value for name, value in tokens.items()}
    environment["HALL_CLAIM_HOLD"] = str(LONGEST_HOLD_SECONDS)
    words = [*command, "serve", "--host", "127.0.0.1", "--port", str(free_port()), "--data", str(folder / "data")]
    if database_url is not None:
        words += ["--database", database_url]
    try:
        async with running(name, words, environment, folder, cores) as (process, address):
            yield Target(
                name,
                address,
                bootstrap_token=tokens["BOOTSTRAP"],
                operator_token=tokens["ADMIN"],
                server_pids=(process.pid,),
                database_pid=database_pid,
                database_url=database_url,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
