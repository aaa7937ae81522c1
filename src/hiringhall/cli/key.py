"""`hall key …`: the key that signs access tokens."""

from __future__ import annotations

from typing import Final

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, ServerOption, TokenOption
from hiringhall.cli.output import print_json

app: Final = typer.Typer(help="Replace the key that signs access tokens.", no_args_is_help=True)


@app.callback()
def _key() -> None:
    """Replace the key that signs access tokens."""


@app.command("rotate")
def rotate(
    as_json: JsonOption = False, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Sign with a new key from now on, at all servers; tokens that are out stay good until they end."""
    with Connection(server, token, data) as connection:
        answer = connection.call("POST", "/admin/keys/rotate")
    if as_json:
        print_json(answer)
        return
    print(f"signing with {answer['key_id']}; the key before is accepted for {answer['previous_seconds']:g} s")
