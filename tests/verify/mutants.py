"""Deliberate bugs of the Python SDK, one a function: `python mutants.py NAME` is a verification worker that has it."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hiringhall_worker.backoff
import hiringhall_worker.crew as plan_crew
import hiringhall_worker.errands as plan_errands
import hiringhall_worker.jsontext
import hiringhall_worker.login
import hiringhall_worker.services.crew as service_crew
import hiringhall_worker.services.errands as service_errands
import hiringhall_worker.services.feed
import hiringhall_worker.services.outcome
import hiringhall_worker.services.probe
import hiringhall_worker.services.shift
import hiringhall_worker.services.verdicts as service_verdicts
import hiringhall_worker.shift
import hiringhall_worker.verdicts as plan_verdicts
import hiringhall_worker.wire
from hiringhall_worker import Fail
from hiringhall_worker.steps import Done

WORKERS = Path(__file__).parents[2] / "conformance/workers"
# Each bug, and the case that has to catch it.
MUTANTS: dict[str, tuple[str, Callable[[], None]]] = {}


def caught_by(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Take a bug up."""

    def take(bug: Callable[[], None]) -> Callable[[], None]:
        MUTANTS[bug.__name__] = (title, bug)
        return bug

    return take


def replace_request(errand: Any, change: Callable[[Any, Any], Any]) -> None:
    """Change the requests of an errand: `change(errand, request)` gives the one that is sent."""
    usual = errand.request
    errand.request = lambda self, *given: change(self, usual(self, *given))


def without_header(request: Any, name: str) -> Any:
    """A request that lacks a header."""
    kept = tuple((one, value) for one, value in request.headers if one != name)
    return type(request)(**{**vars(request), "headers": kept})


@caught_by("plans/claim-complete")
def settles_with_another_version() -> None:
    usual = plan_errands.Settle.request

    def request(self: Any) -> Any:
        self.hold.version += 1
        try:
            return usual(self)
        finally:
            self.hold.version -= 1

    plan_errands.Settle.request = request  # type: ignore[method-assign]


@caught_by("plans/claim-same-key-on-every-attempt")
def makes_a_new_key_for_every_attempt() -> None:
    def change(errand: Any, request: Any) -> Any:
        errand.key = errand.session.new_key()
        return request

    replace_request(plan_errands.Claim, change)


@caught_by("plans/claim-unauthorized")
def repeats_what_is_unauthorized() -> None:
    plan_verdicts.ANY_VERB[401] = plan_verdicts.Verdict.AGAIN


@caught_by("plans/claim-unavailable-retry-after")
def does_not_read_retry_after() -> None:
    hiringhall_worker.backoff.retry_after_seconds = lambda answer: None


@caught_by("plans/claim-backs-off")
def repeats_without_a_pause() -> None:
    hiringhall_worker.backoff.backoff_seconds = lambda attempts, dice: 0.01


@caught_by("plans/sigterm-busy")
def gives_nothing_back() -> None:
    hiringhall_worker.shift.Shift.give_back = lambda self, holds: []  # type: ignore[method-assign]


@caught_by("plans/task-id-with-any-characters")
def does_not_encode_paths() -> None:
    hiringhall_worker.wire.part = lambda text: text.replace(" ", "%20").replace("é", "%C3%A9")


@caught_by("plans/heartbeat-while-a-task-blocks")
def beats_only_between_tasks() -> None:
    plan_crew.Heart.start = lambda self: None  # type: ignore[method-assign]


@caught_by("plans/complete-conflict")
def repeats_after_a_conflict() -> None:
    plan_verdicts.OTHERWISE[plan_verdicts.Verb.COMPLETE] = plan_verdicts.Verdict.AGAIN


@caught_by("plans/task-fails")
def completes_whatever_happens() -> None:
    usual = plan_crew.Slots._outcome

    def outcome(self: Any, hold: Any) -> Any:
        usual(self, hold)
        return plan_verdicts.Verb.COMPLETE, None

    plan_crew.Slots._outcome = outcome  # type: ignore[method-assign]


@caught_by("plans/heartbeat-not-registered")
def does_not_hear_that_it_is_unknown() -> None:
    plan_errands.Heartbeat.judge = lambda self, found, answer, dice: Done()  # type: ignore[method-assign]


