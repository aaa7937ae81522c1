"""The two routes at which service workers and clients get their tokens.

Refusals carry OAuth's `error` and `error_description` beside the members of the envelope.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from hiringhall.domain.names import complaint_about
from hiringhall.domain.owners import SECRET_CHARACTERS_MAX
from hiringhall.domain.refusals import CODES, Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.login import Attempt, Granted
from hiringhall.ports.identity import Role
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Reply
from hiringhall.wire.hot_call import FixedHeaders, HotCall, headers_of
from hiringhall.wire.login.bodies import members_of
from hiringhall.wire.table_router import TableRouter

BY_SECRET: Final = "client_credentials"  # noqa: S105 - a word on the wire
BY_REFRESH_TOKEN: Final = "refresh_token"  # noqa: S105 - a word on the wire
OAUTH_NAMES: Final = {
    "unavailable": "temporarily_unavailable",
    "internal_error": "server_error",
    "too_many_failures": "slow_down",
}
OAUTHS_OWN: Final = frozenset({"invalid_client", "invalid_grant", "invalid_request", "unsupported_grant_type"})
CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="hall"')
_encode = msgspec.json.Encoder().encode


class LoginCall(HotCall):
    """Somebody wants tokens. Subclasses know the names of what is brought."""

    __slots__ = ()

    role: Role
    owner_field: str
    secret_field: str
    grant_by_default: str | None = None

    def start(self) -> None:
        """Look at what is brought."""
        headers = headers_of(self.exchange)
        members = members_of(headers, self.exchange.request.body)
        if isinstance(members, Refused):
            self.refuse(members)
            return
        grant = members.get("grant_type", self.grant_by_default)
        if grant is None:
            self.refuse(_missing("grant_type"))
        elif grant == BY_SECRET:
            self._by_secret(members)
        elif grant == BY_REFRESH_TOKEN:
            token = members.get("refresh_token")
            if token is None:
                self.refuse(_missing("refresh_token"))
            else:
                self.hall.logins.refresh(self.role, token, self._decided)
        else:
            known = f"grant_type must be {BY_SECRET} or {BY_REFRESH_TOKEN}"
            self.refuse(Refused("unsupported_grant_type", known))

    def subject_of(self, members: dict[str, str]) -> str | Refused:
        """Who the tokens are for."""
        raise NotImplementedError

    def _by_secret(self, members: dict[str, str]) -> None:
        for field in (self.owner_field, self.secret_field):
            if field not in members:
                self.refuse(_missing(field))
                return
        subject = self.subject_of(members)
        if isinstance(subject, Refused):
            self.refuse(subject)
            return
        owner, secret = members[self.owner_field], members[self.secret_field]
        if (complaint := complaint_about(owner)) is not None:
            self.refuse(Refused("validation_error", f"{self.owner_field}: {complaint}"))
        elif len(secret) > SECRET_CHARACTERS_MAX:
            longest = SECRET_CHARACTERS_MAX
            self.refuse(Refused("validation_error", f"{self.secret_field}: must have at most {longest} characters"))
        else:
            source = self.hall.sources.of(self.exchange.peer(), self.exchange.request.headers)
            self.hall.logins.log_in(Attempt(self.role, owner, subject, secret, source), self._decided)

    def _decided(self, outcome: Granted | Refused | Exception) -> None:
        if isinstance(outcome, Exception):
            self.failed(outcome)
        elif isinstance(outcome, Refused):
            self.refuse(outcome)
        else:
            lifetime = outcome.expires_in_seconds
            members = {
                "access_token": outcome.access_token,
                "token_type": "Bearer",
                "expires_in": int(lifetime) if lifetime.is_integer() else lifetime,
                "refresh_token": outcome.refresh_token,
            }
            self.answer(_encode(members))

    def envelope(self, refused: Refused, headers: FixedHeaders) -> Reply:
        return _envelope(refused, headers)


class WorkerLoginCall(LoginCall):
    """`grant_type=client_credentials&service_id=<svc>&auth_secret=<secret>&worker_id=<id>`"""

    __slots__ = ()

    role = "worker"
    owner_field = "service_id"
    secret_field = "auth_secret"  # noqa: S105 - a word on the wire

    def subject_of(self, members: dict[str, str]) -> str | Refused:
        """The worker's id."""
        worker_id = members.get("worker_id")
        if worker_id is None:
            return _missing("worker_id")
        complaint = complaint_about(worker_id)
        return worker_id if complaint is None else Refused("validation_error", f"worker_id: {complaint}")


class ClientLoginCall(LoginCall):
    """`client_id`, `client_secret`"""

    __slots__ = ()

    role = "client"
    owner_field = "client_id"
    secret_field = "client_secret"  # noqa: S105 - a word on the wire
    grant_by_default = BY_SECRET

    def subject_of(self, members: dict[str, str]) -> str | Refused:
        """The client's id."""
        return members[self.owner_field]


def _missing(field: str) -> Refused:
    return Refused("invalid_request", f"{field} is missing")


def _envelope(refused: Refused, headers: FixedHeaders) -> Reply:
    """The envelope with OAuth's names; when to come again is a header."""
    extra = dict(refused.extra)
    wait = extra.pop("retry_after", None)
    if wait is not None:
        headers = (*headers, (b"retry-after", str(wait).encode()))
    if CODES[refused.code] == 401:
        headers = (*headers, CHALLENGE)
    error = OAUTH_NAMES.get(refused.code, refused.code if refused.code in OAUTHS_OWN else "invalid_request")
    return refusal(
        refused.code, refused.detail, headers=headers, error=error, error_description=refused.detail, **extra
    )


def login_router(hall: Hall) -> TableRouter:
    """The routes at which one logs in; None for all others."""
    return TableRouter(
        {
            "/worker/auth_token": {b"POST": partial(WorkerLoginCall, hall)},
            "/client/auth_token": {b"POST": partial(ClientLoginCall, hall)},
        },
        envelope=_envelope,
    )
