"""The program `hall` as a shell runs it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, HallProcess
from tests.waiting import until

PROGRAM = (sys.executable, "-m", "hiringhall.cli.main")
SECONDS = 40.0


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str


class Shell:
    """Runs commands with variables of their own; nothing of the surroundings' HALL_ variables reaches them."""

    def __init__(self, **variables: str) -> None:
        self.variables = variables

    def environment(self, terminal: str = "dumb") -> dict[str, str]:
        """All variables of a command."""
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("HALL_", "XDG_"))}
        return {**outside, **self.variables, "TERM": terminal}

    def start(self, *words: str, terminal: str = "dumb", **how: Any) -> subprocess.Popen[bytes]:
        """Start a command without waiting for it."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
        return subprocess.Popen([*PROGRAM, *words], env=self.environment(terminal), **pipes)

    def run(self, *words: str, stdin: str = "") -> Ran:
        """Run a command to its end."""
        process = self.start(*words, stdin=subprocess.PIPE)
        return finished(process, stdin)

    def fine(self, *words: str, stdin: str = "") -> str:
        """What a command prints that ends with status 0."""
        ran = self.run(*words, stdin=stdin)
        assert ran.status == 0, ran
        return ran.out

    def json(self, *words: str) -> Any:
        """What a command prints with `--json`."""
        return json.loads(self.fine(*words, "--json"))

    def apply(self, plan: str, *tasks: Mapping[str, Any] | str, **members: Any) -> str:
        """Apply a plan of these tasks."""
        listed = [{"id": task} if isinstance(task, str) else task for task in tasks]
        return self.fine("plan", "apply", "-", stdin=json.dumps({"plan_id": plan, "tasks": listed, **members}))

    def statuses(self, plan: str) -> dict[str, str]:
        """The status of each task of a plan."""
        return {task["id"]: task["status"] for task in self.json("plan", "show", plan)["tasks"]}


def finished(process: subprocess.Popen[bytes], stdin: str = "") -> Ran:
    """Wait for a command to end; one that hangs fails with what it said."""
    try:
        out, err = process.communicate(stdin.encode() if process.stdin else None, SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"{process.args!r} did not end:\n{out.decode()}\n{err.decode()}") from None
    return Ran(process.returncode, (out or b"").decode(), (err or b"").decode())


def shell_of(hall: HallProcess) -> Shell:
    """A shell that knows where the hall is and what opens it."""
    return Shell(HALL_SERVER=hall.url, HALL_ADMIN_TOKEN=ADMIN_TOKEN, HALL_BOOTSTRAP_TOKEN=BOOTSTRAP_TOKEN)


def written(path: Path) -> str:
    """What stands in a file, nothing if there is none."""
    return path.read_text() if path.exists() else ""


def until_written(path: Path, text: str) -> None:
    """Return when the text stands in the file."""
    until(lambda: text in written(path), within_seconds=20, waiting_for=f"{text!r} in {path.name}")


def read_until(descriptor: int, text: bytes) -> bytes:
    """What comes out of a terminal up to the text."""
    seen = b""

    def came() -> bool:
        nonlocal seen
        while select.select([descriptor], [], [], 0)[0]:
            try:
                chunk = os.read(descriptor, 65_536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            seen += chunk
        return text in seen

    until(came, within_seconds=20, waiting_for=f"{text!r} on the terminal")
    return seen
