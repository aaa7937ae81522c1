"""The demonstration, as `make demo` runs it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.end_to_end.shell import Shell, finished, read_until, until_written
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
DEMO = (sys.executable, str(ROOT / "examples/demo.py"))
ADDRESS = re.compile(r"ready at (http://127\.0\.0\.1:(\d+))")
FOLDER = re.compile(r"--data (\S+/hiringhall-demo-\S+)/data")


class Demo:
    """One run of the demonstration, whose temporary folder and processes a test can look for."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        self.output = temporary.with_suffix(".output")
        self.process: subprocess.Popen[bytes] | None = None
        temporary.mkdir()

    def start(self, *arguments: str, terminal: int | None = None, **variables: str) -> subprocess.Popen[bytes]:
        """Start it, on a terminal or with its output in a file."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), "TERM": "xterm", "COLUMNS": "100", **variables}
        with self.output.open("wb") as file:
            out = file if terminal is None else terminal
            self.process = subprocess.Popen(
                [*DEMO, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        return self.process

    @property
    def said(self) -> str:
        """What it has printed."""
        return self.output.read_text()

    def processes(self) -> list[str]:
        """The processes that have the test's folder in their environment; none where there is no /proc to tell."""
        mark = f"TMPDIR={self.temporary}".encode()
        found = []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
                if mark in environment.read_bytes():
                    found.append(environment.parent.name)
        return found

    def left_nothing(self) -> None:
        """Fail unless neither a file nor a process is left."""
        assert list(self.temporary.iterdir()) == []
        assert self.processes() == []


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    """A demonstration, which is over when the test is."""
    found = Demo(tmp_path / "temporary")
    yield found
    if found.process is not None and found.process.poll() is None:
        found.process.terminate()
        found.process.wait(40)


def test_once_it_shows_everything_and_ends(demo: Demo) -> None:
    """With --once the plan finishes and a call is answered before one's eyes, and it ends with 0, leaving nothing."""
    process = demo.start("--once", HALL_DATABASE="postgresql://nowhere.invalid/x", HALL_SERVER="http://nowhere.invalid")
    assert finished(process).status == 0, demo.said
    assert re.findall(r"^ +(\d+)/12 done", demo.said, re.MULTILINE) == [str(number) for number in range(1, 13)]
    assert "finished: 12 tasks by 3 workers" in demo.said
    assert "demo/package: DONE" in demo.said
    assert "for the first time" in demo.said
    assert "reports/sales: 45% 3000 of 6000 orders" in demo.said
    assert "answered: 6,000 orders, 123,000 in all: Ada 41,000, Edsger 41,000, Grace 41,000" in demo.said
    assert "in a browser: the status page" in demo.said
    demo.left_nothing()


def test_it_takes_a_free_port_if_the_usual_one_is_taken(demo: Demo) -> None:
    """With port 8400 taken, by whomever, the hall listens on another one."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # it is taken already
            taken.bind(("127.0.0.1", 8400))
            taken.listen()
        assert finished(demo.start("--once")).status == 0, demo.said
    found = ADDRESS.search(demo.said)
    assert found
    assert found.group(2) != "8400"


def test_it_goes_on_until_it_is_interrupted(demo: Demo) -> None:
    """Without --once all goes on, so that the commands it names work, until Ctrl-C, which leaves nothing."""
    process = demo.start()
    until(
        lambda: "until Ctrl-C" in demo.said or process.poll() is not None,
        within_seconds=60, waiting_for="the demonstration to settle",
    )  # fmt: skip
    found, address = FOLDER.search(demo.said), ADDRESS.search(demo.said)
    assert found, demo.said
    assert address, demo.said
    told = Shell().fine("explain", "demo/package", "--data", f"{found.group(1)}/data")
    assert told.startswith("demo/package: DONE")
    assert "Hiring Hall" in httpx.get(address.group(1), trust_env=False).text
    assert len(demo.processes()) == 6 or not Path("/proc").is_dir()
    process.send_signal(signal.SIGINT)
    assert finished(process).status == 0, demo.said
    demo.left_nothing()


def test_being_told_to_end_midway_leaves_nothing(demo: Demo) -> None:
    """SIGTERM before the plan is finished ends everything, and the exit status of --once tells."""
    process = demo.start("--once")
    until_written(demo.output, "workers started")
    process.send_signal(signal.SIGTERM)
    assert finished(process).status == 1, demo.said
    demo.left_nothing()


def test_on_a_terminal_the_plan_is_drawn(demo: Demo) -> None:
    """On a terminal there is a live picture with a bar and the state of each task."""
    master, slave = pty.openpty()
    try:
        process = demo.start("--once", terminal=slave)
        os.close(slave)
        seen = read_until(master, b"explain demo/package")
        assert finished(process).status == 0
    finally:
        os.close(master)
    text = seen.decode()
    assert "12/12" in text
    assert "CLAIMED" in text
    assert "PENDING" in text


def test_a_plan_that_does_not_finish_is_a_failure(demo: Demo, tmp_path: Path) -> None:
    """If a worker cannot work, the demonstration says so and ends with 1, leaving nothing."""
    (tmp_path / "sabotage").mkdir()
    (tmp_path / "sabotage/hiringhall_worker.py").write_text("raise SystemExit('no worker today')\n")
    process = demo.start("--once", PYTHONPATH=str(tmp_path / "sabotage"))
    assert finished(process).status == 1
    assert "no worker today" in demo.said
    demo.left_nothing()
