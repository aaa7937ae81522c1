"""One request of a plan worker, from its token to its answer.

Order of checks: token (401), body (400, 415, 422), path against body (400), token against body (403), the operation.
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar, Final
from urllib.parse import unquote_to_bytes

import msgspec

from hiringhall.domain.names import plan_worker
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.envelope import RETRY_AFTER, excuse
from hiringhall.wire.exchange import Exchange, Reply
from hiringhall.wire.json_bodies import complaint_about_id, decode
from hiringhall.wire.plans.codec import Codec, Headers

CHALLENGE: Final[Headers] = ((b"www-authenticate", b'Bearer realm="whilly"'),)
NO_HEADERS: Final[Headers] = ()
DIRECTIVE: Final = b"hall-directive"
HEARTBEAT: Final = b"hall-heartbeat"


class Mount:
    """Where the dialect is served: one hall, one form of the answers."""

    __slots__ = ("codec", "hall", "interval")

    def __init__(self, hall: Hall, codec: Codec) -> None:
        self.hall = hall
        self.codec = codec
        self.interval: Headers = NO_HEADERS
        """What a worker is told that registers or sends a heartbeat: how far apart its heartbeats may be."""
        if codec.tells_interval:
            self.interval = ((HEARTBEAT, f"{hall.terms.beat_interval_ms / 1000}".removesuffix(".0").encode()),)


class Call:
    """A request that needs no token. Subclasses say what it is about."""

    __slots__ = ("codec", "exchange", "hall", "known")

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        self.hall = mount.hall
        self.codec = mount.codec
        self.exchange = exchange
        self.known: Known | None = None
        """The worker that calls, once it is known."""

    def start(self) -> None:
        """Begin to answer."""
        raise NotImplementedError

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""
        return not self.exchange.gone

    def directive(self) -> Headers:
        """What the worker is told with every answer."""
        known = self.known
        return ((DIRECTIVE, known.directive),) if known is not None and known.directive else NO_HEADERS

    def answer(self, body: bytes, status: int = 200, headers: Headers = NO_HEADERS) -> None:
        """Answer with a JSON body."""
        self.exchange.answer(Reply(status, body, headers + self.directive()))

    def refuse(self, refused: Refused, headers: Headers = NO_HEADERS) -> None:
        """Answer with the envelope."""
        self.exchange.answer(self.codec.refusal(refused, headers + self.directive()))

    def failed(self, failure: Exception) -> None:
        """Answer that it could not be done: the database is away, or there is a bug."""
        if isinstance(failure, StoreUnavailable):
            self.refuse(Refused("unavailable", excuse(failure)), RETRY_AFTER)
            return
        correlation_id = secrets.token_hex(8)
        self.hall.loop.call_exception_handler(
            {"message": f"a request failed; correlation id {correlation_id}", "exception": failure}
        )
        detail = "something is wrong with the server; its log tells more under the correlation id"
        self.refuse(Refused("internal_error", detail, extra={"correlation_id": correlation_id}))


class WorkerCall(Call):
    """A request that needs the shared token or a worker's own."""

    __slots__ = ("headers", "now", "shared")

    decoder: ClassVar[Any]

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        super().__init__(mount, exchange)
        headers = exchange.request.headers
        self.headers: dict[bytes, bytes] = dict(headers[::-1])  # of equal names the first counts
        self.now = 0.0
        self.shared = False

    def start(self) -> None:
        """Look at the token."""
        hall = self.hall
        self.now = hall.time()
        bearer = hall.tokens.bearer(self.headers.get(b"authorization"))
        if bearer.is_worker:
            self.shared = True
            self.admitted()
        elif bearer.complaint:
            self.refuse(Refused("missing_or_invalid_bearer", bearer.complaint), CHALLENGE)
        else:
            known = hall.presence.fresh_by_token(bearer.hash, self.now)
            if known is None:
                hall.presence.find_by_token(bearer.hash, self._found_by_token)
            else:
                self.known = known
                hall.presence.seen(known, self.now)
                self.admitted()

    def _found_by_token(self, known: Known | Exception | None) -> None:
        if isinstance(known, Exception):
            self.failed(known)
        elif known is None:
            self.refuse(Refused("missing_or_invalid_bearer", "invalid token"), CHALLENGE)
        else:
            self.known = known
            self.hall.presence.seen(known, self.now)
            self.admitted()

    def admitted(self) -> None:
        """The token is good: decode the body."""
        body = decoded(type(self).decoder, self.headers, self.exchange.request.body)
        if isinstance(body, Refused):
            self.refuse(body)
        else:
            self.said(body)

    def said(self, body: Any) -> None:
        """The body is decoded."""
        raise NotImplementedError

    def identify(self, worker_id: str) -> None:
        """Find the worker that the request names, and go on with `identified`."""
        known = self.known
        if known is not None:
            if known.key == plan_worker(worker_id):
                self.identified()
            else:
                self.refuse(Refused("worker_forbidden", "the token belongs to another worker than the one named"))
            return
        key = plan_worker(worker_id)
        known = self.hall.presence.fresh(key, self.now)
        if known is not None:
            self.known = known
            self.hall.presence.seen(known, self.now)
            self.identified()
            return
        complaint = complaint_about_id("worker_id", worker_id)
        if complaint is not None:
            self.refuse(complaint)
        else:
            self.hall.presence.find(key, self.found)

    def found(self, known: Known | Exception | None) -> None:
        """The store told about the worker."""
        if isinstance(known, Exception):
            self.failed(known)
            return
        self.known = known
        if known is not None:
            self.hall.presence.seen(known, self.now)
        self.identified()

    def identified(self) -> None:
        """It is known who calls; `known` is None if no such worker was ever registered."""
        raise NotImplementedError


def decoded(decoder: Any, headers: dict[bytes, bytes], body: bytes) -> Any:
    """The body as a struct, or why not. The content type does not matter, unless it says that the body is in parts."""
    kind = headers.get(b"content-type")
    if kind is not None and kind[:10].lower() == b"multipart/":
        return Refused("unsupported_media_type", "the body must be JSON, not multipart")
    return decode(decoder, body)


def part(raw: bytes, field: str) -> str | Refused:
    """One part of a raw path, decoded once."""
    try:
        text = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8")
    except UnicodeDecodeError:
        return Refused("malformed_request", f"{field} in the path is not percent-encoded UTF-8")
    return complaint_about_id(field, text) or text


def json_of(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)
