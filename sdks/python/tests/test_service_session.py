"""The protocol of a service worker by tables: what is sent, and what each answer means. No sockets, no threads."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from hiringhall_worker.client.events import Event, Events
from hiringhall_worker.errors import Refused, Superseded, Unauthorized
from hiringhall_worker.login import Grant, Login
from hiringhall_worker.services.errands import Drain, Errand, Feedback, Goodbye, Heartbeat, Lock, Register, Respond
from hiringhall_worker.services.outcome import Outcome, error, failed
from hiringhall_worker.services.session import Hold, Session, Terms
from hiringhall_worker.services.steps import Drained, Renew, Unregistered
from hiringhall_worker.services.verdicts import Verb, Verdict, verdict
from hiringhall_worker.steps import Again, Crash, Done, Skipped
from hiringhall_worker.wire import Answer, Lost


def session(**terms: Any) -> Session:
    numbers = itertools.count(1)
    given = {"service": "math", "worker_id": "w 1", "profile": {"run_mode": "Eager", "methods": ["add"]}, **terms}
    return Session(Terms(**given), lambda: f"key-{next(numbers)}")


def answer(status: int, members: object = None, **headers: str) -> Answer:
    found = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(status, found, b"" if members is None else json.dumps(members).encode())


def message(request_id: str, **more: Any) -> dict[str, Any]:
    return {"request_id": request_id, "method": "add", "lock_required": False, "params": [1, 2], **more}


def drained(at: Session, *ids: str) -> list[Hold]:
    step = Drain(at, 10, wait=True).receive(answer(200, [message(one) for one in ids]), 0.0)
    assert isinstance(step, Drained)
    return list(step.holds)


def errands(at: Session) -> dict[Verb, Errand]:
    (hold,) = drained(at, "r/1")
    return {
        Verb.REGISTER: Register(at),
        Verb.DRAIN: Drain(at, 3, wait=True),
        Verb.LOCK: Lock(at, hold),
        Verb.RESPOND: Respond(at, hold, Outcome("success", None, b"3")),
        Verb.FEEDBACK: Feedback(at, [b'{"rid":"r/1"}', b'{"rid":"r/2"}']),
        Verb.HEARTBEAT: Heartbeat(at),
        Verb.GOODBYE: Goodbye(at, [hold]),
    }


ALL = list(Verb)
POLICY = [
    *((verb, status, Verdict.AGAIN) for verb in ALL for status in (408, 425, 429, 500, 502, 503, 504, 599)),
    *((verb, 401, Verdict.RENEW) for verb in ALL),
    *((verb, status, Verdict.ACCEPTED) for verb in ALL for status in (200, 201, 204)),
    *((verb, 403, Verdict.UNAUTHORIZED) for verb in (Verb.REGISTER, Verb.DRAIN, Verb.HEARTBEAT)),
    *((verb, 403, Verdict.SKIP) for verb in (Verb.LOCK, Verb.RESPOND, Verb.FEEDBACK, Verb.GOODBYE)),
    *((Verb.LOCK, status, Verdict.SKIP) for status in (400, 404, 409, 410, 422)),
    *((Verb.RESPOND, status, Verdict.SKIP) for status in (404, 409, 410)),
    *((Verb.RESPOND, status, Verdict.REPLACE) for status in (400, 413, 422)),
    *((verb, 404, Verdict.REFUSED) for verb in (Verb.REGISTER, Verb.DRAIN)),
    (Verb.DRAIN, 409, Verdict.AGAIN),
    (Verb.HEARTBEAT, 404, Verdict.AGAIN),
    (Verb.GOODBYE, 409, Verdict.SKIP),
]


@pytest.mark.parametrize(("verb", "status", "expected"), POLICY)
def test_policy(verb: Verb, status: int, expected: Verdict) -> None:
    """Each status means one thing for each verb."""
    assert verdict(verb, status) is expected


@pytest.mark.parametrize("verb", ALL)
def test_the_requests(verb: Verb) -> None:
    """Method, path and body of each request are those of the protocol, ids percent-encoded."""
    expected = {
        Verb.REGISTER: ("POST", "/worker/registration"),
        Verb.DRAIN: ("GET", "/worker/messages?wait=30&max=3"),
        Verb.LOCK: ("PUT", "/worker/lock_request/r%2F1"),
        Verb.RESPOND: ("POST", "/worker/response"),
        Verb.FEEDBACK: ("POST", "/worker/feedback"),
        Verb.HEARTBEAT: ("GET", "/worker/heartbeat/w%201"),
        Verb.GOODBYE: ("PUT", "/worker/notify_worker_shutdown/w%201"),
    }
    bodies = {
        Verb.REGISTER: {"worker_id": "w 1", "service_id": "math", "run_mode": "Eager", "methods": ["add"]},
        Verb.RESPOND: {"request_id": "r/1", "status": "success", "error_text": None, "result": 3},
        Verb.FEEDBACK: [{"rid": "r/1"}, {"rid": "r/2"}],
        Verb.GOODBYE: {"unstarted": ["r/1"]},
    }
    request = errands(session())[verb].request("secret-token")
    assert (request.method, request.path) == expected[verb]
    assert (json.loads(request.body) if request.body else None) == bodies.get(verb)
    assert request.token == "secret-token" and "secret-token" not in repr(request)
    holding = dict(request.headers).get("Hall-Holding")
    assert holding == ("r%2F1" if verb in (Verb.DRAIN, Verb.HEARTBEAT) else None)


@pytest.mark.parametrize("verb", ALL)
def test_a_refused_token_is_renewed_twice(verb: Verb) -> None:
    """First by the refresh token, then by the secret; then it is believed. A success in between starts anew."""
    errand = errands(session())[verb]
    assert errand.receive(answer(401), 0.0) == Renew(log_in=False)
    assert errand.receive(answer(401), 0.0) == Renew(log_in=True)
    step = errand.receive(answer(401), 0.0)
    assert isinstance(step, Crash) and isinstance(step.error, Unauthorized)


@pytest.mark.parametrize("verb", ALL)
def test_superseded_is_the_end(verb: Verb) -> None:
    """On whatever it is heard."""
    step = errands(session())[verb].receive(answer(409, {"error_code": "worker_superseded"}), 0.0)
    assert isinstance(step, Crash) and isinstance(step.error, Superseded)


@pytest.mark.parametrize("verb", ALL)
def test_lost_and_busy_are_tried_again(verb: Verb) -> None:
    """With a back-off that doubles, or as the hall asks."""
    errand = errands(session())[verb]
    waits = [errand.receive(Lost("cut"), 0.0) for _ in range(3)]
    assert [step.after_seconds for step in waits if isinstance(step, Again)] == [0.5, 1.0, 2.0]
    step = errand.receive(answer(503, None, retry_after="7"), 0.0)
    assert isinstance(step, Again) and step.after_seconds == 7.0


def test_registration_brings_the_settings() -> None:
    """The map is kept, and says how often to beat; a shorter interval of the worker's own counts."""
    at = session(heartbeat_seconds=20.0)
    assert at.beat_seconds == 20.0
    assert Register(at).receive(answer(200, {"heartbeat_delay": "12.5", "smtp": "mail", "odd": 5}), 0.0) == Done()
    assert at.registered and at.settings == {"heartbeat_delay": "12.5", "smtp": "mail"}
    assert at.beat_seconds == 12.5
    assert session().beat_seconds == 30.0
    assert isinstance(Register(at).receive(Answer(200, (), b""), 0.0), Again)
    for nonsense in ("x", "-1", "nan", ""):
        Register(at).receive(answer(200, {"heartbeat_delay": nonsense}), 0.0)
        assert at.beat_seconds == 20.0


