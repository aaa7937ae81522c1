"""A real server process, `hall serve`, which a test starts, stops, kills, suspends and looks into."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import until

ADMIN_TOKEN = "admin-token-of-the-tests"
BOOTSTRAP_TOKEN = "bootstrap-token-of-the-tests"
WORKER_TOKEN = "worker-token-of-the-tests"
TOKENS = {
    "HALL_ADMIN_TOKEN": ADMIN_TOKEN,
    "HALL_BOOTSTRAP_TOKEN": BOOTSTRAP_TOKEN,
    "HALL_WORKER_TOKEN": WORKER_TOKEN,
}
READY = re.compile(r"^hall: ready on (http://(\S+):(\d+))\s*$", re.MULTILINE)
WHILLY = re.compile(r"^hall: whilly workers on (http://\S+:\d+)\s*$", re.MULTILINE)
START_SECONDS = 30.0
STOP_SECONDS = 15.0
SHOWN_CHARACTERS = 8000


@dataclass(frozen=True)
class Database:
    """Where a hall under test keeps its work: a folder (SQLite), or a folder and a PostgreSQL URL."""

    dialect: str
    directory: Path
    url: str | None = None

    @property
    def arguments(self) -> list[str]:
        """The flags of `hall serve` that name this database."""
        return ["--data", str(self.directory), *(["--database", self.url] if self.url else [])]


class HallProcess:
    """One `hall serve`. Settings are HALL_... variables; nothing else of the surroundings reaches the server.

    Several processes may share one PostgreSQL. A started process keeps its port over `restart`.
    """

    def __init__(
        self,
        database: Database,
        *,
        settings: Mapping[str, str | float] | None = None,
        arguments: tuple[str, ...] = (),
        program: tuple[str, ...] = (sys.executable, "-m", "hiringhall.cli.main"),
        name: str = "hall",
    ) -> None:
        self.database = database
        self.settings = {**TOKENS, **{key: str(value) for key, value in (settings or {}).items()}}
        self.arguments = arguments
        self.program = program
        self.name = name
        self.port = 0
        self.host = "127.0.0.1"
        self.suspended = False
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = itertools.count(1)
        self._output = self._errors = database.directory / f"{name}.not-started"
        self._all_errors: list[Path] = []

    @property
    def url(self) -> str:
        """The address that was printed, without a slash at the end."""
        assert self.port, f"{self.name} was never started"
        return f"http://{self.host}:{self.port}"

    @property
    def whilly_url(self) -> str:
        """The address of the port that HALL_WHILLY_PORT asked for, which is printed right after the first one."""
        found = until(
            lambda: WHILLY.search(self._output.read_text(errors="replace")),
            waiting_for=f"{self.name} to say where whilly workers are served",
        )
        return found.group(1)

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def stderr(self) -> str:
        """What this server, in all its starts, wrote to its standard error."""
        return "".join(path.read_text(errors="replace") for path in self._all_errors)

    def start(self, *, within_seconds: float = START_SECONDS) -> HallProcess:
        """Start the server and return when it accepts requests; a server that ends instead fails with its output."""
        self.launch()
        self.wait_until_ready(within_seconds=within_seconds)
        return self

    def launch(self) -> None:
        """Start the server without waiting for it: for a server that is to fail, or many that start at once."""
        assert not self.running, f"{self.name} is running already"
        number = next(self._starts)
        self.database.directory.mkdir(parents=True, exist_ok=True)
        self._output = self.database.directory / f"{self.name}.{number}.stdout"
        self._errors = self.database.directory / f"{self.name}.{number}.stderr"
        self._all_errors.append(self._errors)
        command = [
            *self.program,
            "serve",
            "--host",
            self.host,
            "--port",
            str(self.port),
            *self.database.arguments,
            *self.arguments,
        ]
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=self._environment(),
                start_new_session=True,
            )

    def wait_until_ready(self, *, within_seconds: float = START_SECONDS) -> None:
        """Return when the launched server has printed its address."""

        def printed_or_ended() -> bool:
            return bool(READY.search(self._output.read_text(errors="replace"))) or not self.running

        try:
            until(printed_or_ended, within_seconds=within_seconds, waiting_for=f"{self.name} to say that it is ready")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.shown()}") from None
        found = READY.search(self._output.read_text(errors="replace"))
        assert found, f"{self.name} ended before it was ready ({self._status()}):\n{self.shown()}"
        self.port = int(found.group(3))

    def wait(self, *, within_seconds: float = STOP_SECONDS) -> int:
        """Return the exit status of a server that ends by itself; negative: the signal that ended it."""
        assert self._process is not None, f"{self.name} was never started"
        try:
            return self._process.wait(within_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {within_seconds:g} s:\n{self.shown()}") from None

    def stop(self, *, within_seconds: float = STOP_SECONDS) -> int:
        """SIGTERM, and the exit status; 0 is a clean end."""
        self._signal(signal.SIGTERM)
        return self.wait(within_seconds=within_seconds)

    def kill(self) -> None:
        """SIGKILL: the server has no time to do anything."""
        self._signal(signal.SIGKILL)
        self.wait()
        self.suspended = False

    def suspend(self) -> None:
        """SIGSTOP: the process stands still with its connections open, until `resume`."""
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.suspended = True

    def resume(self) -> None:
        """SIGCONT: let a suspended process go on."""
        self._signal(signal.SIGCONT)
        self.suspended = False

    def restart(self, *, kill: bool = False, settings: Mapping[str, str | float] | None = None) -> HallProcess:
        """Stop (or kill) the server and start it again on the same port, with some settings changed."""
        if self.running:
            if kill:
                self.kill()
            else:
                assert self.stop() == 0, f"{self.name} did not end cleanly:\n{self.shown()}"
        self.settings.update({key: str(value) for key, value in (settings or {}).items()})
        return self.start()

    def close(self) -> None:
        """End the process however it stands; for the end of a test."""
        if not self.running:
            return
        if self.suspended:
            self.resume()
        self._signal(signal.SIGTERM)
        try:
            self.wait()
        except AssertionError:
            self.kill()
            raise

    def shown(self) -> str:
        """The end of what the server wrote, for a failure report."""
        output = self._output.read_text(errors="replace") if self._output.exists() else ""
        parts = (("stdout", output), ("stderr", self.stderr))
        return "\n".join(f"--- {stream} of {self.name}\n{text[-SHOWN_CHARACTERS:]}" for stream, text in parts)

    def _signal(self, number: signal.Signals) -> None:
        assert self.running, f"{self.name} is not running ({self._status()}):\n{self.shown()}"
        os.kill(self.pid, number)

    def _status(self) -> str:
        return "no process" if self._process is None else f"exit status {self._process.poll()}"

    def _environment(self) -> dict[str, str]:
        outside = {
            name: value for name, value in os.environ.items() if not name.startswith(("HALL_", "WHILLY_", "XDG_"))
        }
        return {**outside, "PYTHONUNBUFFERED": "1", "PYTHONDEVMODE": "", **self.settings}
