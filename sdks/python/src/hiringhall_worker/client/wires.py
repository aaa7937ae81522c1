"""One client's way to the hall: a few connections that its threads share, and what is tried again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from .. import wire
from ..backoff import wait_seconds
from ..envelope import answer_code, explain
from ..errors import HallError, Refused, Unauthorized, Unreachable
from ..login import Keeper
from ..steps import Again, Crash
from ..transport import Address, Connection

IDLE_CONNECTIONS = 16
# For this long at least it is tried, however little time the caller has left.
LEAST_PATIENCE_SECONDS = 1.0
# A token that is refused a third time in a row, after a refresh and a login, is refused for good.
REFUSALS = 2
NO_WORKER = "no_worker"


class Trouble(NamedTuple):
    """Why an attempt brought nothing, and after how long another one is of use."""

    why: str
    after_seconds: float


class Wires:
    """Sends requests until they are answered, or it has not worked for `patience_seconds`. For any thread."""

    def __init__(self, address: Address, keeper: Keeper | None, token: str, patience_seconds: float) -> None:
        self._address = address
        self._keeper = keeper
        self._token = token
        self._patience_seconds = patience_seconds
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def close(self) -> None:
        """Close the connections; those in use are closed when their requests are answered."""
        with self._guard:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def answered(self, request: Callable[[str], wire.Request], most_seconds: float | None = None) -> wire.Answer:
        """The 2xx answer to a request, which is made for a token. Raises what the hall said otherwise.

        most_seconds: what the caller has left; trying again never takes much longer.
        """
        attempts = 0
        most = self._patience_seconds if most_seconds is None else max(most_seconds, LEAST_PATIENCE_SECONDS)
        persistence = Persistence(min(self._patience_seconds, most))
        refusals = 0
        while True:
            token = self.token(persistence)
            found = self._exchange(request(token))
            attempts += 1
            if isinstance(found, wire.Answer):
                if 200 <= found.status < 300 and found.body:
                    return found
                if found.status == 401 and self.renewable(token, refusals):
                    refusals += 1
                    continue
            persistence.wait(trouble(found, attempts))

    def token(self, persistence: Persistence) -> str:
        """A token that is usable as far as is known."""
        if self._keeper is None:
            return self._token
        while True:
            step = self._keeper.ready()
            if isinstance(step, Crash):
                raise step.error
            if not isinstance(step, Again):
                return self._keeper.token
            persistence.wait(Trouble(f"login: {step.why}", step.after_seconds))

    def renewable(self, token: str, refusals: int) -> bool:
        """After the hall refused a token, so many times before: whether to try with another one."""
        if self._keeper is None or refusals >= REFUSALS:
            return False
        self._keeper.refuse(token, log_in=refusals + 1 == REFUSALS)
        return True

    def opened(self) -> Connection:
        """A connection of the caller's own."""
        return Connection(self._address)

    def persistence(self) -> Persistence:
        return Persistence(self._patience_seconds)

    def _exchange(self, request: wire.Request) -> wire.Reply:
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        connection = connection or Connection(self._address)
        reply = connection.exchange(request)
        with self._guard:
            kept = not self._closed and len(self._idle) < IDLE_CONNECTIONS
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()
        return reply


class Persistence:
    """How long it has not worked, and how long that is borne."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._since: float | None = None

    def worked(self) -> None:
        self._since = None

    def wait(self, trouble: Trouble) -> None:
        """Wait before the next attempt; Unreachable if that would take longer than the patience."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now + trouble.after_seconds > self._since + self._patience_seconds:
            raise Unreachable(f"{trouble.why} (tried for {now - self._since:.0f} s)")
        time.sleep(trouble.after_seconds)


def trouble(reply: wire.Reply, attempts: int) -> Trouble:
    """What to say of an attempt that may be repeated; raises if no repetition mends it."""
    if isinstance(reply, wire.Lost):
        return Trouble(reply.why, wait_seconds(attempts, random.random(), None))
    if 200 <= reply.status < 300:
        return Trouble("the answer was cut off", wait_seconds(attempts, random.random(), None))
    code = answer_code(reply)
    if code != NO_WORKER and (reply.status in (408, 425, 429) or not 300 <= reply.status < 500):
        return Trouble(explain(reply), wait_seconds(attempts, random.random(), reply))
    raise refusal(reply, code)


def refusal(answer: wire.Answer, code: str) -> HallError:
    """An answer that is no success, as an exception."""
    if answer.status in (401, 403):
        return Unauthorized(explain(answer))
    return Refused(explain(answer), answer.status, code or None)