def test_heartbeat_false_means_unregistered() -> None:
    """The answer is a bare true or false."""
    at = session()
    assert Heartbeat(at).receive(answer(200, True), 0.0) == Done()
    assert Heartbeat(at).receive(answer(200, False), 0.0) == Unregistered()
    assert Drain(at, 1, wait=True).receive(answer(409, {"error_code": "not_registered"}), 0.0) == Unregistered()


def test_a_drain_takes_up_what_is_new() -> None:
    """Calls that are held already are not begun anew; what cannot be answered is left out."""
    at = session()
    drained(at, "r-1", "r-2")
    batch = [
        message("r-2"),
        message("r-3", lock_required=True, params=None),
        "odd",
        {"request_id": ""},
        {"method": "x"},
    ]
    step = Drain(at, 5, wait=False).receive(answer(200, batch), 0.0)
    assert isinstance(step, Drained)
    assert [(hold.request_id, hold.lock_required, hold.params) for hold in step.holds] == [("r-3", True, None)]
    assert at.holding() == (("Hall-Holding", "r-1,r-2,r-3"),)
    at.forget(step.holds[0])
    assert at.holding() == (("Hall-Holding", "r-1,r-2"),)
    drained(at, *(f"request-{number}" for number in range(5000)))
    assert at.holding() == ()
    assert Drain(at, 5, wait=False).request("t").path == "/worker/messages?max=5"


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"null", b"\xff", b"[" * 100_000])
def test_a_drain_that_cannot_be_read_is_made_again(body: bytes) -> None:
    """Whatever a proxy makes of an answer."""
    step = Drain(session(), 5, wait=True).receive(Answer(200, (), body), 0.0)
    assert isinstance(step, Again)


