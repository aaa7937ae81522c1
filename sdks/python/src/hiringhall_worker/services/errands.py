"""The protocol of a service worker as a state machine: what to send next, and what an answer means.

An *errand* is one request until it is settled: send `errand.request(token)`, give what came back to
`errand.receive()`, and do what the returned step says. Nothing here touches a socket, a clock or a thread; random
numbers and fresh keys come from outside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from .. import jsontext, wire
from ..backoff import wait_seconds
from ..envelope import answer_code, explain
from ..errors import HallError, Refused, Superseded, Unauthorized
from ..steps import Again, Crash, Done, Skipped
from .outcome import Outcome, error
from .session import Hold, Session
from .steps import Drained, Renew, Step, Unregistered
from .verdicts import Verb, Verdict, verdict

# A token that is refused a third time in a row, after a refresh and a login, is refused for good.
REFUSALS = 2


class Errand:
    """One request until it is settled."""

    verb: Verb

    def __init__(self, session: Session) -> None:
        self.session = session
        self.attempts = 0
        self.refusals = 0

    def request(self, token: str) -> wire.Request:
        raise NotImplementedError

    def receive(self, reply: wire.Reply, dice: float) -> Step:
        """Say what to do after a reply. `dice` is a random number of [0, 1)."""
        self.attempts += 1
        if isinstance(reply, wire.Lost):
            return self.again(reply.why, dice)
        self.session.hear(reply)
        found = verdict(self.verb, reply.status, answer_code(reply) if reply.status in (404, 409) else "")
        if found is Verdict.RENEW and self.refusals < REFUSALS:
            self.refusals += 1
            return Renew(log_in=self.refusals == REFUSALS)
        if found in CRASHES:
            return Crash(self.crash(found, reply))
        if found is Verdict.AGAIN:
            return self.again(explain(reply), dice, reply)
        self.refusals = 0
        return self.judge(found, reply, dice)

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        return Done() if found is Verdict.ACCEPTED else Skipped(explain(answer))

    def again(self, why: str, dice: float, answer: wire.Answer | None = None) -> Step:
        return Again(wait_seconds(self.attempts, dice, answer), why)

    def crash(self, found: Verdict, answer: wire.Answer) -> HallError:
        told = f"{self.verb.value}: {explain(answer)}"
        if found is Verdict.SUPERSEDED:
            name = f"{self.session.terms.service}/{self.session.terms.worker_id}"
            return Superseded(f"{told}; another process has registered as {name}: give each its own worker_id")
        if found is Verdict.REFUSED:
            hint = "" if answer.status in (400, 422) else "; is the address of the server right?"
            return Refused(f"{told}{hint}", answer.status, answer_code(answer) or None)
        return Unauthorized(f"{told}; check the secret and whether the service is still allowed this worker")

    def sending(self, token: str, method: str, path: str, body: bytes = b"", **more: Any) -> wire.Request:
        more.setdefault("timeout_seconds", self.session.terms.answer_seconds)
        return wire.Request(self.verb.value, path, token, body, method=method, **more)


CRASHES = (Verdict.RENEW, Verdict.SUPERSEDED, Verdict.UNAUTHORIZED, Verdict.REFUSED)


class Register(Errand):
    """Tell the hall what this worker offers; the answer is the service's settings."""

    verb = Verb.REGISTER

    def request(self, token: str) -> wire.Request:
        terms = self.session.terms
        members = {"worker_id": terms.worker_id, "service_id": terms.service, **terms.profile}
        return self.sending(token, "POST", "/worker/registration", jsontext.encode(members))

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        members = answer.members()
        if not members and answer.body.strip() != b"{}":
            return self.again("the answer is no map of settings", dice)
        self.session.settings = {name: value for name, value in members.items() if isinstance(value, str)}
        self.session.told_beat_seconds = wire.interval(str(members.get("heartbeat_delay", "")))
        self.session.registered = True
        self.session.quiet = False
        return Done()


