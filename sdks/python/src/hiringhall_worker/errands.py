"""The protocol of a plan worker as a state machine: what to send next, and what an answer means.

An *errand* is one request until it is settled: send `errand.request()`, give what came back to `errand.receive()`,
and do what the returned step says. Nothing here touches a socket, a clock or a thread; random numbers and fresh
keys come from outside.
"""

from __future__ import annotations

from . import wire
from .backoff import wait_seconds
from .envelope import explain
from .errors import Refused, Unauthorized
from .session import Hold, Identity, Session
from .steps import Again, Crash, Done, Empty, Got, Skipped, Step, Unregistered
from .verdicts import Verb, Verdict, verdict

# The server keeps 2048 characters and marks the cut; more than this is never of use to it.
REASON_CHARACTERS = 4096
FINISHED = ("DONE", "FAILED", "SKIPPED")


class Errand:
    """One request until it is settled."""

    verb: Verb

    def __init__(self, session: Session, identity: Identity | None) -> None:
        self.session = session
        self.identity = identity
        self.attempts = 0

    def request(self) -> wire.Request:
        raise NotImplementedError

    def receive(self, reply: wire.Reply, dice: float) -> Step:
        """Say what to do after a reply. `dice` is a random number of [0, 1)."""
        self.attempts += 1
        if isinstance(reply, wire.Lost):
            return self.again(reply.why, dice)
        if self.identity is not None:
            self.session.hear(self.identity, reply)
        found = verdict(self.verb, reply.status)
        if found is Verdict.AGAIN:
            return self.again(explain(reply), dice, reply)
        if found in (Verdict.UNAUTHORIZED, Verdict.REFUSED):
            return self.crash(found, reply)
        return self.judge(found, reply, dice)

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        raise NotImplementedError

    def again(self, why: str, dice: float, answer: wire.Answer | None = None) -> Step:
        return Again(wait_seconds(self.attempts, dice, answer), why)

    def crash(self, found: Verdict, answer: wire.Answer) -> Step:
        if self.stale:
            return Skipped(f"{explain(answer)} (this worker has registered anew since)")
        if found is Verdict.UNAUTHORIZED:
            return Crash(Unauthorized(f"{self.verb.value}: {explain(answer)}; {self.advice()}"))
        hint = "" if answer.status in (400, 422) else "; is the address of the server right?"
        return Crash(Refused(f"{self.verb.value}: {explain(answer)}{hint}"))

    def advice(self) -> str:
        if self.verb is Verb.REGISTER:
            return "check the bootstrap token (bootstrap_token= or HALL_BOOTSTRAP_TOKEN)"
        if self.session.terms.token is not None:
            return "check the worker token (token= or HALL_WORKER_TOKEN)"
        return "the token minted for this worker is no longer accepted; start it again to register anew"

    @property
    def stale(self) -> bool:
        """The worker has registered anew since this errand began."""
        return self.identity is not None and self.identity != self.session.identity

    def own(self) -> Identity:
        if self.identity is None:
            raise RuntimeError("register first")
        return self.identity


class Register(Errand):
    """Ask for a worker id and a token."""

    verb = Verb.REGISTER

    def __init__(self, session: Session) -> None:
        super().__init__(session, None)

    def request(self) -> wire.Request:
        terms = self.session.terms
        if terms.bootstrap_token is None:
            raise RuntimeError("registering needs a bootstrap token")
        body = wire.body({"hostname": terms.hostname})
        # A lost answer leaves a worker behind that nobody is; so this is not repeated without a pause.
        return wire.Request(
            "register", "/workers/register", terms.bootstrap_token, body, terms.answer_seconds, repeatable=False
        )

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        members = answer.members()
        worker_id, token = members.get("worker_id"), self.session.terms.token or members.get("token")
        if not (isinstance(worker_id, str) and worker_id and isinstance(token, str) and wire.sendable(token)):
            return self.again("the answer names no worker_id and token", dice)
        self.session.identity = Identity(worker_id, token)
        self.session.quiet = False
        self.session.introduced = True
        self.session.hear_interval(answer)
        return Done()