def test_a_response_is_the_same_bytes_until_it_is_replaced() -> None:
    """An answer that the hall cannot take is replaced once, with another key; then it is dropped."""
    at = session()
    (hold,) = drained(at, "r-1")
    errand = Respond(at, hold, Outcome("success", None, b"[1]"))
    first = errand.request("t")
    errand.receive(Lost("cut"), 0.0)
    assert errand.request("other").body == first.body
    assert dict(errand.request("other").headers) == dict(first.headers) == {"Idempotency-Key": "key-1"}
    step = errand.receive(answer(413, {"error_code": "payload_too_large", "detail": "1 MiB"}), 0.0)
    assert isinstance(step, Again) and step.after_seconds == 0.0
    second = errand.request("t")
    assert json.loads(second.body)["status"] == "error" and dict(second.headers)["Idempotency-Key"] == "key-2"
    assert isinstance(errand.receive(answer(422, {"error_code": "validation_error"}), 0.0), Skipped)


def test_texts_for_clients_can_always_be_sent() -> None:
    """Lone surrogates are replaced, and what is too long for people is cut."""
    assert failed("\ud800!").error_text == "\ufffd!"
    assert len(error("x" * 100_000).error_text or "") == 8192


def test_directives_ride_on_every_answer() -> None:
    """quiet, terminate and cancel are heard on answers of the hall, and not on those of a proxy."""
    at = session()
    first, second = drained(at, "r/1", "r-2")
    Heartbeat(at).receive(answer(502, None, hall_directive="terminate"), 0.0)
    assert not at.terminated
    Heartbeat(at).receive(answer(200, True, hall_directive="quiet; cancel=r%2F1,r-9,plan/T-1; new"), 0.0)
    assert (at.quiet, at.terminated, first.cancelled, second.cancelled) == (True, False, True, False)
    assert at.beat_seconds == 5.0
    Lock(at, second).receive(answer(409, {"error_code": "locked"}, hall_directive="terminate"), 0.0)
    assert (at.quiet, at.terminated) == (False, True)


@pytest.mark.parametrize("status", [301, 400, 404, 405, 422])
def test_a_wrong_address_is_refused(status: int) -> None:
    """Without a registration or a drain a worker is of no use."""
    for errand in (Register(session()), Drain(session(), 1, wait=True)):
        step = errand.receive(answer(status), 0.0)
        assert isinstance(step, Crash) and isinstance(step.error, Refused)


def login() -> Grant:
    return Grant(Login("/worker/auth_token", {"service_id": "math"}, "check the secret"))


def tokens(number: int = 1, **members: Any) -> Answer:
    return answer(200, {"access_token": f"t-{number}", "refresh_token": f"r-{number}", "expires_in": 3600, **members})


