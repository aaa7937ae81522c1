"""One request of a client, from its token to its answer.

Order of checks: token (401, 403), body (400, 415, 422), what the client may call (403), the operation.
"""

from __future__ import annotations

from typing import Final

from hiringhall.auth.identities import AS_OPERATOR, Identity
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.wire.envelope import RETRY_AFTER
from hiringhall.wire.exchange import Exchange
from hiringhall.wire.hot_call import NO_HEADERS, FixedHeaders, HotCall, part
from hiringhall.wire.json_bodies import hold_of
from hiringhall.wire.query import number_in, parameters

CLIENT: Final = "client"
HEADERS_OF: Final[dict[str, FixedHeaders]] = {
    "missing_or_invalid_bearer": ((b"www-authenticate", b'Bearer realm="hall"'),),
    "queue_full": RETRY_AFTER,
    "no_worker": RETRY_AFTER,
}
"""The headers that come with a refusal, by its code."""


class ClientCall(HotCall):
    """A request that needs a client's token."""

    __slots__ = ("identity",)

    def __init__(self, hall: Hall, exchange: Exchange) -> None:
        super().__init__(hall, exchange)
        self.identity = AS_OPERATOR

    def start(self) -> None:
        """Look at the token."""
        self.hall.identities.identify(self.exchange.request.header(b"authorization"), CLIENT, self._identified)

    def _identified(self, found: Identity | Refused | Exception) -> None:
        if isinstance(found, Exception):
            self.failed(found)
        elif isinstance(found, Refused):
            self.refuse(found)
        elif not self.exchange.gone:
            self.identity = found
            self.admitted()

    def admitted(self) -> None:
        """It is known who calls."""
        raise NotImplementedError

    def refuse(self, refused: Refused, headers: FixedHeaders = NO_HEADERS) -> None:
        """Answer with the envelope, and with the headers that belong to its code."""
        super().refuse(refused, headers + HEADERS_OF.get(refused.code, NO_HEADERS))

    @property
    def sees(self) -> str | None:
        """Whose calls the client may see; None: everybody's."""
        return whose_calls(self.identity)

    def wait_of_query(self) -> float | Refused:
        """How long the answer may be held, from the query."""
        query = self.exchange.request.query
        return hold_of(number_in(parameters(query), "wait"), 0.0) if query else 0.0

    def request_id(self) -> str | Refused:
        """The id in the path `/client/requests/{request_id}`."""
        return part(self.exchange.request.path.split(b"/")[3], "request_id")


def whose_calls(identity: Identity) -> str | None:
    """Whose calls the client may see; None: everybody's, for an operator."""
    return None if identity == AS_OPERATOR else identity.subject
