"""What the front relies on in uvicorn, whose protocol class is no documented extension point.

A failure here means: read what changed in uvicorn, then follow it in `asgi/uvicorn_side.py`.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import textwrap
from importlib.metadata import version

import uvicorn
from uvicorn.config import Config
from uvicorn.lifespan.on import LifespanOn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from hiringhall.asgi.hot_front import HotFront, front_class
from hiringhall.asgi.incoming import Incoming
from tests.wire.front.stage import Handlers, Stage, application, eventually, post

PER_LISTENER = {
    "access_log", "access_logger", "app", "app_state", "asgi_version", "config", "connections", "limit_concurrency",
    "logger", "loop", "root_path", "server_state", "tasks", "timeout_keep_alive", "ws_protocol_class",
}  # fmt: skip
PER_CONNECTION = {
    "client", "cycle", "expect_100_continue", "flow", "headers", "parser", "pipeline", "scheme", "scope", "server",
    "timeout_keep_alive_task", "transport",
}  # fmt: skip
PER_REQUEST = {"url"}
METHODS = {
    "__init__", "_get_upgrade", "_should_upgrade", "_should_upgrade_to_ws", "_start_asgi_task",
    "_unset_keepalive_if_required", "_unsupported_upgrade_warning", "connection_lost", "connection_made",
    "data_received", "eof_received", "handle_websocket_upgrade", "on_body", "on_header", "on_headers_complete",
    "on_message_begin", "on_message_complete", "on_response_complete", "on_url", "pause_writing", "resume_writing",
    "send_400_response", "shutdown", "timeout_keep_alive_handler",
}  # fmt: skip


def attributes_of(owner: type, of: str) -> set[str]:
    """The names that a class uses as `of.name`, where `of` is `self` or `self.parser`, say."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == of
    }  # fmt: skip


def test_uvicorn_is_the_one_that_was_read() -> None:
    """The front follows this minor release of uvicorn, and the package asks for it."""
    assert version("uvicorn").startswith("0.54.")


def test_protocol_has_these_methods() -> None:
    """uvicorn's protocol has exactly the methods that are inherited, overridden, or known to be unused."""
    assert {name for name, value in vars(HttpToolsProtocol).items() if inspect.isfunction(value)} == METHODS


def test_protocol_keeps_these_attributes() -> None:
    """uvicorn's protocol keeps exactly the attributes that the front provides in its own way."""
    used = attributes_of(HttpToolsProtocol, "self") - METHODS
    assert used == PER_LISTENER | PER_CONNECTION | PER_REQUEST


def test_protocol_is_made_like_this() -> None:
    """A protocol is made with these arguments, and so is the front's."""
    parameters = ["self", "config", "server_state", "app_state", "_loop"]
    assert list(inspect.signature(HttpToolsProtocol.__init__).parameters) == parameters
    assert list(inspect.signature(HotFront.__init__).parameters) == parameters


def test_request_stands_in_for_the_parser() -> None:
    """All that uvicorn asks the parser while it passes a request on, the request being read can answer."""
    asked = set()
    for name in ("on_headers_complete", "on_body", "on_message_complete"):
        tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(HttpToolsProtocol, name))))
        asked |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self.parser"
        }
    assert asked == {"get_http_version", "get_method", "should_keep_alive", "should_upgrade"}
    assert asked <= set(dir(Incoming))


def test_cycle_and_flow_have_what_is_used() -> None:
    """The cycle of a request, the flow control, the server state and the lifespan have what the front uses of them."""
    used = {"chunked_encoding", "disconnected", "expected_content_length", "keep_alive", "response_complete", "send"}
    assert used <= attributes_of(RequestResponseCycle, "self")
    assert {"read_paused", "pause_reading", "resume_reading", "pause_writing", "resume_writing"} <= (
        attributes_of(FlowControl, "self") | set(vars(FlowControl))
    )
    assert {"total_requests", "connections", "tasks", "default_headers"} == set(vars(ServerState()))
    assert {"should_exit", "state"} <= attributes_of(LifespanOn, "self")
    assert attributes_of(RequestResponseCycle, "self.transport") == {"write", "close", "is_closing"}


async def test_front_provides_every_attribute() -> None:
    """A fresh front has every attribute that uvicorn's methods read before they set it."""
    config = Config(application, http=front_class(Handlers()), log_config=None, access_log=False, interface="asgi3")
    config.load()
    front = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})  # type: ignore[call-arg]
    assert isinstance(front, HotFront)
    set_later = {"expect_100_continue", "headers", "parser", "pipeline", "scope", "transport", "url"}
    missing = {name for name in PER_LISTENER | PER_CONNECTION | PER_REQUEST if not hasattr(front, name)}
    assert missing <= set_later
    front.state.stop()


async def test_front_works_under_uvicorn_itself() -> None:
    """The front may be given to uvicorn's own server as `http=`."""
    protocol = front_class(Handlers())
    server = uvicorn.Server(uvicorn.Config(application, port=0, http=protocol, log_config=None, interface="asgi3"))
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment]
    running = asyncio.create_task(server.serve())
    await eventually(lambda: server.started, "uvicorn to start")
    stage = Stage(Handlers())
    stage.address = stage.address._replace(host="127.0.0.1", port=server.servers[0].sockets[0].getsockname()[1])
    client = await stage.connect()
    assert (await client.ask(post("/echo", b"1"))).body == b"1"
    assert (await client.ask(post("/asgi", b"1"))).body == b"asgi:1"
    client.close()
    server.should_exit = True
    await running
    protocol.state.stop()
