"""Calls followed over real connections: by one server and by two, by readers that read and by readers that do not."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.conftest import StartHall
from tests.end_to_end.service_hand import ServiceHand
from tests.hall_client import HallClient, fine
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess
from tests.waiting import until

BULK = "x" * 60_000
GROWTH_BYTES_MAX = 60 * 1024 * 1024


@pytest.fixture
def hall(database: Database, start_hall: StartHall) -> HallProcess:
    """A running hall."""
    return start_hall(database)


@pytest.fixture
def client(hall: HallProcess) -> Iterator[HallClient]:
    """A client of it."""
    with HallClient(hall.url) as found:
        yield found


def made_call(client: HallClient, **members: object) -> str:
    """A call; returns its id."""
    body = {"method": "math/add", "params": None, **members}
    return str(fine(client.call("POST", "/client/requests", body))["request_id"])


class Reader:
    """Reads a stream in a thread of its own."""

    def __init__(self, hall: HallProcess, request_id: str, last: str = "") -> None:
        self.events: list[tuple[str, str, float]] = []
        """What came: the kind of the event, its id, and when."""
        self.ended = threading.Event()
        self._last = last
        self._thread = threading.Thread(target=self._run, args=(hall.url, request_id), daemon=True)
        self._thread.start()

    def _run(self, url: str, request_id: str) -> None:
        headers = {"authorization": f"Bearer {ADMIN_TOKEN}", **({"last-event-id": self._last} if self._last else {})}
        kind = number = ""
        with (
            contextlib.suppress(httpx.TransportError),
            httpx.Client(base_url=url, timeout=30, trust_env=False) as http,
            http.stream("GET", f"/client/requests/{request_id}/feedback", headers=headers) as answer,
        ):
            assert answer.status_code == 200
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    number = value
                elif name == "data":
                    json.loads(value)
                    self.events.append((kind, number if kind == "feedback" else "", time.monotonic()))
        self.ended.set()

    def came(self, count: int) -> None:
        """Wait until so many events came."""
        until(lambda: len(self.events) >= count, within_seconds=20, waiting_for=f"{count} events, not {self.events}")


def stuck(hall: HallProcess, request_id: str) -> socket.socket:
    """A reader that never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((hall.host, hall.port))
    head = (
        f"GET /client/requests/{request_id}/feedback HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n\r\n"
    )
    connection.sendall(head.encode())
    return connection


