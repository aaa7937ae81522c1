"""The protocol by tables: what is sent, and what each answer means. No sockets, no clock, no threads."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from hiringhall_worker.errands import Claim, Heartbeat, Register, Settle
from hiringhall_worker.errors import Refused, Unauthorized
from hiringhall_worker.session import Hold, Identity, Session, Terms
from hiringhall_worker.steps import Again, Crash, Done, Empty, Got, Skipped, Unregistered
from hiringhall_worker.verdicts import Verb, Verdict, verdict
from hiringhall_worker.wire import Answer, Lost

ME = Identity("w-000000000001", "secret-bearer")


def session(**terms: Any) -> Session:
    numbers = itertools.count(1)
    given = {"plan_id": "demo", "hostname": "vm", "bootstrap_token": "secret-boot", **terms}
    return Session(Terms(**given), lambda: f"key-{next(numbers)}", ME)


def answer(status: int, members: object = None, **headers: str) -> Answer:
    found = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(status, found, b"" if members is None else json.dumps(members).encode())


def task(task_id: str = "T-001", version: int = 2, plan_id: str = "demo", **members: object) -> Answer:
    return answer(200, {"task": {"id": task_id, "version": version, "plan_id": plan_id, **members}})


def claimed(at: Session, task_id: str = "T-001", version: int = 2, plan_id: str = "demo") -> Hold:
    step = Claim(at).receive(task(task_id, version, plan_id), 0.0)
    assert isinstance(step, Got)
    return step.hold


ALL = list(Verb)
SETTLING = [Verb.COMPLETE, Verb.FAIL, Verb.RELEASE]
POLICY = [
    *((verb, status, Verdict.AGAIN) for verb in ALL for status in (408, 425, 429, 500, 502, 503, 504, 599)),
    *((verb, status, Verdict.UNAUTHORIZED) for verb in ALL for status in (401, 403)),
    *((verb, 200, Verdict.ACCEPTED) for verb in ALL),
    *((verb, 409, Verdict.SKIP) for verb in SETTLING),
    *((verb, status, Verdict.SKIP) for verb in SETTLING for status in (400, 404, 422)),
    *((verb, status, Verdict.REFUSED) for verb in (Verb.CLAIM, Verb.REGISTER) for status in (301, 400, 404, 405, 422)),
    (Verb.HEARTBEAT, 404, Verdict.AGAIN),
    (Verb.REGISTER, 201, Verdict.ACCEPTED),
    (Verb.CLAIM, 204, Verdict.EMPTY),
    (Verb.FAIL, 413, Verdict.SHORTEN),
    (Verb.COMPLETE, 413, Verdict.SKIP),
]


@pytest.mark.parametrize(("verb", "status", "expected"), POLICY)
def test_policy(verb: Verb, status: int, expected: Verdict) -> None:
    """Every status of the retry policy has exactly the recommended consequence."""
    assert verdict(verb, status) is expected


def test_register_takes_the_identity_from_the_answer() -> None:
    """Registering sends the host name with the bootstrap token and keeps what the hall minted."""
    at = session()
    errand = Register(at)
    request = errand.request()
    assert (request.path, request.token, json.loads(request.body)) == (
        "/workers/register",
        "secret-boot",
        {"hostname": "vm"},
    )
    assert errand.receive(answer(201, {"worker_id": "w-new", "token": "minted", "later": 1}), 0.0) == Done()
    assert at.identity == Identity("w-new", "minted")


def test_a_shared_bearer_wins_over_the_minted_token() -> None:
    """With both tokens the worker registers for its id and speaks with the shared bearer."""
    at = session(token="shared")
    Register(at).receive(answer(201, {"worker_id": "w-new", "token": "minted"}), 0.0)
    assert at.identity == Identity("w-new", "shared")


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"worker_id": "w"}', b'{"worker_id": 5, "token": "t"}'])
def test_a_registration_that_names_nobody_is_repeated(body: bytes) -> None:
    """A 201 without a worker id and a token is treated like a lost answer."""
    at = session()
    assert isinstance(Register(at).receive(Answer(201, (), body), 0.0), Again)
    assert at.identity == ME


def test_claim_says_who_what_and_how_long() -> None:
    """A claim names worker and plan, how long it may be held, what is held already, and a key."""
    at = session(hold_seconds=20.0)
    claimed(at, "a/b c", 7, "pl,an")
    request = Claim(at).request()
    assert request.path == "/tasks/claim"
    assert json.loads(request.body) == {"worker_id": ME.worker_id, "plan_id": "demo", "wait": 20.0}
    assert dict(request.headers) == {"Hall-Holding": "pl%2Can/a%2Fb%20c@7", "Idempotency-Key": "key-2"}
    assert request.timeout_seconds == 30.0


def test_nothing_held_is_said_too() -> None:
    """`Hall-Holding` is sent empty when nothing is held."""
    assert dict(Heartbeat(session()).request().headers) == {"Hall-Holding": ""}


def test_a_claim_repeated_after_a_lost_answer_is_the_same_claim() -> None:
    """Key and body stay through lost answers and errors of the server; what is held is said as it is now."""
    at = session()
    errand = Claim(at)
    first = errand.request()
    assert isinstance(errand.receive(Lost("reset"), 0.0), Again)
    claimed(at)
    second = errand.request()
    assert isinstance(errand.receive(answer(503), 0.0), Again)
    assert first.body == second.body == errand.request().body
    assert dict(second.headers) == {"Hall-Holding": "demo/T-001@2", "Idempotency-Key": "key-1"}


def test_204_claims_again_at_once_with_a_fresh_key() -> None:
    """Nothing to do is no failure, and the next claim is another one."""
    at = session()
    assert Claim(at).receive(answer(204), 0.0) == Empty()
    assert dict(Claim(at).request().headers)["Idempotency-Key"] == "key-2"


@pytest.mark.parametrize(
    "members",
    [None, [], {}, {"task": None}, {"task": {"id": "T"}}, {"task": {"id": "", "version": 1}}]
    + [{"task": {"id": "T", "version": version}} for version in ("2", True, None, 2.5)],
)
def test_an_answer_without_a_task_is_repeated(members: object) -> None:
    """A 200 from which no task can be read is an error of the server and backs off."""
    at = session()
    assert isinstance(Claim(at).receive(answer(200, members), 0.0), Again)
    assert not at.holds


def test_huge_numbers_and_unknown_members_survive() -> None:
    """Integers of any size come through digit for digit, and what this package does not know is kept."""
    digits = "9" * 5000
    numbers = f'"version":3544790567247868102,"x":36893488147419103233,"y":{digits},"z":1e400'
    body = '{"task":{"id":"T",' + numbers + '},"more":{}}'
    step = Claim(session()).receive(Answer(200, (), body.encode()), 0.0)
    assert isinstance(step, Got)
    assert step.hold.version == 3544790567247868102
    assert step.hold.plan_id == "demo"
    assert step.hold.members["x"] == 36893488147419103233
    assert str(step.hold.members["y"]) == digits
    assert step.hold.members["z"] > 1e308


def test_the_same_hand_over_twice_runs_once() -> None:
    """A task that is held in the same version already is not started again; another version is another hand-over."""
    at = session()
    claimed(at)
    assert isinstance(Claim(at).receive(task(), 0.0), Skipped)
    assert isinstance(Claim(at).receive(task(version=4), 0.0), Got)


def test_settle_repeats_byte_for_byte() -> None:
    """Complete names plan, worker and version, and every attempt has the same key and the same body."""
    at = session()
    hold = claimed(at, "T/1 ü")
    errand = Settle(at, hold, Verb.COMPLETE, None)
    first = errand.request()
    assert first.path == "/tasks/T%2F1%20%C3%BC/complete"
    assert json.loads(first.body) == {"worker_id": ME.worker_id, "version": 2, "plan_id": "demo"}
    for reply in (Lost("cut"), answer(500), answer(429)):
        assert isinstance(errand.receive(reply, 0.0), Again)
        assert errand.request() == first
    assert at.holds
    assert errand.receive(answer(200, {"task": {}}), 0.0) == Done()
    assert not at.holds


def test_a_hold_ends_once() -> None:
    """Whoever begins to end a hold first is the only one."""
    at = session()
    hold = claimed(at)
    assert [at.begin_to_end(hold), at.begin_to_end(hold)] == [True, False]


@pytest.mark.parametrize(
    ("members", "headers", "expected"),
    [
        ({"actual_version": 3, "actual_status": "DONE"}, {}, False),
        ({"actual_version": 3, "actual_status": "DONE"}, {"hall_finished_by": "self"}, True),
        ({"actual_version": 3, "actual_status": "DONE"}, {"hall_finished_by": "other"}, False),
        ({"actual_version": 2, "actual_status": "FAILED"}, {}, True),
        ({"actual_version": 2, "actual_status": "PENDING"}, {}, False),
        ({"actual_version": None, "actual_status": None}, {}, False),
        (None, {}, False),
    ],
)
def test_409_is_skipped(members: object, headers: dict[str, str], expected: bool) -> None:
    """A conflict ends the hold without a crash, and is no surprise if it tells of this worker's own success."""
    at = session()
    step = Settle(at, claimed(at), Verb.COMPLETE, None).receive(answer(409, members, **headers), 0.0)
    assert isinstance(step, Skipped) and step.expected is expected
    assert not at.holds


