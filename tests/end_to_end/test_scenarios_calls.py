"""What goes wrong between service workers and a server, each as it was once reported against some system."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import StartHall
from tests.end_to_end.shell import shell_of
from tests.hall_client import HallClient, connect, fine, part
from tests.hall_process import Database, HallProcess
from tests.service_worker import ServiceWorker, make_service
from tests.waiting import until

VISIBILITY_SECONDS = 3.0
HEARTBEAT_SECONDS = 0.5
AT_ONCE_SECONDS = 2.0
SERVICE = "kiwi"
NUL = "a\u0000b"


@pytest.fixture
def hall(database: Database, start_hall: StartHall) -> HallProcess:
    """A server whose leases are short."""
    return start_hall(database, HALL_VISIBILITY_TIMEOUT=VISIBILITY_SECONDS, HALL_HEARTBEAT_DELAY=HEARTBEAT_SECONDS)


@pytest.fixture
def client(hall: HallProcess) -> Iterator[HallClient]:
    """An operator, who is a client too, with a service."""
    with HallClient(hall.url) as client:
        make_service(client, SERVICE)
        yield client


def submit(client: HallClient, method: str = "echo", params: Any = None, **members: Any) -> str:
    """A call; returns its id."""
    body = {"method": f"{SERVICE}/{method}", "params": params, **members}
    return str(fine(client.call("POST", "/client/requests", body))["request_id"])


def outcome(client: HallClient, request_id: str) -> Any:
    """What became of a call."""
    answer = client.call("GET", f"/client/requests/{part(request_id)}?wait=20")
    assert answer.status_code == 200, answer.text
    return answer.json()


def parked(client: HallClient) -> float:
    """How many drains wait in the server."""
    for line in client.call("GET", "/metrics").text.splitlines():
        if line.startswith("hall_parked_claims"):
            return float(line.split()[-1])
    raise AssertionError("the metrics do not tell how many drains are parked")


def test_vanished_poller(hall: HallProcess, client: HallClient) -> None:
    """A drain whose connection was closed while it waited takes nothing: the next worker gets the call at once, and the
    client its result."""
    first = ServiceWorker(client, SERVICE, "echo", worker_id="first")
    second = ServiceWorker(client, SERVICE, "echo", worker_id="second")
    connection = connect(hall.url)
    connection.sendall(first.drain_bytes(20))
    until(lambda: parked(client) == 1, waiting_for="the drain to wait")
    connection.close()
    request_id = submit(client, params="hello")
    asked = time.monotonic()
    (message,) = second.drain(wait=5)
    assert time.monotonic() - asked < AT_ONCE_SECONDS
    assert message["request_id"] == request_id
    assert second.respond(request_id, result=message["params"]).is_success
    assert outcome(client, request_id)["result"] == "hello"


@pytest.mark.parametrize("dispatch", ["race", "exclusive"])
def test_same_pod_name(client: HallClient, dispatch: str) -> None:
    """A worker that is killed and starts again under its old id does not keep its old lock alive by its new heartbeats:
    the call is delivered again at once."""
    old = ServiceWorker(client, SERVICE, "echo", worker_id="pod-1")
    request_id = submit(client, dispatch=dispatch)
    assert old.ids() == [request_id]
    assert old.lock(request_id).status_code == 200
    new = ServiceWorker(client, SERVICE, "echo", worker_id="pod-1")
    started = time.monotonic()
    assert new.beat() is True
    assert new.ids(wait=5) == [request_id]
    assert time.monotonic() - started < AT_ONCE_SECONDS
    assert new.lock(request_id).status_code == 200
    late = old.respond(request_id, result="late")
    assert (late.status_code, late.json()["error_code"]) == (409, "worker_superseded")
    assert new.respond(request_id, result="new").is_success
    assert outcome(client, request_id)["result"] == "new"


@pytest.mark.parametrize("status", ["failed", "error"])
def test_nul_in_what_a_worker_says(hall: HallProcess, client: HallClient, status: str) -> None:
    """U+0000 in an error text and in feedback is no error and no loop: 200, the call ended, and the same text comes
    back."""
    worker = ServiceWorker(client, SERVICE, "echo")
    request_id = submit(client)
    assert worker.ids() == [request_id]
    assert worker.tell(request_id, NUL) == 1
    assert worker.respond(request_id, status, error_text=NUL).status_code == 200
    ended = outcome(client, request_id)
    assert (ended["status"], ended["error_text"]) == (status, NUL)
    told = client.call("GET", f"/client/requests/{request_id}/feedback").text
    assert '"a\\u0000b"' in told
    assert worker.ids() == []
    explained = shell_of(hall).run("explain", request_id)
    assert explained.status == 0, explained


def test_results_that_are_no_objects(client: HallClient) -> None:
    """Whatever JSON value a worker answers, the call ends and the client receives exactly that value."""
    worker = ServiceWorker(client, SERVICE, "echo")
    for result in (b"null", b"0", b"false", b'""', b"[]", b"[null]"):
        request_id = submit(client)
        assert worker.ids() == [request_id]
        assert worker.respond_raw(request_id, result).is_success
        answer = client.call("GET", f"/client/requests/{request_id}")
        assert answer.json()["status"] == "success"
        assert b'"result":' + result + b"," in answer.content
    assert worker.ids() == []


def test_snowflake_ids(hall: HallProcess, client: HallClient) -> None:
    """Numbers beyond what floats hold keep every digit: in the drain, in the client's result, and in the shell."""
    numbers = b'{"id": 3544790567247868102, "neg": -9223372036854775809, "tiny": 0.1000000000000000055, "huge": 1e400}'
    worker = ServiceWorker(client, SERVICE, "echo")
    body = b'{"method": "kiwi/echo", "params": %b}' % numbers
    request_id = fine(client.call("POST", "/client/requests", body))["request_id"]
    drained = worker.ask("GET", "messages")
    assert b'"params":' + numbers in drained.content
    assert worker.respond_raw(request_id, numbers).is_success
    assert numbers in client.call("GET", f"/client/requests/{request_id}").content
    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(shell_of(hall).run, "call", "kiwi/echo", numbers.decode())
        (message,) = worker.drain(wait=20)
        assert worker.respond_raw(message["request_id"], numbers).is_success
        shown = calling.result()
    assert shown.status == 0, shown
    for digits in ("3544790567247868102", "-9223372036854775809", "0.1000000000000000055", "1e400"):
        assert digits in shown.out


