"""The identifiers that travel on the wire: what is allowed in one, and how a pair of them is written in a header."""

from __future__ import annotations

from typing import Final, NewType
from urllib.parse import quote, unquote

WorkerKey = NewType("WorkerKey", str)

IDENTIFIER_CHARACTERS_MAX: Final = 256
HOSTNAME_CHARACTERS_MAX: Final = 256
PLAN_WORKER: Final = "plan:"
SERVICE_WORKER: Final = "service:"


def complaint_about(identifier: str) -> str | None:
    """Why `identifier` cannot name a plan, task or worker; None if it can.

    Any text of 1..256 characters without control characters, except `.` and `..`.
    """
    if not identifier:
        return "must not be empty"
    if len(identifier) > IDENTIFIER_CHARACTERS_MAX:
        return f"must have at most {IDENTIFIER_CHARACTERS_MAX} characters"
    if identifier in (".", ".."):
        return "must not be '.' or '..'"
    if not identifier.isprintable() and any(
        ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in identifier
    ):
        return "must not contain control characters or lone surrogates"
    return None


def plan_worker(worker_id: str) -> WorkerKey:
    """The key of a plan worker among all workers of the hall."""
    return WorkerKey(PLAN_WORKER + worker_id)


def service_worker(service: str, worker_id: str) -> WorkerKey:
    """The key of a service worker among all workers of the hall: "A worker is (service, worker id) everywhere"."""
    return WorkerKey(SERVICE_WORKER + unit_path(service, worker_id))


def service_of(key: str) -> str | None:
    """The service of a service worker, by its key; None for a plan worker."""
    if not key.startswith(SERVICE_WORKER):
        return None
    return unquote(key[len(SERVICE_WORKER) :].partition("/")[0])


def worker_id_of(key: str) -> str:
    """The id by which the worker calls itself."""
    if key.startswith(SERVICE_WORKER):
        return unquote(key.partition("/")[2])
    return key.partition(":")[2]


def unit_path(plan: str, task: str) -> str:
    """`PLAN/TASK`, each part percent-encoded by itself."""
    return f"{quote(plan, safe='')}/{quote(task, safe='')}"


def call_name(request_id: str) -> tuple[str, str, int]:
    """A call as a worker names it among what it holds, beside the plan, task and version of tasks."""
    return ("", request_id, 0)


def parse_holding(header: str) -> frozenset[tuple[str, str, int]]:
    """The units named by a `Hall-Holding` header: (plan, task, version), for a call ("", request id, 0). Entries of any
    other form are left out.

    "request ids or PLAN/TASK@version, PLAN and TASK percent-encoded each by itself and then joined; comma-separated,
    may be empty"
    """
    found = set()
    for entry in header.split(","):
        path, at, version = entry.strip().rpartition("@")
        plan, slash, task = path.partition("/")
        if at and slash and version.isdigit():
            found.add((unquote(plan), unquote(task), int(version)))
        elif version and not at and "/" not in version:
            found.add(call_name(unquote(version)))
    return frozenset(found)
