"""`hall serve`: one server process, from its settings to its end."""

from __future__ import annotations

import errno
import gc
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hiringhall.cli.trouble import USAGE, Trouble
from hiringhall.config import SETTINGS, BadSetting, Declared, Setting, Settings, read_declared, read_settings

if TYPE_CHECKING:
    from hiringhall.asgi.server import Address

HELP: Final = """Run one server. Without --database it keeps everything in SQLite in its data folder.

Every flag may also be given as a variable (HALL_HOST for --host) or in hall.toml; flags count first.
"""
KINDS: Final[dict[type, str]] = {str: "TEXT", int: "NUMBER", float: "NUMBER"}
COLLECTOR_THRESHOLDS: Final = (10_000, 20, 50)
"""A server makes few cycles and many short-lived objects: looking for cycles at every 700 costs a tenth of its time."""
ANYWHERE: Final[dict[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Addresses that mean all of this machine's, and one at which its own commands find the server."""


def serve_command(**flags: Any) -> None:
    """Read the settings and serve until SIGTERM or SIGINT."""
    try:
        settings = read_settings(flags)
        declared = read_declared(settings.data)
    except BadSetting as bad:
        raise Trouble(str(bad), status=USAGE if str(bad).startswith("--") else 1) from None
    import asyncio

    from hiringhall.asgi.server import new_event_loop
    from hiringhall.observe.logs import configure

    configure(settings.log_format)
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(settings, declared))


async def _serve(settings: Settings, declared: Declared) -> None:
    from hiringhall.asgi.front_settings import FrontSettings
    from hiringhall.asgi.server import Listener, serve
    from hiringhall.auth.first_start import FolderInUse
    from hiringhall.bootstrap import build
    from hiringhall.ports.store import StoreUnavailable

    try:
        server = await build(settings, declared)
    except (BadSetting, FolderInUse, StoreUnavailable) as problem:
        raise Trouble(str(problem)) from None
    except OSError as problem:
        raise Trouble(f"cannot use the data folder {settings.data}: {problem.strerror or problem}") from None
    listeners = [Listener(server.asgi_app, server.router, settings.host, settings.port)]
    if settings.whilly_port is not None:
        listeners.append(Listener(server.asgi_app, server.whilly_router, settings.host, settings.whilly_port))

    def ready(addresses: Sequence[Address]) -> None:
        server.start([(settings.host, address.port) for address in addresses])
        try:
            server.announce(_url(ANYWHERE.get(settings.host, settings.host), addresses[0].port))
        except OSError as problem:
            file = server.folder.server_file
            raise Trouble(f"cannot write {file}: {problem.strerror or problem}") from None
        print(f"hall: ready on {_url(settings.host, addresses[0].port)}", flush=True)
        for address in addresses[1:]:
            print(f"hall: whilly workers on {_url(settings.host, address.port)}", flush=True)
        if server.made_tokens:
            print(f"hall: the tokens it made are in {server.folder.server_file}", flush=True)

    try:
        await serve(
            listeners,
            settings=FrontSettings(bodies_limit_bytes=settings.bodies_limit),
            on_ready=ready,
            on_drain_start=server.on_drain_start,
            on_drain=server.on_drain,
            drain_delay_seconds=settings.drain_delay,
        )
    except OSError as problem:
        where = ", ".join(f"{listener.host}:{listener.port}" for listener in listeners)
        hint = "; --port 0 takes a free port" if problem.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise Trouble(f"cannot listen on {where}: {problem.strerror or problem}{hint}") from None
    finally:
        await server.close()


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _parameter(setting: Setting) -> inspect.Parameter:
    """The flag of a setting. Values are checked where those from files and variables are, so any text passes here."""
    bounds = ""
    if setting.default not in (None, "", False):
        bounds = (
            f" [default: {setting.default:g}]"
            if isinstance(setting.default, float)
            else f" [default: {setting.default}]"
        )
    unit = f", in {setting.unit}" if setting.unit else ""
    text = f"{setting.description}{unit}.{bounds}"
    if setting.kind is bool:
        option = typer.Option(setting.flag, help=text, show_default=False)
        annotation: Any = Annotated[bool | None, option]
    else:
        option = typer.Option(setting.flag, help=text, metavar=KINDS[setting.kind], show_default=False)
        annotation = Annotated[str | None, option]
    return inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


serve_command.__signature__ = inspect.Signature([_parameter(setting) for setting in SETTINGS])  # type: ignore[attr-defined]
serve_command.__annotations__ = {}
