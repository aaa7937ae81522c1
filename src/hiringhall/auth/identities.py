"""Who calls with an access token, and what a client may call."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from functools import lru_cache, partial
from typing import Final, TypeAlias

import msgspec

from hiringhall.auth.signing import Claims, SigningKeys, UnknownKey
from hiringhall.auth.tokens import Tokens
from hiringhall.auth.views import REFRESH_SECONDS, Views
from hiringhall.domain.names import service_worker
from hiringhall.domain.owners import OPERATOR
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_access, topic_of_client, topic_of_worker
from hiringhall.ports.identity import FindSessions, SessionView
from hiringhall.ports.store import Store
from hiringhall.ports.wakeups import Wakeups

TOKENS_REMEMBERED_MAX: Final = 20_000


class Identity(msgspec.Struct, frozen=True):
    """Who calls. `session` is the id of the login, empty for the operator."""

    role: str  # "worker" or "client"
    subject: str  # worker or client id
    service: str | None
    session: str
    incarnation: int | None = None
    """Of a worker's login: the start of the worker with which it registered; None if it has not yet."""


Done: TypeAlias = Callable[[Identity | Refused | Exception], None]
INVALID: Final = Refused("missing_or_invalid_bearer", "invalid token")
EXPIRED: Final = Refused("missing_or_invalid_bearer", "the token has expired; refresh it or log in again")
ENDED: Final = Refused("missing_or_invalid_bearer", "the login of this token has ended; log in again")
ANOTHERS: Final = Refused("forbidden", "this token is known, but opens something else")
AS_OPERATOR: Final = Identity("client", OPERATOR, None, "")


class Identities:
    """Tells who calls: the token is verified once, its login is known at most 5 s old. For the event loop's thread."""

    def __init__(self, store: Store, tokens: Tokens, wakeups: Wakeups, signing: SigningKeys) -> None:
        self.signing = signing
        self._store = store
        self._tokens = tokens
        self._remembered: dict[bytes, Claims] = {}
        self._asked: set[str] = set()
        """Logins of those who wait that are being asked about."""
        self._sessions: Views[str, SessionView] = Views(asyncio.get_running_loop(), wakeups, self._read, _topics_of)

    def identify(self, header: bytes | None, role: str, done: Done) -> None:
        """Call `done` with who calls as a `role`, by its Authorization header; at once if that is known.

        Refused: `missing_or_invalid_bearer`, and `forbidden` for a token that opens something else.
        """
        claims = self._remembered.get(header) if header is not None else None
        if claims is None:
            self._look_into(header, role, done, again=True)
        else:
            self._judge(claims, role, done)

    def knows(self, header: bytes) -> bool:
        """Whether an Authorization header holds an access token of this hall, whatever it opens."""
        try:
            claims = self.signing.verify(header.partition(b" ")[2].strip().decode("latin-1"))
        except UnknownKey:
            return False
        return claims is not None and self.signing.is_current(claims)

    def allows(self, identity: Identity, service: str, method: str) -> bool:
        """Whether a client may call a method, by its patterns over `service/method`; the operator may call all."""
        if identity == AS_OPERATOR:
            return True
        view = self._sessions.last(identity.session)
        if identity.role != "client" or view is None or view.allow is None:
            return False
        return _allowed(view.allow, f"{service}/{method}")

    def look_after(self, sessions: Iterable[str], ended: Callable[[str], None]) -> None:
        """Call `ended` for each of these logins that stands no more, now or as soon as it is known.

        To be called once a second for the logins of those who wait: it asks about all at once, and only about those of
        which too little is known to be sure for another such while.
        """
        for session in sessions:
            age = self._sessions.age(session)
            if age <= REFRESH_SECONDS:
                view = self._sessions.last(session)
                if view is None or not view.stands:
                    ended(session)
            elif session not in self._asked:
                self._asked.add(session)
                self._sessions.find(session, partial(self._looked_after, session, ended))

    def _looked_after(self, session: str, ended: Callable[[str], None], view: SessionView | Exception | None) -> None:
        self._asked.discard(session)
        if view is None or (not isinstance(view, Exception) and not view.stands):
            ended(session)

    def _look_into(self, header: bytes | None, role: str, done: Done, *, again: bool) -> None:
        bearer = self._tokens.bearer(header)
        if bearer.complaint:
            done(Refused("missing_or_invalid_bearer", bearer.complaint))
            return
        if bearer.is_operator or bearer.is_bootstrap or bearer.is_worker or bearer.is_metrics:
            done(AS_OPERATOR if bearer.is_operator and role == "client" else ANOTHERS)
            return
        assert header is not None
        token = header.partition(b" ")[2].strip().decode("latin-1")
        try:
            claims = self.signing.verify(token)
        except UnknownKey:
            if again:
                self.signing.when_looked(partial(self._looked, header, role, done))
            else:
                done(INVALID)
            return
        if claims is None:
            done(INVALID)
            return
        if len(self._remembered) >= TOKENS_REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[header] = claims
        self._judge(claims, role, done)

    def _looked(self, header: bytes, role: str, done: Done, failure: Exception | None) -> None:
        if failure is not None:
            done(failure)
        else:
            self._look_into(header, role, done, again=False)

    def _judge(self, claims: Claims, role: str, done: Done) -> None:
        if not self.signing.is_current(claims):
            done(EXPIRED)
        elif claims.role != role:
            done(ANOTHERS)
        elif (seen := self._sessions.fresh(claims.session)) is not None:
            done(_verdict(claims, seen.view))
        else:
            self._sessions.find(claims.session, partial(_told, claims, done))

    async def _read(self, sids: tuple[str, ...]) -> Mapping[str, SessionView]:
        return {view.sid: view for view in await self._store.read(FindSessions(sids))}


def _told(claims: Claims, done: Done, view: SessionView | Exception | None) -> None:
    done(view if isinstance(view, Exception) else _verdict(claims, view))


def _verdict(claims: Claims, view: SessionView | None) -> Identity | Refused:
    said = (claims.role, claims.subject, claims.service)
    if view is None or not view.stands or said != (view.role, view.subject, view.service):
        return ENDED
    return Identity(claims.role, claims.subject, claims.service, claims.session, view.incarnation)


def _topics_of(_: str, view: SessionView | None) -> tuple[str, ...]:
    if view is None:
        return ()
    if view.service is None:
        return (topic_of_access("client", view.subject), topic_of_client(view.subject))
    return (topic_of_access("worker", view.service), topic_of_worker(service_worker(view.service, view.subject)))


@lru_cache(maxsize=16_384)
def _allowed(allow: str, full_method: str) -> bool:
    return _patterns(allow).fullmatch(full_method) is not None


@lru_cache(maxsize=4_096)
def _patterns(allow: str) -> re.Pattern[str]:
    """The shell wildcards of a client as one expression; none match nothing."""
    return re.compile("|".join(translate(pattern) for pattern in json.loads(allow)) or r"(?!)")
