"""The server's end: listeners first, then parked exchanges, then idle connections, then whatever is left."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import socket
import sys
from typing import Any

import pytest

from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.open_files import KEPT_FOR_OTHERS, connections_allowed
from hiringhall.asgi.server import Listener, StartupFailed, serve
from tests.wire.front.stage import Handlers, Stage, application, eventually, post, staged


async def test_parked_requests_are_answered_at_the_end(stage: Stage) -> None:
    """The listener closes, parked exchanges get their answer with `Connection: close`, and nothing is dropped."""
    clients = [await stage.connect() for _ in range(50)]
    for client in clients:
        await client.send(post("/park"))
    await stage.parked(50)
    begun = asyncio.get_running_loop().time()
    stage.stop.set()
    for client in clients:
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (204, "close")
        assert await client.closed() == b""
    await eventually(lambda: "ended" in stage.events, "the server to end")
    assert stage.events == ["drain start", "drain", "ended"]
    assert asyncio.get_running_loop().time() - begun < 0.9
    with pytest.raises(ConnectionRefusedError):
        await stage.connect()


async def test_requests_during_the_end_are_answered() -> None:
    """During the delay all goes on; afterwards requests on open connections are answered with `Connection: close`."""
    async with staged(FrontSettings(), drain_delay_seconds=0.3) as stage:
        hot, cold, idle = [await stage.connect() for _ in range(3)]
        await idle.ask(post("/echo", b"1"))
        stage.stop.set()
        await eventually(lambda: stage.events, "the end to begin")
        late = await stage.connect()
        assert "connection" not in (await late.ask(post("/echo", b"1"))).headers
        await eventually(lambda: "drain" in stage.events, "the drain")
        for client, path in ((hot, "/echo"), (cold, "/asgi")):
            answer = await client.ask(post(path, b"1"))
            assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await idle.closed(within_seconds=3) == b""
        await stage.ended()


async def test_what_is_left_is_cut_off_at_the_deadline() -> None:
    """A handler that never answers and an application that never ends do not keep the server from ending."""
    async with staged(FrontSettings(), deadline_seconds=0.3) as stage:
        stage.handlers.answers_late = False
        hot, cold = await stage.connect(), await stage.connect()
        await hot.send(post("/park"))
        await cold.send(post("/forever"))
        await stage.parked()
        await cold.reader.readuntil(b"begun")
        stage.stop.set()
        await stage.ended()
        assert stage.handlers.gone


async def test_websockets_are_told(stage: Stage) -> None:
    """An open WebSocket is closed with the code for a restart."""
    client = await stage.connect()
    await client.send(
        b"GET /socket HTTP/1.1\r\nHost: hall\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert (await client.answer()).status == 101
    await client.send(b"\x81\x82\0\0\0\0hi")
    await client.reader.readexactly(4)
    stage.stop.set()
    assert (1012).to_bytes(2, "big") in await client.reader.readexactly(4)


async def test_two_listeners_share_an_application_and_a_limit() -> None:
    """Several ports have their own routers, one lifespan of the application, and one limit of connections."""
    starts = []

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            starts.append(1)
        await application(scope, receive, send)

    class Nothing:
        def match(self, method: bytes, path: bytes) -> None:
            return None

    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    listeners = [Listener(counted, Handlers(), "127.0.0.1", 0), Listener(counted, Nothing(), "127.0.0.1", 0)]
    running = asyncio.create_task(serve(listeners, on_ready=ready.set_result, stop=stop))
    first, second = await ready
    assert first.port != second.port
    for address, expected in ((first, b"1"), (second, b"asgi:1")):
        stage = Stage(Handlers())
        stage.address = address
        client = await stage.connect()
        assert (await client.ask(post("/echo", b"1"))).body == expected
        client.close()
    stop.set()
    await running
    assert starts == [1]


async def test_taken_address_is_the_callers_to_tell(stage: Stage) -> None:
    """An address that is taken is an OSError, and nothing is left running."""
    with pytest.raises(OSError, match=r"address|Address"):
        await serve([Listener(application, Handlers(), "127.0.0.1", stage.address.port)])


async def test_application_that_will_not_start() -> None:
    """An application whose start fails is told to the caller, who need not catch SystemExit."""

    async def failing(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(StartupFailed):
        await serve([Listener(failing, Handlers(), "127.0.0.1", 0)])


async def test_sockets_are_kept_alive(stage: Stage) -> None:
    """Accepted sockets inherit sending without delay, the user timeout, and three keep-alive probes before it."""
    client = await stage.connect()
    await client.send(post("/park"))
    [exchange] = await stage.parked()
    accepted = exchange.front.transport.get_extra_info("socket")  # type: ignore[attr-defined]
    assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    if sys.platform == "linux":
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 15_000
        idle, interval = (
            accepted.getsockopt(socket.IPPROTO_TCP, option) for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL)
        )
        assert idle + 2 * interval < 15, "a connection must not depend on a single probe"


PROGRAM = """
import asyncio, sys
from hiringhall.asgi.server import Listener, new_event_loop, serve
from hiringhall.wire.exchange import Reply
from tests.wire.front.stage import Handlers, application

handlers = Handlers()
def drain():
    if "stubborn" not in sys.argv:
        for exchange in handlers.parked:
            exchange.answer(Reply(204))
async def main():
    await serve([Listener(application, handlers, "127.0.0.1", 0)], on_drain=drain,
                on_ready=lambda addresses: print(addresses[0].port, flush=True))
    print("ended", flush=True)
with asyncio.Runner(loop_factory=new_event_loop) as runner:
    runner.run(main())
"""


@contextlib.asynccontextmanager
async def process(*arguments: str) -> Any:
    """A server in a process of its own."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def parked_client(child: Any) -> Any:
    stage = Stage(Handlers())
    stage.address = stage.address._replace(host="127.0.0.1", port=int(await child.stdout.readline()))
    client = await stage.connect()
    assert (await client.ask(post("/echo", b"1"))).status == 200
    await client.send(post("/park"), post("/echo"))
    other = await stage.connect()
    await other.ask(post("/echo", b"1"))
    other.close()
    return client


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_ends_gracefully(number: signal.Signals) -> None:
    """SIGTERM and SIGINT answer what is parked and end with exit code 0 and an empty stderr."""
    async with process() as child:
        client = await parked_client(child)
        child.send_signal(number)
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (204, "close")
        client.close()
        async with asyncio.timeout(5):
            assert await child.stdout.readline() == b"ended\n"
            assert await child.wait() == 0
            assert await child.stderr.read() == b""


async def test_second_signal_ends_at_once() -> None:
    """A second signal does not wait for what is left; the caller still gets to close its store."""
    async with process("stubborn") as child:
        client = await parked_client(child)
        child.send_signal(signal.SIGTERM)
        await eventually(lambda: refused(client), "the listener to close")
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(3):
            assert await child.stdout.readline() == b"ended\n"
            assert await child.wait() == 0
        client.close()


def refused(client: Any) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(client.writer.get_extra_info("peername")) != 0


def test_connections_fit_the_limit_of_open_files() -> None:
    """The limit of open files is raised to the hard one and bounds the connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        assert connections_allowed(10) == 10
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
        assert connections_allowed(None) == before[1] - KEPT_FOR_OTHERS
        assert connections_allowed(10**9) == before[1] - KEPT_FOR_OTHERS
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
