"""Clients that call without pause, write down every acknowledged call and every outcome, and survive faults."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.client import Address, Answer, Connection, connect
from tests.hall_client import request_bytes
from tests.hall_process import ADMIN_TOKEN

ANSWER_SECONDS = 10.0
WAIT_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 0.2


@dataclass
class CallLedger:
    """What the clients were told. Complete at any moment: an answer is written down before the next step."""

    accepted: dict[str, int] = field(default_factory=dict)
    """Request id to the number that was sent; also what an answer with an outcome told at once."""
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)
    lost: int = 0
    unavailable: int = 0


class CallLoad:
    """Clients in a thread of their own, each with a connection of its own."""

    def __init__(self, urls: Sequence[str], method: str, *, clients: int = 16, seed: int = 1) -> None:
        self.method = method
        self.ledger = CallLedger()
        self._random = random.Random(seed)
        self._addresses = [Address.of(urls[number % len(urls)]) for number in range(clients)]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="calls", daemon=True)

    def start(self) -> CallLoad:
        """Let the clients begin."""
        self._thread.start()
        return self

    def stop(self, *, within_seconds: float = 120.0) -> CallLedger:
        """Let every client wait for the outcomes of its calls, and return what was recorded."""
        self._stopping.set()
        self._thread.join(within_seconds)
        assert not self._thread.is_alive(), f"calls without an outcome: {self.unanswered()[:5]}"
        return self.ledger

    def unanswered(self) -> list[str]:
        """Acknowledged calls whose outcome no client has seen."""
        return [request_id for request_id in self.ledger.accepted if request_id not in self.ledger.outcomes]

    @property
    def answered(self) -> int:
        """How many calls have an outcome."""
        return len(self.ledger.outcomes)

    async def _work(self) -> None:
        try:
            await asyncio.gather(*(_Caller(self, address).work() for address in self._addresses))
        except Exception as bug:
            self.ledger.strange.append(f"the load failed: {bug!r}")
            raise


class _Caller:
    """One client: calls, repeats what was not answered under the same key, and follows each call to its end."""

    def __init__(self, load: CallLoad, address: Address) -> None:
        self._load = load
        self._ledger = load.ledger
        self._address = address
        self._connection: Connection | None = None

    async def work(self) -> None:
        """Call until the load stops."""
        while not self._load._stopping.is_set():
            request_id = await self._invoke()
            if request_id is not None:
                await self._follow(request_id)
        await self._close()

    async def _invoke(self) -> str | None:
        number = self._load._random.randrange(2**63)
        body = {"method": self._load.method, "params": {"number": number}, "wait": WAIT_SECONDS}
        headers = {"Idempotency-Key": str(uuid.UUID(int=self._load._random.getrandbits(128)))}
        request = request_bytes("/client/requests", body, token=ADMIN_TOKEN, headers=headers)
        known: str | None = None
        while True:
            answer = await self._call(request, 200, 202)
            if answer is not None:
                told = json.loads(answer.body)
                request_id = str(told["request_id"])
                if known not in (None, request_id):
                    self._ledger.strange.append(f"one key made two calls: {known} and {request_id}")
                known = request_id
                self._ledger.accepted[request_id] = number
                if answer.status == 200:
                    self._record(request_id, told)
                return request_id

    async def _follow(self, request_id: str) -> None:
        path = f"/client/requests/{request_id}?wait={WAIT_SECONDS}"
        request = request_bytes(path, b"", token=ADMIN_TOKEN, method="GET")
        while request_id not in self._ledger.outcomes:
            answer = await self._call(request, 200, 202)
            if answer is not None and answer.status == 200:
                self._record(request_id, json.loads(answer.body))

    def _record(self, request_id: str, outcome: dict[str, Any]) -> None:
        before = self._ledger.outcomes.setdefault(request_id, outcome)
        if before != outcome:
            self._ledger.strange.append(f"{request_id} ended twice: {before} and {outcome}")

    async def _call(self, request: bytes, *expected: int) -> Answer | None:
        """The answer, None after a pause if there was none or the server asks to come again."""
        try:
            if self._connection is None:
                self._connection = await asyncio.wait_for(connect(self._address), ANSWER_SECONDS)
            answer = await asyncio.wait_for(self._connection.call(request), ANSWER_SECONDS)
        except (OSError, TimeoutError):
            self._ledger.lost += 1
            await self._close()
            await self._pause()
            return None
        if answer.status in expected:
            return answer
        if answer.status == 503:
            self._ledger.unavailable += 1
        else:
            self._ledger.strange.append(f"{answer.status} {answer.body[:300]!r} to {request[:60]!r}")
        await self._pause()
        return None

    async def _pause(self) -> None:
        await asyncio.sleep(LONGEST_PAUSE_SECONDS * self._load._random.random())

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
