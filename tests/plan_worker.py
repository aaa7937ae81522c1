"""A plan worker in a process of its own, made with the real SDK, which a test starts, signals and kills."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.hall_process import BOOTSTRAP_TOKEN, WORKER_TOKEN
from tests.waiting import until

STOP_SECONDS = 15.0
SCRIPT = """
import logging, os, pathlib, sys
from hiringhall_worker import PlanWorker

folder = pathlib.Path(sys.argv[2])
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
worker = PlanWorker(plan=sys.argv[1], heartbeat_seconds=float(sys.argv[3]), hold_seconds=float(sys.argv[4]),
    concurrency=int(sys.argv[5]), answer_seconds=float(sys.argv[6]))

@worker.task
def work(task):
    (folder / f"{task.id}.started").touch()
    while not (folder / f"{task.id}.go").exists() and not (folder / "all.go").exists():
        if task.cancelled.wait(0.02):
            return

worker.run()
"""


class PlanWorkerProcess:
    """A worker whose handler works on a task until the test lets it end.

    `minted`: it speaks with the token that it was given when it registered, else with the one that all share.
    """

    def __init__(
        self,
        url: str,
        plan: str,
        folder: Path,
        *,
        name: str = "worker",
        minted: bool = True,
        heartbeat_seconds: float = 0.5,
        hold_seconds: float = 5.0,
        concurrency: int = 1,
        answer_seconds: float = 5.0,
    ) -> None:
        self.folder = folder
        self.log = folder / f"{name}.log"
        folder.mkdir(parents=True, exist_ok=True)
        outside = {key: value for key, value in os.environ.items() if not key.startswith(("HALL_", "WHILLY_"))}
        tokens = {"HALL_BOOTSTRAP_TOKEN": BOOTSTRAP_TOKEN, **({} if minted else {"HALL_WORKER_TOKEN": WORKER_TOKEN})}
        words = [plan, str(folder), *map(str, (heartbeat_seconds, hold_seconds, concurrency, answer_seconds))]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**outside, **tokens, "HALL_SERVER": url},
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    @property
    def logged(self) -> str:
        """What the worker wrote."""
        return self.log.read_text(errors="replace")

    @property
    def worker_id(self) -> str | None:
        """The id that it was registered under last; None before."""
        found = re.findall(r"registered as (\S+)", self.logged)
        return found[-1] if found else None

    def may_end(self, task_id: str) -> bool:
        """Whether the handler of a task was let end."""
        return (self.folder / f"{task_id}.go").exists()

    def until_started(self, task_id: str) -> None:
        """Return when the handler works on a task."""
        until((self.folder / f"{task_id}.started").exists, within_seconds=20, waiting_for=f"{task_id} to be started")

    def let_end(self, task_id: str = "all") -> None:
        """Let the handler of a task end, or every handler."""
        (self.folder / f"{task_id}.go").touch()

    def terminate(self) -> int:
        """SIGTERM, and the exit status."""
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """SIGKILL."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_SECONDS)

    def close(self) -> None:
        """End the process however it stands."""
        if self.running:
            self.kill()
