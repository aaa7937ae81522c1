"""The whole worker against a hall that cuts, delays, splits and refuses."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, answer, cut, render, sending, silence

from hiringhall_worker import PlanWorker, Refused, Release, Task, Unauthorized


def nothing(task: Task) -> None:
    """A handler that succeeds at once."""


def waits_for_cancel(task: Task) -> None:
    assert task.cancelled.wait(PATIENCE_SECONDS)


def test_a_task_is_claimed_run_and_completed(hall: ScriptedHall, start: Start) -> None:
    """Register, claim, run, complete, with the token that was minted and the version that was handed out."""
    seen: list[Task] = []
    hall.hand_out("T-001", 2, description="do it", key_files=["a", 1, "b"], priority="high", later=1)
    assert start(seen.append, once=True).wait() is None
    assert (seen[0].id, seen[0].plan_id, seen[0].version, seen[0].status) == ("T-001", "demo", 2, "CLAIMED")
    assert (seen[0].description, seen[0].key_files, seen[0].priority) == ("do it", ["a", "b"], "high")
    assert (seen[0].dependencies, seen[0].prd_requirement, seen[0].members["later"]) == ([], "", 1)
    [completed] = hall.of("complete")
    assert completed.headers["authorization"] == "Bearer minted-w-000000000001"
    assert completed.json == {"worker_id": "w-000000000001", "version": 2, "plan_id": "demo"}
    assert hall.of("register")[0].headers["authorization"] == "Bearer boot"


def test_a_shared_bearer_needs_no_registration(hall: ScriptedHall, start: Start) -> None:
    """With token= and worker_id= the worker claims at once under that id."""
    hall.hand_out("T-001")
    assert start(nothing, once=True, token="shared", worker_id="w-mine").wait() is None
    assert hall.of("register") == []
    assert hall.of("claim")[0].json["worker_id"] == "w-mine"
    assert hall.of("complete")[0].headers["authorization"] == "Bearer shared"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("exit_code=1"), "exit_code=1"),
        (ValueError(), "ValueError"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError("lone \ud800"), "lone \ufffd"),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_raising_fails_the_task(
    hall: ScriptedHall, start: Start, error: BaseException, reason: str, asynchronous: bool
) -> None:
    """The exception's text is the reason of the failure, for sync and async handlers, and the worker goes on."""

    def fails(task: Task) -> None:
        raise error

    async def fails_later(task: Task) -> None:
        await asyncio.sleep(0)
        raise error

    hall.hand_out("T-001")
    start(fails_later if asynchronous else fails)
    [failed] = hall.wait_heard("fail")
    assert failed.json["reason"] == reason
    hall.wait_parked()


def test_an_exception_whose_text_cannot_be_read_is_reported(hall: ScriptedHall, start: Start) -> None:
    """A broken __str__ does not keep a failure from being told."""

    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def fails(task: Task) -> None:
        raise Broken

    hall.hand_out("T-001")
    start(fails)
    assert hall.wait_heard("fail")[0].json["reason"] == "Broken (its text cannot be read)"


@pytest.mark.parametrize(("release", "reason"), [(PlanWorker.Release(), None), (Release("not here"), "not here")])
def test_release_gives_the_task_back(hall: ScriptedHall, start: Start, release: Release, reason: str | None) -> None:
    """Raising Release releases the task, with the reason if there is one."""

    def gives_back(task: Task) -> None:
        raise release

    hall.hand_out("T-001")
    start(gives_back)
    assert hall.wait_heard("release")[0].json.get("reason") == reason


def test_async_handlers_run_at_the_same_time(hall: ScriptedHall, start: Start) -> None:
    """Coroutines of several slots meet in one event loop."""
    here: list[str] = []
    loops = set()

    async def meets(task: Task) -> None:
        here.append(task.id)
        loops.add(id(asyncio.get_running_loop()))
        while len(here) < 3:
            await asyncio.sleep(0.005)

    for number in range(3):
        hall.hand_out(f"T-{number}")
    start(meets, concurrency=3)
    hall.wait_heard("complete", 3)
    assert len(loops) == 1


def test_claims_never_exceed_free_slots(hall: ScriptedHall, start: Start) -> None:
    """With two slots two tasks run, no third is claimed until one ends, and then it is claimed at once."""
    gates = {f"T-{number}": threading.Event() for number in range(3)}
    for task_id in gates:
        hall.hand_out(task_id)
    begun: list[str] = []

    def handler(task: Task) -> None:
        begun.append(task.id)
        assert gates[task.id].wait(PATIENCE_SECONDS)

    start(handler, concurrency=2, heartbeat_seconds=0.05)
    hall.wait_for(lambda: len(begun) == 2, "two tasks running")
    beats = len(hall.of("heartbeat"))
    last = hall.wait_heard("heartbeat", beats + 3)[-1]
    assert set(last.headers["hall-holding"].split(",")) == {"demo/T-0@2", "demo/T-1@2"}
    assert len(hall.of("claim")) == 2
    gates["T-0"].set()
    hall.wait_for(lambda: len(begun) == 3, "the third task")
    for gate in gates.values():
        gate.set()
    hall.wait_heard("complete", 3)
    hall.wait_parked()
    assert hall.parked == 1


