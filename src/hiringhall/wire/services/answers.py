"""What a worker says of the calls that it drained: lock, response, feedback."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from hiringhall.domain.call import Answer
from hiringhall.domain.refusals import Refused
from hiringhall.operations.answer_call import lock, respond
from hiringhall.operations.presence import Known
from hiringhall.ports.calls import AddFeedback, Lock, Respond, Responded
from hiringhall.wire.hot_call import decoded, json_of, part, refused_parts
from hiringhall.wire.json_bodies import complaint_about_id
from hiringhall.wire.services.bodies import answer_of, response_decoder
from hiringhall.wire.services.call import RegisteredCall, ServiceCall
from hiringhall.wire.services.feedback_bodies import items_of


def told_of(call: ServiceCall, answer: Callable[[Any], None]) -> Callable[[Any], None]:
    """A callback that answers refusals and failures, and leaves what is fine to `answer`."""

    def decided(outcome: Any) -> None:
        if isinstance(outcome, Exception):
            call.failed(outcome)
        elif isinstance(outcome, Refused):
            call.refuse(outcome)
        else:
            answer(outcome)

    return decided


class LockCall(RegisteredCall):
    """ "If lock_required, call PUT /worker/lock_request/{request_id}." """

    __slots__ = ("_request_id",)

    def registered(self, known: Known) -> None:
        request_id = part(self.exchange.request.path.split(b"/")[-1], "request_id")
        if isinstance(request_id, Refused):
            self.refuse(request_id)
            return
        self._request_id = request_id
        limited = b"hall-holding" not in self.headers and known.open is None
        ask = Lock(known.key, self.identity.session, self.service, request_id, limited)
        lock(self.hall, known, ask, told_of(self, self._locked))

    def _locked(self, _: object) -> None:
        self.answer(json_of({"request_id": self._request_id}))


class ResponseCall(RegisteredCall):
    """ "On success error_text is null; on failure result is null and error_text is what the client sees." """

    __slots__ = ("_request_id",)

    def registered(self, known: Known) -> None:
        content = self.exchange.request.body
        body = decoded(response_decoder, self.headers, content)
        if isinstance(body, Refused):
            self.refuse(body)
            return
        answer = answer_of(body)
        complaint = answer if isinstance(answer, Refused) else complaint_about_id("request_id", body.request_id)
        if complaint is not None:
            self.refuse(complaint)
            return
        assert isinstance(answer, Answer)
        succeeded = answer is Answer.SUCCESS
        key = self.headers.get(b"idempotency-key") or None  # an empty one is none
        self._request_id = body.request_id
        ask = Respond(
            known.key, self.identity.session, self.service, body.request_id, answer,
            result=bytes(body.result) if succeeded else None,
            error_text=None if succeeded else body.error_text or "",
            jitter=self.hall.jitter() if answer is Answer.ERROR else 0.0,
            key=None if key is None else sha256(key).digest(),
            body=sha256(content).digest(),
        )  # fmt: skip
        respond(self.hall, known, ask, told_of(self, self._responded))

    def _responded(self, outcome: Responded) -> None:
        self.answer(json_of({"request_id": self._request_id, "retrying": outcome.retrying}))


class FeedbackCall(ServiceCall):
    """ "Feedback is fire-and-forget: a failed post must never fail the method." """

    __slots__ = ()

    def admitted(self) -> None:
        items = refused_parts(self.headers) or items_of(self.exchange.request.body)
        if isinstance(items, Refused):
            self.refuse(items)
        elif items and self.known is not None:
            ask = AddFeedback(self.key, self.identity.session, self.service, tuple(items))
            self.hall.coalescer.ask(ask, told_of(self, self._accepted))
        else:
            self._accepted(0)

    def _accepted(self, count: int) -> None:
        self.answer(json_of({"accepted": count}))
