"""Many workers at once that record every acknowledged claim and completion, and go on after any failure."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.client import Address, Answer, Connection, connect
from tests.hall_client import part, request_bytes
from tests.hall_process import BOOTSTRAP_TOKEN

ANSWER_SECONDS = 10.0
HOLD_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 0.2


@dataclass(frozen=True)
class Claimed:
    """A hand-over that a worker was told of."""

    worker: str
    task_id: str
    version: int


@dataclass
class Ledger:
    """What the workers were told. Complete at any moment, since a worker writes down an answer before the next step."""

    claims: list[Claimed] = field(default_factory=list)
    completed: dict[str, tuple[Claimed, int]] = field(default_factory=dict)
    """Task to the hand-over that was completed, and the version that the answer told."""
    refused: list[tuple[Claimed, dict[str, Any], bool]] = field(default_factory=list)
    """Completions that were refused, with the answer, and whether an earlier answer to the same was lost."""
    strange: list[str] = field(default_factory=list)
    """Answers that no worker should ever get."""
    unavailable: int = 0
    lost: int = 0

    def copy(self) -> Ledger:
        """What is known now."""
        return Ledger(list(self.claims), dict(self.completed), list(self.refused), list(self.strange))


class Load:
    """Workers in a thread of their own, each with a connection of its own, on one plan."""

    def __init__(self, urls: Sequence[str], plan: str, *, workers: int = 32, seed: int = 1) -> None:
        self.plan = plan
        self.ledger = Ledger()
        self._random = random.Random(seed)
        self._addresses = [Address.of(urls[number % len(urls)]) for number in range(workers)]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="load", daemon=True)

    def start(self) -> Load:
        """Let the workers begin."""
        self._thread.start()
        return self

    def stop(self) -> Ledger:
        """Let every worker end after what it does now, and return what was recorded."""
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the load does not end"
        return self.ledger

    @property
    def done(self) -> int:
        """How many completions were acknowledged."""
        return len(self.ledger.completed)

    async def _work(self) -> None:
        try:
            await asyncio.gather(*(_Worker(self, address).work() for address in self._addresses))
        except Exception as bug:
            self.ledger.strange.append(f"the load failed: {bug!r}")
            raise


class _Worker:
    """One worker: claims, completes, and repeats what was not answered."""

    def __init__(self, load: Load, address: Address) -> None:
        self._load = load
        self._ledger = load.ledger
        self._address = address
        self._connection: Connection | None = None
        self._id = ""
        self._token = ""

    async def work(self) -> None:
        """Work until the load stops."""
        while not self._load._stopping.is_set():
            if not self._id:
                await self._register()
            else:
                claimed = await self._claim()
                if claimed is not None:
                    await self._complete(claimed)
        await self._close()

    async def _register(self) -> None:
        body = {"hostname": "load"}
        answer = await self._call(request_bytes("/workers/register", body, token=BOOTSTRAP_TOKEN))
        if answer is not None and answer.status == 201:
            told = json.loads(answer.body)
            self._id, self._token = told["worker_id"], told["token"]

    async def _claim(self) -> Claimed | None:
        body = {"worker_id": self._id, "plan_id": self._load.plan, "wait": HOLD_SECONDS}
        headers = {"Hall-Holding": ""}
        answer = await self._call(request_bytes("/tasks/claim", body, token=self._token, headers=headers))
        if answer is None or answer.status != 200:
            return None
        task = json.loads(answer.body)["task"]
        claimed = Claimed(self._id, task["id"], task["version"])
        self._ledger.claims.append(claimed)
        return claimed

    async def _complete(self, claimed: Claimed) -> None:
        body = {"worker_id": self._id, "version": claimed.version, "plan_id": self._load.plan}
        request = request_bytes(f"/tasks/{part(claimed.task_id)}/complete", body, token=self._token)
        repeated = False
        while True:
            answer = await self._call(request)
            if answer is not None and answer.status == 200:
                if claimed.task_id in self._ledger.completed:
                    self._ledger.strange.append(f"{claimed} was completed twice")
                self._ledger.completed[claimed.task_id] = (claimed, json.loads(answer.body)["task"]["version"])
                return
            if answer is not None and answer.status == 409:
                self._ledger.refused.append((claimed, json.loads(answer.body), repeated))
                return
            if self._load._stopping.is_set():
                return
            repeated = True

    async def _call(self, request: bytes) -> Answer | None:
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
        if answer.status in (200, 201, 204, 409):
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
