"""The program `hall`: its commands and groups of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from hiringhall import __version__
from hiringhall.cli.call import call, cancel, follow_command
from hiringhall.cli.client import app as client_app
from hiringhall.cli.explain import explain
from hiringhall.cli.key import app as key_app
from hiringhall.cli.plan import app as plan_app
from hiringhall.cli.serve import HELP as SERVE_HELP
from hiringhall.cli.serve import serve_command
from hiringhall.cli.service import app as service_app
from hiringhall.cli.trouble import Commands
from hiringhall.cli.verify import app as verify_app
from hiringhall.cli.work import app as work_app
from hiringhall.cli.worker import app as worker_app

app = typer.Typer(
    name="hall",
    cls=Commands,
    help="Durable work for workers in any language, over plain HTTP.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("serve", help=SERVE_HELP)(serve_command)
app.add_typer(plan_app, name="plan")
app.add_typer(work_app, name="work")
app.add_typer(worker_app, name="worker")
app.add_typer(service_app, name="service")
app.add_typer(client_app, name="client")
app.add_typer(key_app, name="key")
app.add_typer(verify_app, name="verify")
app.command("call")(call)
app.command("follow")(follow_command)
app.command("cancel")(cancel)
app.command("explain")(explain)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"hall {__version__}")
        raise typer.Exit


@app.callback()
def _hall(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


if __name__ == "__main__":
    app(prog_name="hall")