def test_a_worker_after_an_outage(hall: HallProcess, client: HallClient) -> None:
    """A worker that was busy while the server was away for longer than the offline limit is known when it comes back,
    and its finished work is accepted."""
    worker = ServiceWorker(client, SERVICE, "echo")
    request_id = submit(client, params=7)
    assert worker.ids() == [request_id]
    assert worker.beat() is True
    hall.stop()
    away_since = time.monotonic()
    until(
        lambda: time.monotonic() - away_since > VISIBILITY_SECONDS + 1,
        within_seconds=3 * VISIBILITY_SECONDS,
        waiting_for="an outage longer than the offline limit and the visibility timeout",
    )
    hall.start()
    assert worker.beat() is True
    assert worker.respond(request_id, result=7).status_code == 200
    assert outcome(client, request_id)["result"] == 7
    assert [line["cause"] for line in history(client, request_id) if line["move"] == "hold"] == ["first"]


def history(client: HallClient, request_id: str) -> Any:
    """The audit log of a call."""
    return fine(client.call("GET", f"/admin/work?id={part(request_id)}"))["history"]


def test_a_silent_worker(client: HallClient) -> None:
    """What a worker holds that fell silent goes to another, and its late answer is refused."""
    silent = ServiceWorker(client, SERVICE, "echo", worker_id="silent")
    request_id = submit(client)
    assert silent.ids() == [request_id]
    other = ServiceWorker(client, SERVICE, "echo", worker_id="other")
    assert other.ids(wait=20) == [request_id]
    late = silent.respond(request_id)
    assert (late.status_code, late.json()["error_code"]) == (409, "not_held")
    assert other.respond(request_id, result="other").is_success
    assert outcome(client, request_id)["result"] == "other"
    causes = [line["cause"] for line in history(client, request_id) if line["move"] == "hold"]
    assert causes[0] == "first"
    assert causes[1] in ("lease_expired", "worker_offline")


