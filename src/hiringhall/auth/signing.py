"""The keys that sign access tokens, shared by all servers of a hall, and the tokens themselves: JWT, HS256.

The present key signs; one that was replaced is accepted for the lifetime of a token. They are stored sealed.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jwt
import msgspec

from hiringhall.auth.keyring import KEY_BYTES, Keyring
from hiringhall.auth.tokens import wall_clock
from hiringhall.domain.topics import EVERYTHING, SIGNING_KEYS
from hiringhall.ports.identity import FindSigningKeys, PutSigningKey, Reseal, SigningKeyView
from hiringhall.ports.store import Store
from hiringhall.ports.wakeups import Wakeups

log = logging.getLogger("hiringhall")

ALGORITHM: Final = "HS256"
ISSUER: Final = "hiringhall"
FRESH_SECONDS: Final = 5.0
LOOK_AGAIN_SECONDS: Final = 1.0
"""A token with an unknown key has the keys read again, at most once in this time."""
NEVER: Final = float("-inf")
ONE_KEY: Final = "all servers of a hall need the same HALL_KEY or, without one, the same HALL_ADMIN_TOKEN"
_UNCHECKED: Final[dict[str, Any]] = {
    "verify_exp": False,  # fractions of a second count here
    "verify_iat": False,
    "verify_nbf": False,
    "verify_aud": False,
    "require": ["exp", "sub", "role", "sid", "iss"],
}


class Claims(msgspec.Struct, frozen=True):
    """What a token says, once its signature was found to be right."""

    subject: str
    role: str
    service: str | None
    session: str
    expires_at: float  # of the wall clock, in seconds


class UnknownKey(Exception):
    """A token names a key that is not known here, or not known yet."""


class SealedElsewhere(Exception):
    """The present key is sealed with a key that this server does not have."""


class SigningKeys:
    """Signs and verifies. Belongs to the event loop's thread."""

    def __init__(
        self, store: Store, keyring: Keyring, wakeups: Wakeups, lifetime_seconds: float,
        clock: Callable[[], float] = wall_clock,
    ) -> None:  # fmt: skip
        self.lifetime_seconds = lifetime_seconds
        self.clock = clock
        self._store = store
        self._keyring = keyring
        self._loop = asyncio.get_running_loop()
        self.time = self._loop.time
        self._present: tuple[str, bytes] | None = None
        self._keys: dict[str, tuple[bytes, float]] = {}
        """By id: the key, and until when (by the loop's clock) it is accepted."""
        self._read_at = NEVER
        self._looked_at = NEVER
        self._waiting: list[Callable[[Exception | None], None]] = []
        self._task: asyncio.Task[None] | None = None
        wakeups.before(self._rung)

    async def prepare(self) -> None:
        """Read the keys; make one if there is none, or if the present one cannot be opened: then tokens die.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        views = await self._load()
        if views and views[0].retired_ms_ago is None:
            present = views[0]
            if self._present is None:
                log.warning("the key that signs tokens cannot be opened with the present keys: a new one is made")
                await self._replace(present.kid)
            elif not self._keyring.is_sealed_with_first(present.sealed):
                sealed = self._sealed(present.kid, self._present[1])
                await self._store.commit([Reseal({present.kid: (present.sealed, sealed)})])
        else:
            await self._replace(None)

    async def rotate(self) -> str:
        """Sign with a new key from now on, and return its id; the one before is accepted for the lifetime of a token.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        views = await self._load()
        await self._replace(views[0].kid if views and views[0].retired_ms_ago is None else None)
        assert self._present is not None, "the new key is sealed with a key of this server"
        return self._present[0]

    async def _replace(self, kid: str | None) -> None:
        """Put a new key in the place of one, unless another server does so, and read which there are."""
        new = secrets.token_hex(8)
        ask = PutSigningKey(new, self._sealed(new, secrets.token_bytes(KEY_BYTES)), instead_of=kid)
        (outcome,) = (await self._store.commit([ask])).outcomes
        if isinstance(outcome, Exception):
            raise outcome
        await self._load()

    def _sealed(self, kid: str, key: bytes) -> str:
        return self._keyring.seal(key, f"signing key {kid}")

    async def _load(self) -> list[SigningKeyView]:
        asked_at = self._looked_at = self.time()
        views: list[SigningKeyView] = await self._store.read(FindSigningKeys())
        keys: dict[str, tuple[bytes, float]] = {}
        self._present = None
        for view in views:
            known, _ = self._keys.get(view.kid, (None, 0.0))  # it may be sealed now with a key that is not known here
            key = self._keyring.open(view.sealed, f"signing key {view.kid}") or known
            if key is None:
                continue
            until = float("inf")
            if view.retired_ms_ago is None:
                self._present = (view.kid, key)
            else:
                until = asked_at + self.lifetime_seconds - view.retired_ms_ago / 1000
            keys[view.kid] = (key, until)
        self._keys = keys
        self._read_at = asked_at
        return views

    def _rung(self, topic: str) -> None:
        if topic in (SIGNING_KEYS, EVERYTHING):
            self._read_at = self._looked_at = NEVER

    # --- tokens

    def sign(self, claims: dict[str, Any], done: Callable[[str | Exception], None]) -> None:
        """Call `done` with a token that says this, or with why there is none. Keys that are stale are read first."""
        if self._present is not None and self.time() - self._read_at < FRESH_SECONDS:
            done(self._token(claims))
        else:
            self._look(partial(self._signed, claims, done))

    def _signed(
        self, claims: dict[str, Any], done: Callable[[str | Exception], None], failure: Exception | None
    ) -> None:
        done(self._token(claims) if failure is None else failure)

    def _token(self, claims: dict[str, Any]) -> str:
        assert self._present is not None
        kid, key = self._present
        now: float = self.clock()
        lifetime: float = self.lifetime_seconds
        if lifetime.is_integer():
            now, lifetime = int(now), int(lifetime)
        stamped = {**claims, "iss": ISSUER, "iat": now, "exp": now + lifetime, "jti": secrets.token_urlsafe(12)}
        return jwt.encode(stamped, key, ALGORITHM, headers={"kid": kid})

    def verify(self, token: str) -> Claims | None:
        """What a token says; None if it is none of ours.

        Raises:
            UnknownKey: it may be one, by a key that is not known yet.
        """
        try:
            header = jwt.get_unverified_header(token)
            kid = header.get("kid")
            if header.get("alg") != ALGORITHM or not isinstance(kid, str):
                return None
            key, until = self._keys.get(kid, (None, 0.0))
            if key is None:
                raise UnknownKey
            if until < self.time():
                return None
            said = jwt.decode(token, key, algorithms=[ALGORITHM], issuer=ISSUER, options=_UNCHECKED)  # type: ignore[arg-type]
            return Claims(said["sub"], said["role"], said.get("service_id"), said["sid"], float(said["exp"]))
        except (jwt.PyJWTError, ValueError, TypeError):
            return None

    def is_current(self, claims: Claims) -> bool:
        """Whether the token's time is not over."""
        return self.clock() < claims.expires_at

    def when_looked(self, done: Callable[[Exception | None], None]) -> None:
        """Read the keys again, unless that was a moment ago (then a little later), and call `done`."""
        self._look(done)

    def _look(self, done: Callable[[Exception | None], None]) -> None:
        self._waiting.append(done)
        if self._task is None:
            self._task = self._loop.create_task(self._look_once())

    async def _look_once(self) -> None:
        pause = self._looked_at + LOOK_AGAIN_SECONDS - self.time()
        if pause > 0 and self._present is not None:
            await _pass_time(self._loop, pause)
        failure: Exception | None = None
        try:
            await (self._load() if self._present is not None else self.prepare())
            if self._present is None:
                failure = SealedElsewhere()
                log.error("the key that signs tokens was replaced by a server that has another key: %s", ONE_KEY)
        except Exception as problem:  # noqa: BLE001 - every caller has to hear of it
            failure = problem
        waiting, self._waiting, self._task = self._waiting, [], None
        for done in waiting:
            try:
                done(failure)
            except Exception as bug:  # noqa: BLE001 - the others have nothing to do with it
                self._loop.call_exception_handler({"message": "what follows a look failed", "exception": bug})


async def _pass_time(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    over = loop.create_future()
    timer = loop.call_later(seconds, over.set_result, None)
    try:
        await over
    finally:
        timer.cancel()
