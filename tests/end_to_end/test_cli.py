"""The client commands of `hall` against a real server."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

from hiringhall import __version__
from tests.conftest import StartHall
from tests.end_to_end.shell import Shell, finished, read_until, shell_of, until_written, written
from tests.hall_process import Database
from tests.waiting import until


@pytest.fixture
def shell(sqlite_database: Database, start_hall: StartHall) -> Shell:
    """A shell in front of a running hall."""
    return shell_of(start_hall(sqlite_database))


def test_commands_find_the_server_by_themselves(sqlite_database: Database, start_hall: StartHall) -> None:
    """Without configured tokens, whoever may read the data folder needs to tell neither address nor token."""
    start_hall(sqlite_database, HALL_ADMIN_TOKEN="", HALL_BOOTSTRAP_TOKEN="", HALL_WORKER_TOKEN="")
    shell = Shell(HALL_DATA=str(sqlite_database.directory))
    shell.apply("P", "A")
    shell.fine("work", "plan", "P", "--once", "--", "true")
    assert shell.statuses("P") == {"A": "DONE"}


def test_made_tokens_are_never_sent_to_another_server(sqlite_database: Database, start_hall: StartHall) -> None:
    """The tokens in server.json open the server that wrote them, and are not tried elsewhere."""
    start_hall(sqlite_database, HALL_ADMIN_TOKEN="")
    ran = Shell(HALL_DATA=str(sqlite_database.directory)).run("plan", "list", "--server", "http://127.0.0.1:1")
    assert ran.status == 1
    assert "set HALL_ADMIN_TOKEN" in ran.err


def test_a_plan_is_applied_shown_and_listed(shell: Shell, tmp_path: Path) -> None:
    """Apply tells what changed and warns, show and list tell how it stands."""
    file = tmp_path / "plan.json"
    plan = {"id": "P", "project": "Mine", "tasks": [{"id": "A", "colour": 1}, {"id": "B", "dependencies": ["A"]}]}
    file.write_text(json.dumps(plan))
    ran = shell.run("plan", "apply", str(file))
    assert (ran.status, ran.out) == (0, "P: 2 added, 0 changed, 0 unchanged, 0 pruned\n")
    assert "warning: tasks[0].colour: unknown member, left out" in ran.err
    assert "2 unchanged" in shell.fine("plan", "apply", str(file))
    shown = shell.fine("plan", "show", "P")
    assert "P (Mine): active; 1 ready, 1 waiting, 2 total" in shown
    assert "waits for 1" in shown
    assert "Mine" in shell.fine("plan", "list")
    assert [plan["id"] for plan in shell.json("plan", "list")] == ["P"]
    file.write_text(json.dumps({"id": "P", "tasks": [{"id": "A"}]}))
    assert "1 pruned" in shell.fine("plan", "apply", "--prune", str(file))


def test_every_problem_of_a_file_is_printed(shell: Shell, tmp_path: Path) -> None:
    """A bad file is refused with all its problems, each on a line, and a broken one with the place where it breaks."""
    bad = {"plan_id": "P", "tasks": [{"id": "A", "priority": "x"}, {"id": "A"}, {"dependencies": 1}]}
    ran = shell.run("plan", "apply", "-", stdin=json.dumps(bad))
    assert ran.status == 1
    assert ran.err.splitlines()[0] == "hall: -: 4 problems; nothing was applied"
    for field in ("tasks[0].priority", "tasks[1].id", "tasks[2].id", "tasks[2].dependencies"):
        assert f"  {field}: " in ran.err
    assert "line 1, column 3" in shell.run("plan", "apply", "-", stdin="{ x").err
    assert "plan_id is missing" in shell.run("plan", "apply", "-", stdin="[]").err
    assert "No such file" in shell.run("plan", "apply", str(tmp_path / "none")).err


def test_a_plan_is_paused_resumed_and_deleted(shell: Shell) -> None:
    """Each verb says what it did."""
    shell.apply("P", "A")
    assert shell.fine("plan", "pause", "P") == "P: paused\n"
    assert shell.json("plan", "show", "P")["state"] == "paused"
    assert shell.fine("plan", "resume", "P") == "P: resumed\n"
    assert shell.fine("plan", "retry", "P") == "P: 0 tasks to be tried again\n"
    assert shell.fine("plan", "delete", "P") == "P: deleted\n"
    assert "there is no plan 'P'" in shell.run("plan", "show", "P").err


def test_watching_ends_with_the_plan(shell: Shell) -> None:
    """A watch ends by itself with status 0 when all is done, and with 1 when what is left waits for a failed task."""
    shell.apply("P", "A", {"id": "B", "dependencies": ["A"]})
    watch = shell.start("plan", "show", "P", "--watch")
    shell.fine("work", "plan", "P", "--until-finished", "--", "true")
    ran = finished(watch)
    assert ran.status == 0
    assert ran.out.splitlines()[-1] == "P: finished; 2 done"
    shell.apply("Q", "A", {"id": "B", "dependencies": ["A"]})
    shell.fine("work", "plan", "Q", "--until-finished", "--", "false")
    ran = shell.run("plan", "show", "Q", "--watch")
    assert ran.status == 1
    assert "1 failed: A" in ran.out
    assert "hall explain Q/A" in ran.out
    assert json.loads(shell.run("plan", "show", "Q", "--watch", "--json").out)["state"] == "blocked"
    assert shell.run("plan", "show", "nowhere", "--watch").status == 1


def test_a_watch_survives_a_restart(sqlite_database: Database, start_hall: StartHall, tmp_path: Path) -> None:
    """A server that comes back is watched on."""
    hall = start_hall(sqlite_database)
    shell = shell_of(hall)
    shell.apply("P", "A")
    said = tmp_path / "said"
    with said.open("wb") as output:
        watch = shell.start("plan", "show", "P", "--watch", stdout=output)
    until_written(said, "1 ready")
    hall.restart(kill=True)
    shell.fine("work", "plan", "P", "--once", "--", "true")
    assert finished(watch).status == 0
    assert "finished" in written(said)


def test_explain_tells_the_story(shell: Shell) -> None:
    """PLAN/TASK or a bare id of only one plan is explained; one of several plans is ambiguous."""
    shell.apply("my plan", "T 1")
    shell.fine("work", "plan", "my plan", "--once", "--", "sh", "-c", "echo no luck >&2; exit 3")
    for unit in ("my plan/T 1", "T 1", "my%20plan/T%201"):
        story = shell.fine("explain", unit)
        assert story.startswith("my plan/T 1: FAILED, version 3\n")
        assert "exit status 3: no luck" in story
    assert shell.json("explain", "T 1")["history"][0]["move"] == "submit"
    shell.apply("P", "T 1")
    ran = shell.run("explain", "T 1")
    assert ran.status == 1
    assert "2 plans have a task 'T 1'" in ran.err


def test_workers_are_listed_and_directed(shell: Shell) -> None:
    """A worker is found in the list, hushed, resumed, and forgotten by one command each."""
    shell.apply("P", "A")
    shell.fine("work", "plan", "P", "--once", "--", "true")
    name = shell.json("worker", "list")[0]["worker_id"]
    assert name in shell.fine("worker", "list")
    shell.fine("worker", "quiet", name)
    assert shell.json("worker", "list")[0]["quiet"] is True
    shell.fine("worker", "resume", name)
    assert shell.json("worker", "list")[0]["quiet"] is False
    shell.fine("worker", "remove", name)
    assert shell.json("worker", "list") == []


def test_a_worker_is_told_to_end(shell: Shell) -> None:
    """A worker that waits for work ends as soon as it is told to."""
    worker = shell.start("work", "plan", "nowhere", "--", "true")
    listed = until(lambda: shell.json("worker", "list"), within_seconds=20, waiting_for="the worker to register")
    shell.fine("worker", "terminate", listed[0]["worker_id"])
    assert finished(worker).status == 0


def test_trouble_is_told_plainly(tmp_path: Path, sqlite_database: Database, start_hall: StartHall) -> None:
    """No server, a server that is gone, and a wrong token are told in plain lines that name the way out."""
    ran = Shell(HALL_DATA=str(tmp_path)).run("plan", "list")
    assert (ran.status, len(ran.err.splitlines())) == (1, 2)
    assert "hall serve" in ran.err
    hall = start_hall(sqlite_database)
    shell = shell_of(hall)
    shell.variables["HALL_ADMIN_TOKEN"] = "wrong"
    ran = shell.run("plan", "list")
    assert ran.status == 1
    assert "does not accept the operator token from HALL_ADMIN_TOKEN" in ran.err
    assert hall.stop() == 0
    ran = Shell(HALL_DATA=str(sqlite_database.directory), HALL_ADMIN_TOKEN="x").run("plan", "list")
    assert ran.status == 1
    assert "the server is not running" in ran.err
    assert f"hall serve --data {sqlite_database.directory}" in ran.err


def test_usage_errors_have_status_2() -> None:
    """What was typed wrong is told apart from what went wrong."""
    for words in (("plan", "show"), ("plan", "explode"), ("plan", "list", "--server", "x"), ("serve", "--port", "x")):
        assert Shell().run(*words).status == 2
    assert Shell().run("--version").out == f"hall {__version__}\n"


def test_a_terminal_shows_live_progress(shell: Shell) -> None:
    """On a terminal the watch draws a bar and who holds what, and leaves one line when it is over."""
    shell.apply("P", "A")
    shell.variables["COLUMNS"] = "120"
    leader, follower = pty.openpty()
    watch = shell.start("plan", "show", "P", "--watch", stdout=follower, terminal="xterm")
    os.close(follower)
    drawn = read_until(leader, b"0/1")
    shell.fine("work", "plan", "P", "--once", "--", "true")
    drawn += read_until(leader, b"P: finished; 1 done")
    os.close(leader)
    assert finished(watch).status == 0
    assert b"\x1b[2K" in drawn


@pytest.mark.parametrize("token", ["ses\name", "ses ame", "sesam\u00e9"])
def test_a_token_that_cannot_be_sent_is_not_shown(token: str) -> None:
    """A token with characters that no header carries is named by its variable, never by its value."""
    ran = Shell(HALL_SERVER="http://127.0.0.1:1", HALL_ADMIN_TOKEN=token).run("plan", "list")
    assert (ran.status, ran.err) == (1, "hall: HALL_ADMIN_TOKEN: a token is visible ASCII characters\n")
