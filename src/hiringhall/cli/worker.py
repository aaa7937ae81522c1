"""`hall worker …`: look at workers and direct them."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, ServerOption, TokenOption
from hiringhall.cli.output import print_columns, print_json, visible
from hiringhall.cli.plan import pages

app: Final = typer.Typer(help="Look at workers and direct them.", no_args_is_help=True)

WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="The id of the worker.")]


@app.command("list")
def list_workers(
    as_json: JsonOption = False, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """List all workers."""
    with Connection(server, token, data) as connection:
        workers = pages(connection, "/admin/workers", "workers")
    if as_json:
        print_json(workers)
        return
    rows = [(w["worker_id"], _state(w), w["holds"], w["last_seen"] or "never", w["hostname"]) for w in workers]
    print_columns(("WORKER", "STATE", "HOLDS", "LAST SEEN", "HOST"), rows)


def _state(worker: dict[str, Any]) -> str:
    if not worker["online"]:
        return "offline"
    if worker["terminating"]:
        return "terminating"
    return "quiet" if worker["quiet"] else "online"


def _direct(verb: str, worker: str, server: str | None, token: str | None, data: str | None) -> None:
    with Connection(server, token, data) as connection:
        connection.call("POST", f"/admin/workers/{quote(worker, safe='')}/{verb}")


@app.command("quiet")
def quiet(
    worker: WorkerArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Give a worker nothing new; what it holds it may finish."""
    _direct("quiet", worker, server, token, data)
    print(f"{visible(worker)}: gets nothing new")


@app.command("resume")
def resume(
    worker: WorkerArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Give a worker work again."""
    _direct("resume", worker, server, token, data)
    print(f"{visible(worker)}: gets work again")


@app.command("terminate")
def terminate(
    worker: WorkerArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Tell a worker to finish or give back what it holds, and to end."""
    _direct("terminate", worker, server, token, data)
    print(f"{visible(worker)}: told to end")


@app.command("remove")
def remove(
    worker: WorkerArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Forget a worker: what it holds returns at once, and its token ends."""
    with Connection(server, token, data) as connection:
        connection.call("DELETE", f"/admin/workers/{quote(worker, safe='')}")
    print(f"{visible(worker)}: removed")
