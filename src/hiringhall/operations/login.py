"""Logging in: a secret or a refresh token becomes a pair of tokens."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from hmac import new as hmac
from typing import Any, Final, TypeAlias

from hiringhall.auth.attempts import Attempts, Who
from hiringhall.auth.credentials import chosen_one_of, made_one_of, new_id
from hiringhall.auth.signing import ONE_KEY, SealedElsewhere, SigningKeys
from hiringhall.auth.tokens import hash_of, make_token
from hiringhall.auth.verifier import Verifier
from hiringhall.auth.views import Views
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_access
from hiringhall.operations.coalescer import Coalescer
from hiringhall.ports.identity import BeginSession, FindSecrets, RefreshSession, Role, SecretView, Session
from hiringhall.ports.store import Store
from hiringhall.ports.wakeups import Wakeups

SESSION_MS: Final = 30 * 86_400_000
"""How long a login lasts that is not refreshed."""
PAIR_SECONDS: Final = 300.0
PAIRS_MAX: Final = 20_000

Owner: TypeAlias = tuple[Role, str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """Somebody wants to log in. `subject` is the worker's or client's own id, `owner` the service's or client's."""

    role: Role
    owner: str
    subject: str
    secret: str
    source: str

    @property
    def who(self) -> Who:
        """Whose failures it counts among."""
        return (self.source, self.role, self.owner)


@dataclass(frozen=True, slots=True)
class Granted:
    """A pair of tokens."""

    access_token: str
    refresh_token: str
    expires_in_seconds: float


Done: TypeAlias = Callable[[Granted | Refused | Exception], None]
WRONG: Final[Mapping[Role, Refused]] = {
    "worker": Refused("invalid_client", "the service is not known, or the secret is not its"),
    "client": Refused("invalid_client", "the client is not known, or the secret is not its"),
}
DEAD: Final = Refused("invalid_grant", "the refresh token is not known, was used, or has ended; log in again")
SEALED: Final = Refused("key_missing", f"this server cannot open the key that signs tokens: {ONE_KEY}")
BUSY: Final = Refused("unavailable", "too many secrets wait to be checked; try again", extra={"retry_after": 1})


class Logins:
    """Belongs to the event loop's thread."""

    def __init__(self, store: Store, coalescer: Coalescer, wakeups: Wakeups, signing: SigningKeys) -> None:
        loop = asyncio.get_running_loop()
        self.attempts = Attempts()
        self.verifier = Verifier(loop)
        self._store = store
        self._coalescer = coalescer
        self._signing = signing
        self.time = loop.time
        self._owners: Views[Owner, tuple[SecretView, ...]] = Views(loop, wakeups, self._read, _topics_of)
        self._pair_key = secrets.token_bytes(32)
        self._pairs: dict[bytes, tuple[str, float]] = {}
        """Pairs that were verified: the id of the secret, and until when that is remembered."""
        self._checking: dict[bytes, list[Callable[[str | Refused | Exception], None]]] = {}
        """Pairs that are being checked, and who waits for it."""

    def log_in(self, attempt: Attempt, done: Done) -> None:
        """Begin a session, if the secret is right."""
        owner = (attempt.role, attempt.owner)
        seen = self._owners.fresh(owner)
        if seen is not None:
            self._judge(attempt, done, seen.view)
        else:
            self._owners.find(owner, partial(self._judge, attempt, done))

    def refresh(self, role: Role, refresh_token: str, done: Done) -> None:
        """Exchange a refresh token; the session stays."""
        fresh = make_token()
        ask = RefreshSession(role, hash_of(refresh_token.encode()), hash_of(fresh.encode()), SESSION_MS)

        def refreshed(session: Session | Exception | None) -> None:
            if isinstance(session, Exception):
                done(session)
            elif session is None:
                done(DEAD)
            else:
                self._grant(role, session, fresh, done)

        self._coalescer.ask(ask, refreshed)

    async def find_secret(
        self, role: Role, owner: str, secret: str, source: str = ""
    ) -> tuple[SecretView | None, SecretView | None]:
        """The present secret of an owner, and the valid one that this is, as the store has them now.

        Raises:
            Busy: too many wait to be checked.
            StoreUnavailable: the database cannot be reached.
        """
        views: list[SecretView] = await self._store.read(FindSecrets(((role, owner),)))
        found = made_one_of(views, secret)
        if found is None and any(view.kind == "argon2" for view in views):
            found = await self.verifier.result(partial(chosen_one_of, views, secret), source)
        present = next((view for view in views if not view.previous), None)
        return present, next((view for view in views if view.id == found), None)

    def close(self) -> None:
        """End the thread that checks secrets."""
        self.verifier.stop()

    def _judge(self, attempt: Attempt, done: Done, views: tuple[SecretView, ...] | Exception | None) -> None:
        if isinstance(views, Exception):
            done(views)
            return
        views = views or ()
        now = self.time()
        pair = self._pair_of(attempt)
        remembered = self._remembered(pair, views, now)
        wait = self.attempts.wait_seconds(attempt.who, now)
        if wait and remembered is None:
            refused = "too many wrong secrets came from here; try again later"
            done(Refused("too_many_failures", refused, extra={"retry_after": wait}))
            return
        known = remembered or made_one_of(views, attempt.secret)
        if known is not None:
            if remembered is None:
                self._remember(pair, known, now)
            self._begin(attempt, known, done)
            return
        self._check(attempt, pair, views, now, partial(self._checked, attempt, done))

    def _checked(self, attempt: Attempt, done: Done, found: str | Refused | Exception) -> None:
        if isinstance(found, str):
            self._begin(attempt, found, done)
        else:
            done(found)

    def _check(
        self, attempt: Attempt, pair: bytes, views: tuple[SecretView, ...], now: float,
        told: Callable[[str | Refused | Exception], None],
    ) -> None:  # fmt: skip
        """Compare with the chosen secrets, in the thread for that; a pair is compared once for all who bring it."""
        waiting = self._checking.get(pair)
        if waiting is not None:
            waiting.append(told)
            return
        self.attempts.begin(attempt.who, now)

        def checked(found: str | Exception | None) -> None:
            waiting = self._checking.pop(pair)
            if found is not None:
                self.attempts.succeeded(attempt.who, now)
            if isinstance(found, str):
                self._remember(pair, found, self.time())
            for each in waiting:
                each(WRONG[attempt.role] if found is None else found)

        if self.verifier.compute(partial(chosen_one_of, views, attempt.secret), attempt.source, checked):
            self._checking[pair] = [told]
        else:
            self.attempts.succeeded(attempt.who, now)
            told(BUSY)

    def _pair_of(self, attempt: Attempt) -> bytes:
        parts = (attempt.role, attempt.owner, attempt.secret)
        return hmac(self._pair_key, "\0".join(parts).encode("utf-8", "surrogatepass"), sha256).digest()

    def _remembered(self, pair: bytes, views: tuple[SecretView, ...], now: float) -> str | None:
        """The secret that the pair was found to be lately, if that is still valid."""
        secret, until = self._pairs.get(pair, ("", now))
        return secret if until > now and any(view.id == secret for view in views) else None

    def _remember(self, pair: bytes, secret: str, now: float) -> None:
        self._pairs.pop(pair, None)
        if len(self._pairs) >= PAIRS_MAX:
            del self._pairs[next(iter(self._pairs))]
        self._pairs[pair] = (secret, now + PAIR_SECONDS)

    def _begin(self, attempt: Attempt, secret: str, done: Done) -> None:
        fresh = make_token()
        service = attempt.owner if attempt.role == "worker" else None
        session = Session(new_id(), attempt.subject, service)
        hashed = hash_of(fresh.encode())
        ask = BeginSession(session.sid, attempt.role, attempt.subject, service, secret, hashed, SESSION_MS)

        def begun(outcome: Any) -> None:
            if isinstance(outcome, Exception):
                done(outcome)
            elif outcome:
                self._grant(attempt.role, session, fresh, done)
            else:
                done(WRONG[attempt.role])

        self._coalescer.ask(ask, begun)

    def _grant(self, role: Role, session: Session, refresh_token: str, done: Done) -> None:
        claims = {"sub": session.subject, "role": role, "sid": session.sid}
        if session.service is not None:
            claims["service_id"] = session.service
        lifetime = self._signing.lifetime_seconds

        def signed(token: str | Exception) -> None:
            if isinstance(token, SealedElsewhere):
                done(SEALED)
            else:
                done(token if isinstance(token, Exception) else Granted(token, refresh_token, lifetime))

        self._signing.sign(claims, signed)

    async def _read(self, owners: tuple[Owner, ...]) -> Mapping[Owner, tuple[SecretView, ...]]:
        found: dict[Owner, tuple[SecretView, ...]] = {}
        for view in await self._store.read(FindSecrets(owners)):
            owner = (view.role, view.owner)
            found[owner] = (*found.get(owner, ()), view)
        return found


def _topics_of(owner: Owner, _: object) -> tuple[str, ...]:
    return (topic_of_access(*owner),)
