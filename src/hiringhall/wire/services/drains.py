"""`GET /worker/messages`: "empties the queue in one atomic read", and with `?wait=N` hangs until there is something."""

from __future__ import annotations

from json.encoder import encode_basestring as quoted
from typing import Final

import msgspec

from hiringhall.domain.call import MESSAGES_MAX
from hiringhall.domain.refusals import Refused
from hiringhall.operations.drain import Draining
from hiringhall.operations.holding import holding
from hiringhall.operations.presence import Known
from hiringhall.ports.calls import Message
from hiringhall.wire.exchange import Reply
from hiringhall.wire.json_bodies import hold_of, invalid
from hiringhall.wire.query import number_in, parameters
from hiringhall.wire.services.call import RegisteredCall

EMPTY: Final = Reply(200, b"[]")
READ: Final[dict[bytes, bytes]] = {}
"""In place of headers that have been read."""


class DrainCall(RegisteredCall):
    """A drain from its token to its answer."""

    __slots__ = ("_draining",)

    def registered(self, known: Known) -> None:
        request = self.exchange.request
        values = parameters(request.query) if request.query else {}
        hold = hold_of(number_in(values, "wait"), 0.0)
        limit = limit_of(number_in(values, "max"))
        if isinstance(hold, Refused) or isinstance(limit, Refused):
            self.refuse(hold if isinstance(hold, Refused) else limit)  # type: ignore[arg-type]
            return
        held = self.headers.get(b"hall-holding")
        if held is not None:
            holding(self.hall, known, held, self.now)
        draining = self._draining = Draining(
            self.hall, self, known, self.identity.session, hold, limit=limit, limited=held is None
        )
        self.exchange.when_gone = draining.gone
        request.headers, self.headers = (), READ  # many drains are parked for long
        draining.start(self.now)

    def handed(self, messages: tuple[Message, ...]) -> None:
        """These were handed or offered."""
        known = self.known
        traced = known is not None and known.service is not None and known.service.trace
        body = b"[" + b",".join(shown(message, traced=traced) for message in messages) + b"]"
        self.exchange.answer(Reply(200, body, self.told()), self._draining.lost)

    def nothing(self) -> None:
        """There was nothing for it in time."""
        self.exchange.answer(EMPTY._replace(headers=self.told()) if self.known and self.known.directive else EMPTY)

    def refused(self, refused: Refused) -> None:
        """The worker is given nothing."""
        self.refuse(refused)


def limit_of(value: object) -> int | Refused:
    """How many messages a drain may be answered with; more than there may be at all counts as that."""
    if value is msgspec.UNSET:
        return MESSAGES_MAX
    if isinstance(value, float) and value.is_integer() and value >= 1:
        return int(min(value, MESSAGES_MAX))
    return invalid("max", "must be a whole number of messages, at least 1")


def shown(message: Message, *, traced: bool) -> bytes:
    """A message as JSON. What its client sent is passed on digit for digit."""
    trace = f',"traceparent":{quoted(message.traceparent)}' if traced and message.traceparent is not None else ""
    return b'{"request_id":%b,"method":%b,"lock_required":%b,"params":%b%b}' % (
        quoted(message.request_id).encode(),
        quoted(message.method).encode(),
        b"true" if message.lock_required else b"false",
        message.params,
        trace.encode(),
    )
