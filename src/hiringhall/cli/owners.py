"""What the commands about services and clients have in common: secrets that come in, and the one that is told once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from hiringhall.cli.connection import Connection
from hiringhall.cli.output import visible
from hiringhall.cli.trouble import USAGE, Trouble

SecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret",
        metavar="TEXT",
        help="The secret; - reads it from standard input. Without it the hall makes one for what is new.",
    ),
]
NewSecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret", metavar="TEXT", help="The secret; - reads it from standard input. Without it the hall makes one."
    ),
]
RetireOption = Annotated[
    bool, typer.Option("--retire", help="End the secret before it now, instead of after 24 hours.")
]


def owner_path(kind: str, name: str) -> str:
    """The path of the routes of a service or client."""
    return f"/admin/{kind}/{quote(name, safe='')}"


def read_secret(given: str | None) -> str | None:
    """The secret as it was given, or from standard input, so that it stands in no list of processes."""
    return sys.stdin.readline().rstrip("\r\n") if given == "-" else given


def put_parameters(*, retire: bool, make_secret: bool = False) -> dict[str, str]:
    """The query of a request that makes or changes."""
    return {name: "true" for name, wanted in (("retire", retire), ("make_secret", make_secret)) if wanted}


def replace_secret(connection: Connection, kind: str, name: str, secret: str | None, *, retire: bool) -> dict[str, Any]:
    """Give a service or client that there is another secret; None: one that the hall makes. Returns the answer."""
    path, parameters = owner_path(kind, name), put_parameters(retire=retire, make_secret=secret is None)
    connection.call("GET", path)  # or a misspelt name would make one
    body = {} if secret is None else {"secret": secret}
    answer: dict[str, Any] = connection.call("PUT", path, json=body, params=parameters)
    return answer


def print_stored(name: str, answer: dict[str, Any]) -> None:
    """Say what was done, and the secret that was made, which nobody is told again."""
    print(f"{visible(name)}: stored")
    if "secret" in answer:
        print(f"secret: {answer['secret']}")


def read_settings(pairs: Iterable[str], files: Iterable[str]) -> dict[str, str | None]:
    """Settings: `KEY=VALUE` sets one, `KEY=` removes one; `KEY=PATH` of a file takes what it holds."""
    found: dict[str, str | None] = {}
    for pair in pairs:
        name, value = _parted(pair, "KEY=VALUE, or KEY= to remove it")
        found[name] = value or None
    for pair in files:
        name, path = _parted(pair, "--file KEY=PATH")
        try:
            found[name] = Path(path).read_text(encoding="utf-8")
        except OSError as problem:
            raise Trouble(f"{path}: {problem.strerror or problem}") from None
        except UnicodeDecodeError:
            raise Trouble(f"{path}: a setting is a text in UTF-8") from None
    if not found:
        raise Trouble("no setting is given: KEY=VALUE sets one, KEY= removes one", status=USAGE)
    return found


def _parted(pair: str, form: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals or not name:
        raise Trouble(f"a setting is given as {form}", status=USAGE)
    return name, value
