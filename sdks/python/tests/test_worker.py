"""What the whole worker does with tasks while all goes well."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, answer

from hiringhall_worker import PlanWorker, Release, Task


def nothing(task: Task) -> None:
    """A handler that succeeds at once."""


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


def test_a_worker_that_does_not_register_beats_at_once(hall: ScriptedHall, start: Start) -> None:
    """It learns how often to beat from its first heartbeat, and obeys a hall that changes its mind."""
    hall.script["heartbeat"].extend([answer(200, {"ok": True}, Hall_Heartbeat="0.05")] * 3)
    hall.script["heartbeat"].append(answer(200, {"ok": True}, Hall_Heartbeat="3600"))
    start(nothing, heartbeat_seconds=600, token="shared")
    hall.wait_heard("heartbeat", 4)
    hall.hand_out("T-001")
    hall.wait_heard("complete")
    assert len(hall.of("heartbeat")) == 4


def test_the_answer_to_register_says_how_often_to_beat(hall: ScriptedHall, start: Start) -> None:
    """The interval that comes with the registration counts from the first heartbeat on."""
    members = {"worker_id": "w-1", "token": "minted"}
    hall.script["register"].append(answer(201, members, Hall_Heartbeat="0.05"))
    start(nothing, heartbeat_seconds=600)
    hall.wait_heard("heartbeat", 3)


def test_a_worker_that_its_first_claim_introduces_keeps_its_id(
    hall: ScriptedHall, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """A first heartbeat that comes before the first claim is answered finds nobody, which is no trouble."""
    hall.script["heartbeat"].append(answer(200, {"ok": False}, Hall_Heartbeat="600"))
    start(nothing, token="shared", worker_id="w-mine", bootstrap_token="boot")
    hall.wait_heard("heartbeat")
    hall.hand_out("T-001")
    assert hall.wait_heard("complete")[0].json["worker_id"] == "w-mine"
    assert not hall.of("register")
    assert not caplog.records


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
