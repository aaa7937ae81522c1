"""A client's call: submitted, waited for, withdrawn. Whoever waits may leave at any time; the call lives on."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final, Protocol

from hiringhall.auth.identities import ENDED
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.waiting import SHORTEST_SHARE
from hiringhall.ports.calls import RequestView, Submit, Submitted, Withdraw

QUEUED: Final = "queued"
_ASKED, _WAITING, _ENDED = range(3)


def make_request_id() -> str:
    """A new request id: `r-` and 22 URL-safe characters."""
    return "r-" + secrets.token_urlsafe(16)


def pending_status(view: RequestView) -> str:
    """How a call stands that has no outcome yet, in the words of the wire."""
    if view.cancelling:
        return "cancelling"
    if view.state is State.HELD:
        return "held"
    return "offered" if view.state is State.READY and view.offered else QUEUED


class Asker(Protocol):
    """Who waits for what becomes of a call. One of these is called, once."""

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""

    def ended(self, view: RequestView) -> None:
        """It has an outcome."""

    def pending(self, request_id: str, status: str) -> None:
        """It has none yet."""

    def refused(self, refused: Refused) -> None:
        """There is no such call, or none was made."""

    def failed(self, failure: Exception) -> None:
        """It could not be found out."""


class Inquiry:
    """One client that wants to know what becomes of one call. `client`: whose calls it may see; None: anybody's.

    `session`: the login by which it asks, with which its waiting ends; empty for the operator.
    """

    __slots__ = ("__weakref__", "_asker", "_client", "_ends_at", "_fresh", "_hall", "_hold", "_seen", "_state",
                 "_timer", "request_id", "session")  # fmt: skip

    def __init__(
        self, hall: Hall, asker: Asker, client: str | None, request_id: str, hold_seconds: float, session: str = ""
    ) -> None:
        self._hall = hall
        self._asker = asker
        self._client = client
        self._hold = hold_seconds
        self._ends_at = hall.time() + hold_seconds
        self._timer: asyncio.TimerHandle | None = None
        """What ends it, once it was parked."""
        self._fresh = 0
        """The first read that tells how the call stands now."""
        self._seen: RequestView | None = None
        self._state = _WAITING
        self.request_id = request_id
        self.session = session

    # --- ways to begin

    def look(self) -> None:
        """Find out how the call stands, and wait for its outcome."""
        self._hall.followers.follow(self)
        self._fresh = self._hall.followers.look(self.request_id)

    def submit(self, ask: Submit) -> None:
        """Make the call, and wait for its outcome."""
        self._state = _ASKED
        self._hall.followers.follow(self)  # first, lest the ring of its end be missed
        self._hall.coalescer.ask(ask, self._submitted, alive=self._asker.is_there, on_gone=self.gone)

    def withdraw(self) -> None:
        """Take the call back, and tell how it stands then."""
        self._state = _ASKED
        self._hall.followers.follow(self)
        self._hall.coalescer.ask(Withdraw(self.request_id, self._client), self._withdrawn)

    def _submitted(self, outcome: Any) -> None:
        if self._was_answered(outcome):
            return
        assert isinstance(outcome, Submitted)
        self._state = _WAITING
        self._fresh = self._hall.followers.next_read
        if outcome.repeated:
            self._hall.followers.leave(self)
            self.request_id = outcome.request_id
            self.look()
        elif self._ends(self._seen):
            self.news(self._seen)
        elif self._is_over():
            self._finish()
            self._asker.pending(self.request_id, QUEUED)
        else:
            self._park()

    def _withdrawn(self, outcome: Any) -> None:
        if not self._was_answered(outcome):
            self._state = _WAITING
            self._fresh = self._hall.followers.look(self.request_id)

    def _was_answered(self, outcome: Any) -> bool:
        if self._state == _ENDED:
            return True
        if isinstance(outcome, Exception):
            self._state = _WAITING
            self.failed(outcome)
        elif isinstance(outcome, Refused):
            self._finish()
            self._asker.refused(outcome)
        else:
            return False
        return True

    # --- waiting

    def news(self, view: RequestView | None) -> None:
        """How the call stands now."""
        if self._state == _ASKED:
            self._seen = view
        elif self._state == _WAITING and (self._ends(view) or self._hall.followers.told >= self._fresh):
            if view is None or self._client not in (None, view.client):
                self._finish()
                self._asker.refused(no_such_call())
            elif view.answer is not None:
                self._finish()
                self._asker.ended(view)
            elif self._is_over():
                self._finish()
                self._asker.pending(view.request_id, pending_status(view))
            else:
                self._seen = view
                self._park()

    @staticmethod
    def _ends(view: RequestView | None) -> bool:
        """Whether it tells an outcome, which is never out of date."""
        return view is not None and view.answer is not None

    def _is_over(self) -> bool:
        return self._hold <= 0 or self._hall.draining or self._hall.time() >= self._ends_at

    def _park(self) -> None:
        if self._timer is None:
            hall = self._hall
            self._ends_at -= self._hold * (1.0 - SHORTEST_SHARE) * hall.jitter()
            self._timer = hall.loop.call_at(self._ends_at, self.end)

    def end(self) -> None:
        """Look for the last time: nobody rings when a call is handed to a worker. What is still being asked answers by
        itself."""
        self._hold = 0.0
        if self._state == _WAITING and self._timer is not None:
            self._fresh = self._hall.followers.look(self.request_id)

    def failed(self, failure: Exception) -> None:
        """It could not be found out how the call stands."""
        if self._state == _WAITING:
            self._finish()
            self._asker.failed(failure)

    def login_ended(self) -> None:
        """The client may not wait any more. What is still being asked answers by itself."""
        if self._state == _WAITING:
            self._finish()
            self._asker.refused(ENDED)

    def gone(self) -> None:
        """The client went away. A call that was submitted lives on."""
        self._finish()

    def _finish(self) -> None:
        self._state = _ENDED
        self._hall.followers.leave(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def no_such_call() -> Refused:
    """The refusal of an id that is none of the client's calls."""
    return Refused("not_found", "there is no such request of this client; finished ones are kept for a while only")
