"""SIGTERM and SIGINT, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, silence

SOURCE = Path(__file__).parent.parent / "src"
PROGRAM = """
import asyncio, sys, time
from hiringhall_worker import PlanWorker
worker = PlanWorker(plan="demo", concurrency=2, grace_seconds=float(sys.argv[2]))
def blocks(task):
    time.sleep(60)
async def waits(task):
    await asyncio.sleep(60)
worker.run({"blocks": blocks, "waits": waits}[sys.argv[1]])
print("returned", flush=True)
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


def begin(processes: list[subprocess.Popen[str]], hall: ScriptedHall, handler: str, grace: float = 0.0) -> int:
    environment = {**os.environ, "HALL_SERVER": hall.url, "HALL_BOOTSTRAP_TOKEN": "boot", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", PROGRAM, handler, str(grace)]
    processes.append(
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    return processes[-1].pid


def end(process: subprocess.Popen[str], begun: float) -> tuple[int, str, float]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in err, err
    return process.returncode, out.strip(), time.monotonic() - begun


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_ends_within_two_seconds(
    hall: ScriptedHall, processes: list[subprocess.Popen[str]], number: int
) -> None:
    """A parked claim does not delay the exit."""
    pid = begin(processes, hall, "blocks")
    hall.wait_parked()
    begun = time.monotonic()
    os.kill(pid, number)
    code, out, seconds = end(processes[0], begun)
    assert (code, out) == (0, "returned") and seconds < 2.0
    assert hall.of("release") == []


def test_a_claim_that_nobody_answers_does_not_delay_the_exit(
    hall: ScriptedHall, processes: list[subprocess.Popen[str]]
) -> None:
    """The exit does not depend on the server's noticing that nobody waits any more."""
    hall.script["claim"].append(silence)
    pid = begin(processes, hall, "blocks")
    hall.wait_heard("claim")
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    code, out, seconds = end(processes[0], begun)
    assert (code, out) == (0, "returned") and seconds < 2.0


@pytest.mark.parametrize("handler", ["blocks", "waits"])
def test_a_busy_worker_releases_and_ends_within_two_seconds(
    hall: ScriptedHall, processes: list[subprocess.Popen[str]], handler: str
) -> None:
    """Running tasks are given back, also those whose handlers cannot be interrupted."""
    hall.hand_out("T-001")
    hall.hand_out("T-002")
    pid = begin(processes, hall, handler)
    hall.wait_heard("claim", 2)
    hall.wait_for(lambda: not hall.tasks and hall.parked == 0, "both tasks handed out")
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    code, out, seconds = end(processes[0], begun)
    assert (code, out) == (0, "returned") and seconds < 2.0
    assert sorted(heard.task_id for heard in hall.of("release")) == ["T-001", "T-002"]
    assert {heard.json["version"] for heard in hall.of("release")} == {2}


def test_a_release_that_nobody_answers_does_not_delay_the_exit(
    hall: ScriptedHall, processes: list[subprocess.Popen[str]]
) -> None:
    """A server that hangs at the end costs the lease time, not the exit."""
    hall.hand_out("T-001")
    hall.script["release"].append(silence)
    pid = begin(processes, hall, "blocks")
    hall.wait_heard("claim", 2)
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    code, _, seconds = end(processes[0], begun)
    assert code == 0 and seconds < 2.0


def test_a_second_signal_ends_at_once(hall: ScriptedHall, processes: list[subprocess.Popen[str]]) -> None:
    """The first signal waits for the grace; the second does not."""
    hall.hand_out("T-001")
    pid = begin(processes, hall, "blocks", grace=60.0)
    hall.wait_heard("claim", 2)
    hall.wait_parked()
    os.kill(pid, signal.SIGTERM)
    hall.wait_for(lambda: hall.parked == 0, "the claim is given up")
    assert processes[0].poll() is None
    begun = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    code, out, seconds = end(processes[0], begun)
    assert (code, out) == (-signal.SIGTERM, "") and seconds < 1.0
