"""What may be asked of the store about services, clients, their secrets and logins, and the keys that sign tokens.

The store never sees a secret: it keeps hashes, and what is sealed. Times are milliseconds by the database's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["worker", "client"]
PREVIOUS_SECRET_MS: Final = 24 * 3_600_000
"""How long the secret before the present one stays valid."""
REPLAY_MS: Final = 30_000
"""So long after its use a refresh token may come again, from somebody whose answer was lost."""
KEEP_USED_REFRESH_MS: Final = 7 * 86_400_000

# --- services and clients --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HashedSecret:
    """A secret as it is stored: `sha256` (hexadecimal) of a made one, an `argon2` string of a chosen one."""

    id: str
    kind: Literal["sha256", "argon2"]
    hash: str


@dataclass(frozen=True, slots=True)
class PutService:
    """Make or change a service; what is None stays as it is. Outcome: Put.

    `settings` names sealed values to set, and with None those to remove. A new `secret` leaves the one before valid for
    a day; with `retire` it ends, and so does one that is on its way out if there is no new one. A service that is made
    without a secret gets the `spare` one. `instead_of`: the present secret, from which the new one was found to differ;
    if it is not the present one any more, no secret is stored and none ends.
    """

    service: str
    secret: HashedSecret | None = None
    spare: HashedSecret | None = None
    retire: bool = False
    settings: Mapping[str, str | None] = field(default_factory=dict)
    dispatch: str | None = None
    methods: str | None = None  # JSON
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class PutClient:
    """Make or change a client, like `PutService`; `allow` is a JSON list of patterns. Outcome: Put."""

    client: str
    secret: HashedSecret | None = None
    spare: HashedSecret | None = None
    retire: bool = False
    allow: str | None = None
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """It is stored. `spare_used`: with the secret that was made for the case that there is none. `outrun`: but for the
    new secret, since another had come meanwhile."""

    created: bool
    spare_used: bool = False
    outrun: bool = False


@dataclass(frozen=True, slots=True)
class PauseService:
    """Stop or go on handing out the calls of a service. Outcome: True (False: there is no such service)."""

    service: str
    paused: bool


@dataclass(frozen=True, slots=True)
class DeleteService:
    """Remove a service with its secrets, settings and logins. Outcome: True (False: there is none) | Refused."""

    service: str
    force: bool = False  # although calls are open


@dataclass(frozen=True, slots=True)
class DeleteClient:
    """Remove a client with its secrets and logins. Outcome: True (False: there is no such client)."""

    client: str


# --- logins ----------------------------------------------------------------------------------------------------------


class BeginSession(msgspec.Struct, frozen=True):
    """Log in with a secret that was verified. Outcome: True, or False if that secret has ended meanwhile."""

    sid: str
    role: Role
    subject: str  # worker or client id
    service: str | None
    secret: str  # its id
    refresh_hash: bytes
    lifetime_ms: int


class RefreshSession(msgspec.Struct, frozen=True):
    """Exchange a refresh token for another. Outcome: Session, or None if the token is dead.

    "A used one revokes its family, except a replay within 30 s from a lost answer". Of those that are given out for one
    the first that is used counts; the others revoke the family too.
    """

    role: Role
    old_hash: bytes
    new_hash: bytes
    lifetime_ms: int


class Session(msgspec.Struct, frozen=True):
    """Whose login a refresh token belongs to."""

    sid: str
    subject: str
    service: str | None


@dataclass(frozen=True, slots=True)
class EndSessions:
    """End the logins of a worker. Outcome: how many."""

    service: str
    worker_id: str


# --- the keys that sign tokens ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PutSigningKey:
    """Sign with a new key from now on, if `instead_of` is the present one (None: there is none). Outcome: whether."""

    kid: str
    sealed: str
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Reseal:
    """Store the same signing keys and settings, sealed with another key, unless they have changed. Outcome: None."""

    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # kid -> (sealed before, sealed now)
    settings: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)  # (service, name) -> likewise


@dataclass(frozen=True, slots=True)
class ForgetLogins:
    """Delete logins and secrets that have ended, used refresh tokens, and retired keys. Outcome: Swept."""

    keep_used_refresh_ms: int = KEEP_USED_REFRESH_MS
    keep_keys_ms: int = 30 * 86_400_000
    limit: int = 500


# --- questions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A service. `settings` are the names alone."""

    id: str
    dispatch: str
    methods: str  # JSON
    paused: bool
    made_at: int
    settings: tuple[str, ...]
    secrets: int  # how many are valid


@dataclass(frozen=True, slots=True)
class FindServices:
    """Services by id. Result: list[ServiceView], in no order."""

    services: tuple[str, ...]
    now: int | None = None


@dataclass(frozen=True, slots=True)
class ListServices:
    """Services in the order of their ids. Result: list[ServiceView]."""

    after: str = ""
    limit: int = 100
    now: int | None = None


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings of a service, or of all (None). Result: dict[(service, name), sealed]."""

    service: str | None


@dataclass(frozen=True, slots=True)
class ClientView:
    """A client. `allow` is a JSON list of patterns."""

    id: str
    allow: str
    made_at: int
    secrets: int


@dataclass(frozen=True, slots=True)
class FindClients:
    """Clients by id. Result: list[ClientView], in no order."""

    clients: tuple[str, ...]
    now: int | None = None


@dataclass(frozen=True, slots=True)
class ListClients:
    """Clients in the order of their ids. Result: list[ClientView]."""

    after: str = ""
    limit: int = 100
    now: int | None = None


@dataclass(frozen=True, slots=True)
class SecretView:
    """A valid secret of an owner. `previous`: it is on its way out."""

    role: Role
    owner: str
    id: str
    kind: str
    hash: str
    previous: bool


@dataclass(frozen=True, slots=True)
class FindSecrets:
    """The valid secrets of these owners. Result: list[SecretView], the present one of each before the previous one."""

    owners: tuple[tuple[Role, str], ...]
    now: int | None = None


@dataclass(frozen=True, slots=True)
class SessionView:
    """A login. `stands`: it has not ended, nor has its secret. `allow`: of a client."""

    sid: str
    role: Role
    subject: str
    service: str | None
    incarnation: int | None
    stands: bool
    allow: str | None


@dataclass(frozen=True, slots=True)
class FindSessions:
    """Logins by id. Result: list[SessionView], in no order."""

    sids: tuple[str, ...]
    now: int | None = None


@dataclass(frozen=True, slots=True)
class SigningKeyView:
    """A signing key. `retired_ms_ago` is None for the present one."""

    kid: str
    sealed: str
    retired_ms_ago: int | None


@dataclass(frozen=True, slots=True)
class FindSigningKeys:
    """All signing keys. Result: list[SigningKeyView], the present one first."""

    now: int | None = None


IdentityAsk: TypeAlias = (
    PutService | PutClient | PauseService | DeleteService | DeleteClient
    | BeginSession | RefreshSession | EndSessions | PutSigningKey | Reseal | ForgetLogins
)  # fmt: skip
IDENTITY_ORDER: Final = (
    PutSigningKey, Reseal, PutService, PutClient, PauseService, DeleteService, DeleteClient,
    BeginSession, RefreshSession, EndSessions, ForgetLogins,
)  # fmt: skip
IdentityQuery: TypeAlias = (
    FindServices | ListServices | ReadSettings | FindClients | ListClients | FindSecrets | FindSessions
    | FindSigningKeys
)  # fmt: skip
