"""The pages about the wire that are made from the code: all routes, and the limits."""

from __future__ import annotations

from typing import Final

from hiringhall.asgi.bodies import FREE_BYTES
from hiringhall.asgi.front_settings import MEBIBYTE, FrontSettings
from hiringhall.auth.attempts import FAILURES_MAX
from hiringhall.auth.verifier import WAITING_MAX, WAITING_OF_A_SOURCE_MAX
from hiringhall.domain.call import (
    CHILDREN_MAX,
    DEADLINE_SECONDS_MAX,
    DEADLINE_SECONDS_MIN,
    FEEDBACK_KEPT_MAX,
    LANES_MAX,
    MESSAGE_BYTES_MAX,
    MESSAGES_MAX,
    PRIORITY_MAX,
    RETRIES_MAX,
)
from hiringhall.domain.names import HOSTNAME_CHARACTERS_MAX, IDENTIFIER_CHARACTERS_MAX
from hiringhall.domain.owners import (
    PATTERN_CHARACTERS_MAX,
    PATTERNS_MAX,
    SECRET_CHARACTERS_MAX,
    SETTINGS_MAX,
    VALUE_CHARACTERS_MAX,
)
from hiringhall.domain.plan_file import TASKS_MAX
from hiringhall.domain.work import REASON_CHARACTERS_MAX, VERSION_MAX
from hiringhall.operations.claim import MAX_TASKS_LIMIT
from hiringhall.operations.coalescer import BATCH_ASKS_MAX
from hiringhall.wire.clients.bodies import REQUIRED_MAX
from hiringhall.wire.described import Described
from hiringhall.wire.json_bodies import NESTING_MAX, WAIT_SECONDS_MAX
from hiringhall.wire.openapi import ALL
from hiringhall.wire.operators.parameters import BODY_BYTES_MAX as OPERATORS_BODY_BYTES_MAX
from hiringhall.wire.operators.parameters import PAGE_LIMIT_MAX
from hiringhall.wire.operators.plan_page import TASKS_LIMIT_MAX
from hiringhall.wire.operators.plans import PLAN_FILE_BYTES_MAX
from hiringhall.wire.services.bodies import ABILITIES_MAX, METHODS_MAX
from hiringhall.wire.services.feedback_bodies import CONTENT_BYTES_MAX, SOURCE_CHARACTERS_MAX, TYPE_CHARACTERS_MAX
from hiringhall.wire.table_router import BODY_BYTES_MAX

FRONT: Final = FrontSettings()
TOKENS: Final = {None: "none", "operator": "operator", "metrics": "operator or metrics", "worker": "worker",
                 "bootstrap": "bootstrap", "client": "client or operator",
                 "service_worker": "service worker"}  # fmt: skip


def routes_page() -> str:
    """Every route of the hall."""
    lines = [
        "# All routes",
        "",
        "Made from the descriptions of the routes by `python docs/generate.py`. `GET /openapi.json` says the same for",
        "tools, with every member of every body. The published clients' routes stand on the [page of the protocol of",
        "plan workers](plans.md).",
        "",
        "Parts in braces are identifiers, each percent-encoded by itself. Lists come in pages: `next` of an answer is",
        "the `after` of the next request. Times are RFC 3339, UTC, to the millisecond. Operators' routes refuse",
        "parameters that they do not know.",
        "",
    ]
    tags = dict.fromkeys(tag for route in ALL for tag in route.tags)
    for tag in tags:
        lines += [f"## {tag[:1].upper()}{tag[1:]}", "", "| method | path | token | does | parameters |"]
        lines += ["| --- | --- | --- | --- | --- |", *(_route_row(route) for route in ALL if tag in route.tags), ""]
    return "\n".join(lines).rstrip() + "\n"


def _route_row(route: Described) -> str:
    parameters = ", ".join(f"`{parameter.name}`" for parameter in route.parameters)
    return f"| `{route.method}` | `{route.path}` | {TOKENS[route.access]} | {route.summary} | {parameters} |"