def resident_bytes(hall: HallProcess) -> int:
    """How much memory the server has."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{hall.pid}/status").read_text().splitlines() if ":" in line
    )
    return int(fields["VmRSS"].split()[0]) * 1024


def test_feedback_arrives_as_it_comes(hall: HallProcess, client: HallClient) -> None:
    """Items and the outcome arrive one after the other over a connection that stays open."""
    worker = ServiceHand(client)
    request_id = made_call(client)
    reader = Reader(hall, request_id)
    worker.next()
    for number in range(1, 4):
        worker.tell(request_id, number)
        reader.came(number)
    worker.succeed(request_id)
    reader.came(4)
    assert [event[:2] for event in reader.events] == [
        ("feedback", "1"), ("feedback", "2"), ("feedback", "3"), ("outcome", ""),
    ]  # fmt: skip
    assert reader.ended.wait(10)


def test_a_waiting_client_is_answered_within_milliseconds(hall: HallProcess, client: HallClient) -> None:
    """An outcome reaches a client that waits without the delay of a re-check."""
    worker = ServiceHand(client)
    with ThreadPoolExecutor(1) as pool, HallClient(hall.url) as other:
        took = []
        for _ in range(5):
            body = {"method": "math/add", "params": None, "wait": 30}
            waiting = pool.submit(other.call, "POST", "/client/requests", body)
            request_id = worker.next()["request_id"]
            worker.succeed(request_id, 1)
            started = time.monotonic()
            assert waiting.result(20).json()["result"] == 1
            took.append(time.monotonic() - started)
    assert min(took) < 0.3


def test_a_follower_at_another_server(postgres_database: Database, start_hall: StartHall) -> None:
    """What a worker tells one server reaches those who follow or wait at another one."""
    folder = postgres_database.directory.with_name("other")
    here, there = start_hall(postgres_database), start_hall(replace(postgres_database, directory=folder))
    with HallClient(here.url) as client, HallClient(there.url) as far, ThreadPoolExecutor(1) as pool:
        worker = ServiceHand(client)
        request_id = made_call(far)
        reader = Reader(there, request_id)
        waiting = pool.submit(far.call, "GET", f"/client/requests/{request_id}?wait=30")
        worker.next()
        worker.tell(request_id, 50)
        reader.came(1)
        worker.succeed(request_id, 7)
        reader.came(2)
        assert waiting.result(20).json()["result"] == 7


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked up in /proc")
def test_readers_that_never_read_hurt_nobody(hall: HallProcess, client: HallClient) -> None:
    """Feedback floods with readers that never read neither stop others nor make the hall buffer without bound."""
    worker = ServiceHand(client)
    request_id = made_call(client)
    worker.next()
    worker.tell(request_id, 0)
    before = resident_bytes(hall)
    connections = [stuck(hall, request_id) for _ in range(20)]
    items = [
        {"rid": request_id, "st": 1, "sn": "add", "ft": "bulk", "pr": True, "fc": BULK} for _ in range(10)
    ]  # fmt: skip
    for _ in range(25):
        fine(worker.ask("POST", "feedback", items))
    reader = Reader(hall, request_id)
    reader.came(251)
    other = made_call(client)
    assert worker.next()["request_id"] == other
    worker.succeed(other, 1)
    assert fine(client.call("GET", f"/client/requests/{other}"))["result"] == 1
    assert resident_bytes(hall) - before < GROWTH_BYTES_MAX
    worker.succeed(request_id)
    reader.came(252)
    for connection in connections:
        connection.close()


def test_the_server_ends_in_time(hall: HallProcess, client: HallClient) -> None:
    """Exit 0 within 10 s, whoever follows, waits, or does not read; those who wait are answered 202."""
    worker = ServiceHand(client)
    request_id = made_call(client)
    worker.next()
    items = [
        {"rid": request_id, "st": 1, "sn": "add", "ft": "bulk", "pr": True, "fc": BULK} for _ in range(10)
    ]  # fmt: skip
    for _ in range(12):
        fine(worker.ask("POST", "feedback", items))
    silent, reader = stuck(hall, request_id), Reader(hall, request_id)
    reader.came(120)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.call, "GET", f"/client/requests/{request_id}?wait=50")
        with HallClient(hall.url) as other:
            until(
                lambda: "\nhall_following_clients 3.0\n" in other.call("GET", "/metrics").text,
                waiting_for="the request to arrive",
            )
        started = time.monotonic()
        assert hall.stop(within_seconds=10) == 0
        assert time.monotonic() - started < 10
        answer = waiting.result(5)
    assert (answer.status_code, answer.json()["status"]) == (202, "held")
    assert reader.ended.wait(5)
    assert [kind for kind, _, _ in reader.events] == ["feedback"] * 120
    silent.close()


def test_a_stream_goes_on_after_a_crash(hall: HallProcess, client: HallClient) -> None:
    """After kill -9 a reader comes back with the id of the last event, and misses nothing."""
    worker = ServiceHand(client)
    request_id = made_call(client)
    worker.next()
    for number in range(3):
        worker.tell(request_id, number)
    reader = Reader(hall, request_id)
    reader.came(3)
    hall.restart(kill=True)
    assert reader.ended.wait(10)
    worker.tell(request_id, 3)
    worker.succeed(request_id, "done")
    again = Reader(hall, request_id, last=reader.events[-1][1])
    again.came(2)
    assert [event[:2] for event in again.events] == [("feedback", "4"), ("outcome", "")]


def test_a_deadline_passes(hall: HallProcess, client: HallClient) -> None:
    """A call that is not done by its deadline is `expired`; whoever waits hears of it at once."""
    ServiceHand(client)
    body = {"method": "math/add", "params": None, "deadline_seconds": 1, "wait": 20}
    outcome = fine(client.call("POST", "/client/requests", body))
    assert (outcome["status"], outcome["result"]) == ("expired", None)
    assert outcome["error_text"]


def test_a_withdrawn_call_whose_worker_falls_silent(database: Database, start_hall: StartHall) -> None:
    """Held and taken back: `cancelled` if its lease ends first."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=1, HALL_HEARTBEAT_DELAY=30)
    with HallClient(hall.url) as client:
        worker = ServiceHand(client)
        request_id = made_call(client)
        worker.next()
        assert client.call("DELETE", f"/client/requests/{request_id}").status_code == 202
        outcome = fine(client.call("GET", f"/client/requests/{request_id}?wait=20"))
        assert outcome["status"] == "cancelled"


def test_what_was_acknowledged_survives(hall: HallProcess, client: HallClient) -> None:
    """After kill -9 a call that was answered 202 is there, its key too, and an outcome stays."""
    worker = ServiceHand(client)
    body = {"method": "math/add", "params": [3544790567247868102]}
    done, queued = (
        fine(client.call("POST", "/client/requests", body, headers={"Idempotency-Key": key}))["request_id"]
        for key in ("a", "b")
    )
    assert [message["request_id"] for message in worker.drain()] == [done, queued]
    worker.succeed(done, b"0.1000000000000000055")
    before = client.call("GET", f"/client/requests/{done}")
    hall.restart(kill=True)
    assert client.call("GET", f"/client/requests/{done}").content == before.content
    again = client.call("POST", "/client/requests", body, headers={"Idempotency-Key": "a"})
    assert (again.status_code, again.content) == (200, before.content)
    repeated = client.call("POST", "/client/requests", body, headers={"Idempotency-Key": "b"})
    assert (repeated.status_code, repeated.json()) == (202, {"request_id": queued, "status": "held"})
    worker.succeed(queued, 1)
    assert fine(client.call("GET", f"/client/requests/{queued}"))["result"] == 1
