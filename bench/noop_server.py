"""The hall's HTTP front over handlers that decode, check the token and encode as the hall does, and store nothing."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import secrets
from collections.abc import Sequence

import msgspec

from bench.memory_server import ClaimBody, SettleBody, TaskReply
from bench.memory_store import Task
from hiringhall.asgi.server import Address, Listener, new_event_loop, serve
from hiringhall.wire.exchange import Exchange, Handler, Reply, Route

BODY_LIMIT_BYTES = 1024 * 1024
HEADERS = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"))

encode = msgspec.json.Encoder().encode
decode_claim = msgspec.json.Decoder(ClaimBody).decode
decode_settle = msgspec.json.Decoder(SettleBody).decode


class CallBody(msgspec.Struct):
    """The members of a client's call that any server has to look at."""

    method: str
    params: msgspec.Raw


decode_call = msgspec.json.Decoder(CallBody).decode


class NoopHandlers:
    """Answers every claim with a task and every complete with that task done."""

    def __init__(self, bootstrap: bytes) -> None:
        self.bootstrap = b"Bearer " + bootstrap
        self.holders: dict[bytes, str] = {}
        self.numbers = itertools.count()

    def register(self, exchange: Exchange) -> None:
        """Mint a worker."""
        if exchange.request.header(b"authorization") != self.bootstrap:
            exchange.answer(Reply(401, b"{}", HEADERS))
            return
        worker_id, token = f"w-{secrets.token_urlsafe(9)}", secrets.token_urlsafe(32)
        self.holders[b"Bearer " + token.encode()] = worker_id
        exchange.answer(Reply(201, encode({"worker_id": worker_id, "token": token}), HEADERS))

    def claim(self, exchange: Exchange) -> None:
        """Make a task up."""
        request = exchange.request
        ask = decode_claim(request.body)
        if self.holders.get(request.header(b"authorization") or b"") != ask.worker_id:
            exchange.answer(Reply(401, b"{}", HEADERS))
            return
        task = example(f"noop-{next(self.numbers)}", ask.plan_id, "CLAIMED", 2)
        exchange.answer(Reply(200, encode(TaskReply(task)), HEADERS))

    def call(self, exchange: Exchange) -> None:
        """Answer a client's call with its own params."""
        ask = decode_call(exchange.request.body)
        outcome = {"request_id": "noop", "status": "success", "result": ask.params, "error_text": None}
        exchange.answer(Reply(200, encode(outcome), HEADERS))

    def complete(self, exchange: Exchange) -> None:
        """Believe it."""
        request = exchange.request
        ask = decode_settle(request.body)
        if self.holders.get(request.header(b"authorization") or b"") != ask.worker_id:
            exchange.answer(Reply(401, b"{}", HEADERS))
            return
        task = example(request.path.split(b"/")[2].decode(), "noop", "DONE", ask.version + 1)
        exchange.answer(Reply(200, encode(TaskReply(task)), HEADERS))


def example(task_id: str, plan_id: str, status: str, version: int) -> Task:
    """A task of the size that the scenarios use."""
    return Task(
        id=task_id,
        plan_id=plan_id,
        status=status,
        version=version,
        description="Load test task: reads one file, changes one function, runs one test.",
        key_files=["bench/example.py"],
        acceptance_criteria=["the entry point runs"],
        test_steps=["pytest -q"],
        prd_requirement="Day 4 deliverable",
    )


class NoopRouter:
    """The three routes of a pair, and a client's call."""

    def __init__(self, handlers: NoopHandlers) -> None:
        self.call = route(handlers.call)
        self.claim = route(handlers.claim)
        self.complete = route(handlers.complete)
        self.register = route(handlers.register)

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of a POST."""
        if method != b"POST":
            return None
        if path == b"/tasks/claim":
            return self.claim
        if path == b"/client/requests":
            return self.call
        if path.startswith(b"/tasks/") and path.endswith(b"/complete"):
            return self.complete
        return self.register if path == b"/workers/register" else None


def route(handler: Handler) -> Route:
    """A handler with the hall's own limit."""
    return Route(handler, BODY_LIMIT_BYTES)


async def nothing_else(scope: dict[str, object], _receive: object, _send: object) -> None:
    """The ASGI application behind the front: there is none."""
    raise LookupError(f"the no-op server has no {scope['type']} route")


async def serve_noop(host: str, port: int) -> None:
    """Listen as a hall does, until the process is asked to end."""
    router = NoopRouter(NoopHandlers(os.environ.get("HALL_BOOTSTRAP_TOKEN", "bootstrap").encode()))

    def ready(addresses: Sequence[Address]) -> None:
        print(f"hall: ready on http://{addresses[0].host}:{addresses[0].port}", flush=True)

    await serve([Listener(nothing_else, router, host, port)], on_ready=ready)


def main() -> None:
    """`serve --host H --port P`, as a hall's own command line; `--data` has nothing to keep here."""
    parser = argparse.ArgumentParser(prog="python -m bench.noop_server")
    parser.add_argument("serve", choices=["serve"])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", help="accepted and unused: nothing is stored")
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve_noop(asked.host, asked.port))


if __name__ == "__main__":
    main()