def _limits_of_calls() -> list[tuple[str, str, str]]:
    return [
        ("messages in one drain", f"{MESSAGES_MAX}, {_size(MESSAGE_BYTES_MAX)}", "the next drain"),
        ("`deadline_seconds` of a call", f"{DEADLINE_SECONDS_MAX:.0f} s, at least {DEADLINE_SECONDS_MIN:g} s", "422"),
        ("`priority` of a call", f"{PRIORITY_MAX}, at least -{PRIORITY_MAX}", "422"),
        ("`retries` of a call", str(RETRIES_MAX), "422"),
        ("executors and tags that a call requires", f"{REQUIRED_MAX} each", "422"),
        ("workers that a broadcast reaches", str(CHILDREN_MAX), "422"),
        (
            "combinations of method, dispatch and requirements of a service's calls that are kept, or of the last hour",
            f"{LANES_MAX}",
            "429 with `Retry-After`",
        ),
        ("calls of a service that wait for a worker", "`HALL_QUEUE_LIMIT`, not exactly", "429 with `Retry-After`"),
        ("content of an item of feedback", _size(CONTENT_BYTES_MAX), "422"),
        ("items of feedback that are kept of a call", str(FEEDBACK_KEPT_MAX), "the oldest go"),
        ("methods of a worker", str(METHODS_MAX), "422"),
        ("executors, and tags, of a worker", str(ABILITIES_MAX), "422"),
        (
            "source name (`sn`) and type (`ft`) of feedback",
            f"{SOURCE_CHARACTERS_MAX}, {TYPE_CHARACTERS_MAX} characters",
            "422",
        ),
    ]


def limits_page() -> str:
    """Every limit with its unit."""
    rows: list[tuple[str, str, str]] = [
        (
            "body of a worker's or a client's request",
            _size(BODY_BYTES_MAX),
            "413; read and dropped up to 8 MiB, then cut off",
        ),
        ("body of an operator's request", _size(OPERATORS_BODY_BYTES_MAX), "413"),
        ("plan file", f"{_size(PLAN_FILE_BYTES_MAX)}, {TASKS_MAX} tasks", "413, 422"),
        ("nesting of a body", f"{NESTING_MAX} levels", "400 `malformed_json`"),
        ("identifier of a plan, task or worker", f"{IDENTIFIER_CHARACTERS_MAX} characters", "422"),
        ("secret of a service or client", f"{SECRET_CHARACTERS_MAX} characters", "422"),
        ("settings of a service in one request", f"{SETTINGS_MAX}, {VALUE_CHARACTERS_MAX} characters each", "422"),
        ("patterns of a client", f"{PATTERNS_MAX}, {PATTERN_CHARACTERS_MAX} characters each", "422"),
        ("wrong secrets for one service or client from one address", f"{FAILURES_MAX} a minute", "429"),
        ("chosen secrets that wait to be checked", f"{WAITING_MAX}, {WAITING_OF_A_SOURCE_MAX} of an address", "503"),
        ("hostname", f"{HOSTNAME_CHARACTERS_MAX} characters", "422"),
        ("reason", f"{REASON_CHARACTERS_MAX} characters", "cut, with a mark at its end"),
        ("version", str(VERSION_MAX), "422"),
        ("`wait` of a claim, a drain or a call", f"{WAIT_SECONDS_MAX:g} s", "clamped"),
        ("`max_tasks` of a claim", str(MAX_TASKS_LIMIT), "422"),
        *_limits_of_calls(),
        ("`limit` of a list", str(PAGE_LIMIT_MAX), "422"),
        ("`limit` of the tasks of a plan", str(TASKS_LIMIT_MAX), "422"),
        ("request line", _size(FRONT.request_line_limit_bytes), "400 `malformed_request`"),
        ("all headers", _size(FRONT.head_limit_bytes), "400 `malformed_request`"),
        ("time until the headers are complete", f"{FRONT.head_timeout_seconds:g} s", "the connection is closed"),
        ("time in which nothing of a body comes", f"{FRONT.body_timeout_seconds:g} s", "the connection is closed"),
        ("time without a request", f"{FRONT.keep_alive_seconds:g} s", "the connection is closed"),
        ("time in which a peer takes nothing", f"{FRONT.full_timeout_seconds:g} s", "the connection is cut off"),
        ("time in which a peer acknowledges nothing", f"{FRONT.user_timeout_seconds:g} s", "the connection is reset"),
        ("connections", "the limit of open files, less 256", "503 with `Retry-After`"),
        (
            f"memory of all bodies above {_size(FREE_BYTES)} that are being received",
            "`HALL_BODIES_LIMIT`",
            "503 with `Retry-After`, and the connection is closed",
        ),
        (
            f"bodies above {_size(FREE_BYTES)} without the token that their path needs",
            "none",
            "401 before the body is there, and the connection is closed",
        ),
        ("requests that wait for the database", "`HALL_WAITING_LIMIT`", "503 with `Retry-After`"),
        ("asks in one batch", str(BATCH_ASKS_MAX), "the next batch"),
    ]
    lines = [
        "# Limits",
        "",
        "Made from the code by `python docs/generate.py`. At its start the server raises its limit of open files as",
        "far as the system lets it.",
        "",
        "| what | at most | beyond it |",
        "| --- | --- | --- |",
        *(f"| {what} | {most} | {beyond} |" for what, most, beyond in rows),
    ]
    return "\n".join(lines) + "\n"


def _size(count: int) -> str:
    return f"{count // MEBIBYTE} MiB" if count >= MEBIBYTE else f"{count // 1024} KiB"
