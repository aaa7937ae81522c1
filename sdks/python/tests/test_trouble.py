"""The whole worker against a hall that refuses, cuts, delays, splits and restarts."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, answer, cut, render, sending, silence

from hiringhall_worker import Refused, Release, Task, Unauthorized


def nothing(task: Task) -> None:
    """A handler that succeeds at once."""


def waits_for_cancel(task: Task) -> None:
    assert task.cancelled.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("verb", ["register", "claim", "heartbeat", "complete"])
def test_unauthorized_crashes(
    hall: ScriptedHall, start: Start, caplog: pytest.LogCaptureFixture, verb: str, status: int
) -> None:
    """401 and 403 raise Unauthorized, on whatever they answer, and no token is ever logged."""
    caplog.set_level(logging.DEBUG)
    hall.hand_out("T-001")
    hall.script[verb].append(answer(status, {"error_code": "missing_or_invalid_bearer", "detail": "no", "task_id": 0}))
    error = start(nothing, heartbeat_seconds=0.05, bootstrap_token="secret-boot").wait()
    assert isinstance(error, Unauthorized) and "missing_or_invalid_bearer" in str(error)
    assert "secret-boot" not in caplog.text and "minted-" not in caplog.text


def test_a_crash_gives_back_what_it_can(hall: ScriptedHall, start: Start) -> None:
    """A worker that the server refuses for another reason than its token releases its tasks before it raises."""
    hall.hand_out("T-001")
    hall.script["claim"].extend([hall._usual, answer(404)])
    assert isinstance(start(waits_for_cancel, concurrency=2).wait(), Refused)
    assert hall.of("release")[0].task_id == "T-001"


def test_ok_false_registers_anew_and_keeps_ticking(hall: ScriptedHall, start: Start) -> None:
    """After `ok` false the worker has a new id; what it holds is finished under the old one, and refused skipped."""
    gate = threading.Event()

    def handler(task: Task) -> None:
        assert task.id != "T-old" or gate.wait(PATIENCE_SECONDS)

    hall.hand_out("T-old")
    hall.script["heartbeat"].append(answer(200, {"ok": False}))
    hall.script["complete"].append(answer(403, {"error_code": "worker_forbidden", "detail": "", "task_id": None}))
    running = start(handler, concurrency=2, heartbeat_seconds=0.1)
    hall.wait_heard("register", 2)
    hall.wait_for(lambda: any(h.json["worker_id"] == "w-000000000002" for h in hall.of("heartbeat")), "the new id")
    gate.set()
    assert hall.wait_heard("complete")[0].json["worker_id"] == "w-000000000001"
    hall.wait_for(lambda: hall.of("claim")[-1].json["worker_id"] == "w-000000000002", "a claim under the new id")
    hall.hand_out("T-new")
    completed = hall.wait_heard("complete", 2)[1]
    assert (completed.task_id, completed.json["worker_id"]) == ("T-new", "w-000000000002")
    assert running.error is None


def test_ok_false_without_a_bootstrap_token_is_survived(hall: ScriptedHall, start: Start) -> None:
    """A worker with only the shared bearer goes on under its id."""
    hall.script["heartbeat"].append(answer(200, {"ok": False}))
    start(nothing, token="shared", worker_id="w-mine", heartbeat_seconds=0.05)
    hall.wait_heard("heartbeat", 3)
    hall.hand_out("T-001")
    hall.wait_heard("complete")


HALF = render(200, {"task": {"id": "T-001", "status": "DONE", "version": 3}})[:-9]


@pytest.mark.parametrize("reaction", [cut, sending(HALF, then_close=True), sending(then_close=True)])
@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_lost_answer_is_repaired_with_the_same_key(
    hall: ScriptedHall, start: Start, reaction: Any, verb: str
) -> None:
    """Reset, cut in half or closed: the request is repeated with the same key and the same bytes."""

    def handler(task: Task) -> None:
        if verb != "complete":
            raise Release("back") if verb == "release" else ValueError("no")

    hall.hand_out("T-001")
    hall.script[verb].append(reaction)
    start(handler)
    first, second = hall.wait_heard(verb, 2)[:2]
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    hall.wait_parked()
    assert len(hall.of(verb)) == 2


def test_an_answer_that_never_comes_is_repaired(hall: ScriptedHall, start: Start) -> None:
    """A complete without an answer is repeated after `answer_seconds`."""
    hall.hand_out("T-001")
    hall.script["complete"].append(silence)
    start(nothing, answer_seconds=0.3)
    first, second = hall.wait_heard("complete", 2)
    assert second.at - first.at >= 0.3
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_a_claim_whose_answer_is_lost_is_repeated_with_its_key(hall: ScriptedHall, start: Start) -> None:
    """The repeated claim can be answered with the hand-over that got lost."""
    hall.script["claim"].append(cut)
    hall.hand_out("T-001")
    start(nothing)
    first, second = hall.wait_heard("claim", 2)[:2]
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    hall.wait_heard("complete")


def test_an_answer_in_single_bytes_is_read(hall: ScriptedHall, start: Start) -> None:
    """An answer may be split anywhere."""
    text = render(200, {"task": {"id": "T-001", "plan_id": "demo", "version": 2}})
    hall.script["claim"].append(sending(*(bytes([byte]) for byte in text)))
    start(nothing)
    hall.wait_heard("complete")


def test_an_answer_that_comes_twice_is_read_once(hall: ScriptedHall, start: Start) -> None:
    """A surplus answer on a connection is not taken for the answer to the next request."""
    hall.hand_out("T-001")
    hall.script["complete"].append(sending(render(409, {"detail": "first"}) + render(401, {"detail": "surplus"})))
    running = start(nothing)
    hall.wait_heard("complete")
    hall.hand_out("T-002")
    hall.wait_heard("complete", 2)
    hall.wait_parked()
    assert running.stop() is None


@pytest.mark.parametrize("status", [503, 429])
def test_retry_after_is_obeyed(hall: ScriptedHall, start: Start, status: int) -> None:
    """No attempt comes before the time that the server asked for."""
    hall.hand_out("T-001")
    for verb in ("register", "claim", "complete"):
        hall.script[verb].append(answer(status, {"error_code": "unavailable"}, Retry_After="1"))
    start(nothing)
    hall.wait_heard("complete", 2)
    for verb in ("register", "claim", "complete"):
        first, second = hall.of(verb)[:2]
        assert 1.0 <= second.at - first.at < 5.0
        assert first.body == second.body


def test_413_on_fail_is_reported_shorter(hall: ScriptedHall, start: Start) -> None:
    """A reason that is too long for the server is told in fewer words, under another key."""

    def fails(task: Task) -> None:
        raise ValueError("x" * 100_000)

    hall.hand_out("T-001")
    hall.script["fail"].append(answer(413, {"error_code": "payload_too_large"}))
    start(fails)
    first, second = hall.wait_heard("fail", 2)
    assert (len(first.json["reason"]), len(second.json["reason"])) == (4096, 512)
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


@pytest.mark.parametrize("verb", ["complete", "release"])
def test_409_is_logged_and_skipped(
    hall: ScriptedHall, start: Start, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    """A conflict is not repeated, and the worker takes the next task."""

    def handler(task: Task) -> None:
        if verb == "release":
            raise Release

    caplog.set_level(logging.INFO, "hiringhall_worker")
    hall.hand_out("T-001")
    hall.hand_out("T-002")
    hall.script[verb].append(answer(409, {"error_code": "version_conflict", "detail": "somebody else"}))
    start(handler)
    assert [heard.task_id for heard in hall.wait_heard(verb, 2)] == ["T-001", "T-002"]
    assert "somebody else" in caplog.text


def test_the_server_restarts(hall: ScriptedHall, start: Start) -> None:
    """A worker survives a server that is killed under a parked claim and a running task, and comes back later."""
    gate = threading.Event()

    def handler(task: Task) -> None:
        assert gate.wait(PATIENCE_SECONDS)

    hall.hand_out("T-001")
    running = start(handler, concurrency=2, heartbeat_seconds=0.2)
    hall.wait_for(lambda: len(hall.of("claim")) == 2 and hall.parked == 1, "one running, one parked")
    hall.close()
    gate.set()
    again = ScriptedHall(hall.port)
    try:
        again.hand_out("T-002")
        again.wait_heard("complete", 2)
        assert {heard.task_id for heard in again.of("complete")} == {"T-001", "T-002"}
        assert again.of("register") == []
        again.wait_heard("heartbeat")
        assert running.stop() is None
    finally:
        again.close()


def test_a_server_that_is_not_there_yet(hall: ScriptedHall, start: Start) -> None:
    """A worker may be started before the server."""
    hall.close()
    start(nothing)
    again = ScriptedHall(hall.port)
    try:
        again.hand_out("T-001")
        again.wait_heard("complete")
    finally:
        again.close()
