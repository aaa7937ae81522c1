"""Answers of the plan dialect as bytes, in two forms: as the protocol document has them, and the published clients."""

from __future__ import annotations

from collections.abc import Iterable
from json.encoder import encode_basestring as quoted
from typing import Any, Final, Protocol

import msgspec

from hiringhall.domain.lifecycle import State
from hiringhall.domain.plan import PRIORITY_NAMES
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import CUT_MARKER, Conflict
from hiringhall.ports.asks import TaskView
from hiringhall.ports.questions import PlanView
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Reply
from hiringhall.wire.plans.vocabulary import detail_of
from hiringhall.wire.statuses import status_of

Headers = tuple[tuple[bytes, bytes], ...]

DESCRIPTION_CHARACTERS_MAX: Final = 8192
NAME_CHARACTERS_MAX: Final = 256
"""What the published clients accept."""
FINISHED_BY: Final[dict[bool, tuple[bytes, bytes]]] = {
    True: (b"hall-finished-by", b"self"),
    False: (b"hall-finished-by", b"other"),
}
PRIORITY: Final[tuple[str, ...]] = tuple(f',"priority":"{name}",' for name in PRIORITY_NAMES)
STATUS: Final[dict[tuple[State, bool], str]] = {
    (state, started): f',"status":"{status_of(state, started=started)}","version":'
    for state in State
    for started in (True, False)
}


class Codec(Protocol):
    """One form of the dialect."""

    reason_is_required_on_release: bool
    may_name_more: bool
    """Whether requests may carry more than the first version knows: `wait`, `max_tasks`, `plan_id`, `Prefer`."""
    tells_interval: bool
    """Whether workers are told how far apart their heartbeats may be."""

    def task(self, task: TaskView) -> str:
        """A task as a JSON object."""

    def claimed(self, tasks: tuple[TaskView, ...], *, several: bool) -> bytes:
        """The answer to a claim."""

    def refusal(self, refused: Refused, headers: Headers) -> Reply:
        """The envelope of a refusal."""


def settled(codec: Codec, task: TaskView) -> bytes:
    """The answer to a settle."""
    return ('{"task":' + codec.task(task) + "}").encode()


def settled_with_next(codec: Codec, task: TaskView, following: TaskView | None) -> bytes:
    """The answer to a settle that asked for the next task too."""
    return (
        '{"task":' + codec.task(task) + ',"next":' + ("null" if following is None else codec.task(following)) + "}"
    ).encode()


class DocumentCodec:
    """As the protocol document has it, at the root of the server."""

    reason_is_required_on_release = False
    may_name_more = True
    tells_interval = True

    def task(self, task: TaskView) -> str:
        return (
            f'{{"id":{quoted(task.task_id)},"plan_id":{quoted(task.plan)}'
            f"{STATUS[task.state, task.started]}{task.version}"
            f"{PRIORITY[task.priority]}{task.detail}}}"
        )

    def claimed(self, tasks: tuple[TaskView, ...], *, several: bool) -> bytes:
        if several:
            return ('{"tasks":[' + ",".join(map(self.task, tasks)) + "]}").encode()
        return ('{"task":' + self.task(tasks[0]) + "}").encode()

    def refusal(self, refused: Refused, headers: Headers) -> Reply:
        return refusal(refused.code, refused.detail, task_id=refused.task_id, headers=headers, **refused.extra)


class PublishedCodec:
    """As the published 4.x clients have it: no plan in a task, `error` in envelopes, nothing that they do not know."""

    reason_is_required_on_release = True
    may_name_more = False
    tells_interval = False

    def task(self, task: TaskView) -> str:
        detail = task.detail
        if len(detail) > DESCRIPTION_CHARACTERS_MAX:
            detail = _with_short_description(detail)
        status = STATUS[task.state, task.started]
        return f'{{"id":{quoted(task.task_id)}{status}{task.version}{PRIORITY[task.priority]}{detail}}}'

    def claimed(self, tasks: tuple[TaskView, ...], *, several: bool) -> bytes:
        assert not several, "the published clients cannot ask for several"
        return ('{"task":' + self.task(tasks[0]) + ',"plan":null}').encode()

    def refusal(self, refused: Refused, headers: Headers) -> Reply:
        reply = refusal(refused.code, refused.detail, task_id=refused.task_id, headers=headers, **refused.extra)
        return reply._replace(body=reply.body.replace(b'{"error_code":', b'{"error":', 1))


def _with_short_description(detail: str) -> str:
    members: dict[str, msgspec.Raw] = msgspec.json.decode("{" + detail + "}", type=dict[str, msgspec.Raw])
    description = msgspec.json.decode(members["description"])
    if len(description) <= DESCRIPTION_CHARACTERS_MAX:
        return detail
    members["description"] = msgspec.Raw(msgspec.json.encode(_cut(description, DESCRIPTION_CHARACTERS_MAX)))
    return msgspec.json.encode(members).decode()[1:-1]


def _cut(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else text[: characters_max - len(CUT_MARKER)] + CUT_MARKER


def conflict_of(conflict: Conflict) -> Refused:
    """A conflict as the refusal that tells the worker what the task is now."""
    status = None if conflict.actual_state is None else status_of(conflict.actual_state, started=conflict.started)
    extra: dict[str, Any] = {
        "expected_version": conflict.expected_version,
        "actual_version": conflict.actual_version,
        "actual_status": status,
    }
    return Refused("version_conflict", detail_of(conflict), conflict.task_id, extra)


def plan_in_full(plan: PlanView, tasks: Iterable[str]) -> bytes:
    """A plan with its tasks, for its workers: the published clients ask for it."""
    return f'{{{_plan(plan)},"tasks":[{",".join(tasks)}]}}'.encode()


def plan_in_brief(plan: PlanView) -> bytes:
    """A plan as anybody may see it."""
    return f"{{{_plan(plan)}}}".encode()


def _plan(plan: PlanView) -> str:
    return f'"id":{quoted(plan.id)},"name":{quoted(_cut(plan.name, NAME_CHARACTERS_MAX) or plan.id)}'


def trace_of(task: TaskView) -> Headers:
    """The trace context of the request that applied the task's plan, for the worker to go on with."""
    traceparent = task.traceparent
    return () if traceparent is None else ((b"traceparent", traceparent.encode()),)
