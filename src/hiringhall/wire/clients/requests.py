"""`POST /client/requests`, `GET` and `DELETE /client/requests/{request_id}`."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import Final

import msgspec

from hiringhall.domain.call import Answer
from hiringhall.domain.refusals import Refused
from hiringhall.operations.invoke import Inquiry, make_request_id
from hiringhall.ports.calls import RequestView, Submit
from hiringhall.wire.clients.answers import outcome, pending
from hiringhall.wire.clients.bodies import CallBody, call_body
from hiringhall.wire.clients.call import ClientCall
from hiringhall.wire.hot_call import headers_of, refused_parts

TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}").fullmatch
ACCEPTED: Final = 202


class OutcomeCall(ClientCall):
    """A request that is answered by where a call stands."""

    __slots__ = ()

    def inquire(self, request_id: str, hold_seconds: float) -> Inquiry:
        """Begin to wait; nothing of the request is needed any more, and many may wait for long."""
        inquiry = Inquiry(self.hall, self, self.sees, request_id, hold_seconds, self.identity.session)
        self.exchange.when_gone = inquiry.gone
        request = self.exchange.request
        request.headers, request.body = (), b""
        return inquiry

    def refused(self, refused: Refused) -> None:
        """There is no such call, or none was made."""
        self.refuse(refused)

    def ended(self, view: RequestView) -> None:
        """The call has an outcome."""
        self.answer(outcome(view))

    def pending(self, request_id: str, status: str) -> None:
        """The call has none yet."""
        self.answer(pending(request_id, status), ACCEPTED)


class SubmitCall(OutcomeCall):
    """ "200 with the outcome if it came within `wait`, else 202" """

    __slots__ = ()

    def admitted(self) -> None:
        """It is known who calls."""
        body = refused_parts(headers_of(self.exchange)) or call_body(self.exchange.request.body)
        if isinstance(body, Refused):
            self.refuse(body)
        elif not self.hall.identities.allows(self.identity, body.service, body.method):
            self.refuse(Refused("forbidden", f"this client may not call {body.full_method!r}"))
        else:
            ask = self._ask(body)
            self.inquire(ask.request_id, body.hold_seconds).submit(ask)

    def _ask(self, body: CallBody) -> Submit:
        request, client = self.exchange.request, self.identity.subject
        key = request.header(b"idempotency-key") or None  # an empty one is none
        trace = request.header(b"traceparent")
        named = b"\0".join((client.encode(), body.full_method.encode(), key or b""))
        return Submit(
            request_id=make_request_id(), client=client, service=body.service, method=body.method, params=body.params,
            deadline_ms=body.deadline_ms, dispatch=body.dispatch, priority=body.priority, retries=body.retries,
            requires=body.requires, fail_without_worker=body.fail_without_worker, run_limit_ms=body.run_limit_ms,
            traceparent=trace.decode() if trace is not None and TRACEPARENT(trace) else None,
            key=None if key is None else sha256(named).digest(),
            body=None if key is None else sha256(request.body).digest(),
            queue_limit=self.hall.settings.queue_limit,
        )  # fmt: skip


class ShowCall(OutcomeCall):
    """ "200 with the outcome, 202 while pending" """

    __slots__ = ()

    def admitted(self) -> None:
        """It is known who calls."""
        request_id, hold = self.request_id(), self.wait_of_query()
        if isinstance(request_id, Refused):
            self.refuse(request_id)
        elif isinstance(hold, Refused):
            self.refuse(hold)
        else:
            self.inquire(request_id, hold).look()


class WithdrawCall(OutcomeCall):
    """ "not yet held: 200 `cancelled`; held: 202 `cancelling` …; finished: 409 `already_finished` with member
    `outcome`" """

    __slots__ = ("_late",)

    def admitted(self) -> None:
        """It is known who calls."""
        self._late: Refused | None = None
        request_id = self.request_id()
        if isinstance(request_id, Refused):
            self.refuse(request_id)
        else:
            self.inquire(request_id, 0.0).withdraw()

    def refused(self, refused: Refused) -> None:
        """It is not withdrawn; a finished one is told with its outcome."""
        if refused.code == "already_finished" and self._late is None:
            self._late = refused
            request_id = self.request_id()
            assert isinstance(request_id, str)
            self.inquire(request_id, 0.0).look()
        else:
            self.refuse(refused)

    def ended(self, view: RequestView) -> None:
        """The call has an outcome: the one that it just got, or an earlier one. A worker may have been quicker."""
        late = self._late
        if late is None and view.answer is not Answer.CANCELLED:
            late = Refused("already_finished", f"the request {view.request_id!r} ended before it was taken back")
        if late is None:
            super().ended(view)
        else:
            self.refuse(replace(late, extra={"outcome": msgspec.Raw(outcome(view))}))
