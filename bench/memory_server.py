"""A plan server in memory: shows how fast the load generator can be, and stands in for a hall in its tests."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from typing import cast

import httptools
import msgspec
import uvloop

from bench.memory_store import Conflict, MemoryStore, PlanFile, Task

CLAIM_HOLD_SECONDS = 30.0
REASONS = {200: b"OK", 201: b"Created", 204: b"No Content", 401: b"Unauthorized", 404: b"Not Found", 409: b"Conflict"}
SETTLED = {b"complete": "DONE", b"fail": "FAILED", b"release": "PENDING"}


class ClaimBody(msgspec.Struct):
    """A claim."""

    worker_id: str
    plan_id: str


class SettleBody(msgspec.Struct):
    """A complete, fail or release."""

    worker_id: str
    version: int


class TaskReply(msgspec.Struct):
    """A claim's or settle's 200."""

    task: Task


encode = msgspec.json.Encoder().encode
decode_claim = msgspec.json.Decoder(ClaimBody).decode
decode_settle = msgspec.json.Decoder(SettleBody).decode
decode_plan = msgspec.json.Decoder(PlanFile).decode


class MemoryServer(asyncio.Protocol):
    """One connection."""

    def __init__(self, store: MemoryStore, operator: bytes, bootstrap: bytes, hold_seconds: float) -> None:
        self.store = store
        self.operator = b"Bearer " + operator
        self.bootstrap = b"Bearer " + bootstrap
        self.hold_seconds = hold_seconds
        self.parser = httptools.HttpRequestParser(self)
        self.transport: asyncio.Transport
        self.unpark: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer connected."""
        # uvloop's transport is one in all but its base class.
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        """The peer is gone: nothing may be handed to it."""
        if self.unpark is not None:
            self.unpark()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        """A request begins."""
        self.path = b""
        self.authorization = b""
        self.body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        """The target."""
        self.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if name.lower() == b"authorization":
            self.authorization = value

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self.body.append(body)

    def on_message_complete(self) -> None:
        """A whole request: decide."""
        parts = self.path.removeprefix(b"/whilly").split(b"/")[1:]
        body = b"".join(self.body)
        if parts == [b"tasks", b"claim"]:
            self.claim(body)
        elif len(parts) == 3 and parts[0] == b"tasks" and parts[2] in SETTLED:
            self.settle(parts[1].decode(), SETTLED[parts[2]], body)
        elif parts == [b"workers", b"register"]:
            self.register()
        elif len(parts) == 3 and parts[:2] == [b"admin", b"plans"] and self.authorization == self.operator:
            added = self.store.apply(parts[2].decode(), decode_plan(body).tasks)
            self.answer(200, encode({"plan_id": parts[2].decode(), "added": added}))
        else:
            self.refuse(404, "not_found")

    def register(self) -> None:
        """Mint a worker."""
        if self.authorization != self.bootstrap:
            self.refuse(401, "missing_or_invalid_bootstrap")
            return
        worker_id, token = self.store.register()
        self.answer(201, encode({"worker_id": worker_id, "token": token}))

    def claim(self, body: bytes) -> None:
        """Hand over the next task, or park."""
        ask = decode_claim(body)
        if self.store.tokens.get(self.authorization) != ask.worker_id:
            self.refuse(401, "missing_or_invalid_bearer")
            return
        task = self.store.take(ask.plan_id, ask.worker_id)
        if task is not None:
            self.answer(200, encode(TaskReply(task)))
            return
        parked = self.store.plan(ask.plan_id).parked

        def expired() -> None:
            unpark()
            self.answer(204, b"")

        timer = asyncio.get_running_loop().call_later(self.hold_seconds, expired)

        def unpark() -> None:
            parked.pop(id(self), None)
            timer.cancel()
            self.unpark = None

        def found(task: Task) -> None:
            unpark()
            self.answer(200, encode(TaskReply(self.store.hold(task, ask.worker_id))))

        parked[id(self)] = found
        self.unpark = unpark

    def settle(self, task_id: str, status: str, body: bytes) -> None:
        """Complete, fail or release."""
        ask = decode_settle(body)
        if self.store.tokens.get(self.authorization) != ask.worker_id:
            self.refuse(401, "missing_or_invalid_bearer")
            return
        try:
            task = self.store.settle(task_id, ask.worker_id, ask.version, status)
        except Conflict as conflict:
            versions = {"expected_version": ask.version, "actual_version": conflict.actual_version}
            self.refuse(409, "version_conflict", actual_status=conflict.actual_status, **versions)
        else:
            self.answer(200, encode(TaskReply(task)))

    def refuse(self, status: int, code: str, **more: object) -> None:
        """The envelope of every refusal."""
        self.answer(status, encode({"error_code": code, "detail": code, "task_id": None, **more}))

    def answer(self, status: int, body: bytes) -> None:
        """Write one answer."""
        line = b"HTTP/1.1 %d %b\r\n" % (status, REASONS[status])
        if status == 204:
            self.transport.write(line + b"\r\n")
        else:
            head = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            self.transport.write(line + head + body)


async def serve(host: str, port: int) -> None:
    """Listen until the process is ended."""
    store = MemoryStore()
    operator = os.environ.get("HALL_ADMIN_TOKEN", "operator").encode()
    bootstrap = os.environ.get("HALL_BOOTSTRAP_TOKEN", "bootstrap").encode()
    hold = float(os.environ.get("HALL_CLAIM_HOLD", CLAIM_HOLD_SECONDS))
    server = await asyncio.get_running_loop().create_server(
        lambda: MemoryServer(store, operator, bootstrap, hold), host, port, backlog=4096
    )
    print(f"hall: ready on http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    """`serve --host H --port P`, as a hall's own command line; `--data` and `--database` have nothing to keep here."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory_server")
    parser.add_argument("serve", choices=["serve"])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", help="accepted and unused: nothing is stored")
    parser.add_argument("--database", help="accepted and unused: nothing is stored")
    asked = parser.parse_args()
    uvloop.run(serve(asked.host, asked.port))


if __name__ == "__main__":
    main()
