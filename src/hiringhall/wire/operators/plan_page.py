"""One plan with its tasks, streamed in pages so that a large plan is never in memory as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hiringhall.domain.lifecycle import State
from hiringhall.operations.hall import Hall
from hiringhall.ports.questions import FindTasks, ListTasks, TaskRow
from hiringhall.wire.operators.answers import NO_STORE, encode, json_answer
from hiringhall.wire.operators.parameters import Query, invalid, path_id
from hiringhall.wire.operators.plans import found_plan
from hiringhall.wire.operators.structs import PlanSummaryAnswer
from hiringhall.wire.operators.vocabulary import plan_summary, task_of_row
from hiringhall.wire.statuses import STATUSES, status_of

PAGE_TASKS: Final = 500
TASKS_LIMIT_MAX: Final = 50_000


@dataclass(slots=True)
class Wanted:
    """Which tasks of a plan are asked for."""

    plan_id: str
    after: tuple[int, int] = (-1, 0)  # the place in the plan of the last task that is not wanted any more
    limit: int | None = None
    statuses: frozenset[str] = field(default_factory=frozenset)

    @property
    def states(self) -> tuple[State, ...]:
        """The states in which such tasks can be."""
        return tuple(dict.fromkeys(state for status in sorted(self.statuses) for state in STATUSES[status]))

    def has(self, row: TaskRow) -> bool:
        """Whether this one is wanted."""
        return not self.statuses or status_of(row.view.state, started=row.view.started) in self.statuses


async def show_plan(hall: Hall, request: Request) -> Response:
    """A plan, how far it is, and (unless only its summary is wanted) its tasks in plan order."""
    wanted = Wanted(path_id(request, "plan_id"))
    query = Query(request, ("limit", "after", "status", "summary"))
    wanted.limit = query.limit(None, TASKS_LIMIT_MAX)
    wanted.statuses = _statuses(query)
    after = query.identifier("after")
    summary_only = query.yes("summary")
    summary = plan_summary(await found_plan(hall, wanted.plan_id))
    if summary_only:
        return json_answer(PlanSummaryAnswer(summary))
    if after is not None:
        wanted.after = await _place_of(hall, wanted.plan_id, after)
    pages = _pages(hall, wanted)
    first = await anext(pages)  # a database that is away is told before the answer starts
    head = b'{"plan":' + encode(summary)[:-1] + b',"tasks":['
    return StreamingResponse(_text(head, first, pages, wanted.limit), 200, NO_STORE, "application/json")


def _statuses(query: Query) -> frozenset[str]:
    statuses = frozenset(status.strip().upper() for status in query.texts("status"))
    if not statuses <= STATUSES.keys():
        raise invalid("status", f"must be one or more of {', '.join(STATUSES)}, comma-separated")
    return statuses


async def _place_of(hall: Hall, plan_id: str, task_id: str) -> tuple[int, int]:
    rows: list[TaskRow] = await hall.store.read(FindTasks(task_id, plan_id))
    if not rows:
        raise invalid("after", "must be the id of a task of this plan")
    return rows[0].seq, rows[0].view.work


async def _pages(hall: Hall, wanted: Wanted) -> AsyncIterator[list[TaskRow]]:
    """The tasks wanted and one more, if there is one: it tells that the list goes on. At least one page comes."""
    missing = None if wanted.limit is None else wanted.limit + 1
    after = wanted.after
    while True:
        size = PAGE_TASKS if missing is None else min(PAGE_TASKS, missing)
        rows: list[TaskRow] = await hall.store.read(ListTasks(wanted.plan_id, after, size, wanted.states))
        yield [row for row in rows if wanted.has(row)][:missing]
        if missing is not None:
            missing -= min(missing, sum(1 for row in rows if wanted.has(row)))
        if len(rows) < size or missing == 0:
            return
        after = (rows[-1].seq, rows[-1].view.work)


async def _text(
    head: bytes, page: list[TaskRow], pages: AsyncIterator[list[TaskRow]], limit: int | None
) -> AsyncIterator[bytes]:
    """The rest of the answer; `next` is the last task shown if there are more, to be given as `after`."""
    yield head
    shown = 0
    last: TaskRow | None = None
    following: str | None = None
    while True:
        if limit is not None and shown + len(page) > limit:
            page = page[: limit - shown]
            following = (page[-1] if page else last).view.task_id  # type: ignore[union-attr]
        if page:
            yield (b"," if shown else b"") + b",".join(bytes(task_of_row(row)) for row in page)
            shown += len(page)
            last = page[-1]
        found = await anext(pages, None)
        if found is None:
            break
        page = found
    yield b'],"next":' + encode(following) + b"}}"
