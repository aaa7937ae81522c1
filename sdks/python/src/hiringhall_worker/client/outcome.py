"""How a call ended, as its client sees it, and what it said on the way."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import HallError

if TYPE_CHECKING:
    from .pending import PendingCall

SUCCESS = "success"
FINAL = (SUCCESS, "failed", "error", "cancelled", "expired")


class CallFailed(Exception):
    """The call ended, but not with success.

    status: failed (the method refused), error (the worker could not run it), cancelled or expired.
    """

    def __init__(self, status: str, error_text: str | None, request_id: str) -> None:
        super().__init__(f"{status}: {error_text}" if error_text else status)
        self.status = status
        self.error_text = error_text
        self.request_id = request_id

    def __reduce__(self) -> Any:
        return CallFailed, (self.status, self.error_text, self.request_id)


class CallPending(HallError, TimeoutError):
    """The call has not ended within the time. It lives on: `pending` is its handle."""

    def __init__(self, pending: PendingCall, status: str) -> None:
        super().__init__(f"{pending.request_id} is still {status}")
        self.pending = pending
        self.request_id = pending.request_id


class Outcome:
    """The end of a call. `members` is everything that the hall tells, its times among it."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members = members
        self.status = str(members.get("status"))
        self.request_id = str(members.get("request_id"))

    @property
    def error_text(self) -> str | None:
        text = self.members.get("error_text")
        return text if isinstance(text, str) else None

    def result(self) -> Any:
        """The result (of a broadcast: the list of `answers`); CallFailed if it is no success."""
        if self.status != SUCCESS:
            raise CallFailed(self.status, self.error_text, self.request_id)
        answers = self.members.get("answers")
        return self.members.get("result") if answers is None else answers

    def __repr__(self) -> str:
        return f"Outcome({self.request_id!r}, {self.status!r})"


class Feedback:
    """Something that a method said while it ran. `members` is the item with all its keys."""

    def __init__(self, number: int, members: Mapping[str, Any]) -> None:
        self.number = number
        self.members = members

    @property
    def type(self) -> Any:
        return self.members.get("ft")

    @property
    def content(self) -> Any:
        return self.members.get("fc")

    @property
    def percent(self) -> float | None:
        """How far the method is, if it tells progress."""
        content = self.content
        percent = content.get("percent") if isinstance(content, Mapping) else None
        number = isinstance(percent, (int, float, Decimal)) and not isinstance(percent, bool)
        return float(percent) if number else None  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """The words of it, for people."""
        content = self.content
        found = content.get("text", "") if isinstance(content, Mapping) else content
        return found if isinstance(found, str) else str(found)

    def __repr__(self) -> str:
        return f"Feedback({self.number}, {self.type!r}, {self.content!r})"