def test_heartbeats_go_on_while_a_handler_blocks(hall: ScriptedHall, start: Start) -> None:
    """A handler in time.sleep does not hold up the signs of life."""
    spans: list[float] = []

    def sleeps(task: Task) -> None:
        begun = time.monotonic()
        time.sleep(0.6)
        spans.extend((begun, time.monotonic()))

    hall.hand_out("T-001")
    start(sleeps, heartbeat_seconds=0.05)
    hall.wait_heard("complete")
    inside = [beat for beat in hall.of("heartbeat") if spans[0] <= beat.at <= spans[1]]
    assert len(inside) >= 3
    assert inside[-1].headers["hall-holding"] == "demo/T-001@2"
    assert inside[0].json == {"worker_id": "w-000000000001"}


def test_204_is_claimed_again_at_once(hall: ScriptedHall, start: Start) -> None:
    """Nothing to do leads to the next claim on the same connection, under another key."""
    hall.script["claim"].extend([answer(204)] * 20)
    start(nothing)
    claims = hall.wait_heard("claim", 21)
    assert len({claim.headers["idempotency-key"] for claim in claims}) == 21
    assert len({claim.connection for claim in claims}) == 1
    assert claims[20].at - claims[0].at < 5.0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_until_empty_ends_when_nothing_is_left(hall: ScriptedHall, start: Start, asynchronous: bool) -> None:
    """The run ends after a claim that brought nothing while no task was running."""

    async def later(task: Task) -> None:
        await asyncio.sleep(0.01)

    for number in range(5):
        hall.hand_out(f"T-{number}")
    assert start(later if asynchronous else nothing, until_empty=True, concurrency=2, hold_seconds=0.1).wait() is None
    assert len(hall.of("complete")) == 5


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
    hall.script["complete"].append(sending(render(409, {"detail": "first"}), render(401, {"detail": "surplus"})))
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


def test_quiet_stops_claiming_until_it_is_gone(hall: ScriptedHall, start: Start) -> None:
    """A quiet worker keeps beating and claims nothing; when the directive is gone it claims again."""
    hall.directive = "quiet"
    start(nothing, heartbeat_seconds=0.05)
    hall.wait_heard("claim")
    hall.hand_out("T-001")
    hall.wait_heard("heartbeat", 5)
    assert len(hall.of("claim")) == 1
    hall.directive = None
    hall.wait_heard("complete")


def test_terminate_releases_and_ends(hall: ScriptedHall, start: Start) -> None:
    """`terminate` ends the run as SIGTERM does."""
    hall.hand_out("T-001")
    running = start(waits_for_cancel, heartbeat_seconds=0.05)
    hall.wait_heard("heartbeat")
    hall.directive = "terminate"
    assert running.wait() is None
    assert hall.of("release")[0].task_id == "T-001"


def test_cancel_reaches_a_sync_handler(hall: ScriptedHall, start: Start) -> None:
    """`cancel` sets `task.cancelled` of the named task; what the handler then says is refused and skipped."""
    ended = threading.Event()

    def handler(task: Task) -> None:
        assert task.cancelled.wait(PATIENCE_SECONDS)
        ended.set()

    hall.hand_out("T 1")
    hall.script["complete"].append(answer(409, {"error_code": "version_conflict", "actual_status": "FAILED"}))
    start(handler, heartbeat_seconds=0.05)
    hall.wait_heard("heartbeat")
    hall.directive = "cancel=demo/T%201"
    assert ended.wait(PATIENCE_SECONDS)
    hall.wait_heard("complete")
    hall.directive = None
    hall.wait_parked()


def test_cancel_cancels_an_async_handler(hall: ScriptedHall, start: Start) -> None:
    """An async handler is cancelled as asyncio does it, and may clean up."""
    cleaned = threading.Event()

    async def handler(task: Task) -> None:
        try:
            await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            cleaned.set()

    hall.hand_out("T-001")
    start(handler, heartbeat_seconds=0.05)
    hall.wait_heard("heartbeat")
    hall.directive = "cancel=demo/T-001"
    assert cleaned.wait(PATIENCE_SECONDS)
    assert hall.wait_heard("fail")[0].json["reason"] == "CancelledError"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_stop_from_a_handler_gives_the_rest_back(hall: ScriptedHall, start: Start, asynchronous: bool) -> None:
    """stop() from another thread ends the run; what runs is told and released, and its result is dropped."""
    told = threading.Event()

    async def later(task: Task) -> None:
        try:
            await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            told.set()

    def handler(task: Task) -> None:
        assert task.cancelled.wait(PATIENCE_SECONDS)
        told.set()

    hall.hand_out("T-001")
    running = start(later if asynchronous else handler, concurrency=3)
    hall.wait_for(lambda: len(hall.of("claim")) == 2 and hall.parked == 1, "one running, one parked")
    begun = time.monotonic()
    assert running.stop() is None
    assert time.monotonic() - begun < 2.0
    assert told.is_set()
    [released] = hall.of("release")
    assert released.json["version"] == 2
    assert hall.of("complete") == hall.of("fail") == []