class Heartbeat(Errand):
    """Say that the worker lives, and what it holds."""

    verb = Verb.HEARTBEAT

    def __init__(self, session: Session) -> None:
        super().__init__(session, session.identity)

    def request(self) -> wire.Request:
        me = self.own()
        return wire.Request(
            "heartbeat",
            f"/workers/{wire.part(me.worker_id)}/heartbeat",
            me.token,
            wire.body({"worker_id": me.worker_id}),
            self.session.terms.answer_seconds,
            (("Hall-Holding", self.session.holding(me)),),
        )

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        self.session.hear_interval(answer)
        if answer.members().get("ok") is False:
            return Unregistered(self.session.terms.bootstrap_token is not None)
        return Done()

    def again(self, why: str, dice: float, answer: wire.Answer | None = None) -> Step:
        wait = wait_seconds(self.attempts, dice, answer)
        asked = answer is not None and answer.header("retry-after") is not None
        return Again(wait if asked else min(wait, self.session.beat_seconds), why)


class Claim(Errand):
    """Ask for a task. Every attempt carries the same key, so that a lost answer is given again."""

    verb = Verb.CLAIM

    def __init__(self, session: Session) -> None:
        super().__init__(session, session.identity)
        self.key = session.new_key()

    def request(self) -> wire.Request:
        me, terms = self.own(), self.session.terms
        members = {"worker_id": me.worker_id, "plan_id": terms.plan_id, "wait": terms.hold_seconds}
        return wire.Request(
            "claim",
            "/tasks/claim",
            me.token,
            wire.body(members),
            terms.hold_seconds + terms.answer_seconds,
            (("Hall-Holding", self.session.holding(me)), ("Idempotency-Key", self.key)),
        )

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        self.session.introduced = True
        if found is Verdict.EMPTY:
            return Empty()
        hold = read_hold(answer, self.own(), self.session.terms.plan_id)
        if hold is None:
            return self.again("the answer names no task with an id and a version", dice)
        if hold.key in self.session.holds:
            return Skipped(f"{hold} was handed over twice and is already running here")
        self.session.holds[hold.key] = hold
        return Got(hold)

    def again(self, why: str, dice: float, answer: wire.Answer | None = None) -> Step:
        if self.stale:
            return Skipped(f"{why} (this worker has registered anew since)", expected=True)
        return super().again(why, dice, answer)


class Settle(Errand):
    """End a hold: complete, fail or release. Every attempt is the same request, byte for byte."""

    def __init__(self, session: Session, hold: Hold, verb: Verb, reason: str | None) -> None:
        super().__init__(session, hold.identity)
        self.verb = verb
        self.hold = hold
        self.reason = None if reason is None else wire.reportable(reason[:REASON_CHARACTERS])
        self.key = session.new_key()

    def request(self) -> wire.Request:
        me, hold = self.own(), self.hold
        members: dict[str, object] = {"worker_id": me.worker_id, "version": hold.version, "plan_id": hold.plan_id}
        if self.reason is not None:
            members["reason"] = self.reason
        return wire.Request(
            self.verb.value,
            f"/tasks/{wire.part(hold.task_id)}/{self.verb.value}",
            me.token,
            wire.body(members),
            self.session.terms.answer_seconds,
            (("Idempotency-Key", self.key),),
        )

    def receive(self, reply: wire.Reply, dice: float) -> Step:
        step = super().receive(reply, dice)
        if not isinstance(step, Again):
            self.session.forget(self.hold)
        return step

    def judge(self, found: Verdict, answer: wire.Answer, dice: float) -> Step:
        if found is Verdict.ACCEPTED:
            return Done()
        if found is Verdict.SHORTEN and self.reason:
            # Another body needs another key.
            self.reason = self.reason[: len(self.reason) // 8]
            self.key = self.session.new_key()
            return Again(0.0, "the reason is too long for the server; a shorter one follows")
        return Skipped(explain(answer), expected=self.hold.cancelled or settled_already(answer, self.hold))


def settled_already(answer: wire.Answer, hold: Hold) -> bool:
    """A 409 that tells of this worker's own success: an answer of it was lost, and the repetition came late."""
    if answer.status != 409:
        return False
    members = answer.members()
    if answer.header("hall-finished-by") == "self":
        return True
    return members.get("actual_version") == hold.version and members.get("actual_status") in FINISHED


def read_hold(answer: wire.Answer, identity: Identity, plan_id: str) -> Hold | None:
    """The hand-over in the answer to a claim, or None if it cannot be worked on."""
    task = answer.members().get("task")
    if not isinstance(task, dict):
        return None
    task_id, version, plan = task.get("id"), task.get("version"), task.get("plan_id")
    if not isinstance(task_id, str) or not task_id or isinstance(version, bool) or not isinstance(version, int):
        return None
    return Hold(identity, plan if isinstance(plan, str) and plan else plan_id, task_id, version, task)
