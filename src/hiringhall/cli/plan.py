"""`hall plan …`: apply a plan file, look at plans, steer them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hiringhall.cli.connection import (
    Connection,
    DataOption,
    JsonOption,
    Refusal,
    ServerOption,
    TokenOption,
    plan_path,
)
from hiringhall.cli.output import print_columns, print_json, visible
from hiringhall.cli.trouble import Trouble
from hiringhall.cli.watch import watch

app: Final = typer.Typer(help="Apply plan files, look at plans, steer them.", no_args_is_help=True)

PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="The id of the plan.")]
COUNTS: Final = ("done", "skipped", "failed", "held", "ready", "waiting", "total")


@app.command("apply")
def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The plan file, JSON; - reads standard input.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove pending tasks that the file does not have.")] = False,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Store a plan file, all or nothing; the same file again changes nothing."""
    from rich.console import Console

    body = _read_file(file)
    plan = _plan_of(body, file)
    with Connection(server, token, data) as connection:
        status = Console(stderr=True).status(f"applying {visible(plan)} ({len(body) / 1024:,.0f} KiB) …")
        with status:
            try:
                query = {"prune": "true"} if prune else {}
                answer = connection.call("PUT", plan_path(plan), content=body, params=query)
            except Refusal as refusal:
                status.stop()
                raise _problems_of(refusal, file) from None
    for warning in answer["warnings"]:
        print(f"hall: warning: {visible(warning)}", file=sys.stderr)
    if as_json:
        print_json(answer)
        return
    parts = ", ".join(f"{answer[name]} {name}" for name in ("added", "changed", "unchanged", "pruned"))
    print(f"{visible(plan)}: {parts}")


def _read_file(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise Trouble(f"{file}: {problem.strerror or problem}") from None


def _plan_of(body: bytes, file: str) -> str:
    """The id in the file; everything else about it is for the server to judge."""
    try:
        document = json.loads(body)
    except json.JSONDecodeError as wrong:
        raise Trouble(f"{file} is not JSON: {wrong.msg} (line {wrong.lineno}, column {wrong.colno})") from None
    except (UnicodeDecodeError, RecursionError) as wrong:
        raise Trouble(f"{file} is not JSON: {wrong}") from None
    plan = (document.get("plan_id") or document.get("id")) if isinstance(document, dict) else None
    if not isinstance(plan, str):
        raise Trouble(f"{file}: plan_id is missing: a plan file is an object with plan_id and tasks")
    return plan


def _problems_of(refusal: Refusal, file: str) -> Trouble:
    problems: list[dict[str, Any]] = refusal.envelope.get("problems") or []
    if not problems:
        return refusal
    count = f"{len(problems)} problem" + ("s" if len(problems) > 1 else "")
    return Trouble(f"{file}: {count}; nothing was applied", *(f"{p['field']}: {p['reason']}" for p in problems))


@app.command("show")
def show(
    plan: PlanArgument,
    watched: Annotated[
        bool, typer.Option("--watch", help="Follow it until it is finished or blocked; status 0: all done or skipped.")
    ] = False,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only these, comma-separated.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=50_000, help="How many tasks.")] = 1_000,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Show a plan and its tasks."""
    with Connection(server, token, data) as connection:
        if watched:
            raise typer.Exit(watch(connection, plan, as_json=as_json))
        wanted = {"limit": str(limit), **({"status": status} if status else {})}
        shown = connection.call("GET", plan_path(plan), params=wanted)["plan"]
    if as_json:
        print_json(shown)
        return
    _print_heading(shown)
    rows = [
        (task["id"], task["status"], task["priority"], task["version"], _remark(task), task["description"][:60])
        for task in shown["tasks"]
    ]
    if rows:
        print_columns(("TASK", "STATUS", "PRIORITY", "VERSION", "", "DESCRIPTION"), rows)
    if shown["next"] is not None:
        print(f"hall: these are the first {limit}; --limit N shows more", file=sys.stderr)


def _print_heading(plan: dict[str, Any]) -> None:
    counts = ", ".join(f"{plan['counts'][name]} {name}" for name in COUNTS if plan["counts"][name] or name == "total")
    name = "" if plan["name"] == plan["id"] else f" ({visible(plan['name'])})"
    print(f"{plan['id']}{name}: {plan['state']}; {counts}")


def _remark(task: dict[str, Any]) -> str:
    if task["blocked_by"] is not None:
        return f"blocked by {task['blocked_by']}"
    if task["worker_id"] is not None:
        return f"at {task['worker_id']}"
    if task["retry_at"] is not None:
        return f"again at {task['retry_at']}"
    return f"waits for {task['waiting_on']}" if task["status"] == "PENDING" and task["waiting_on"] else ""


@app.command("list")
def list_plans(
    as_json: JsonOption = False, server: ServerOption = None, token: TokenOption = None, data: DataOption = None
) -> None:
    """List all plans and how far each is."""
    with Connection(server, token, data) as connection:
        plans = pages(connection, "/admin/plans", "plans")
    if as_json:
        print_json(plans)
        return
    rows = [(plan["id"], plan["state"], *(plan["counts"][name] for name in COUNTS), plan["name"]) for plan in plans]
    print_columns(("PLAN", "STATE", *(name.upper() for name in COUNTS), "NAME"), rows)


def pages(connection: Connection, path: str, member: str, **query: str) -> list[dict[str, Any]]:
    """All entries of a list that the server gives in pages; `query` says which."""
    entries: list[dict[str, Any]] = []
    following = None
    while True:
        wanted = {**query, "limit": "1000", **({"after": following} if following is not None else {})}
        page = connection.call("GET", path, params=wanted)
        entries += page[member]
        following = page["next"]
        if following is None:
            return entries


@app.command("pause")
def pause(plan: PlanArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None) -> None:
    """Hand out no more tasks of a plan; what is held stays held."""
    with Connection(server, token, data) as connection:
        connection.call("POST", plan_path(plan) + "/pause")
    print(f"{visible(plan)}: paused")


@app.command("resume")
def resume(plan: PlanArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None) -> None:
    """Hand out the tasks of a plan again."""
    with Connection(server, token, data) as connection:
        connection.call("POST", plan_path(plan) + "/resume")
    print(f"{visible(plan)}: resumed")


@app.command("retry")
def retry(plan: PlanArgument, server: ServerOption = None, token: TokenOption = None, data: DataOption = None) -> None:
    """Retry every failed task of a plan."""
    with Connection(server, token, data) as connection:
        retried = connection.call("POST", plan_path(plan) + "/retry")["retried"]
    print(f"{visible(plan)}: {retried} task{'' if retried == 1 else 's'} to be tried again")


@app.command("delete")
def delete(
    plan: PlanArgument,
    force: Annotated[bool, typer.Option("--force", help="Even if workers hold tasks of it.")] = False,
    server: ServerOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Delete a plan with all its tasks."""
    with Connection(server, token, data) as connection:
        try:
            connection.call("DELETE", plan_path(plan), params={"force": "true"} if force else {})
        except Refusal as refusal:
            if refusal.envelope["error_code"] == "in_use":
                raise Trouble(*refusal.lines, "--force deletes it nevertheless; its workers are told to stop") from None
            raise
    print(f"{visible(plan)}: deleted")
