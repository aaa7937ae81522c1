"""Runs the listeners in the current event loop, from the first connection to a graceful end.

uvicorn's own server is not used: it stops listening, closes what is idle and ends the application in an order in which
parked requests are lost. Its configuration, its lifespan and its protocol are.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from uvicorn.config import Config
from uvicorn.server import ServerState

from hiringhall.asgi.bodies import Bodies
from hiringhall.asgi.connection import Connection
from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.front_state import FrontState
from hiringhall.asgi.hot_front import front_class
from hiringhall.asgi.open_files import connections_allowed
from hiringhall.asgi.stop_signals import stop_signals
from hiringhall.wire.exchange import Router

logger = logging.getLogger("hiringhall")

_BACKLOG: Final = 4096
_LOOK_EVERY_SECONDS: Final = 0.05
_IDLE_GRACE_SECONDS: Final = 1.0
_TASK_GRACE_SECONDS: Final = 0.5
_LAST_TURNS: Final = 100
_KEEPALIVE_IDLE_SECONDS: Final = 6
_KEEPALIVE_PROBE_SECONDS: Final = 3
"""Three probes go out before the user timeout ends a silent connection: one or two of them may get lost, as happens
when those of thousands of connections go out together."""


class Address(NamedTuple):
    """Where a listener really listens."""

    host: str
    port: int


class Listener(NamedTuple):
    """One port: the paths that the router knows go to its handlers, all others to the application."""

    app: Any
    router: Router
    host: str
    port: int
    """0: the system chooses one."""


class StartupFailed(Exception):
    """The ASGI application refused to start; the log tells why."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The fastest event loop of this platform, for `asyncio.Runner(loop_factory=...)`."""
    if sys.platform != "win32":
        with contextlib.suppress(ImportError):
            import uvloop

            return uvloop.new_event_loop()
    return asyncio.new_event_loop()


