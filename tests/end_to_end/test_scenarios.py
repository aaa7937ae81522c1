"""What goes wrong between plan workers and a server, each as it was once reported against some system."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.conftest import StartHall
from tests.end_to_end.shell import shell_of
from tests.hall_client import HallClient, claim_bytes, connect, fine
from tests.hall_process import WORKER_TOKEN, Database, HallProcess
from tests.waiting import until

VISIBILITY_SECONDS = 3.0
PLAN = "P"


@pytest.fixture
def hall(database: Database, start_hall: StartHall) -> HallProcess:
    """A server whose leases are short."""
    return start_hall(database, HALL_VISIBILITY_TIMEOUT=VISIBILITY_SECONDS)


@pytest.fixture
def client(hall: HallProcess) -> Iterator[HallClient]:
    """A client of that server."""
    with HallClient(hall.url) as client:
        yield client


def reset(connection: socket.socket) -> None:
    """Cut a connection as a crashed machine's kernel does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def close(connection: socket.socket) -> None:
    """Close a connection in good order."""
    connection.close()


def parked(client: HallClient) -> float:
    """How many claims wait in the server."""
    for line in client.call("GET", "/metrics").text.splitlines():
        if line.startswith("hall_parked_claims"):
            return float(line.split()[-1])
    raise AssertionError("the metrics do not tell how many claims are parked")


def moves(client: HallClient, task_id: str) -> list[tuple[str, str | None]]:
    """The audit log of a task as pairs of move and cause."""
    return [(line["move"], line["cause"]) for line in client.history(PLAN, task_id)]


@pytest.mark.parametrize("cut", [reset, close])
def test_dead_claimer(hall: HallProcess, client: HallClient, cut: Callable[[socket.socket], None]) -> None:
    """A claim whose connection was cut while it waited takes nothing: the next worker gets the task at once."""
    other = client.register("B")
    dead = connect(hall.url)
    dead.sendall(claim_bytes("w-dead-claimer", PLAN, 20))
    until(lambda: parked(client) == 1, waiting_for="the claim to wait")
    cut(dead)
    client.apply(PLAN, "A")
    asked = time.monotonic()
    task = other.claim(PLAN, wait=5)
    assert time.monotonic() - asked < 2.0
    assert task["version"] == 2
    holders = [line["worker_id"] for line in client.history(PLAN, "A") if line["move"] == "hold"]
    assert holders == [other.id]


def test_lost_claim_answer_of_a_reset_connection(hall: HallProcess, client: HallClient) -> None:
    """A connection that is reset with the answer unread gives the task back at once, and the log tells why."""
    client.apply(PLAN, "A")
    other = client.register("B")
    unread = connect(hall.url)
    unread.sendall(claim_bytes("w-unread", PLAN, 20))
    until(lambda: client.task(PLAN, "A")["state"] == "held", waiting_for="the hand-over")
    until(lambda: unread.recv(1, socket.MSG_PEEK), waiting_for="the answer")
    cut_at = time.monotonic()
    unread.close()  # what was not read makes this a reset
    task = other.claim(PLAN, wait=10)
    assert time.monotonic() - cut_at < VISIBILITY_SECONDS
    assert task["version"] == 4
    assert moves(client, "A")[1:] == [
        ("hold", "first"),
        ("release", "connection_lost"),
        ("hold", "connection_lost"),
    ]


def test_lost_claim_answer_that_a_proxy_swallowed(client: HallClient) -> None:
    """What a living worker does not name among its holds comes back before its lease would end."""
    client.apply(PLAN, "A")
    worker, other = client.register("A"), client.register("B")
    assert worker.claim(PLAN) is not None  # and the worker never sees it
    handed = time.monotonic()

    def returned() -> bool:
        assert worker.heartbeat(Hall_Holding="")
        return bool(client.task(PLAN, "A")["state"] == "ready")

    until(returned, within_seconds=VISIBILITY_SECONDS + 5, waiting_for="the task to return")
    assert time.monotonic() - handed > VISIBILITY_SECONDS / 2
    assert other.claim(PLAN)["version"] == 4
    assert moves(client, "A")[2:] == [("release", "answer_lost"), ("hold", "answer_lost")]


