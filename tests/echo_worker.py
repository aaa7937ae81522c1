"""A service worker in a process of its own, made with the real SDK, which a test starts, signals and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

STOP_SECONDS = 15.0
SCRIPT = """
import logging, random, sys, time
from hiringhall_worker import ServiceWorker

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
worker = ServiceWorker(service=sys.argv[1], worker_id=sys.argv[2], concurrency=int(sys.argv[3]),
    heartbeat_seconds=0.3, hold_seconds=2.0, answer_seconds=5.0)

@worker.method("echo")
def echo(number: int, seconds: float = 0.0):
    time.sleep(seconds or random.random() / 50)
    return number

worker.run()
"""


class EchoWorker:
    """A worker whose method `echo` gives `number` back after a moment, or after `seconds`."""

    def __init__(self, url: str, service: str, secret: str, folder: Path, worker_id: str, concurrency: int = 4) -> None:
        self.worker_id = worker_id
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{worker_id}.log"
        outside = {key: value for key, value in os.environ.items() if not key.startswith(("HALL_", "WHILLY_"))}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, service, worker_id, str(concurrency)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**outside, "HALL_SERVER": url, "HALL_SERVICE_SECRET": secret},
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    @property
    def logged(self) -> str:
        """What it wrote, over all processes of this id."""
        return self.log.read_text(errors="replace")

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
