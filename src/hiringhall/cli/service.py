"""`hall service …`: make services, give them secrets and settings, pause and remove them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, Refusal, ServerOption, TokenOption
from hiringhall.cli.output import print_columns, print_json, visible
from hiringhall.cli.owners import (
    NewSecretOption,
    RetireOption,
    SecretOption,
    owner_path,
    print_stored,
    put_parameters,
    read_secret,
    read_settings,
    replace_secret,
)
from hiringhall.cli.plan import pages
from hiringhall.cli.trouble import Trouble

app: Final = typer.Typer(
    help="Make services, give them secrets and settings, pause and remove them.", no_args_is_help=True
)

ServiceArgument = Annotated[str, typer.Argument(metavar="NAME", help="The id of the service.")]


@app.command("add")
def add(
    name: ServiceArgument,
    secret: SecretOption = None,
    dispatch: Annotated[
        str | None,
        typer.Option("--dispatch", metavar="POLICY", help="Who gets a call: exclusive (default), race or broadcast."),
    ] = None,
    retire: RetireOption = False,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Make a service, or change one; a secret that the hall makes is printed once."""
    given = {"secret": read_secret(secret), "dispatch": dispatch}
    body = {member: value for member, value in given.items() if value is not None}
    with Connection(server, token, data) as connection:
        answer = connection.call("PUT", owner_path("services", name), json=body, params=put_parameters(retire=retire))
    if as_json:
        print_json(answer)
        return
    print_stored(name, answer)


@app.command("secret")
def secret(
    name: ServiceArgument,
    secret: NewSecretOption = None,
    retire: RetireOption = False,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Give a service another secret, printed once if the hall makes it; the one before is good for 24 hours more."""
    with Connection(server, token, data) as connection:
        answer = replace_secret(connection, "services", name, read_secret(secret), retire=retire)
    if as_json:
        print_json(answer)
        return
    print_stored(name, answer)


@app.command("list")
def list_services(
    as_json: JsonOption = False, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """List all services."""
    with Connection(server, token, data) as connection:
        services = pages(connection, "/admin/services", "services")
    if as_json:
        print_json(services)
        return
    rows = [
        (each["id"], "paused" if each["paused"] else "open", each["dispatch"], each["secrets"], len(each["settings"]))
        for each in services
    ]
    print_columns(("SERVICE", "STATE", "DISPATCH", "SECRETS", "SETTINGS"), rows)


@app.command("show")
def show(
    name: ServiceArgument,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Show a service: how its calls are handed out, and the names of its settings."""
    with Connection(server, token, data) as connection:
        service = connection.call("GET", owner_path("services", name))["service"]
    if as_json:
        print_json(service)
        return
    print(f"{visible(service['id'])}: {'paused' if service['paused'] else 'open'}; {service['dispatch']}")
    for method, special in sorted(service["methods"].items()):
        told = ", ".join(f"{member} {value}" for member, value in sorted(special.items()))
        print(f"  method {visible(method)}: {told}")
    print(f"  valid secrets: {service['secrets']}")
    print(f"  settings: {', '.join(map(visible, service['settings'])) or 'none'}")


@app.command("set")
def set_settings(
    name: ServiceArgument,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Settings; KEY= removes one.")
    ] = None,
    files: Annotated[
        list[str] | None, typer.Option("--file", metavar="KEY=PATH", help="A setting that is what a file holds.")
    ] = None,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Set or remove settings of a service; its workers are told them when they register. They are stored encrypted."""
    settings = read_settings(pairs or (), files or ())
    with Connection(server, token, data) as connection:
        connection.call("GET", owner_path("services", name))  # or a misspelt name would make a service
        service = connection.call("PUT", owner_path("services", name), json={"settings": settings})["service"]
    print(f"{visible(name)}: {', '.join(map(visible, service['settings'])) or 'no settings'}")


@app.command("pause")
def pause(
    name: ServiceArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Hand out no more calls of a service; what is held stays held."""
    with Connection(server, token, data) as connection:
        connection.call("POST", owner_path("services", name) + "/pause")
    print(f"{visible(name)}: paused")


@app.command("resume")
def resume(
    name: ServiceArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """Hand out the calls of a service again."""
    with Connection(server, token, data) as connection:
        connection.call("POST", owner_path("services", name) + "/resume")
    print(f"{visible(name)}: resumed")


@app.command("remove")
def remove(
    name: ServiceArgument,
    force: Annotated[bool, typer.Option("--force", help="Although calls of it are open.")] = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Remove a service with its secrets and settings: its workers are out at once."""
    with Connection(server, token, data) as connection:
        try:
            connection.call("DELETE", owner_path("services", name), params={"force": "true"} if force else {})
        except Refusal as refusal:
            if refusal.envelope["error_code"] == "in_use":
                raise Trouble(*refusal.lines, "--force removes it nevertheless") from None
            raise
    print(f"{visible(name)}: removed")