def test_413_shortens_the_reason_until_it_fits() -> None:
    """A failure is always reportable: the reason shrinks, each time under a new key, and at last is empty."""
    at = session()
    errand = Settle(at, claimed(at), Verb.FAIL, "x" * 10_000)
    seen = []
    while True:
        request = errand.request()
        seen.append((len(json.loads(request.body)["reason"]), dict(request.headers)["Idempotency-Key"]))
        step = errand.receive(answer(413), 0.0)
        if not isinstance(step, Again):
            break
        assert step.after_seconds == 0.0
    assert [length for length, _ in seen] == [4096, 512, 64, 8, 1, 0]
    assert len({key for _, key in seen}) == len(seen)
    assert isinstance(step, Skipped)


@pytest.mark.parametrize(
    ("text", "sent"),
    [("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "\U0001f600"), ("nul \x00", "nul \x00"), ("ünï", "ünï"), ("", "")],
)
def test_any_text_is_reportable(text: str, sent: str) -> None:
    """Lone surrogates are replaced, everything else arrives as it is."""
    at = session()
    body = Settle(at, claimed(at), Verb.FAIL, text).request().body
    assert json.loads(body)["reason"] == sent
    json.loads(body)["reason"].encode("utf-8")


@pytest.mark.parametrize("make", [Heartbeat, Claim, Register])
@pytest.mark.parametrize("status", [401, 403])
def test_unauthorized_crashes_with_words_and_without_secrets(make: Any, status: int) -> None:
    """401 and 403 end the worker with a message that says what to check and shows no token."""
    at = session()
    step = make(at).receive(answer(status, {"error_code": "missing_or_invalid_bearer", "detail": "no\ngood"}), 0.0)
    assert isinstance(step, Crash) and isinstance(step.error, Unauthorized)
    assert "missing_or_invalid_bearer (no good)" in str(step.error)
    assert "secret" not in f"{step.error} {step!r}"


def test_a_wrong_address_crashes() -> None:
    """404 to a claim says that the address may be wrong, and a redirect says where it points."""
    step = Claim(session()).receive(answer(404), 0.0)
    assert isinstance(step, Crash) and isinstance(step.error, Refused) and "address" in str(step.error)
    step = Claim(session()).receive(answer(308, location="https://hall.example/"), 0.0)
    assert isinstance(step, Crash) and "https://hall.example/" in str(step.error)


def test_no_secret_in_any_repr() -> None:
    """Requests, identities and terms can be logged without giving a token away."""
    at = session(token="secret-shared")
    request = Claim(at).request()
    assert "secret" not in repr([request, at.identity, at.terms, claimed(at), Register(at).request()])


def test_ok_false_asks_to_register() -> None:
    """`ok` false means: register, if there is a bootstrap token; anything else in a 200 is fine."""
    assert Heartbeat(session()).receive(answer(200, {"ok": False}), 0.0) == Unregistered(True)
    assert Heartbeat(session(bootstrap_token=None)).receive(answer(200, {"ok": False}), 0.0) == Unregistered(False)
    assert Heartbeat(session()).receive(answer(200, {"ok": True}), 0.0) == Done()
    assert Heartbeat(session()).receive(Answer(200, (), b"?"), 0.0) == Done()


def test_after_registering_anew_old_holds_end_under_the_old_identity() -> None:
    """What was claimed before is settled with the old id and token, and refused it is skipped, not a crash."""
    at = session()
    hold = claimed(at)
    parked = Claim(at)
    Register(at).receive(answer(201, {"worker_id": "w-new", "token": "minted"}), 0.0)
    errand = Settle(at, hold, Verb.COMPLETE, None)
    request = errand.request()
    assert (request.token, json.loads(request.body)["worker_id"]) == (ME.token, ME.worker_id)
    assert dict(Heartbeat(at).request().headers)["Hall-Holding"] == ""
    assert isinstance(errand.receive(answer(403), 0.0), Skipped)
    for reply in (answer(401), Lost("closed"), answer(503)):
        assert isinstance(parked.receive(reply, 0.0), Skipped)


def test_a_heartbeat_never_waits_longer_than_its_cadence() -> None:
    """Failed heartbeats back off, but at most to the usual time between two; Retry-After is obeyed."""
    errand = Heartbeat(session(heartbeat_seconds=3.0))
    waits = [errand.receive(Lost("down"), 0.0) for _ in range(6)]
    assert [step.after_seconds for step in waits if isinstance(step, Again)] == [0.5, 1.0, 2.0, 3.0, 3.0, 3.0]
    step = errand.receive(answer(503, retry_after="20"), 0.0)
    assert isinstance(step, Again) and step.after_seconds == 20.0


def test_the_hall_says_how_often_to_beat() -> None:
    """Heartbeats are as far apart as the hall said last, or as the worker's own setting has it if that is less."""
    at = session(heartbeat_seconds=30.0)
    assert at.beat_seconds == 30.0
    Register(at).receive(answer(201, {"worker_id": "w-1", "token": "t"}, hall_heartbeat="20"), 0.0)
    assert at.beat_seconds == 20.0
    Heartbeat(at).receive(answer(200, {"ok": True}, hall_heartbeat="0.5"), 0.0)
    assert at.beat_seconds == 0.5
    Heartbeat(at).receive(answer(503, hall_heartbeat="7"), 0.0)
    Heartbeat(at).receive(answer(200, {"ok": True}), 0.0)
    assert at.beat_seconds == 0.5
    Heartbeat(at).receive(answer(200, {"ok": False}, hall_heartbeat="40"), 0.0)
    assert at.beat_seconds == 30.0


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan", "inf", "20; 30"])
def test_an_interval_that_is_none_is_not_obeyed(text: str) -> None:
    """What is no positive number leaves the worker with its own setting."""
    at = session(heartbeat_seconds=30.0)
    Heartbeat(at).receive(answer(200, {"ok": True}, hall_heartbeat=text), 0.0)
    assert at.beat_seconds == 30.0


def test_an_interval_leaves_time_to_breathe() -> None:
    """However small a number the hall says, there is a pause between two heartbeats."""
    at = session()
    Heartbeat(at).receive(answer(200, {"ok": True}, hall_heartbeat="0.0000001"), 0.0)
    assert at.beat_seconds == 0.05


def test_quiet_lasts_until_it_is_gone() -> None:
    """`quiet` holds until an answer of the hall comes without it; answers of others say nothing."""
    at = session()
    Heartbeat(at).receive(answer(200, {"ok": True}, hall_directive="quiet"), 0.0)
    assert at.quiet and at.beat_seconds == 5.0
    Heartbeat(at).receive(answer(502), 0.0)
    assert at.quiet
    Heartbeat(at).receive(answer(200, {"ok": True}), 0.0)
    assert not at.quiet and at.beat_seconds == 30.0


def test_terminate_is_not_taken_back() -> None:
    """`terminate` stays, and arrives with a conflict too."""
    at = session()
    Settle(at, claimed(at), Verb.COMPLETE, None).receive(answer(409, hall_directive="quiet; terminate"), 0.0)
    Heartbeat(at).receive(answer(200, {"ok": True}), 0.0)
    assert at.terminated


def test_cancel_marks_exactly_the_named_holds() -> None:
    """`cancel` names tasks as PLAN/TASK, percent-encoded; unknown words and ids are ignored."""
    at = session()
    one, other = claimed(at, "a/b,;c"), claimed(at, "T-2")
    text = "later=1; cancel=demo/a%2Fb%2C%3Bc,demo/none,T-2,/; sing"
    Heartbeat(at).receive(answer(200, {"ok": True}, hall_directive=text), 0.0)
    assert (one.cancelled, other.cancelled) == (True, False)
    step = Settle(at, one, Verb.FAIL, "stopped").receive(answer(409), 0.0)
    assert isinstance(step, Skipped) and step.expected