async def serve(
    listeners: Sequence[Listener],
    *,
    settings: FrontSettings | None = None,
    on_ready: Callable[[Sequence[Address]], None] | None = None,
    on_drain_start: Callable[[], None] | None = None,
    on_drain: Callable[[], None] | None = None,
    drain_delay_seconds: float = 0.0,
    deadline_seconds: float = 5.0,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; returns when every connection is closed and the applications have ended.

    The end: `on_drain_start` (the hall says that it is not ready), `drain_delay_seconds` during which all goes on, the
    listeners close, `on_drain` (parked exchanges are answered). From then on every answer ends its connection, idle
    connections are closed after a second, and what is left is cut off `deadline_seconds` after the delay. A second
    signal cuts everything off at once. `OSError` if an address is taken, `StartupFailed` if an application will not
    start.
    """
    server = _Server(listeners, settings or FrontSettings(), stop or asyncio.Event())
    with stop_signals(server.ask_to_stop):
        await server.start()
        try:
            if on_ready is not None:
                on_ready(server.addresses)
            await server.stop.wait()
            _notify(on_drain_start)
            await server.pause(drain_delay_seconds)
            server.close_listeners()
            server.start_draining()
            _notify(on_drain)
            await server.wait_for_connections(deadline_seconds)
        finally:
            await server.finish()


def _notify(callback: Callable[[], None] | None) -> None:
    if callback is None:
        return
    try:
        callback()
    except Exception:
        logger.exception("a bug while the hall is stopping")


class _Server:
    def __init__(self, listeners: Sequence[Listener], settings: FrontSettings, stop: asyncio.Event) -> None:
        self.listeners = listeners
        self.settings = settings
        self.bodies = Bodies(settings.bodies_limit_bytes)
        self.stop = stop
        self.quit = asyncio.Event()
        self.addresses: list[Address] = []
        self.state = ServerState()  # one for all listeners: the limit of connections is the process's
        self.fronts: list[FrontState] = []
        self.servers: list[asyncio.AbstractServer] = []
        self.lifespans: dict[int, Any] = {}

    def ask_to_stop(self) -> None:
        if self.stop.is_set():
            self.quit.set()
        self.stop.set()

    async def start(self) -> None:
        allowed = connections_allowed(self.settings.max_connections)
        try:
            for listener in self.listeners:
                await self._listen(listener, allowed)
            for server in self.servers:
                await server.start_serving()
        except BaseException:
            await self.finish()
            raise

    async def _listen(self, listener: Listener, allowed: int) -> None:
        protocol = front_class(listener.router, self.settings)
        protocol.state.max_connections = allowed
        protocol.state.bodies = self.bodies
        config = _configuration(listener.app, protocol, self.settings)
        lifespan = self.lifespans.get(id(listener.app))
        if lifespan is None:
            lifespan = config.lifespan_class(config)
            await lifespan.startup()
            if lifespan.should_exit:
                raise StartupFailed("the application refused to start; see the log")
            self.lifespans[id(listener.app)] = lifespan
        protocol.prepare(config, self.state, lifespan.state)
        server = await asyncio.get_running_loop().create_server(
            lambda: protocol(config, self.state, lifespan.state),
            listener.host,
            listener.port,
            backlog=_BACKLOG,
            start_serving=False,
        )
        self.servers.append(server)
        self.fronts.append(protocol.state)
        for listening in server.sockets:
            _inherit_options(listening, self.settings)
        name = server.sockets[0].getsockname()
        self.addresses.append(Address(name[0], name[1]))

    async def pause(self, seconds: float) -> None:
        """Let time pass, unless everything is to end at once."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.quit.wait(), seconds)

    def close_listeners(self) -> None:
        for server in self.servers:
            server.close()

    def start_draining(self) -> None:
        for front in self.fronts:
            front.draining = True
        for connection in list(self.state.connections):
            connection.shutdown()

    async def wait_for_connections(self, deadline_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        while self.state.connections and not self.quit.is_set():
            passed = loop.time() - started
            if passed >= deadline_seconds:
                logger.warning("%d connections were cut off at the end", len(self.state.connections))
                return
            if passed >= _IDLE_GRACE_SECONDS:
                for front in self.fronts:
                    front.close_idle()
            await self.pause(_LOOK_EVERY_SECONDS)

    async def finish(self) -> None:
        """Cut off what is left, then end the applications."""
        self.close_listeners()
        for connection in list(self.state.connections):
            if isinstance(connection, Connection):
                connection.abort()
            else:  # a WebSocket
                connection.transport.abort()
        for _ in range(_LAST_TURNS):  # each connection hears of its end in one of the next turns of the loop
            if not self.state.connections:
                break
            await _next_turn()
        await self._end_tasks()
        for front in self.fronts:
            front.stop()
        for lifespan in self.lifespans.values():
            await lifespan.shutdown()

    async def _end_tasks(self) -> None:
        """Requests whose connection is gone end by themselves; one that does not is cancelled."""
        if tasks := list(self.state.tasks):
            _, pending = await asyncio.wait(tasks, timeout=_TASK_GRACE_SECONDS)
            for task in pending:
                task.cancel()
            if pending:
                await asyncio.wait(pending, timeout=_TASK_GRACE_SECONDS)


async def _next_turn() -> None:
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(turn.set_result, None)
    await turn


def _configuration(app: Any, protocol: type[asyncio.Protocol], settings: FrontSettings) -> Config:
    """uvicorn's configuration: silent, without its own idea of dates, proxies and signals."""
    config = Config(
        app,
        http=protocol,
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=int(settings.keep_alive_seconds),
    )
    config.load()
    return config


def _inherit_options(listening: socket.socket, settings: FrontSettings) -> None:
    """Set on the listening socket what accepted ones inherit: cheaper than setting it on each."""
    options = {
        "TCP_NODELAY": (socket.IPPROTO_TCP, 1),
        "SO_KEEPALIVE": (socket.SOL_SOCKET, 1),
        "TCP_KEEPIDLE": (socket.IPPROTO_TCP, _KEEPALIVE_IDLE_SECONDS),
        "TCP_KEEPINTVL": (socket.IPPROTO_TCP, _KEEPALIVE_PROBE_SECONDS),
        "TCP_USER_TIMEOUT": (socket.IPPROTO_TCP, int(settings.user_timeout_seconds * 1000)),
    }
    for name, (level, value) in options.items():
        if hasattr(socket, name):
            listening.setsockopt(level, getattr(socket, name), value)
