"""The worker program under test: started for one case, signalled, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping, Sequence
from typing import Final

from hiringhall.verify.timeline import Timeline

OURS: Final = ("HALL_", "WHILLY_")
# A worker that honoured these for loopback would look for the hall in the wrong place.
PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
ENDING_SECONDS: Final = 5.0


class CannotStart(Exception):
    """The command of the worker cannot be run at all."""


class WorkerProcess:
    """One run of the program, as the leader of a process group of its own."""

    def __init__(self, process: asyncio.subprocess.Process, timeline: Timeline) -> None:
        self._process = process
        self._timeline = timeline
        self._reading = asyncio.ensure_future(self._read())
        self._watching = asyncio.ensure_future(self._watch())

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str | None], timeline: Timeline
    ) -> WorkerProcess:
        """Start it; CannotStart if that is not possible."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(OURS) and name.lower() not in PROXIES
        }
        given = {name: value for name, value in environment.items() if value is not None}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**kept, **given},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                start_new_session=True,
            )
        except OSError as problem:
            raise CannotStart(f"{command[0]} cannot be run: {problem.strerror}") from None
        timeline.note("the worker is started")
        return cls(process, timeline)

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def signal(self, name: str) -> None:
        """Send a signal to the program itself, as a supervisor does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.Signals[name])

    async def end(self) -> None:
        """Kill it and whatever it started, and collect what it printed."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(self._reading, self._watching), ENDING_SECONDS)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while data := await self._process.stdout.read(65536):
            self._timeline.printed(data.decode("utf-8", "replace"))

    async def _watch(self) -> None:
        status = await self._process.wait()
        self._timeline.note(f"the worker has ended: {told(status)}")


def told(status: int | None) -> str:
    """An exit status for people."""
    if status is None:
        return "it runs"
    if status >= 0:
        return f"status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"
