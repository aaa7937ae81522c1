"""`POST /tasks/{task_id}/complete`, `fail` and `release`."""

from __future__ import annotations

from hashlib import sha256
from typing import ClassVar

from hiringhall.domain.lifecycle import Move
from hiringhall.domain.names import plan_worker
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Conflict
from hiringhall.operations.settle import Settling, take_next
from hiringhall.ports.asks import TaskView
from hiringhall.wire.exchange import Reply
from hiringhall.wire.hot_call import NO_HEADERS, part
from hiringhall.wire.json_bodies import complaint_about_id, invalid
from hiringhall.wire.plans.bodies import SettleBody, settle_decoder, version_of
from hiringhall.wire.plans.call import WorkerCall
from hiringhall.wire.plans.codec import FINISHED_BY, conflict_of, settled, settled_with_next, trace_of


class SettleCall(WorkerCall):
    """A settle from its token to its answer."""

    __slots__ = ("_body", "_next_of", "_task", "_task_id", "_version")

    decoder = settle_decoder
    move: ClassVar[Move]

    def said(self, body: SettleBody) -> None:
        task_id = part(self.exchange.request.path.split(b"/")[-2], "task_id")
        version = version_of(body.version)
        if isinstance(task_id, Refused):
            self.refuse(task_id)
        elif isinstance(version, Refused):
            self.refuse(version)
        elif (complaint := self._complaint(body)) is not None:
            self.refuse(complaint)
        else:
            self._task_id, self._version, self._body = task_id, version, body
            self.identify(body.worker_id)

    def _complaint(self, body: SettleBody) -> Refused | None:
        if body.reason is None and self._needs_reason:
            return invalid("reason", "is required")
        if body.plan_id is not None and self.codec.may_name_more:
            return complaint_about_id("plan_id", body.plan_id)
        return None

    @property
    def _needs_reason(self) -> bool:
        return self.move is Move.FAIL or (self.move is Move.RELEASE and self.codec.reason_is_required_on_release)

    def identified(self) -> None:
        body, headers = self._body, self.headers
        plan = body.plan_id if self.codec.may_name_more else None
        self._next_of: str | None = None
        if plan is not None and self.known is not None and self.move is not Move.RELEASE:
            prefer = headers.get(b"prefer")
            if prefer is not None and b"next" in [word.strip() for word in prefer.lower().split(b",")]:
                self._next_of = plan
        key = headers.get(b"idempotency-key") or None  # an empty one is none
        Settling(self.hall, self, self.known).start(
            plan_worker(body.worker_id), self._task_id, self._version, self.move,
            plan=plan, reason=body.reason if self.move is not Move.COMPLETE else None, any_holder=self.shared,
            key=None if key is None else sha256(key).digest(),
            body=None if key is None else sha256(self.move.encode() + b"\0" + self.exchange.request.body).digest(),
        )  # fmt: skip

    def settled(self, task: TaskView) -> None:
        """It is as the worker said."""
        if self._next_of is None or self.known is None:
            self.exchange.answer(Reply(200, settled(self.codec, task), self.told()))
            return
        self._task = task
        limited = b"hall-holding" not in self.headers and self.known.open is None
        take_next(
            self.hall, self.known, self._next_of, limited=limited, is_there=self.is_there, done=self._answer_with_next
        )

    def _answer_with_next(self, following: TaskView | None) -> None:
        body = settled_with_next(self.codec, self._task, following)
        known = self.known
        if following is None or known is None:
            self.answer(body)
            return

        def lost() -> None:
            if known.open is not None:
                known.open.pop(following.work, None)
            self.hall.hand_back.lost((following,), known.key, repeatable=False)

        self.exchange.answer(Reply(200, body, self.told() + trace_of(following)), lost)

    def refused(self, outcome: Conflict | Refused) -> None:
        """It is not, and why."""
        if isinstance(outcome, Refused):
            self.refuse(outcome)
            return
        finished_by_self = outcome.finished_by_self
        headers = NO_HEADERS if finished_by_self is None else (FINISHED_BY[finished_by_self],)
        self.refuse(conflict_of(outcome), headers)


class CompleteCall(SettleCall):
    """ "Terminal: → DONE" """

    __slots__ = ()
    move = Move.COMPLETE


class FailCall(SettleCall):
    """ "Terminal: → FAILED" """

    __slots__ = ()
    move = Move.FAIL


class ReleaseCall(SettleCall):
    """ "Graceful shutdown: → PENDING" """

    __slots__ = ()
    move = Move.RELEASE
