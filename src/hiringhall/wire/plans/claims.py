"""`POST /tasks/claim`: "Long-polled task acquisition"."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from hiringhall.domain.refusals import Refused
from hiringhall.operations.claim import Claim
from hiringhall.operations.holding import holding
from hiringhall.operations.presence import Known
from hiringhall.operations.register import admit_on_the_fly
from hiringhall.ports.asks import TaskView
from hiringhall.wire.exchange import Reply
from hiringhall.wire.json_bodies import complaint_about_id, hold_of
from hiringhall.wire.plans.bodies import ClaimBody, claim_decoder, limit_of
from hiringhall.wire.plans.call import WorkerCall
from hiringhall.wire.plans.codec import trace_of

EMPTY: Final = Reply(204)
READ: Final[dict[bytes, bytes]] = {}
"""In place of headers that have been read."""
ASKED: Final = ClaimBody("", "")
"""In place of a body that has been read."""


class ClaimCall(WorkerCall):
    """A claim from its token to its answer."""

    __slots__ = ("_body", "_claim", "_hold", "_limit", "_several")

    decoder = claim_decoder

    def said(self, body: ClaimBody) -> None:
        complaint = complaint_about_id("plan_id", body.plan_id)
        if complaint is not None:
            self.refuse(complaint)
            return
        self._body = body
        self._several = False
        self._limit = 1
        self._hold = self.hall.settings.claim_hold
        if self.codec.may_name_more:
            hold = hold_of(body.wait, self._hold)
            limit = limit_of(body.max_tasks)
            if isinstance(hold, Refused) or isinstance(limit, Refused):
                self.refuse(hold if isinstance(hold, Refused) else limit)  # type: ignore[arg-type]
                return
            self._hold, self._limit, self._several = hold, limit, body.max_tasks is not None
        self.identify(body.worker_id)

    def identified(self) -> None:
        if self.known is None:
            admit_on_the_fly(self.hall, self._body.worker_id, self._registered)
        else:
            self._look(self.known)

    def _registered(self, known: Known | Exception | None) -> None:
        if known is None or isinstance(known, Exception):
            self.failed(known or RuntimeError("a worker that was just registered cannot be found"))
            return
        self.known = known
        self.hall.presence.seen(known, self.now)
        self._look(known)

    def _look(self, known: Known) -> None:
        headers = self.headers
        held = headers.get(b"hall-holding")
        if held is not None:
            holding(self.hall, known, held, self.now)
        key = headers.get(b"idempotency-key") or None  # an empty one is none
        claim = self._claim = Claim(
            self.hall, self, known, self._body.plan_id, self._hold,
            limit=self._limit, limited=held is None, key=None if key is None else self._hash_of(key),
        )  # fmt: skip
        self.exchange.when_gone = claim.gone
        self._let_go()
        claim.start(self.now)

    def _let_go(self) -> None:
        """Keep nothing of the request that is not needed any more: many claims are parked for long."""
        request = self.exchange.request
        request.headers, request.body = (), b""
        self.headers = READ
        self._body = ASKED

    def _hash_of(self, key: bytes) -> bytes:
        """The same key with a claim on another plan, or for another number of tasks, is another claim."""
        asked = f"{self._limit if self._several else 0} {self._body.plan_id}"
        return sha256(key + b"\0" + asked.encode()).digest()

    def handed(self, tasks: tuple[TaskView, ...]) -> None:
        """These were handed over."""
        body = self.codec.claimed(tasks, several=self._several)
        self.exchange.answer(Reply(200, body, self.told() + trace_of(tasks[0])), self._claim.lost)

    def nothing(self) -> None:
        """There was nothing for it in time."""
        self.exchange.answer(EMPTY._replace(headers=self.told()) if self.known and self.known.directive else EMPTY)
