"""Methods in processes of their own, in a worker that is a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_hall import PATIENCE_SECONDS
from scripted_services import ScriptedServices

from hiringhall_worker import ServiceWorker

SOURCE = Path(__file__).parent.parent / "src"
PROGRAM = """
import asyncio, os, sys, time
from dataclasses import dataclass
from hiringhall_worker import Call, Fail, ServiceWorker

worker = ServiceWorker(service="math", concurrency=2, hold_seconds=5)

@dataclass
class Span:
    first: int
    last: int

@worker.method("primes", in_process=True)
def primes(span: Span, call: Call) -> int:
    call.progress(100, "all")
    return sum(all(n % d for d in range(2, n)) for n in range(span.first, span.last))

@worker.method("where", in_process=True)
async def where() -> int:
    await asyncio.sleep(0)
    return os.getpid()

@worker.method("dies", in_process=True)
def dies() -> None:
    os.kill(os.getpid(), 9)

@worker.method("refuses", in_process=True)
def refuses() -> None:
    raise Fail("not today")

@worker.method("breaks", in_process=True)
def breaks() -> None:
    raise KeyError("lost")

@worker.method("odd", in_process=True)
def odd() -> object:
    return {1, 2}

@worker.method("spins", in_process=True)
def spins(call: Call, heed: bool) -> str:
    call.feedback("begun")
    while not (call.cancelled.is_set() and heed):
        pass
    return "stopped"

if __name__ == "__main__":
    worker.run()
    print("returned", flush=True)
"""


@pytest.fixture
def program(services: ScriptedServices, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    services.settings["heartbeat_delay"] = "0.1"
    environment = {
        **os.environ,
        "HALL_SERVER": services.url,
        "HALL_SERVICE_SECRET": "s3cret",
        "PYTHONPATH": str(SOURCE),
    }
    process = subprocess.Popen(
        [sys.executable, str(file)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out.strip()


def test_results_feedback_and_failures_come_out_of_the_process(
    services: ScriptedServices, program: subprocess.Popen[str]
) -> None:
    """A method in a process takes typed arguments, reports progress, and ends in every way as in a thread."""
    services.call("r-1", "primes", {"span": {"first": 2, "last": 50}})
    services.call("r-2", "refuses")
    services.call("r-3", "breaks")
    services.call("r-4", "odd")
    services.call("r-5", "primes", {"span": {"first": 2}})
    assert services.response("r-1")["result"] == 15
    assert services.fed_back()[0]["fc"] == {"percent": 100, "text": "all"}
    assert (services.response("r-2")["status"], services.response("r-2")["error_text"]) == ("failed", "not today")
    assert services.response("r-3")["error_text"] == "math/breaks: KeyError: 'lost'"
    assert "type set has no form in JSON" in services.response("r-4")["error_text"]
    assert "parameter 'span'.last is missing" in services.response("r-5")["error_text"]


def test_a_process_is_kept_and_replaced_when_it_dies(
    services: ScriptedServices, program: subprocess.Popen[str]
) -> None:
    """A crash of the process is an error of that call alone, and the next call has a new process."""
    services.call("r-1", "where")
    first = services.response("r-1")["result"]
    services.call("r-2", "where")
    assert services.response("r-2")["result"] == first != program.pid
    services.call("r-3", "dies")
    assert services.response("r-3")["error_text"] == "math/dies: the process of the method ended (signal 9)"
    services.call("r-4", "where")
    assert services.response("r-4")["result"] != first


@pytest.mark.parametrize("heed", [True, False])
def test_a_busy_process_can_be_cancelled(
    services: ScriptedServices, program: subprocess.Popen[str], heed: bool
) -> None:
    """A method that looks at `call.cancelled` ends by itself; one that does not is killed after a while."""
    services.call("r-1", "spins", {"heed": heed})
    services.wait_heard("feedback")
    services.directive = "cancel=r-1"
    told = services.response("r-1")
    assert (told["status"], told["result"] or told["error_text"]) == (
        ("success", "stopped") if heed else ("failed", "math/spins: cancelled")
    )


def test_sigterm_to_the_whole_group_lets_the_method_finish(
    services: ScriptedServices, program: subprocess.Popen[str]
) -> None:
    """Service managers signal every process of a worker: the method's process leaves that to the worker."""
    services.call("r-1", "where")
    child = services.response("r-1")["result"]
    services.call("r-2", "spins", {"heed": True})
    services.wait_heard("feedback")
    os.kill(child, signal.SIGTERM)
    os.kill(child, signal.SIGINT)
    program.send_signal(signal.SIGTERM)
    services.wait_heard("goodbye")
    services.directive = "cancel=r-2"
    assert services.response("r-2")["result"] == "stopped"
    assert end(program) == (0, "returned")


def test_no_process_outlives_its_worker(services: ScriptedServices, program: subprocess.Popen[str]) -> None:
    """When the worker is killed, the processes of its methods end too, whatever they do."""
    services.call("r-1", "where")
    child = services.response("r-1")["result"]
    services.call("r-2", "spins", {"heed": False})
    services.wait_heard("feedback")
    program.kill()
    program.wait(PATIENCE_SECONDS)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_local_function_cannot_run_in_a_process() -> None:
    """What another process cannot find is refused when it is declared."""
    worker = ServiceWorker(service="math", secret="s")

    def local() -> None:
        """A function that no other process can import."""

    with pytest.raises(ValueError, match="math/local: with in_process=True its handler must be at the top"):
        worker.method("local", in_process=True)(local)
