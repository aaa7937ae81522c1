"""`hall call`, `hall follow`, `hall cancel`: a client from the shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import msgspec
import typer

from hiringhall.cli.connection import Connection, DataOption, Refusal, ServerOption, TokenOption
from hiringhall.cli.feedback_display import display_for
from hiringhall.cli.following import StillPending, follow, request_path
from hiringhall.cli.output import visible
from hiringhall.cli.trouble import USAGE, Trouble

STILL_PENDING: Final = 3
INTERRUPTED: Final = 130

ParamsArgument = Annotated[
    str, typer.Argument(metavar="PARAMS", help="JSON; - reads standard input, @FILE reads a file.")
]
IdArgument = Annotated[str, typer.Argument(metavar="REQUEST_ID", help="The id of the call.")]
WaitOption = Annotated[
    float | None,
    typer.Option("--wait", "--timeout", metavar="SECONDS", min=0, help="Stop waiting after so long; the call goes on."),
]
OutcomeOption = Annotated[bool, typer.Option("--json", help="Print the whole outcome, not only the result.")]

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def call(
    method: Annotated[str, typer.Argument(metavar="SERVICE/METHOD", help="What is to be done.")],
    params: ParamsArgument = "{}",
    wait: WaitOption = None,
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", help="Not after so long, 1 s to 30 days.")
    ] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="-100 to 100; higher goes first.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option("--retries", metavar="N", help="Try again so often after an error, up to 10.")
    ] = None,
    dispatch: Annotated[
        str | None, typer.Option("--dispatch", metavar="HOW", help="exclusive, race or broadcast.")
    ] = None,
    requires: Annotated[
        str | None, typer.Option("--requires", metavar="JSON", help="What the worker has to be able to do.")
    ] = None,
    fail_without_worker: Annotated[
        bool, typer.Option("--fail-without-worker", help="Do not wait for a worker if there is none.")
    ] = False,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="Print the id of the call and end.")] = False,
    whole: OutcomeOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Call a method of a service and print its result, digit for digit.

    PARAMS is {} if it is left out. Feedback is shown on standard error as it comes: as a progress bar if its content is
    an object with a number percent or progress (0 to 100), or a bare number under the type percent or progress.
    Interrupting the command does not cancel the call. Exit status 0: success; 1: failed, error, cancelled or expired;
    2: the command was given wrongly; 3: no outcome yet; 130: interrupted.
    """
    wanted: dict[str, Any] = {
        "deadline_seconds": deadline,
        "priority": priority,
        "retries": retries,
        "dispatch": dispatch,
        "requires": None if requires is None else _json(requires.encode(), "--requires"),
    }
    members = {
        "method": method,
        "params": _json(_read(params), "PARAMS"),
        **{name: value for name, value in wanted.items() if value is not None},
        **({"if_no_worker": "fail"} if fail_without_worker else {}),
    }
    with Connection(server, token, data) as connection:
        try:
            answer = connection.answer("POST", "/client/requests", content=msgspec.json.encode(members))
        except Refusal as refusal:
            raise _plain(refusal) from None
        request_id = answer.json()["request_id"]
        if no_follow:
            print(answer.text if whole else request_id)
            return
        _follow(connection, request_id, method, wait, whole=whole)


def follow_command(
    request_id: IdArgument,
    wait: WaitOption = None,
    whole: OutcomeOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Show the feedback of a call, and print its result, like `hall call` that made it."""
    with Connection(server, token, data) as connection:
        _follow(connection, request_id, request_id, wait, whole=whole)


def cancel(
    request_id: IdArgument,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Take a call back. A worker that is at it is told to stop; what it still answers is the outcome."""
    with Connection(server, token, data) as connection:
        told = connection.call("DELETE", request_path(request_id))
    print(f"{visible(request_id)}: {visible(told['status'])}")


def _read(given: str) -> bytes:
    if given == "-":
        return sys.stdin.buffer.read()
    if not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    try:
        return Path(given[1:]).read_bytes()
    except OSError as problem:
        raise Trouble(f"PARAMS: {given[1:]} cannot be read: {problem.strerror or problem}", status=USAGE) from None


def _json(text: bytes, name: str) -> msgspec.Raw:
    """The text, if it is JSON: it is passed on as it is."""
    try:
        text.decode("utf-8")
        json.loads(text, parse_constant=_no_constant, parse_int=str, parse_float=str)
        return msgspec.Raw(text.strip())
    except (ValueError, RecursionError) as problem:
        lines = (f"{name}: not JSON: {problem}", "texts need double quotes; in a shell, quote the whole: '{\"a\": 1}'")
        raise Trouble(*lines, status=USAGE) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _plain(refusal: Refusal) -> Trouble:
    nearest = refusal.envelope.get("nearest")
    hint = [f"did you mean {', '.join(map(str, nearest))}?"] if isinstance(nearest, list) and nearest else []
    usage = refusal.http_status in (400, 422)
    return Trouble(*refusal.lines, *hint, status=USAGE if usage else 1)


def _follow(connection: Connection, request_id: str, name: str, wait: float | None, *, whole: bool) -> None:
    goes_on = f"`hall follow {request_id}` shows how it goes on, `hall cancel {request_id}` ends it"
    try:
        with display_for(name) as display:
            outcome = follow(
                connection, request_id, on_item=display.item, on_lost=display.lost, wait_seconds=wait
            )  # fmt: skip
    except StillPending:
        raise Trouble(f"{request_id} has no outcome yet", goes_on, status=STILL_PENDING) from None
    except KeyboardInterrupt:
        raise Trouble(f"{request_id} goes on", goes_on, status=INTERRUPTED) from None
    _show(request_id, outcome, whole=whole)


def _show(request_id: str, outcome: bytes, *, whole: bool) -> None:
    members = _members(outcome)
    status = msgspec.json.decode(members["status"])
    if whole:
        _print(outcome)
    elif status == "success":
        _print(bytes(members.get("answers", members["result"])))
    if status == "success":
        return
    said = msgspec.json.decode(members["error_text"])
    raise Trouble(f"{request_id} {WORDS.get(status, status)}{': ' + said if said else ''}")


WORDS: Final[dict[str, str]] = {
    "failed": "failed",
    "error": "ended with an error",
    "cancelled": "was cancelled",
    "expired": "was not done in time",
}


def _print(text: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()