def test_grace_lets_tasks_finish(hall: ScriptedHall, start: Start) -> None:
    """With a grace a running task completes after the stop, heartbeats go on, and nothing new is claimed."""
    gate = threading.Event()

    def handler(task: Task) -> None:
        assert gate.wait(PATIENCE_SECONDS) and not task.cancelled.is_set()

    hall.hand_out("T-001")
    running = start(handler, concurrency=2, grace_seconds=PATIENCE_SECONDS, heartbeat_seconds=0.05)
    hall.wait_for(lambda: hall.parked == 1 and len(hall.of("claim")) == 2, "one running, one parked")
    running.worker.stop()
    hall.wait_for(lambda: hall.parked == 0, "the claim is given up")
    hall.wait_heard("heartbeat", len(hall.of("heartbeat")) + 3)
    hall.hand_out("T-002")
    gate.set()
    assert running.wait() is None
    assert len(hall.of("complete")) == 1 and hall.of("release") == []
    assert len(hall.of("claim")) == 2


def test_an_answer_under_way_at_the_stop_is_released(hall: ScriptedHall, start: Start) -> None:
    """A task that arrives while the claim is given up goes back at once instead of waiting for its lease."""

    def late(sock: Any, heard: Any) -> bool:
        sock.settimeout(PATIENCE_SECONDS)
        assert sock.recv(1) == b""
        sock.sendall(render(200, {"task": {"id": "T-late", "plan_id": "demo", "version": 2}}))
        return False

    hall.script["claim"].append(late)
    running = start(nothing)
    hall.wait_heard("claim")
    assert running.stop() is None
    hall.wait_heard("release")
    assert hall.of("release")[0].task_id == "T-late" and hall.of("complete") == []


def test_a_worker_can_run_again(hall: ScriptedHall) -> None:
    """run() may be called again after it returned, but not twice at once."""
    worker = PlanWorker(hall.url, plan="demo", bootstrap_token="boot", hold_seconds=0.05)

    def handler(task: Task) -> None:
        with pytest.raises(RuntimeError, match="running already"):
            worker.run(nothing)

    for _ in range(2):
        hall.hand_out("T-001")
        worker.run(handler, until_empty=True)
    assert len(hall.of("complete")) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"plan": ""}, "plan:"),
        ({"concurrency": 0}, "concurrency:"),
        ({"concurrency": True}, "concurrency:"),
        ({"bootstrap_token": None}, "no token"),
        ({"bootstrap_token": "two words"}, "bootstrap_token:"),
        ({"token": ""}, "token:"),
        ({"worker_id": "w-1"}, "worker_id:"),
        ({"hold_seconds": 56}, "hold_seconds: seconds, more than 0 and at most 55"),
        ({"heartbeat_seconds": 0}, "heartbeat_seconds:"),
        ({"grace_seconds": -1}, "grace_seconds: seconds, at least 0"),
        ({"answer_seconds": float("nan")}, "answer_seconds:"),
        ({"server": "127.0.0.1:8400"}, "http://HOST:PORT"),
        ({"server": "http://me:pass@host"}, "no user name"),
        ({"server": "http://host:port"}, "[Pp]ort"),
    ],
)
def test_bad_settings_name_themselves(settings: dict[str, Any], message: str) -> None:
    """A wrong setting is a ValueError that says which one and what is wanted."""
    given = {"plan": "demo", "bootstrap_token": "boot", **settings}
    with pytest.raises(ValueError, match=message):
        PlanWorker(**given)


def test_settings_from_the_environment(hall: ScriptedHall, monkeypatch: pytest.MonkeyPatch) -> None:
    """HALL_SERVER and HALL_BOOTSTRAP_TOKEN stand in; of two tokens in rotation the first is used."""
    monkeypatch.setenv("HALL_SERVER", hall.url)
    monkeypatch.setenv("HALL_BOOTSTRAP_TOKEN", "new,old\n")
    hall.hand_out("T-001")
    PlanWorker(plan="demo").run(nothing, once=True)
    assert hall.of("register")[0].headers["authorization"] == "Bearer new"


def test_a_run_without_a_handler_says_so() -> None:
    """Forgetting the handler is a clear error."""
    with pytest.raises(ValueError, match="no handler"):
        PlanWorker(plan="demo", token="t").run()
