"""One request of a plan worker, from its token to its answer.

Order of checks: token (401), body (400, 415, 422), path against body (400), token against body (403), the operation.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from hiringhall.domain.names import plan_worker
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.wire.exchange import Exchange, Reply
from hiringhall.wire.hot_call import NO_HEADERS, FixedHeaders, HotCall, decoded, headers_of
from hiringhall.wire.json_bodies import complaint_about_id
from hiringhall.wire.plans.codec import Codec, Headers

CHALLENGE: Final[Headers] = ((b"www-authenticate", b'Bearer realm="whilly"'),)
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


class Call(HotCall):
    """A request that needs no token. Subclasses say what it is about."""

    __slots__ = ("codec", "known")

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        super().__init__(mount.hall, exchange)
        self.codec = mount.codec
        self.known: Known | None = None
        """The worker that calls, once it is known."""

    def told(self) -> FixedHeaders:
        known = self.known
        return ((DIRECTIVE, known.directive),) if known is not None and known.directive else NO_HEADERS

    def envelope(self, refused: Refused, headers: FixedHeaders) -> Reply:
        return self.codec.refusal(refused, headers)


class WorkerCall(Call):
    """A request that needs the shared token or a worker's own."""

    __slots__ = ("headers", "now", "shared")

    decoder: ClassVar[Any]

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        super().__init__(mount, exchange)
        self.headers = headers_of(exchange)
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