@caught_by("services/login-with-the-secret")
def logs_in_with_json() -> None:
    hiringhall_worker.wire.FORM = "application/json"
    hiringhall_worker.wire.form = lambda fields: hiringhall_worker.jsontext.encode(dict(fields))


@caught_by("services/lock-lost")
def takes_any_lock_for_won() -> None:
    service_crew.Slots._lock = lambda self, hold, connection: (  # type: ignore[method-assign]
        self._shift.carry_out(service_errands.Lock(self._shift.session, hold), connection, self._shift.patient)
        is not None
    )


@caught_by("services/token-refused-in-mid-life")
def never_refreshes() -> None:
    usual = hiringhall_worker.login.Grant.request

    def request(self: Any) -> Any:
        self._refresh = None
        return usual(self)

    hiringhall_worker.login.Grant.request = request  # type: ignore[method-assign]


@caught_by("services/response-unavailable")
def gives_an_answer_once() -> None:
    service_verdicts.ONE_VERB[(service_verdicts.Verb.RESPOND, 503)] = service_verdicts.Verdict.SKIP


@caught_by("services/feedback-refused")
def fails_methods_whose_feedback_fails() -> None:
    def judge(self: Any, found: Any, answer: Any, dice: float) -> Any:
        if found is service_verdicts.Verdict.SKIP:
            os._exit(1)
        return Done()

    service_errands.Feedback.judge = judge  # type: ignore[method-assign]


@caught_by("services/method-huge-integers")
def counts_in_floating_point() -> None:
    hiringhall_worker.jsontext._integer = lambda text: int(float(text))


@caught_by("services/lazy-probe-in-two-segments")
def reads_a_probe_once() -> None:
    def feed(self: Any, data: bytes) -> list[str]:
        text = data.decode("ascii")
        return [text.partition('"PacketId":"')[2].partition('"')[0]]

    hiringhall_worker.services.probe.Packets.feed = feed  # type: ignore[method-assign]


@caught_by("services/lazy-probe-while-busy")
def forgets_a_probe_while_busy() -> None:
    usual = service_crew.Drainer.pull

    def pull(self: Any) -> None:
        if not self._shift.session.holds:
            usual(self)

    service_crew.Drainer.pull = pull  # type: ignore[method-assign]
    usual_drain = service_crew.Drainer._drain

    def drain(self: Any) -> bool:
        went_on = usual_drain(self)
        self._hungry = False
        return went_on

    service_crew.Drainer._drain = drain  # type: ignore[method-assign]


@caught_by("services/sigterm-idle")
def leaves_without_a_word() -> None:
    hiringhall_worker.services.shift.Shift._say_goodbye = lambda self, which: None  # type: ignore[method-assign]


@caught_by("services/sigterm-busy")
def leaves_running_calls_behind() -> None:
    hiringhall_worker.services.shift.Shift._grace_seconds = lambda self: 0.0  # type: ignore[method-assign]


@caught_by("services/method-unknown")
def takes_an_unknown_method_for_a_refusal() -> None:
    hiringhall_worker.services.outcome.error = hiringhall_worker.services.outcome.failed


@caught_by("services/method-crashes")
def tells_crashes_as_refusals() -> None:
    import hiringhall_worker.services.methods as methods

    methods.Running._broken = lambda self, name, error: hiringhall_worker.services.outcome.failed(  # type: ignore[method-assign]
        str(Fail(str(error)))
    )


@caught_by("services/registration-once")
def registers_with_every_heartbeat() -> None:
    from hiringhall_worker.services.steps import Unregistered

    service_errands.Heartbeat.judge = lambda self, found, answer, dice: Unregistered()  # type: ignore[method-assign]


@caught_by("services/heartbeat-says-what-is-held")
def does_not_say_what_it_holds() -> None:
    replace_request(service_errands.Heartbeat, lambda _, request: without_header(request, "Hall-Holding"))


@caught_by("services/drain-brings-what-is-running-already")
def runs_again_what_is_running() -> None:
    def new_holds(self: Any, messages: Any) -> Any:
        for message in messages:
            hold = service_errands.read_hold(message)
            assert hold is not None
            self.session.holds[hold.request_id] = hold
            yield hold

    service_errands.Drain._new_holds = new_holds  # type: ignore[method-assign]


if __name__ == "__main__":
    MUTANTS[sys.argv[1]][1]()
    runpy.run_path(str(WORKERS / f"python_{os.environ['HALL_PROTOCOL']}.py"), run_name="__main__")
