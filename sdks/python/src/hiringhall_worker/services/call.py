"""The call as a method sees it."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .. import wire

METHOD_REQUEST = 1
PROGRESS = "progress"
MESSAGE = "message"

Say = Callable[[Mapping[str, Any]], None]


class Call:
    """One call of a method, handed to this worker.

    `cancelled` is set once the answer is no longer wanted as it was: the client or an operator cancelled the call, or
    this worker lost it. A method that runs for long looks at it, or waits on it instead of sleeping; what it answers
    then is still what the client gets. `members` is everything that the hall sent beside `params`.
    """

    def __init__(self, service: str, members: Mapping[str, Any], say: Say) -> None:
        self.service = service
        self.members = members
        self.request_id = str(members.get("request_id"))
        self.method = str(members.get("method"))
        self.cancelled = threading.Event()
        self.say = say

    @property
    def deadline(self) -> datetime.datetime | None:
        """When nobody wants the answer any more, if the hall told."""
        text = self.members.get("deadline")
        return wire.moment(text) if isinstance(text, str) else None

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context of the client, if it sent one."""
        text = self.members.get("traceparent")
        return text if isinstance(text, str) else None

    def feedback(self, content: Any, type: int | str = MESSAGE, persist: bool = True) -> None:
        """Tell the client something while the method runs: any JSON value of at most 64 KiB.

        Returns at once and never fails: what cannot be sent is logged and dropped. Without `persist` the hall keeps it
        for a minute only.
        """
        self.say(
            {
                "rid": self.request_id,
                "st": METHOD_REQUEST,
                "sn": self.method,
                "ft": type,
                "pr": bool(persist),
                "fc": content,
            }
        )

    def progress(self, percent: float, text: str = "") -> None:
        """Tell how far the method is: feedback of the type `progress`, with `percent` and `text`."""
        self.feedback({"percent": percent, "text": text}, PROGRESS, persist=False)

    def __repr__(self) -> str:
        return f"Call({self.service}/{self.method}, {self.request_id!r})"
