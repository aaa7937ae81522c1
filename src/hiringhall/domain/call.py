"""Service calls: what a call requires of a worker, what a worker can do, and how calls are shared out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from math import ceil
from typing import Final

import msgspec

from hiringhall.domain.retry import Policy

DEADLINE_SECONDS_DEFAULT: Final = 86_400.0
DEADLINE_SECONDS_MIN: Final = 1.0
DEADLINE_SECONDS_MAX: Final = 30 * 86_400.0
RETRIES_MAX: Final = 10
PRIORITY_MAX: Final = 100
CHILDREN_MAX: Final = 1_000
MESSAGES_MAX: Final = 100
MESSAGE_BYTES_MAX: Final = 8 * 1024 * 1024
READY_COUNTED_MAX: Final = 1_000
LANES_MAX: Final = 1_000
"""So many lanes of calls a service may have: each new one is compared with every worker, and the other way round."""
LANES_KEPT_MS: Final = 3_600_000
"""For so long at least a lane is kept although no call is in it."""
FEEDBACK_KEPT_MAX: Final = 10_000
PASSING_FEEDBACK_MS: Final = 60_000
"""For so long feedback is kept that need not persist."""
INEXACT: Final = 1e-6
"""A sum of parts may be more than it should be by less than this, as the lanes come in one order or another."""
OTHERS_FIRST_MS: Final = 5_000
"""For so long after an error a retried call is kept for other workers than the one that reported it."""


class Dispatch(StrEnum):
    """Who gets a call."""

    EXCLUSIVE = "exclusive"  # one worker, which owns it from the start
    RACE = "race"  # offered to all, owned by the first that locks it
    BROADCAST = "broadcast"  # each worker gets a child of its own


class Answer(StrEnum):
    """How a call ended, in the words of the wire."""

    SUCCESS = "success"
    FAILED = "failed"  # the method ran and refused
    ERROR = "error"  # on the worker's side: unknown method, invalid parameters, a crash
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Requires(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call asks of the worker beyond its method. Members left out ask for nothing."""

    platform: str | None = None
    executors: tuple[str, ...] = ()
    interactive_desktop: bool = False
    browser_runtime: bool = False
    tags: tuple[tuple[str, str], ...] = ()  # sorted


NOTHING_REQUIRED: Final = Requires()


class Capabilities(msgspec.Struct, frozen=True):
    """What a worker registered that it can do."""

    methods: tuple[str, ...] = ()
    platform: str | None = None
    executors: tuple[str, ...] = ()
    interactive_desktop: bool = False
    browser_runtime: bool = False
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def concurrency(self) -> int | None:
        """How many calls it works on at a time, if its tags say so."""
        for name, value in self.tags:
            if name == "concurrency" and value.isascii() and value.isdigit() and 0 < len(value) <= 9:
                return int(value) or None
        return None


def is_eligible(capabilities: Capabilities, method: str, requires: Requires) -> bool:
    """Whether a worker may be given calls of the method: "registered the method, and platform, executors, desktop,
    browser and tags satisfy the call's `requires`"."""
    if method not in capabilities.methods:
        return False
    if requires.platform is not None and requires.platform != capabilities.platform:
        return False
    if not set(requires.executors) <= set(capabilities.executors):
        return False
    if requires.interactive_desktop and not capabilities.interactive_desktop:
        return False
    if requires.browser_runtime and not capabilities.browser_runtime:
        return False
    return set(requires.tags) <= set(capabilities.tags)


def requires_text(requires: Requires) -> str:
    """The stored form of requirements: equal requirements have equal texts; none is the empty text."""
    if requires == NOTHING_REQUIRED:
        return ""
    members = msgspec.to_builtins(
        msgspec.structs.replace(
            requires, executors=tuple(sorted(set(requires.executors))), tags=tuple(sorted(set(requires.tags)))
        )
    )
    return json.dumps(members, separators=(",", ":"), sort_keys=True)


def requires_from(text: str) -> Requires:
    """Requirements from their stored form."""
    return msgspec.json.decode(text, type=Requires) if text else NOTHING_REQUIRED


@lru_cache(maxsize=4_096)
def call_lane(service: str, method: str, dispatch: Dispatch, requires: Requires) -> str:
    """The key of the lane from which such calls are taken."""
    parts = [service, method, dispatch.value, requires_text(requires)]
    return "call:" + json.dumps(parts, separators=(",", ":"))


@lru_cache(maxsize=4_096)
def parts_of_lane(key: str) -> tuple[str, str, Dispatch] | None:
    """The service, the method and the dispatch of the calls in a lane, by its key; None if it is no lane of calls."""
    if not key.startswith("call:"):
        return None
    service, method, dispatch, _ = json.loads(key[len("call:") :])
    return service, method, Dispatch(dispatch)


def worker_lane(worker: str) -> str:
    """The key of a worker's own lane, in which the children of broadcasts wait for it."""
    return f"worker:{worker}"


def share(lanes: Iterable[tuple[int, int]], *, limit: int) -> int:
    """How many messages a drain may take: of each of its lanes its part, (ready, live eligible workers) each, at least
    one in all and at most `limit`. A lone worker gets everything."""
    part = sum(ready / max(1, live) for ready, live in lanes)
    return min(limit, max(1, ceil(part - INEXACT)))


@lru_cache(maxsize=1_024)
def policy_for(retries: int, run_limit_ms: int | None) -> Policy:
    """What happens to a call whose worker reports an error, or is lost."""
    return Policy(max_attempts=retries + 1, run_limit_ms=run_limit_ms)


def gathered(parts: Iterable[tuple[str, Answer, bytes | None, str | None]]) -> bytes:
    """The result of a broadcast, from the worker id, status, result and error text of each of its children."""
    answers = [
        b'{"worker_id":%b,"status":"%b","result":%b,"error_text":%b}'
        % (
            _json(worker_id),
            answer.value.encode(),
            b"null" if result is None else result,
            b"null" if error_text is None else _json(error_text),
        )
        for worker_id, answer, result, error_text in parts
    ]
    return b'{"answers":[%b]}' % b",".join(answers)


def _json(text: str) -> bytes:
    return json.dumps(text).encode()