class Drain(Errand):
    """Ask for calls, at most so many. `wait` lets the hall hold the request while there are none."""

    verb = Verb.DRAIN

    def __init__(self, session: Session, most: int, wait: bool) -> None:
        super().__init__(session)
        self._most = most
        self._wait = wait

    def request(self, token: str) -> wire.Request:
        terms = self.session.terms
        seconds = terms.hold_seconds if self._wait else 0.0
        wait = f"wait={seconds:g}&" if self._wait else ""
        return self.sending(
            token,
            "GET",
            f"/worker/messages?{wait}max={self._most}",
            timeout_seconds=seconds + terms.answer_seconds,
            headers=self.session.holding(),
        )

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        if found is Verdict.UNREGISTERED:
            return Unregistered()
        try:
            messages = jsontext.decode(answer.body, self.session.terms.parse_float)
        except ValueError as problem:
            return self.again(f"the answer cannot be read: {problem}", dice)
        if not isinstance(messages, list):
            return self.again("the answer is no array of messages", dice)
        self.attempts = 0
        return Drained(tuple(self._new_holds(messages)))

    def _new_holds(self, messages: Iterable[Any]) -> Iterable[Hold]:
        for message in messages:
            hold = read_hold(message)
            # One that runs here already was handed over anew; it is answered once.
            if hold is not None and hold.request_id not in self.session.holds:
                self.session.holds[hold.request_id] = hold
                yield hold


class Lock(Errand):
    """Try to become the one worker that owns an offered call. It is somebody else's if the answer is not 2xx."""

    verb = Verb.LOCK

    def __init__(self, session: Session, hold: Hold) -> None:
        super().__init__(session)
        self._hold = hold

    def request(self, token: str) -> wire.Request:
        return self.sending(token, "PUT", f"/worker/lock_request/{wire.part(self._hold.request_id)}")


class Respond(Errand):
    """Tell how a call ended. Every attempt is the same request, byte for byte."""

    verb = Verb.RESPOND

    def __init__(self, session: Session, hold: Hold, outcome: Outcome) -> None:
        super().__init__(session)
        self._hold = hold
        self._replaced = False
        self._say(outcome)

    def _say(self, outcome: Outcome) -> None:
        told = {"request_id": self._hold.request_id, "status": outcome.status, "error_text": outcome.error_text}
        self._body = json.dumps(told)[:-1].encode("ascii") + b', "result": ' + outcome.result + b"}"
        self._key = self.session.new_key()

    def request(self, token: str) -> wire.Request:
        return self.sending(token, "POST", "/worker/response", self._body, headers=(("Idempotency-Key", self._key),))

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        if found is Verdict.ACCEPTED:
            return Done()
        if found is Verdict.REPLACE and not self._replaced:
            # Another body needs another key.
            self._replaced = True
            text = f"the hall did not take the answer of {len(self._body)} bytes: {explain(answer)}"
            self._say(error(f"{self.session.terms.service}/{self._hold.method}: {text}"))
            return Again(0.0, text)
        return Skipped(explain(answer), expected=self._hold.cancelled)


class Feedback(Errand):
    """Pass on what methods say while they run: items in their JSON form."""

    verb = Verb.FEEDBACK

    def __init__(self, session: Session, items: Sequence[bytes]) -> None:
        super().__init__(session)
        self._body = b"[" + b",".join(items) + b"]"

    def request(self, token: str) -> wire.Request:
        return self.sending(token, "POST", "/worker/feedback", self._body)


class Heartbeat(Errand):
    """Say that the worker lives, and what it holds."""

    verb = Verb.HEARTBEAT

    def request(self, token: str) -> wire.Request:
        path = f"/worker/heartbeat/{wire.part(self.session.terms.worker_id)}"
        return self.sending(token, "GET", path, headers=self.session.holding())

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        return Unregistered() if answer.body.strip() == b"false" else Done()

    def again(self, why: str, dice: float, answer: wire.Answer | None = None) -> Step:
        wait = wait_seconds(self.attempts, dice, answer)
        asked = answer is not None and answer.header("retry-after") is not None
        return Again(wait if asked else min(wait, self.session.beat_seconds), why)


class Goodbye(Errand):
    """Say that this worker takes nothing new, and name what it was given and has not begun."""

    verb = Verb.GOODBYE

    def __init__(self, session: Session, unstarted: Sequence[Hold]) -> None:
        super().__init__(session)
        self._ids = [hold.request_id for hold in unstarted]

    def request(self, token: str) -> wire.Request:
        path = f"/worker/notify_worker_shutdown/{wire.part(self.session.terms.worker_id)}"
        return self.sending(token, "PUT", path, wire.body({"unstarted": self._ids}))


def read_hold(message: Any) -> Hold | None:
    """A message of a drain, or None if it cannot be answered."""
    if not isinstance(message, dict):
        return None
    request_id, method = message.get("request_id"), message.get("method")
    if not isinstance(request_id, str) or not request_id:
        return None
    members = {name: value for name, value in message.items() if name != "params"}
    name = method if isinstance(method, str) else ""
    return Hold(request_id, name, message.get("params"), message.get("lock_required") is True, members)
