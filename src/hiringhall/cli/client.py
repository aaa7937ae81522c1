"""`hall client …`: make clients, give them secrets, list them, remove them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, ServerOption, TokenOption
from hiringhall.cli.output import print_columns, print_json, visible
from hiringhall.cli.owners import (
    NewSecretOption,
    RetireOption,
    SecretOption,
    owner_path,
    print_stored,
    put_parameters,
    read_secret,
    replace_secret,
)
from hiringhall.cli.plan import pages

app: Final = typer.Typer(help="Make clients, give them secrets, list them, remove them.", no_args_is_help=True)

ClientArgument = Annotated[str, typer.Argument(metavar="NAME", help="The id of the client.")]


@app.command("add")
def add(
    name: ClientArgument,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="PATTERN",
            help="What it may call: a wildcard over SERVICE/METHOD; may be repeated.",
        ),
    ] = None,
    secret: SecretOption = None,
    retire: RetireOption = False,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Make a client, or change what it may call; a secret that the hall makes is printed once."""
    given: dict[str, Any] = {"secret": read_secret(secret), "allow": allow or None}
    body = {member: value for member, value in given.items() if value is not None}
    with Connection(server, token, data) as connection:
        answer = connection.call("PUT", owner_path("clients", name), json=body, params=put_parameters(retire=retire))
    if as_json:
        print_json(answer)
        return
    print_stored(name, answer)


@app.command("secret")
def secret(
    name: ClientArgument,
    secret: NewSecretOption = None,
    retire: RetireOption = False,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Give a client another secret, printed once if the hall makes it; the one before is good for 24 hours more."""
    with Connection(server, token, data) as connection:
        answer = replace_secret(connection, "clients", name, read_secret(secret), retire=retire)
    if as_json:
        print_json(answer)
        return
    print_stored(name, answer)


@app.command("list")
def list_clients(
    as_json: JsonOption = False, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """List all clients and what each may call."""
    with Connection(server, token, data) as connection:
        clients = pages(connection, "/admin/clients", "clients")
    if as_json:
        print_json(clients)
        return
    rows = [(each["id"], each["secrets"], " ".join(each["allow"]) or "nothing") for each in clients]
    print_columns(("CLIENT", "SECRETS", "MAY CALL"), rows)


@app.command("remove")
def remove(
    name: ClientArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Remove a client: it is out at once. Calls that it made go on."""
    with Connection(server, token, data) as connection:
        connection.call("DELETE", owner_path("clients", name))
    print(f"{visible(name)}: removed")