def test_lost_claim_answer_of_a_silent_worker(hall: HallProcess, client: HallClient) -> None:
    """Without any sign of life the task is ready again once the visibility timeout is over, and not much later; a
    hall that says that it could not hear meanwhile, since the machine is busy, may give the worker more time."""
    client.apply(PLAN, "A")
    silent = connect(hall.url)
    silent.sendall(claim_bytes("w-silent", PLAN, 20))
    assert silent.recv(65536).startswith(b"HTTP/1.1 200 ")
    silent.close()
    other = client.register("B")
    asked = time.monotonic()
    task = until(lambda: other.claim(PLAN, wait=20), within_seconds=60, waiting_for="the silent worker's task")
    assert time.monotonic() - asked > 0.5 * VISIBILITY_SECONDS
    assert task["version"] == 4
    assert moves(client, "A")[2:] == [("release", "lease_expired"), ("hold", "lease_expired")]
    handed, released = (datetime.fromisoformat(line["at"]) for line in client.history(PLAN, "A")[1:3])
    late = (released - handed).total_seconds() > VISIBILITY_SECONDS + 5
    assert not late or "could not hear for a while" in hall.stderr, f"handed over {handed}, back {released}"


def test_pruned_worker(client: HallClient) -> None:
    """A removed worker's task is ready again, its id is told that nobody knows it, and its token ends."""
    client.apply(PLAN, "A")
    worker = client.register("A")
    task = worker.claim(PLAN)
    client.remove(worker.id)
    until(
        lambda: client.task(PLAN, "A")["state"] == "ready",
        within_seconds=VISIBILITY_SECONDS + 5,
        waiting_for="the task to return",
    )
    assert client.shared(worker.id).heartbeat() is False
    until(
        lambda: worker.settle("complete", task).status_code == 401,
        within_seconds=5,
        waiting_for="the removed worker's token to be refused",
    )
    assert client.register("B").claim(PLAN)["version"] == 4
    assert [line["move"] for line in client.history(PLAN, "A")] == ["submit", "hold", "release", "hold"]


def test_completion_sent_twice(client: HallClient) -> None:
    """The second of two equal completions is a conflict that tells of the first; the log has one completion."""
    client.apply(PLAN, "A")
    worker = client.register()
    task = worker.claim(PLAN)
    assert worker.settle("complete", task).status_code == 200
    again = worker.settle("complete", task)
    assert again.status_code == 409
    assert again.headers["hall-finished-by"] == "self"
    told = again.json()
    assert (told["error_code"], told["expected_version"], told["actual_version"], told["actual_status"]) == (
        "version_conflict",
        2,
        3,
        "DONE",
    )
    assert moves(client, "A").count(("complete", None)) == 1


def test_completion_sent_twice_with_a_key(hall: HallProcess, client: HallClient) -> None:
    """With an Idempotency-Key the repeated completion gets the first one's answer, also after a crash in between."""
    client.apply(PLAN, "A")
    worker = client.register()
    task = worker.claim(PLAN)
    first = fine(worker.settle("complete", task, key="once"))
    hall.restart(kill=True)
    assert fine(worker.settle("complete", task, key="once")) == first
    assert worker.settle("complete", task, key="another").status_code == 409
    assert moves(client, "A").count(("complete", None)) == 1


def test_nul_in_the_reason(hall: HallProcess, client: HallClient) -> None:
    """A reason with U+0000 is stored exactly, ends the task for good, and is readable wherever it is shown."""
    client.apply(PLAN, "A")
    worker = client.register()
    answer = worker.settle("fail", worker.claim(PLAN), reason="a\u0000b")
    assert answer.status_code == 200
    assert answer.json()["task"]["status"] == "FAILED"
    (failed,) = [line for line in client.history(PLAN, "A") if line["move"] == "fail"]
    assert failed["reason"] == "a\u0000b"
    story = client.call("GET", f"/admin/work?id={PLAN}/A")
    assert b"a\\u0000b" in story.content
    assert b"\x00" not in story.content
    told = shell_of(hall).fine("explain", f"{PLAN}/A")
    assert "a\x00b" not in told
    assert "failed" in told.lower()
    assert worker.claim(PLAN, wait=VISIBILITY_SECONDS / 2) is None
    assert [line["move"] for line in client.history(PLAN, "A")] == ["submit", "hold", "fail"]


def test_nul_in_every_other_text(client: HallClient) -> None:
    """Texts of a plan and of a worker carry U+0000 through, and identifiers refuse it by name."""
    applied: Any = client.apply(PLAN, {"id": "A", "description": "x\u0000y"}, name="n\u0000m")
    assert applied["added"] == 1
    worker = client.register("h\u0000st")
    assert client.workers()[worker.id]["hostname"] == "h\u0000st"
    assert worker.claim(PLAN)["description"] == "x\u0000y"
    refused = client.call("POST", "/tasks/A%00/complete", {"worker_id": worker.id, "version": 2}, token=WORKER_TOKEN)
    assert (refused.status_code, refused.json()["error_code"]) == (422, "validation_error")
    refused = client.call("PUT", "/admin/plans/Q", {"tasks": [{"id": "\u0000"}]})
    assert (refused.status_code, refused.json()["error_code"]) == (422, "validation_error")