def test_a_grant_renews_five_minutes_before_the_end() -> None:
    """By the refresh token; a token that lasts less than ten minutes is renewed halfway."""
    grant = login()
    assert grant.wanted(0.0) and b"client_credentials" in grant.request().body
    assert grant.receive(tokens(), 0.0, 0.0) == Done()
    assert grant.token == "t-1"
    assert not grant.wanted(3299.0) and grant.wanted(3300.0) and grant.usable(3599.0) and not grant.usable(3600.0)
    assert grant.request().body == b"grant_type=refresh_token&refresh_token=r-1"
    assert grant.receive(tokens(2, expires_in=60), 0.0, 3300.0) == Done()
    assert not grant.wanted(3329.0) and grant.wanted(3330.0)


def test_a_grant_waits_between_attempts() -> None:
    """A login that fails is repeated after a back-off, and a renewal that fails leaves the token in use."""
    grant = login()
    step = grant.receive(Lost("cut"), 0.0, 0.0)
    assert isinstance(step, Again) and grant.pause_seconds(0.1) == pytest.approx(0.4)
    grant.receive(tokens(), 0.0, 1.0)
    grant.receive(answer(503, None, retry_after="60"), 0.0, 3301.0)
    assert grant.usable(3302.0) and not grant.wanted(3302.0) and grant.wanted(3362.0)


def test_a_grant_falls_back_to_the_secret() -> None:
    """When the refresh token is dead, or the token that it brought is refused."""
    grant = login()
    grant.receive(tokens(), 0.0, 0.0)
    grant.refuse("t-0", log_in=False)
    assert grant.token == "t-1"
    grant.refuse("t-1", log_in=False)
    assert grant.token is None and b"refresh_token" in grant.request().body
    assert grant.receive(answer(401, {"error": "invalid_grant"}), 0.0, 1.0) == Again(
        0.0, "the refresh token is dead (the server answered 401 invalid_grant); logging in again"
    )
    assert b"client_credentials" in grant.request().body
    step = grant.receive(answer(401, {"error": "invalid_client"}), 0.0, 1.0)
    assert isinstance(step, Crash) and isinstance(step.error, Unauthorized)


def test_a_superseded_refresh_does_not_log_in_again() -> None:
    """A new login would take the name away from the process that has it now."""
    grant = login()
    grant.receive(tokens(), 0.0, 0.0)
    step = grant.receive(answer(409, {"error_code": "worker_superseded"}), 0.0, 1.0)
    assert isinstance(step, Crash) and isinstance(step.error, Superseded)


@pytest.mark.parametrize("members", [{}, {"access_token": 5}, {"access_token": "two words"}, {"access_token": ""}])
def test_an_answer_without_a_token_is_none(members: dict[str, Any]) -> None:
    """Such an answer is not the hall's."""
    assert isinstance(login().receive(answer(200, members), 0.0, 0.0), Again)


@pytest.mark.parametrize("lifetime", [None, "60", True, -5, 0])
def test_an_odd_lifetime_counts_as_an_hour(lifetime: Any) -> None:
    """What cannot be a number of seconds is not taken for one."""
    grant = login()
    grant.receive(tokens(expires_in=lifetime), 0.0, 0.0)
    assert grant.usable(3599.0)


def test_events_are_read_from_their_lines() -> None:
    """Comments are skipped, data lines are joined, and an event that was cut off leaves no trace."""
    events = Events()
    lines = [
        ": hello",
        "",
        "event: feedback",
        "id: 4",
        "data: {",
        "data:}",
        "",
        "data: plain",
        "",
        "id: 5",
        "data: cut",
    ]
    found = [event for line in lines if (event := events.feed(line)) is not None]
    assert found == [Event("feedback", "{\n}", "4"), Event("message", "plain", "4")]
    events.restart()
    assert events.last_id == "4"
    assert [events.feed(line) for line in ("event: outcome", "data: 1", "")][-1] == Event("outcome", "1", "4")
