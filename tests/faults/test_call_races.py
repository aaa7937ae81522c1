"""Many workers want the same calls, and one worker drains over many connections."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.calls import decode_messages
from bench.client import Address, Connection, connect, whole
from bench.services import Service, Worker, admit, ask, client_token, make_service
from bench.targets import Target
from tests.conftest import StartHall
from tests.hall_client import HallClient, fine, request_bytes
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess

WORKERS = 8
LOCKS_AT_ONCE = 4
CALLS_PER_ROUND = 500
PATIENCE_SECONDS = 540.0


@pytest.fixture
def halls(database: Database, start_hall: StartHall) -> list[HallProcess]:
    """One server on SQLite, two on PostgreSQL."""
    names = "a" if database.dialect == "sqlite" else "ab"
    return [start_hall(replace(database, directory=database.directory / name), name=f"hall-{name}") for name in names]


def targets_of(halls: list[HallProcess]) -> list[Target]:
    """The servers as the load generator knows them."""
    return [Target(hall.name, Address.of(hall.url), operator_token=ADMIN_TOKEN) for hall in halls]


async def submit(targets: list[Target], service: Service, count: int) -> set[str]:
    """Make calls over some connections at once; their ids."""
    token = await client_token(targets[0], service)
    connections = [await connect(targets[number % len(targets)].root) for number in range(16)]
    left = iter(range(count))
    found: set[str] = set()

    async def go_on(connection: Connection) -> None:
        for number in left:
            body = {"method": f"{service.name}/echo", "params": {"number": number}}
            told = await ask(connection, request_bytes("/client/requests", body, token=token), "call", 202)
            found.add(str(told["request_id"]))

    await asyncio.gather(*(go_on(each) for each in connections))
    await asyncio.gather(*(each.close() for each in connections))
    assert len(found) == count
    return found


class Racer:
    """A worker that locks whatever it is offered, as fast as it can, and answers what it won."""

    def __init__(self, worker: Worker, connection: Connection, locking: list[Connection]) -> None:
        self.worker = worker
        self.connection = connection
        self.locking = locking
        self.won: Counter[str] = Counter()
        self.refused: Counter[int] = Counter()

    async def race(self, left: set[str]) -> None:
        """Until no call is left to be won by anybody."""
        drain = whole(self.worker.head("GET", "/worker/messages?wait=1"), b"")
        while left:
            answer = await self.connection.call(drain)
            assert answer.status == 200, answer
            offered = iter([message.request_id for message in decode_messages(answer.body)])
            await asyncio.gather(*(self._lock(each, offered, left) for each in self.locking))

    async def _lock(self, connection: Connection, offered: Iterator[str], left: set[str]) -> None:
        head = self.worker.head("POST", "/worker/response")
        for request_id in offered:
            lock = whole(self.worker.head("PUT", f"/worker/lock_request/{request_id}"), b"")
            status = (await connection.call(lock)).status
            if 200 <= status < 300:
                self.won[request_id] += 1
                body = {"request_id": request_id, "status": "success", "result": self.worker.worker_id}
                answer = await connection.call(whole(head, json.dumps(body).encode()))
                assert answer.status == 200, answer
                left.discard(request_id)
            else:
                self.refused[status] += 1

    async def close(self) -> None:
        """Let go of the connections."""
        await asyncio.gather(*(each.close() for each in (self.connection, *self.locking)))


async def racer(target: Target, service: Service, number: int) -> Racer:
    """A worker with its connections."""
    connection = await connect(target.root)
    worker = await admit(target, service, connection, f"racer-{number}")
    return Racer(worker, connection, [await connect(target.root) for _ in range(LOCKS_AT_ONCE)])


def test_each_call_is_locked_by_one_of_eight_racing_workers(halls: list[HallProcess], fault_rounds: int) -> None:
    """Of eight workers that are offered every call, exactly one locks each; the others are told 409 or 410."""
    targets = targets_of(halls)

    async def run() -> tuple[set[str], list[Racer]]:
        service = await make_service(targets[0])
        with HallClient(halls[0].url) as client:
            fine(client.call("PUT", f"/admin/services/{service.name}", {"dispatch": "race"}))
        racers = [await racer(targets[number % len(targets)], service, number) for number in range(WORKERS)]
        calls = await submit(targets, service, CALLS_PER_ROUND * fault_rounds)
        left = set(calls)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(each.race(left) for each in racers))
        await asyncio.gather(*(each.close() for each in racers))
        return calls, racers

    calls, racers = asyncio.run(run())
    won = sum((each.won for each in racers), Counter[str]())
    assert set(won) == calls
    assert set(won.values()) == {1}, [request_id for request_id, count in won.items() if count != 1][:5]
    assert set(sum((each.refused for each in racers), Counter[int]())) <= {409, 410}
    assert sum(1 for each in racers if each.won) > 1, "only one worker raced"


def test_no_message_comes_twice_in_eight_drains_of_one_worker(halls: list[HallProcess], fault_rounds: int) -> None:
    """A worker that drains over eight connections at once gets each call once."""
    targets = targets_of(halls)

    async def run() -> tuple[set[str], Counter[str]]:
        service = await make_service(targets[0])
        first = await connect(targets[0].root)
        worker = await admit(targets[0], service, first, "many-hands")
        connections = [await connect(targets[number % len(targets)].root) for number in range(WORKERS)]
        calls = await submit(targets, service, CALLS_PER_ROUND * fault_rounds)
        got: Counter[str] = Counter()

        async def drain(connection: Connection) -> None:
            request = whole(worker.head("GET", "/worker/messages?wait=1&max=7"), b"")
            while len(got) < len(calls):
                answer = await connection.call(request)
                assert answer.status == 200, answer
                got.update(message.request_id for message in decode_messages(answer.body))

        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(drain(each) for each in connections))
        await asyncio.gather(*(each.close() for each in (first, *connections)))
        return calls, got

    calls, got = asyncio.run(run())
    assert set(got) == calls
    assert set(got.values()) == {1}, [request_id for request_id, count in got.items() if count != 1][:5]
