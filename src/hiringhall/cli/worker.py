"""`hall worker …`: look at workers and direct them."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, ServerOption, TokenOption
from hiringhall.cli.output import print_columns, print_json, visible
from hiringhall.cli.plan import pages

app: Final = typer.Typer(help="Look at workers and direct them.", no_args_is_help=True)

ServiceOption = Annotated[
    str | None, typer.Option("--service", metavar="SERVICE", help="The service, for service workers.")
]
WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="The id of the worker.")]


@app.command("list")
def list_workers(
    service: ServiceOption = None,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """List all workers, or those of a service."""
    with Connection(server, token, data) as connection:
        workers = pages(connection, "/admin/workers", "workers", **_query(service))
    if as_json:
        print_json(workers)
        return
    rows = [(_name(w), _state(w), w["holds"], w["last_seen"] or "never", _what(w)) for w in workers]
    print_columns(("WORKER", "STATE", "HOLDS", "LAST SEEN", "HOST OR METHODS"), rows)


def _name(worker: dict[str, Any]) -> str:
    return worker["worker_id"] if worker["service"] is None else f"{worker['service']}/{worker['worker_id']}"


def _what(worker: dict[str, Any]) -> str:
    registration = worker["registration"]
    return worker["hostname"] if registration is None else ", ".join(registration["methods"])


def _state(worker: dict[str, Any]) -> str:
    if not worker["online"]:
        return "offline"
    if worker["terminating"]:
        return "terminating"
    if worker["registration"] is not None and worker["registration"]["leaving"]:
        return "leaving"
    return "quiet" if worker["quiet"] else "online"


def _direct(
    verb: str, worker: str, service: str | None, server: str | None, token: str | None, data: str | None
) -> None:
    with Connection(server, token, data) as connection:
        connection.call("POST", f"/admin/workers/{quote(worker, safe='')}/{verb}", params=_query(service))


def _query(service: str | None) -> dict[str, str]:
    return {} if service is None else {"service": service}


@app.command("quiet")
def quiet(
    worker: WorkerArgument,
    service: ServiceOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Give a worker nothing new; what it holds it may finish."""
    _direct("quiet", worker, service, server, token, data)
    print(f"{visible(worker)}: gets nothing new")


@app.command("resume")
def resume(
    worker: WorkerArgument,
    service: ServiceOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Give a worker work again."""
    _direct("resume", worker, service, server, token, data)
    print(f"{visible(worker)}: gets work again")


@app.command("terminate")
def terminate(
    worker: WorkerArgument,
    service: ServiceOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Tell a worker to finish or give back what it holds, and to end."""
    _direct("terminate", worker, service, server, token, data)
    print(f"{visible(worker)}: told to end")


@app.command("remove")
def remove(
    worker: WorkerArgument,
    service: ServiceOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Forget a worker: what it holds returns at once, and its token ends."""
    with Connection(server, token, data) as connection:
        connection.call("DELETE", f"/admin/workers/{quote(worker, safe='')}", params=_query(service))
    print(f"{visible(worker)}: removed")
