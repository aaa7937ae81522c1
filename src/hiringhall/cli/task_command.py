"""Runs a command for a task: the task on its standard input, its exit status as the outcome."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Final

from hiringhall.cli.death_signal import ending_with_this_process
from hiringhall_worker import Task

REASON_BYTES: Final = 1_500
"""How much of the end of a command's standard error becomes the reason of a failure."""
LOOK_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 5.0
"""How long a command may take to end after SIGTERM."""
KEPT_BACK: Final = frozenset({"HALL_ADMIN_TOKEN", "HALL_BOOTSTRAP_TOKEN", "HALL_WORKER_TOKEN", "HALL_METRICS_TOKEN"})
"""Variables that a command does not get: a task needs none of the hall's tokens."""


class CommandFailed(Exception):
    """The command did not end with status 0; the text is the reason that the hall is told."""


class TaskCommand:
    """A command that is run once for each task, several at the same time if need be."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._in_child = ending_with_this_process()

    def __call__(self, task: Task) -> None:
        """Run the command to its end, in a thread that waits for it: the command does not outlive that thread.

        Raises:
            CommandFailed: it could not be started, or ended with another status than 0.
        """
        with tempfile.TemporaryFile() as standard_input:
            standard_input.write(json.dumps(task.members, ensure_ascii=True).encode() + b"\n")
            standard_input.seek(0)
            process = self._start(task, standard_input)
        tail = _Tail(process.stderr)
        threading.Thread(target=_forward_cancelling, args=(task, process), daemon=True).start()
        try:
            status = process.wait()
        finally:
            with self._guard:
                self._running.discard(process)
        if status:
            said = tail.text()
            raise CommandFailed(_ending(status) + (f": {said}" if said else ""))

    def _start(self, task: Task, standard_input: IO[bytes]) -> subprocess.Popen[bytes]:
        about = {"HALL_TASK_ID": task.id, "HALL_PLAN_ID": task.plan_id, "HALL_TASK_VERSION": str(task.version)}
        kept = {name: value for name, value in os.environ.items() if name not in KEPT_BACK}
        try:
            process = subprocess.Popen(
                self._command,
                stdin=standard_input,
                stderr=subprocess.PIPE,
                env={**kept, **about},
                start_new_session=True,  # so that Ctrl-C reaches it through us, and its children with it
                preexec_fn=self._in_child,  # noqa: PLW1509 - made to be safe with threads
            )
        except (OSError, ValueError) as problem:
            raise CommandFailed(f"{self._command[0]} could not be started: {problem}") from None
        with self._guard:
            self._running.add(process)
        return process

    def end_all(self) -> None:
        """End what still runs, politely first."""
        with self._guard:
            left = list(self._running)
        for process in left:
            _send(process, signal.SIGTERM)
        for process in left:
            _end(process)


class _Tail:
    """Passes a command's standard error on and keeps the end of it."""

    def __init__(self, source: IO[bytes] | None) -> None:
        assert source is not None
        self._source = source
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def _pass_on(self) -> None:
        with self._source:
            while chunk := os.read(self._source.fileno(), 65_536):
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.buffer.write(chunk)
                    sys.stderr.buffer.flush()
                self._kept += chunk
                del self._kept[:-REASON_BYTES]

    def text(self) -> str:
        """The end of what was said. A grandchild may keep the pipe open, so this does not wait for long."""
        self._thread.join(1.0)
        return bytes(self._kept).decode("utf-8", "replace").strip()


def _ending(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def _forward_cancelling(task: Task, process: subprocess.Popen[bytes]) -> None:
    """Once its result is no longer wanted, end the command."""
    while process.poll() is None:
        if task.cancelled.wait(LOOK_SECONDS):
            _send(process, signal.SIGTERM)
            _end(process)
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        _send(process, signal.SIGKILL)
        process.wait()


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To the command and all that it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
