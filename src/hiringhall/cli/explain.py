"""`hall explain`: the story of one unit of work."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from hiringhall.cli.connection import Connection, DataOption, JsonOption, ServerOption, TokenOption
from hiringhall.cli.output import print_json, visible


def explain(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A request id; PLAN/TASK, or a task id that only one plan has. A / within an id is %2F."
        ),
    ],
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Tell what happened to a unit of work: who got it, why it ran again, what it waits for."""
    with Connection(server, token, data) as connection:
        found = connection.call("GET", "/admin/work", params={"id": encoded(unit)})
    if as_json:
        print_json(found)
        return
    work = found["work"]
    name = work["request_id"] if work.get("kind") == "call" else f"{work['plan_id']}/{work['id']}"
    print(f"{visible(name)}: {work['status']}, version {work['version']}")
    for sentence in found["story"]:
        print(f"  {visible(sentence)}")


def encoded(unit: str) -> str:
    """`PLAN/TASK` with each part percent-encoded; what already holds a % is taken to be encoded."""
    return unit if "%" in unit else "/".join(quote(part, safe="") for part in unit.split("/", 1))
