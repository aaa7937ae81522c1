"""What workers tell about calls while they are at them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

from hiringhall.domain.call import FEEDBACK_KEPT_MAX
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_request
from hiringhall.ports.calls import AddFeedback, Feedback, FeedbackRow, ReadFeedback
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.standing import Standing, find_standings


def add_feedback(context: Context, asks: Sequence[AddFeedback]) -> Procedure:
    """Write down every item about a call that its worker was handed and that has not ended; drop the others."""
    standings = yield from find_standings((ask.worker, ask.session) for ask in asks)
    heard = [ask for ask in asks if isinstance(standings[ask.worker, ask.session], Standing)]
    meant = yield from _find_meant(heard)
    numbers = yield from _number(heard, meant)
    rows: list[dict[str, Any]] = []
    outcomes: list[Any] = []
    for ask in asks:
        standing = standings[ask.worker, ask.session]
        if isinstance(standing, Refused):
            outcomes.append(standing)
            continue
        accepted = 0
        for item in ask.items:
            id_ = meant.get((ask.worker, ask.service, item.rid))
            if id_ is not None:
                accepted += 1
                numbers[id_] += 1
                rows.append(_row(id_, numbers[id_], item, ask.worker, context.now))
                context.ring(topic_of_request(item.rid))
        outcomes.append(accepted)
    if rows:
        yield Many("insert_feedback", rows)
        full = [
            {"work": id_, "number": last - FEEDBACK_KEPT_MAX}
            for id_, last in numbers.items()
            if last > FEEDBACK_KEPT_MAX
        ]
        if full:
            yield Many("delete_old_feedback", full)
    return outcomes


def _find_meant(asks: Sequence[AddFeedback]) -> Generator[Step, list[Row], dict[tuple[str, str, str], int]]:
    """The units of the calls that can be told about, by worker, service and request id."""
    named = sorted({(ask.worker, ask.service, item.rid) for ask in asks for item in ask.items})
    if not named:
        return {}
    rows = yield FetchMany(
        "find_told",
        [
            {"ordinal": place, "worker": worker, "service": service, "name": name}
            for place, (worker, service, name) in enumerate(named)
        ],
    )
    return {named[row[0]]: row[1] for row in rows}


def _number(
    asks: Sequence[AddFeedback], meant: dict[tuple[str, str, str], int]
) -> Generator[Step, list[Row], dict[int, int]]:
    """Raise the counters of the calls, which locks them; return the numbers before the first new item of each."""
    counts = Counter(
        meant[name] for ask in asks for item in ask.items if (name := (ask.worker, ask.service, item.rid)) in meant
    )
    if not counts:
        return {}
    rows = yield FetchMany("count_feedback", [{"work": id_, "n": counts[id_]} for id_ in sorted(counts)])
    return {id_: last - counts[id_] for id_, last in rows}


def _row(id_: int, number: int, item: Feedback, worker: str, now: int) -> dict[str, Any]:
    return {
        "work": id_, "number": number, "st": item.st, "sn": json.dumps(item.sn), "ft": item.ft, "pr": int(item.pr),
        "fc": item.fc, "worker": worker, "at": now,
    }  # fmt: skip


def read_feedback(_: Context, query: ReadFeedback) -> Procedure:
    """Stored feedback of a call, oldest first."""
    rows = yield Fetch("find_feedback", {"work": query.work, "after": query.after, "limit": query.limit})
    return [
        FeedbackRow(number, Feedback(rid, st, json.loads(sn), bytes(ft), bool(pr), bytes(fc)), at, worker)
        for number, rid, st, sn, ft, pr, fc, at, worker in rows
    ]
