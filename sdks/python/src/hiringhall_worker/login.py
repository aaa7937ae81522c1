"""Tokens that are had for a secret, renewed in time, and had anew when one is refused.

`Grant` is the exchange of secrets for tokens without sockets, clock and threads; `Keeper` is one grant that the threads
of a worker or a client share.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Union

from . import wire
from .backoff import wait_seconds
from .envelope import SUPERSEDED, answer_code, explain
from .errors import HallError, Refused, Superseded, Unauthorized
from .steps import Again, Crash, Done
from .transport import Address, Connection

# A token is renewed so long before its end, or halfway if it does not last twice as long.
AHEAD_SECONDS = 300.0
USUAL_LIFETIME_SECONDS = 3600.0
WAITING = "waiting before the next login"

Readiness = Union[Done, Again, Crash]


@dataclass(frozen=True)
class Login:
    """Where a secret is exchanged for a token, and what is sent. `advice` tells people what to check."""

    path: str
    fields: Mapping[str, str] = field(repr=False)
    advice: str
    answer_seconds: float = 10.0


class Grant:
    """The tokens of one login. All times are seconds of one clock that only goes forward."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.token: str | None = None
        self._refresh: str | None = None
        self._renew_at = 0.0
        self._ends_at = 0.0
        self._next_attempt_at = 0.0
        self._attempts = 0

    def usable(self, now: float) -> bool:
        return self.token is not None and now < self._ends_at

    def wanted(self, now: float) -> bool:
        """Whether a token is to be had now: there is no usable one, or the time to renew it has come."""
        if not self.usable(now):
            return True
        return now >= self._renew_at and now >= self._next_attempt_at

    def pause_seconds(self, now: float) -> float:
        return max(0.0, self._next_attempt_at - now)

    def refuse(self, token: str, log_in: bool) -> None:
        """The hall does not accept this token. `log_in`: neither is what the refresh token brings of any use."""
        if token == self.token:
            self.token = None
            self._next_attempt_at = 0.0
            if log_in:
                self._refresh = None

    def request(self) -> wire.Request:
        """The request that brings a token: by the refresh token if there is one, else by the secret."""
        if self._refresh is not None:
            fields = {"grant_type": "refresh_token", "refresh_token": self._refresh}
        else:
            fields = {"grant_type": "client_credentials", **self.login.fields}
        return wire.Request(
            "login", self.login.path, "", wire.form(fields), self.login.answer_seconds, content_type=wire.FORM
        )

    def receive(self, reply: wire.Reply, dice: float, now: float) -> Readiness:
        """Say what the reply to the last request means. `dice` is a random number of [0, 1)."""
        self._attempts += 1
        if isinstance(reply, wire.Lost):
            return self._again(reply.why, dice, now)
        if 200 <= reply.status < 300:
            return Done() if self._accept(reply, now) else self._again("the answer has no access_token", dice, now)
        if reply.status in (408, 425, 429) or not 300 <= reply.status < 500:
            return self._again(explain(reply), dice, now, reply)
        if answer_code(reply) == SUPERSEDED:
            return Crash(Superseded(f"login: {explain(reply)}"))
        if self._refresh is not None:
            self._refresh = None
            return Again(0.0, f"the refresh token is dead ({explain(reply)}); logging in again")
        return Crash(self._crash(reply))

    def _again(self, why: str, dice: float, now: float, answer: wire.Answer | None = None) -> Again:
        seconds = wait_seconds(self._attempts, dice, answer)
        self._next_attempt_at = now + seconds
        return Again(seconds, why)

    def _crash(self, answer: wire.Answer) -> HallError:
        told = f"login: {explain(answer)}"
        if answer.status in (401, 403):
            return Unauthorized(f"{told}; {self.login.advice}")
        return Refused(f"{told}; is the address of the server right?", answer.status)

    def _accept(self, answer: wire.Answer, now: float) -> bool:
        members = answer.members()
        token, refresh, lifetime = (members.get(name) for name in ("access_token", "refresh_token", "expires_in"))
        if not isinstance(token, str) or not wire.sendable(token):
            return False
        if isinstance(lifetime, bool) or not isinstance(lifetime, (int, float)) or not 0 < lifetime < float("inf"):
            lifetime = USUAL_LIFETIME_SECONDS
        self.token = token
        self._refresh = refresh if isinstance(refresh, str) and refresh else None
        self._renew_at = now + lifetime - min(AHEAD_SECONDS, lifetime / 2.0)
        self._ends_at = now + lifetime
        self._attempts = 0
        self._next_attempt_at = 0.0
        return True


class Keeper:
    """One grant for several threads: one of them renews it while the others go on with the token that still lasts."""

    def __init__(self, grant: Grant, address: Address, clock: Callable[[], float] = time.monotonic) -> None:
        self._grant = grant
        self._clock = clock
        self._connection = Connection(address)
        self._guard = threading.Lock()
        self._renewing = threading.Lock()

    @property
    def token(self) -> str:
        """The present token; empty without one."""
        with self._guard:
            return self._grant.token or ""

    def refuse(self, token: str, log_in: bool) -> None:
        """Tell that the hall does not accept this token."""
        with self._guard:
            self._grant.refuse(token, log_in)

    def ready(self) -> Readiness:
        """See to it that there is a usable token, with one attempt at most."""
        with self._guard:
            usable, wanted = self._usable_and_wanted()
        if not wanted:
            return Done()
        if not self._renewing.acquire(blocking=not usable):
            return Done()
        try:
            return self._renewed()
        finally:
            self._renewing.release()

    def abort(self) -> None:
        """End an attempt of another thread, and every later one."""
        self._connection.abort()

    def _usable_and_wanted(self) -> tuple[bool, bool]:
        now = self._clock()
        return self._grant.usable(now), self._grant.wanted(now)

    def _renewed(self) -> Readiness:
        with self._guard:
            _, wanted = self._usable_and_wanted()
            if not wanted:
                return Done()
            pause = self._grant.pause_seconds(self._clock())
            if pause > 0.0:
                return Again(pause, WAITING)
            request = self._grant.request()
        reply = self._connection.exchange(request)
        self._connection.close()  # the next one is needed in an hour or so
        with self._guard:
            now = self._clock()
            step = self._grant.receive(reply, random.random(), now)
            return Done() if isinstance(step, Again) and self._grant.usable(now) else step
