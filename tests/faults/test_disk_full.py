"""The disk under a hall on SQLite is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import StartHall
from tests.faults.books import check_integrity
from tests.hall_client import HallClient, Worker
from tests.hall_process import Database, HallProcess
from tests.missing import missing
from tests.waiting import until

PLAN = "P"
DISK_MIB = 8
TASKS = 200
HOW_TO_GET_IT = "run as root where file systems may be mounted"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(place)]
    mounted = os.geteuid() == 0 and subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    if not mounted:
        missing("a small disk", HOW_TO_GET_IT)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def hall(small_disk: Path, start_hall: StartHall) -> HallProcess:
    """A server whose data folder lies on the small disk."""
    return start_hall(Database("sqlite", small_disk / "data"), HALL_VISIBILITY_TIMEOUT=2)


def fill(disk: Path) -> Path:
    """Take what is left of the disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


def work_until_refused(worker: Worker) -> tuple[list[str], dict[str, object]]:
    """Claim and complete until the server refuses: what was acknowledged as done, and what is held."""
    done: list[str] = []
    for _ in range(TASKS):
        answer = worker.ask_claim(PLAN)
        if answer.status_code != 200:
            assert (answer.status_code, answer.json()["error_code"]) == (503, "unavailable"), answer.text
            assert "retry-after" in answer.headers
            return done, {}
        task = answer.json()["task"]
        settled = worker.settle("complete", task)
        if settled.status_code != 200:
            assert (settled.status_code, settled.json()["error_code"]) == (503, "unavailable"), settled.text
            assert "retry-after" in settled.headers
            return done, task
        done.append(task["id"])
    raise AssertionError("the disk was never full")


def test_a_full_disk_is_a_pause(small_disk: Path, hall: HallProcess) -> None:
    """With the disk full every change is refused with 503; nothing acknowledged is lost, and with space all goes on."""
    with HallClient(hall.url) as client:
        client.apply(PLAN, *({"id": f"T-{n:03}", "description": "x" * 2_000} for n in range(TASKS)))
        worker = client.register()
        ballast = fill(small_disk)
        done, held = work_until_refused(worker)
        refused = client.call("PUT", "/admin/plans/Q", {"tasks": [{"id": "A", "description": "y" * 100_000}]})
        assert (refused.status_code, refused.json()["error_code"]) == (503, "unavailable")
        assert "retry-after" in refused.headers
        assert all(client.tasks(PLAN)[task_id]["state"] == "done" for task_id in done), "reading goes on"
        ballast.unlink()
        if held:
            assert worker.settle("complete", held).status_code == 200
        until(lambda: worker.claim(PLAN) is not None, waiting_for="the server to go on")
        tasks = client.tasks(PLAN)
        assert all(tasks[task_id]["state"] == "done" for task_id in done)
        assert hall.stop() == 0
    check_integrity(hall.database.directory / "hall.sqlite")


def test_a_crash_with_a_full_disk_loses_nothing(small_disk: Path, hall: HallProcess) -> None:
    """Killed with its disk full, the server starts again once there is space, with all that it acknowledged."""
    with HallClient(hall.url) as client:
        client.apply(PLAN, *({"id": f"T-{n:03}", "description": "x" * 2_000} for n in range(TASKS)))
        worker = client.register()
        ballast = fill(small_disk)
        done, _ = work_until_refused(worker)
        hall.kill()
        ballast.unlink()
        check_integrity(hall.database.directory / "hall.sqlite")
        hall.start()
        assert all(client.tasks(PLAN)[task_id]["state"] == "done" for task_id in done)
