"""One request of a service worker, from its token to its answer.

Order of checks: token (401, 403), login (409), body (400, 415, 422), what it names against the token (403), the
operation.
"""

from __future__ import annotations

from typing import Final

from hiringhall.auth.identities import Identity
from hiringhall.domain.names import WorkerKey, service_worker
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.operations.service_standing import NOT_REGISTERED, SUPERSEDED, judge, may_be_superseded
from hiringhall.wire.exchange import Exchange
from hiringhall.wire.hot_call import NO_HEADERS, FixedHeaders, HotCall, headers_of

CHALLENGE: Final[FixedHeaders] = ((b"www-authenticate", b'Bearer realm="hall"'),)
DIRECTIVE: Final = b"hall-directive"
HEARTBEAT: Final = b"hall-heartbeat"
ROLE: Final = "worker"


class ServiceCall(HotCall):
    """A request that needs the token of a service worker. Subclasses say what it is about."""

    __slots__ = ("headers", "identity", "key", "known", "now", "service")

    identity: Identity
    key: WorkerKey
    service: str

    def __init__(self, hall: Hall, exchange: Exchange) -> None:
        super().__init__(hall, exchange)
        self.headers = headers_of(exchange)
        self.now = 0.0
        self.known: Known | None = None
        """The worker that calls; None if it never registered."""

    def start(self) -> None:
        self.now = self.hall.time()
        self.hall.identities.identify(self.headers.get(b"authorization"), ROLE, self._identified)

    def told(self) -> FixedHeaders:
        known = self.known
        return ((DIRECTIVE, known.directive),) if known is not None and known.directive else NO_HEADERS

    def _identified(self, found: Identity | Refused | Exception) -> None:
        if isinstance(found, Exception):
            self.failed(found)
            return
        if isinstance(found, Refused):
            self.refuse(found, CHALLENGE if found.code == "missing_or_invalid_bearer" else NO_HEADERS)
            return
        assert found.service is not None, "a worker's token names its service"
        self.identity, self.service = found, found.service
        self.key = service_worker(found.service, found.subject)
        known = self.hall.presence.fresh(self.key, self.now)
        if known is None:
            self.hall.presence.find(self.key, self._found)
        else:
            self._found(known)

    def _found(self, known: Known | Exception | None) -> None:
        if isinstance(known, Exception):
            self.failed(known)
            return
        self.known = known
        if known is None:
            self.admitted()
        elif may_be_superseded(self.identity, known):
            judge(self.hall, self.identity, known, self._judged)
        else:
            self._heard(known)

    def _judged(self, superseded: bool | Exception) -> None:
        if isinstance(superseded, Exception):
            self.failed(superseded)
        elif superseded:
            self.refuse(SUPERSEDED)
        elif self.known is not None:
            self._heard(self.known)

    def _heard(self, known: Known) -> None:
        self.hall.presence.seen(known, self.now)
        self.admitted()

    def admitted(self) -> None:
        """It is known who calls."""
        raise NotImplementedError

    def check_names_itself(self, worker_id: str) -> Refused | None:
        """Why a worker id that the request names is not the caller's; None if it is."""
        if worker_id == self.identity.subject:
            return None
        return Refused("worker_forbidden", "the token belongs to another worker than the one that the request names")


class RegisteredCall(ServiceCall):
    """A request that only a worker can send that registered."""

    __slots__ = ()

    def admitted(self) -> None:
        known = self.known
        if known is None:
            self.refuse(NOT_REGISTERED)
        else:
            self.registered(known)

    def registered(self, known: Known) -> None:
        """It is known which worker calls."""
        raise NotImplementedError
