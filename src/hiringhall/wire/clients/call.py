"""One request of a client, from its token to its answer.

Order of checks: token (401, 403), body (400, 415, 422), what the client may call (403), the operation.
"""

from __future__ import annotations

import re
import secrets
from typing import Final
from urllib.parse import parse_qs, unquote_to_bytes

import msgspec

from hiringhall.auth.identities import Identity
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.envelope import RETRY_AFTER, excuse, refusal
from hiringhall.wire.exchange import Exchange, Reply
from hiringhall.wire.json_bodies import complaint_about_id, hold_of

CHALLENGE: Final = ((b"www-authenticate", b'Bearer realm="hall"'),)
CLIENT: Final = "client"
OPERATOR: Final = "operator"
"""The client that an operator is: it sees the calls of all clients."""
NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?").fullmatch
Headers = tuple[tuple[bytes, bytes], ...]


class ClientCall:
    """A request that needs a client's token. Subclasses say what it is about."""

    __slots__ = ("exchange", "hall", "identity")

    def __init__(self, hall: Hall, exchange: Exchange) -> None:
        self.hall = hall
        self.exchange = exchange

    def start(self) -> None:
        """Look at the token."""
        self.hall.identities.identify(self.exchange.request.header(b"authorization"), CLIENT, self._identified)

    def _identified(self, found: Identity | Refused | Exception) -> None:
        if isinstance(found, Exception):
            self.failed(found)
        elif isinstance(found, Refused):
            self.refused(found)
        elif not self.exchange.gone:
            self.identity = found
            self.admitted()

    def admitted(self) -> None:
        """It is known who calls."""
        raise NotImplementedError

    @property
    def sees(self) -> str | None:
        """Whose calls the client may see; None: everybody's."""
        return whose_calls(self.identity)

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""
        return not self.exchange.gone

    # --- what the request says

    def wait_of_query(self) -> float | Refused:
        """How long the answer may be held, from the query."""
        query = self.exchange.request.query
        if not query:
            return 0.0
        return hold_of(number_in(parameters(query), "wait"), 0.0)

    def request_id(self) -> str | Refused:
        """The id in the path `/client/requests/{request_id}`."""
        return path_part(self.exchange.request.path.split(b"/")[3], "request_id")

    # --- answers

    def answer(self, body: bytes, status: int = 200, headers: Headers = ()) -> None:
        """Answer with a JSON body."""
        self.exchange.answer(Reply(status, body, headers))

    def refused(self, refused: Refused) -> None:
        """Answer with the envelope."""
        self.exchange.answer(refusal_of(refused))

    def failed(self, failure: Exception) -> None:
        """Answer that it could not be done: the database is away, or there is a bug."""
        self.exchange.answer(failure_of(self.hall, failure))


def whose_calls(identity: Identity) -> str | None:
    """Whose calls the client may see; None: everybody's."""
    return None if identity.subject == OPERATOR and not identity.session else identity.subject


def refusal_of(refused: Refused) -> Reply:
    """The envelope of a refusal, with the headers that belong to it."""
    headers: Headers = ()
    if refused.code == "missing_or_invalid_bearer":
        headers = CHALLENGE
    elif refused.code in ("queue_full", "no_worker", "unavailable"):
        headers = RETRY_AFTER
    return refusal(refused.code, refused.detail, headers=headers, **refused.extra)


def failure_of(hall: Hall, failure: Exception) -> Reply:
    """The answer for what could not be done: 503 if the database is away, else 500 with where the log tells more."""
    if isinstance(failure, StoreUnavailable):
        return refusal("unavailable", excuse(failure), headers=RETRY_AFTER)
    correlation_id = secrets.token_hex(8)
    hall.loop.call_exception_handler(
        {"message": f"a request failed; correlation id {correlation_id}", "exception": failure}
    )
    detail = "something is wrong with the server; its log tells more under the correlation id"
    return refusal("internal_error", detail, correlation_id=correlation_id)


def path_part(raw: bytes, field: str) -> str | Refused:
    """One part of a raw path, decoded once."""
    try:
        text = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8")
    except UnicodeDecodeError:
        return Refused("malformed_request", f"{field} in the path is not percent-encoded UTF-8")
    return complaint_about_id(field, text) or text


def parameters(query: bytes) -> dict[str, str]:
    """The parameters of a query; of equal names the last counts."""
    return {name: values[-1] for name, values in parse_qs(query.decode("latin-1"), keep_blank_values=True).items()}


def number_in(values: dict[str, str], name: str) -> object:
    """A number among parameters, UNSET if it is not there, None if it is no number."""
    text = values.get(name)
    if text is None:
        return msgspec.UNSET
    return float(text) if NUMBER(text) else None
