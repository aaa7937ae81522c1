"""`hall call`, `hall follow`, `hall cancel` and `hall explain` of a call, as a shell runs them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartHall
from tests.end_to_end.service_hand import ServiceHand
from tests.end_to_end.shell import Shell, finished, read_until, shell_of
from tests.hall_client import HallClient
from tests.hall_process import Database, HallProcess
from tests.waiting import until

SUM = '{"a": 1, "b": 2}'


@pytest.fixture
def hall(sqlite_database: Database, start_hall: StartHall) -> HallProcess:
    """A running hall."""
    return start_hall(sqlite_database)


@pytest.fixture
def shell(hall: HallProcess) -> Shell:
    """A shell in front of it."""
    return shell_of(hall)


@pytest.fixture
def worker(hall: HallProcess) -> Iterator[ServiceHand]:
    """A worker of the service `math`, with the method `add`."""
    with HallClient(hall.url) as client:
        yield ServiceHand(client)


def calling(shell: Shell, *words: str, **how: Any) -> subprocess.Popen[bytes]:
    """A call that is under way."""
    return shell.start("call", "math/add", *(words or (SUM,)), **how)


def test_the_result_is_printed_digit_for_digit(shell: Shell, worker: ServiceHand) -> None:
    """The result stands on standard output as the worker sent it, and nothing else does; the exit status is 0."""
    call = calling(shell, '{"a":3544790567247868102,"b":0.1000000000000000055}')
    message = worker.ask("GET", "messages?wait=20")
    assert b'"params":{"a":3544790567247868102,"b":0.1000000000000000055}' in message.content
    worker.succeed(message.json()[0]["request_id"], b"3544790567247868102.1000000000000000055")
    ran = finished(call)
    assert (ran.status, ran.out, ran.err) == (0, "3544790567247868102.1000000000000000055\n", "")


def test_the_whole_outcome(shell: Shell, worker: ServiceHand) -> None:
    """`--json` prints the outcome as the hall sent it."""
    call = calling(shell, SUM, "--json")
    request_id = worker.next()["request_id"]
    worker.succeed(request_id, b"1e2")
    ran = finished(call)
    assert '"result":1e2,' in ran.out
    outcome = json.loads(ran.out)
    assert (outcome["request_id"], outcome["status"]) == (request_id, "success")


@pytest.mark.parametrize(
    ("status", "words"), [("failed", "failed: too big"), ("error", "ended with an error: too big")]
)
def test_a_call_that_is_not_done(shell: Shell, worker: ServiceHand, status: str, words: str) -> None:
    """What the worker says is told on standard error; the exit status is 1."""
    call = calling(shell)
    request_id = worker.next()["request_id"]
    worker.refuse(request_id, status, "too big")
    ran = finished(call)
    assert (ran.status, ran.out, ran.err) == (1, "", f"hall: {request_id} {words}\n")


def test_feedback_is_shown_as_it_comes(shell: Shell, worker: ServiceHand) -> None:
    """Each item is a line on standard error: how far it is if it says so, else what it says."""
    call = calling(shell)
    assert call.stderr is not None
    request_id = worker.next()["request_id"]
    lines = []
    for content, kind in (
        ({"percent": 40, "message": "adding"}, 1), (75.4, "progress"), ("half\x1b done", "note"), ([1, 2], 7),
    ):  # fmt: skip
        worker.tell(request_id, content, kind)
        lines.append(call.stderr.readline().decode())
    assert lines == [
        "math/add: 40% adding\n", "math/add: 75%\n", "math/add: note: half\N{REPLACEMENT CHARACTER} done\n",
        "math/add: [1, 2]\n",
    ]  # fmt: skip
    worker.succeed(request_id, 3)
    assert finished(call).out == "3\n"


def test_a_bar_on_a_terminal(shell: Shell, worker: ServiceHand) -> None:
    """On a terminal it is shown how far it is as a bar that goes away at the end."""
    ours, theirs = pty.openpty()
    call = calling(shell, SUM, stderr=theirs, terminal="xterm")
    os.close(theirs)
    request_id = worker.next()["request_id"]
    worker.tell(request_id, {"progress": 40, "message": "adding"})
    read_until(ours, b"40%")
    worker.succeed(request_id, 3)
    assert finished(call).out == "3\n"
    os.close(ours)


def test_params_from_elsewhere(shell: Shell, worker: ServiceHand, tmp_path: Path) -> None:
    """`-` reads standard input, `@FILE` reads a file, and left out they are `{}`."""
    (tmp_path / "params.json").write_text(' {"a": [1e400]}\n')
    for words, stdin, params in (
        (("-",), '"typed"', b'"typed"'),
        ((f"@{tmp_path}/params.json",), "", b'{"a": [1e400]}'),
        ((), "", b"{}"),
    ):
        request_id = shell.fine("call", "math/add", *words, "--no-follow", stdin=stdin).strip()
        message = worker.ask("GET", "messages?wait=20")
        assert b'"params":' + params + b"}" in message.content
        worker.succeed(request_id)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("{a: 1}",), "PARAMS: not JSON"),
        (("NaN",), "PARAMS: not JSON: NaN is no JSON"),
        (("@/nowhere",), "PARAMS: /nowhere cannot be read"),
        ((SUM, "--retries", "11"), "retries: must be from 0 to 10"),
        ((SUM, "--dispatch", "all"), "dispatch: must be one of exclusive, race, broadcast"),
        ((SUM, "--requires", "{"), "--requires: not JSON"),
        ((SUM, "--deadline", "0.5"), "deadline_seconds: must be from 1 to 2592000"),
    ],
)
def test_what_was_given_wrongly(shell: Shell, words: tuple[str, ...], told: str) -> None:
    """The exit status is 2, and one line says what is wrong."""
    ran = shell.run("call", "math/add", *words)
    assert (ran.status, ran.out) == (2, "")
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_what_cannot_be_called(shell: Shell, worker: ServiceHand) -> None:
    """An unknown service, an unknown method with its neighbours, nobody there: the exit status is 1."""
    for words, told in (
        (("nosuch/add",), "nosuch"),
        (("math/ad",), "did you mean add?"),
        (("math/add", "--requires", '{"platform": "mars"}', "--fail-without-worker"), "worker"),
    ):
        ran = shell.run("call", *words)
        assert (ran.status, ran.out) == (1, "")
        assert told in ran.err


def test_it_stops_waiting(shell: Shell, worker: ServiceHand) -> None:
    """With `--wait` it ends with status 3 when there is no outcome in time, and says how to follow."""
    ran = shell.run("call", "math/add", SUM, "--wait", "0.3")
    request_id = worker.next()["request_id"]
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.splitlines() == [
        f"hall: {request_id} has no outcome yet",
        f"  `hall follow {request_id}` shows how it goes on, `hall cancel {request_id}` ends it",
    ]
    worker.succeed(request_id, 3)
    assert shell.fine("follow", request_id) == "3\n"


def test_interrupting_leaves_the_call_alone(shell: Shell, worker: ServiceHand) -> None:
    """Ctrl-C does not cancel: the request lives on, and it is said how to follow it."""
    call = calling(shell)
    request_id = worker.next()["request_id"]
    worker.tell(request_id, "begun", "note")
    assert call.stderr is not None
    assert call.stderr.readline() == b"math/add: note: begun\n"
    call.send_signal(signal.SIGINT)
    ran = finished(call)
    assert ran.status == 130
    assert ran.err.startswith(f"hall: {request_id} goes on\n  `hall follow {request_id}`")
    worker.succeed(request_id, 3)
    assert shell.fine("follow", request_id) == "3\n"


def test_cancelling(shell: Shell, worker: ServiceHand) -> None:
    """`hall cancel` takes a call back; one that has an outcome cannot be."""
    request_id = shell.fine("call", "math/add", SUM, "--no-follow").strip()
    assert shell.fine("cancel", request_id) == f"{request_id}: cancelled\n"
    ran = shell.run("follow", request_id)
    assert (ran.status, ran.err) == (1, f"hall: {request_id} was cancelled: it was cancelled\n")
    assert shell.run("cancel", request_id).status == 1


def test_a_restart_is_waited_for(shell: Shell, worker: ServiceHand, hall: HallProcess) -> None:
    """A call is followed over a restart of the hall, and no item is shown twice."""
    call = calling(shell)
    assert call.stderr is not None
    request_id = worker.next()["request_id"]
    worker.tell(request_id, 10)
    assert call.stderr.readline() == b"math/add: 10%\n"
    hall.restart(kill=True)
    worker.tell(request_id, 20)
    shown = []
    until(lambda: shown.append(call.stderr.readline()) or shown[-1] == b"math/add: 20%\n", waiting_for="20%")  # type: ignore[union-attr,func-returns-value]
    assert b"math/add: 10%\n" not in shown
    worker.succeed(request_id, 3)
    assert finished(call).out == "3\n"


def test_explaining(shell: Shell, worker: ServiceHand) -> None:
    """`hall explain REQUEST_ID` tells in plain words who got the call, and how it ended."""
    request_id = shell.fine("call", "math/add", SUM, "--dispatch", "race", "--no-follow").strip()
    worker.next()
    worker.lock(request_id)
    worker.refuse(request_id, "failed", "too big")
    first, *story = shell.fine("explain", request_id).splitlines()
    assert first == f"{request_id}: failed, version 3"
    told = [sentence.partition(" UTC: ")[2] or sentence.strip() for sentence in story]
    assert [sentence for sentence in told if not sentence.startswith("Offered")] == [
        "Called by client 'operator': math/add, for the first worker that locks it.",
        "Locked by worker w, the first of those that it was offered to, as version 2.",
        "Failed: worker w said 'too big'.",
        "Now: the method refused. Nothing more will happen to it by itself.",
    ]


def test_a_broadcast(shell: Shell, worker: ServiceHand) -> None:
    """Of a broadcast the answers are printed."""
    call = calling(shell, SUM, "--dispatch", "broadcast")
    worker.succeed(worker.next()["request_id"], 3)
    assert json.loads(finished(call).out) == [
        {"worker_id": "w", "status": "success", "result": 3, "error_text": None}
    ]  # fmt: skip


def test_service_workers_from_the_shell(shell: Shell, worker: ServiceHand) -> None:
    """`hall worker` lists service workers and directs them, by their service and id."""
    assert "math/w  online  0" in shell.fine("worker", "list", "--service", "math").splitlines()[1]
    assert shell.json("worker", "list")[0]["registration"]["methods"] == ["add"]
    shell.fine("worker", "quiet", "w", "--service", "math")
    assert worker.drain(wait=0) == []
    assert "quiet" in shell.fine("worker", "list")
    shell.fine("worker", "resume", "w", "--service", "math")
    assert shell.run("worker", "quiet", "w").status == 1
    assert shell.fine("worker", "remove", "w", "--service", "math") == "w: removed\n"