def test_lost_drain_answer_behind_a_proxy(client: HallClient) -> None:
    """A call that a worker was handed and never heard of, because a proxy swallowed the answer, comes back once the
    worker says that it does not hold it; what it names stays."""
    worker = ServiceWorker(client, SERVICE, "echo")
    kept, swallowed = submit(client, params=1), submit(client, params=2)
    assert [message["request_id"] for message in worker.drain(Hall_Holding="")] == [kept, swallowed]

    def again() -> list[str]:
        return [message["request_id"] for message in worker.drain(Hall_Holding=kept)]

    assert until(again, waiting_for="the call whose answer was swallowed") == [swallowed]
    assert worker.respond(kept, result=1).is_success
    assert worker.respond(swallowed, result=2).is_success
    causes = [line["cause"] for line in history(client, swallowed) if line["move"] == "hold"]
    assert causes == ["first", "answer_lost"]


def test_shutdown_hands_work_back(client: HallClient) -> None:
    """Of five drained calls one was begun: the four others reach a peer at once, and the running one may still
    answer."""
    leaving = ServiceWorker(client, SERVICE, "echo", worker_id="leaving")
    ids = [submit(client, params=number) for number in range(5)]
    assert leaving.ids() == ids
    peer = ServiceWorker(client, SERVICE, "echo", worker_id="peer")
    assert leaving.leave(*ids[1:]) == 4
    started = time.monotonic()
    handed: list[str] = []
    while len(handed) < 4:
        more = peer.ids(wait=5)
        assert more, f"only {handed} of {ids[1:]} came"
        handed += more
    assert time.monotonic() - started < AT_ONCE_SECONDS
    assert sorted(handed) == sorted(ids[1:])
    assert leaving.respond(ids[0], result=0).status_code == 200
    assert outcome(client, ids[0])["result"] == 0
    assert leaving.ids() == []
    assert [line["cause"] for line in history(client, ids[1]) if line["move"] == "hold"] == ["first", "shutdown"]


def test_draining_server_answers_parked_drains(hall: HallProcess, client: HallClient) -> None:
    """On SIGTERM a parked drain gets its empty answer, and the worker goes on with the next server as before."""
    worker = ServiceWorker(client, SERVICE, "echo")
    connection = connect(hall.url)
    connection.sendall(worker.drain_bytes(30))
    until(lambda: parked(client) == 1, waiting_for="the drain to wait")
    assert hall.stop() == 0
    answered = b""
    while piece := connection.recv(65_536):
        answered += piece
    connection.close()
    head, _, body = answered.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0]
    assert b"connection: close" in head.lower()
    assert json.loads(body) == []
    hall.start()
    request_id = submit(client)
    assert worker.ids(wait=5) == [request_id]


def test_two_servers(postgres_database: Database, start_hall: StartHall) -> None:
    """A drain that is parked at one server hears at once of a call that another was given, also the first of its
    method."""
    one = start_hall(postgres_database)
    other = start_hall(replace(postgres_database, directory=postgres_database.directory / "other"), name="other")
    with HallClient(one.url) as here, HallClient(other.url) as there, ThreadPoolExecutor(1) as pool:
        make_service(here, SERVICE)
        worker = ServiceWorker(here, SERVICE, "echo")
        for number in range(2):
            drain = pool.submit(worker.drain, 20)
            until(lambda: parked(here) == 1, waiting_for="the drain to wait")
            submitted = time.monotonic()
            request_id = submit(there, params=number)
            (message,) = drain.result()
            assert time.monotonic() - submitted < AT_ONCE_SECONDS
            assert (message["request_id"], message["params"]) == (request_id, number)
            assert worker.respond(request_id, result=number).is_success
            assert outcome(there, request_id)["result"] == number
