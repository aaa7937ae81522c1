"""The part of a connection that is uvicorn's: what its protocol keeps, and how a request is passed on to ASGI.

The protocol class is no documented extension point of uvicorn: tests/wire/front/test_uvicorn_contract.py names every
part of it that is relied upon.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar, Literal, cast

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl
from uvicorn.server import ServerState

from hiringhall.asgi.incoming import Incoming


class UvicornSide(HttpToolsProtocol):
    """What uvicorn keeps per connection is per listener here, or made with the first ASGI request."""

    __slots__ = ("transport",)

    transport: asyncio.Transport
    config: ClassVar[Any] = None  # type: ignore[misc]
    flow: FlowControl | None = None  # type: ignore[assignment]
    cycle: Any = None
    server: tuple[str, int | None] | None = None
    client: tuple[str, int] | None = None
    scheme: Literal["http", "https"] | None = "http"
    limit_concurrency = None
    timeout_keep_alive_task = None

    @classmethod
    def bind(cls, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        """Belong to a configuration: what it says becomes attributes of the class."""
        if not config.loaded:
            config.load()
        access_logger = logging.getLogger("uvicorn.access")
        attributes = {
            "config": config,
            "app": staticmethod(config.loaded_app),  # a plain function would become a method
            "loop": asyncio.get_running_loop(),
            "logger": logging.getLogger("uvicorn.error"),
            "access_logger": access_logger,
            "access_log": config.access_log and access_logger.hasHandlers(),
            "ws_protocol_class": config.ws_protocol_class,
            "root_path": config.root_path,
            "asgi_version": config.asgi_version,
            "app_state": app_state,
            "timeout_keep_alive": config.timeout_keep_alive,
            "server_state": server_state,
            "connections": server_state.connections,
            "tasks": server_state.tasks,
        }
        for name, value in attributes.items():
            setattr(cls, name, value)

    def reading_paused(self) -> bool:
        return self.flow is not None and self.flow.read_paused

    def pause_reading(self) -> None:
        self._open_asgi_side()
        cast("FlowControl", self.flow).pause_reading()

    def resume_reading(self) -> None:
        if self.flow is not None:
            self.flow.resume_reading()

    def _open_asgi_side(self) -> None:
        if self.flow is None:
            self.flow = FlowControl(self.transport)
            self.server = get_local_addr(self.transport)
            self.client = get_remote_addr(self.transport)
            self.scheme = "https" if is_ssl(self.transport) else "http"

    def start_asgi(self, message: Incoming, *, last: bool) -> None:
        """Hand the head of a request to the application; `last` ends the connection with its answer."""
        self._open_asgi_side()
        self.on_message_begin()
        self.url = message.url
        self.headers.extend(message.headers)
        self.expect_100_continue = message.expects
        self.parser = message  # type: ignore[assignment]
        self.on_headers_complete()
        if last and self.cycle is not None:
            self.cycle.keep_alive = False
        if message.version == "1.0" and self.cycle is not None:
            self.cycle.send = _Unchunked(self.cycle)

    def disconnect_asgi(self) -> None:
        """To the application, the client of the request that it is answering has gone away."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()


class _Unchunked:
    """What goes to a client of HTTP/1.0: "A server MUST NOT send a response containing Transfer-Encoding
    unless the corresponding request indicates HTTP/1.1". A body of unknown length ends with the connection."""

    __slots__ = ("_cycle", "_open_ended", "_send")

    def __init__(self, cycle: Any) -> None:
        self._cycle = cycle
        self._send = cycle.send
        self._open_ended = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._open_ended = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
            if self._open_ended:
                self._cycle.chunked_encoding = False
                self._cycle.keep_alive = False
        elif self._open_ended:
            self._cycle.expected_content_length = len(message.get("body", b""))  # else uvicorn knows none of no length
        await self._send(message)
