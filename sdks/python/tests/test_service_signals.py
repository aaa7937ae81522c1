"""SIGTERM and SIGINT for a service worker, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_hall import PATIENCE_SECONDS, silence
from scripted_services import ScriptedServices

SOURCE = Path(__file__).parent.parent / "src"
PROGRAM = """
import asyncio, sys, time
from hiringhall_worker import Call, ServiceWorker
grace = None if sys.argv[1] == "None" else float(sys.argv[1])
worker = ServiceWorker(service="math", secret="s", worker_id="w 1", hold_seconds=20, grace_seconds=grace)

@worker.method("blocks")
def blocks(call: Call):
    call.feedback("begun")
    time.sleep(60)

@worker.method("short")
def short(call: Call):
    call.feedback("begun")
    time.sleep(0.5)
    return "finished"

@worker.method("waits")
async def waits(call: Call):
    call.feedback("begun")
    await asyncio.sleep(60)

worker.run()
print("returned", flush=True)
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


def begin(
    processes: list[subprocess.Popen[str]], services: ScriptedServices, grace: float | None = None
) -> subprocess.Popen[str]:
    environment = {**os.environ, "HALL_SERVER": services.url, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", PROGRAM, str(grace)]
    processes.append(
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    return processes[-1]


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in err, err
    return process.returncode, out.strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_says_goodbye_and_ends(
    services: ScriptedServices, processes: list[subprocess.Popen[str]], number: int
) -> None:
    """A parked drain does not delay the end, and the hall is told of it."""
    process = begin(processes, services)
    services.wait_parked()
    begun = time.monotonic()
    process.send_signal(number)
    assert end(process) == (0, "returned")
    assert time.monotonic() - begun < 2.0
    (goodbye,) = services.of("goodbye")
    assert (goodbye.method, goodbye.path) == ("PUT", "/worker/notify_worker_shutdown/w%201")
    assert goodbye.json == {"unstarted": []}


def test_a_busy_worker_finishes_what_it_began_and_gives_back_the_rest(
    services: ScriptedServices, processes: list[subprocess.Popen[str]]
) -> None:
    """What runs is answered before the exit; what was handed out and not begun is named."""
    services.obeys_max = False
    services.call("r-1", "short")
    services.call("r-2", "short")
    process = begin(processes, services)
    services.wait_heard("feedback")
    process.send_signal(signal.SIGTERM)
    assert end(process) == (0, "returned")
    assert services.of("goodbye")[0].json == {"unstarted": ["r-2"]}
    assert [heard.json["result"] for heard in services.of("response")] == ["finished"]
    assert services.of("goodbye")[0].at < services.of("response")[0].at


@pytest.mark.parametrize("method", ["blocks", "waits"])
def test_after_the_grace_running_calls_are_given_back(
    services: ScriptedServices, processes: list[subprocess.Popen[str]], method: str
) -> None:
    """A call that is not finished within the grace is named in a second goodbye, and not answered."""
    services.call("r-1", method)
    process = begin(processes, services, grace=0.2)
    services.wait_heard("feedback")
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert end(process) == (0, "returned")
    assert time.monotonic() - begun < 2.5
    assert [heard.json["unstarted"] for heard in services.of("goodbye")] == [[], ["r-1"]]
    assert services.of("response") == []


def test_a_goodbye_that_nobody_answers_does_not_delay_the_exit(
    services: ScriptedServices, processes: list[subprocess.Popen[str]]
) -> None:
    """A hall that hangs at the end costs the lease time, not the exit."""
    services.script["goodbye"].append(silence)
    process = begin(processes, services)
    services.wait_parked()
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert end(process) == (0, "returned")
    assert time.monotonic() - begun < 2.5


def test_a_second_signal_ends_at_once(services: ScriptedServices, processes: list[subprocess.Popen[str]]) -> None:
    """The first signal waits for what runs; the second does not."""
    services.call("r-1", "blocks")
    process = begin(processes, services)
    services.wait_heard("feedback")
    process.send_signal(signal.SIGTERM)
    services.wait_heard("goodbye")
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert end(process) == (-signal.SIGTERM, "")
