"""`hall work plan`: a worker that runs a command for each task."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import StartHall
from tests.end_to_end.shell import Shell, finished, shell_of, until_written, written
from tests.hall_process import Database
from tests.waiting import until


@pytest.fixture
def shell(sqlite_database: Database, start_hall: StartHall) -> Shell:
    """A shell in front of a running hall."""
    return shell_of(start_hall(sqlite_database))


def test_a_command_gets_the_task(shell: Shell, tmp_path: Path) -> None:
    """The task stands on standard input and in the variables; of the hall's tokens the command gets none."""
    shell.apply("P", {"id": "A", "description": "x" * 200_000}, {"id": "B", "dependencies": ["A"]})
    script = f"cat > {tmp_path}/$HALL_TASK_ID; env > {tmp_path}/$HALL_TASK_ID.env"
    shell.fine("work", "plan", "P", "--until-finished", "--", "sh", "-c", script)
    task = json.loads((tmp_path / "A").read_text())
    assert (task["id"], task["plan_id"], task["version"], len(task["description"])) == ("A", "P", 2, 200_000)
    variables = (tmp_path / "B.env").read_text().splitlines()
    assert {"HALL_TASK_ID=B", "HALL_PLAN_ID=P", "HALL_TASK_VERSION=2"} <= set(variables)
    assert not [line for line in variables if "TOKEN" in line and line.startswith("HALL_")]
    assert shell.statuses("P") == {"A": "DONE", "B": "DONE"}


def test_a_command_that_does_not_read_its_input_is_fine(shell: Shell) -> None:
    """A long task does not keep a command waiting that does not read it."""
    shell.apply("P", {"id": "A", "description": "x" * 500_000})
    shell.fine("work", "plan", "P", "--once", "--", "true")
    assert shell.statuses("P") == {"A": "DONE"}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo first >&2; echo no luck >&2; exit 3", "exit status 3: first\nno luck"),
        ("exit 1", "exit status 1"),
        ("kill -9 $$", "ended by SIGKILL"),
    ],
)
def test_the_exit_status_decides(shell: Shell, script: str, reason: str) -> None:
    """Any status but 0 fails the task, with the end of standard error as the reason."""
    shell.apply("P", "A")
    ran = shell.run("work", "plan", "P", "--once", "--", "sh", "-c", script)
    assert ran.status == 0
    assert shell.statuses("P") == {"A": "FAILED"}
    assert shell.json("explain", "P/A")["history"][-1]["reason"] == reason
    assert "Traceback" not in ran.err


def test_a_long_complaint_is_cut_to_its_end(shell: Shell) -> None:
    """Of much standard error the end is kept, and all of it is passed on."""
    shell.apply("P", "A")
    script = "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1"
    ran = shell.run("work", "plan", "P", "--once", "--", "sh", "-c", script)
    assert "line 0\n" in ran.err
    reason = shell.json("explain", "P/A")["history"][-1]["reason"]
    assert reason.endswith("line 1999")
    assert len(reason) < 2048


def test_as_many_commands_run_at_once_as_wanted(shell: Shell, tmp_path: Path) -> None:
    """With a concurrency of two, two commands meet that each wait for the other."""
    shell.apply("P", "A", "B")
    script = f"touch {tmp_path}/$HALL_TASK_ID; until [ -e {tmp_path}/A ] && [ -e {tmp_path}/B ]; do sleep 0.05; done"
    shell.fine("work", "plan", "P", "--concurrency", "2", "--until-finished", "--", "sh", "-c", script)
    assert shell.statuses("P") == {"A": "DONE", "B": "DONE"}


def test_sigterm_reaches_the_command_and_the_task_goes_back(shell: Shell, tmp_path: Path) -> None:
    """A worker that is told to end tells its command, gives the task back, and ends with status 0."""
    shell.apply("P", "A")
    seen = tmp_path / "seen"
    script = f"trap 'echo ended >> {seen}; exit 1' TERM; echo running >> {seen}; while :; do sleep 0.05; done"
    worker = shell.start("work", "plan", "P", "--", "sh", "-c", script)
    until_written(seen, "running")
    worker.send_signal(signal.SIGTERM)
    assert finished(worker).status == 0
    assert "ended" in written(seen)
    assert shell.statuses("P") == {"A": "PENDING"}


def test_a_command_that_ends_well_after_its_task_went_back(shell: Shell, tmp_path: Path) -> None:
    """A task that was given back is not said to be done, however well its command ended."""
    shell.apply("P", "A")
    err = tmp_path / "err"
    with err.open("wb") as errors:
        script = "trap 'exit 0' TERM; echo at it >&2; sleep 60 & wait"
        worker = shell.start("work", "plan", "P", "--", "sh", "-c", script, stderr=errors)
        until_written(err, "at it")
        worker.send_signal(signal.SIGTERM)
        assert finished(worker).status == 0
    assert "A: stopped" in written(err)
    assert "A: done" not in written(err)
    assert shell.statuses("P") == {"A": "PENDING"}


def test_a_cancelled_task_ends_its_command(shell: Shell, tmp_path: Path) -> None:
    """What an operator takes away is told to the worker, which ends the command and goes on."""
    shell.apply("P", "A")
    seen = tmp_path / "seen"
    script = f"trap 'echo ended >> {seen}; exit 1' TERM; echo running >> {seen}; while :; do sleep 0.05; done"
    worker = shell.start("work", "plan", "P", "--concurrency", "2", "--", "sh", "-c", script)
    until_written(seen, "running")
    shell.fine("plan", "delete", "P", "--force")
    until_written(seen, "ended")
    worker.send_signal(signal.SIGTERM)
    assert finished(worker).status == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a command with the worker that was killed")
def test_a_killed_worker_takes_its_commands_along(shell: Shell, tmp_path: Path) -> None:
    """After SIGKILL no command works on a task that the hall hands out again, whichever task of its slot it is."""
    shell.apply("P", "A", "B", "C")
    script = f"[ $HALL_TASK_ID = A ] || {{ echo $$ > {tmp_path}/$HALL_TASK_ID; exec sleep 300; }}"
    worker = shell.start("work", "plan", "P", "--concurrency", "2", "--", "sh", "-c", script)
    for name in ("B", "C"):
        until_written(tmp_path / name, "\n")
    commands = [int(written(tmp_path / name)) for name in ("B", "C")]
    assert all(map(runs, commands))
    worker.kill()
    finished(worker)
    until(lambda: not any(map(runs, commands)), within_seconds=10, waiting_for="the commands to end")


def runs(pid: int) -> bool:
    """Whether a process runs: one that has ended but that nobody has waited for does not."""
    try:
        about = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return about.rpartition(")")[2].split()[0] != "Z"


def test_what_cannot_work_is_refused_at_once(shell: Shell) -> None:
    """A command that does not exist takes no task, and a token that is not accepted ends the worker."""
    shell.apply("P", "A")
    ran = shell.run("work", "plan", "P", "--", "no-such-command-anywhere")
    assert ran.status == 2
    assert "there is no such command" in ran.err
    shell.variables["HALL_BOOTSTRAP_TOKEN"] = "wrong"
    ran = shell.run("work", "plan", "P", "--", "true")
    assert ran.status == 1
    assert "refuses this worker" in ran.err
    assert shell.statuses("P") == {"A": "PENDING"}
