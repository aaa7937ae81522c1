"""The handle of a call that was made: wait for its end, listen to it, cancel it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from .. import jsontext, wire
from ..backoff import backoff_seconds
from ..errors import Refused
from ..transport import Stream
from .events import Event, Events
from .outcome import FINAL, CallPending, Feedback, Outcome
from .wires import Persistence, Trouble, Wires, trouble

HOLD_SECONDS = 30.0
# The hall says something every 15 s; a stream that is silent for this long is dead.
SILENCE_SECONDS = 45.0
OUTCOME = "outcome"


class PendingCall:
    """One call that was made. For any thread; also made anew from its `request_id`, by `client.pending(request_id)`."""

    def __init__(
        self, wires: Wires, request_id: str, answer_seconds: float, parse_float: jsontext.ParseFloat | None
    ) -> None:
        self.request_id = request_id
        self._wires = wires
        self._answer_seconds = answer_seconds
        self._parse_float = parse_float
        self._outcome: Outcome | None = None

    @property
    def ended(self) -> Outcome | None:
        """The end of the call, if it is known here already."""
        return self._outcome

    def result(self, wait: float | None = None) -> Any:
        """The result, when it is there; `wait` is how many seconds to wait for it (None: as long as it takes).

        Raises CallFailed if the call does not end with success, CallPending if it has not ended within `wait`.
        """
        deadline = None if wait is None else time.monotonic() + wait
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            status = self._look(HOLD_SECONDS if left is None else min(HOLD_SECONDS, left), left)
            if self._outcome is not None:
                return self._outcome.result()
            if deadline is not None and time.monotonic() >= deadline:
                raise CallPending(self, status)

    def outcome(self, wait: float = 0.0) -> Outcome | None:
        """The end of the call however it went, or None if it has not ended within `wait` seconds."""
        try:
            self.result(wait)
        except CallPending:
            return None
        except Exception:
            if self._outcome is None:
                raise
        return self._outcome

    def status(self) -> str:
        """queued, offered, held or cancelling; success, failed, error, cancelled or expired once it has ended."""
        return self._look(0.0)

    def cancel(self) -> str:
        """Ask to cancel it. `cancelled` if nobody had begun; `cancelling` if a worker has it, which is told.

        If it has ended already this does nothing and returns how.
        """
        try:
            answer = self._wires.answered(lambda token: self._request(token, "", method="DELETE"))
        except Exception as error:
            if getattr(error, "status", None) != 409:
                raise
            return self._look(0.0)
        return self.keep(read_members(answer, self._parse_float))

    def feedback(self) -> Iterator[Feedback]:
        """What the method says, as it comes, until the call has ended; from the beginning, each item once.

        A broken connection is made anew, and goes on after the last item.
        """
        events = Events()
        connection = self._wires.opened()
        persistence = self._wires.persistence()
        attempts = refusals = 0
        try:
            while True:
                token = self._wires.token(persistence)
                found = connection.stream(self._request(token, "/feedback", "text/event-stream", events.last_id))
                if isinstance(found, wire.Answer) and found.status == 401 and self._wires.renewable(token, refusals):
                    refusals += 1
                    continue
                attempts += 1
                if isinstance(found, Stream):
                    for event in _events(found, events, persistence):
                        attempts = refusals = 0
                        yield from self._heard(event)
                        if event.name == OUTCOME:
                            return
                    found = wire.Lost("the stream of feedback ended")
                    connection.close()
                self._bear(found, attempts, persistence)
        finally:
            connection.close()

    def keep(self, members: dict[str, Any]) -> str:
        """Take in what the hall says of this call; its status."""
        status = str(members.get("status", "pending"))
        if status in FINAL:
            self._outcome = Outcome({"request_id": self.request_id, **members})
        return status

    def _look(self, wait_seconds: float, most_seconds: float | None = None) -> str:
        if self._outcome is not None:
            return self._outcome.status
        query = f"?wait={wait_seconds:.3f}" if wait_seconds > 0 else ""
        more = wait_seconds + self._answer_seconds
        answer = self._wires.answered(lambda token: self._request(token, query, timeout_seconds=more), most_seconds)
        return self.keep(read_members(answer, self._parse_float))

    def _request(
        self,
        token: str,
        rest: str,
        accept: str = "application/json",
        last_id: str = "",
        *,
        method: str = "GET",
        timeout_seconds: float | None = None,
    ) -> wire.Request:
        headers = [("Accept", accept)]
        if last_id:
            headers.append(("Last-Event-ID", last_id))
        if timeout_seconds is None:
            timeout_seconds = SILENCE_SECONDS if rest == "/feedback" else self._answer_seconds
        path = f"/client/requests/{wire.part(self.request_id)}{rest}"
        return wire.Request("follow", path, token, b"", timeout_seconds, tuple(headers), method=method)

    def _heard(self, event: Event) -> Iterator[Feedback]:
        try:
            members = _object(event.data.encode("utf-8", "replace"), self._parse_float)
        except Refused:
            return
        if event.name == OUTCOME:
            self.keep(members)
        elif event.name == "feedback":
            yield Feedback(int(event.id) if event.id.isdigit() else 0, members)

    @staticmethod
    def _bear(found: wire.Reply, attempts: int, persistence: Persistence) -> None:
        if isinstance(found, wire.Lost):
            persistence.wait(Trouble(found.why, backoff_seconds(max(1, attempts), random.random())))
        else:
            persistence.wait(trouble(found, attempts))


def _events(stream: Stream, events: Events, persistence: Persistence) -> Iterator[Event]:
    events.restart()
    for line in stream.lines():
        if isinstance(line, wire.Lost):
            return
        persistence.worked()
        event = events.feed(line)
        if event is not None:
            yield event


def read_members(answer: wire.Answer, parse_float: jsontext.ParseFloat | None) -> dict[str, Any]:
    """The members of an answer about a call."""
    return _object(answer.body, parse_float)


def _object(text: bytes, parse_float: jsontext.ParseFloat | None) -> dict[str, Any]:
    try:
        found = jsontext.decode(text, parse_float)
    except ValueError as problem:
        raise Refused(f"the answer is not the hall's: {problem}") from None
    if not isinstance(found, dict):
        raise Refused("the answer is not the hall's: it is no JSON object")
    return found
