"""What ends, pauses or cancels a worker's work: directives of the hall, and stop()."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, answer, render

from hiringhall_worker import Task


def nothing(task: Task) -> None:
    """A handler that succeeds at once."""


def waits_for_cancel(task: Task) -> None:
    assert task.cancelled.wait(PATIENCE_SECONDS)


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
def test_stop_gives_the_rest_back(hall: ScriptedHall, start: Start, asynchronous: bool) -> None:
    """stop() from another thread ends the run; what runs is told and released, and its result is dropped."""
    told, begun_work = threading.Event(), threading.Event()

    async def later(task: Task) -> None:
        begun_work.set()
        try:
            await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            told.set()

    def handler(task: Task) -> None:
        begun_work.set()
        assert task.cancelled.wait(PATIENCE_SECONDS)
        told.set()

    hall.hand_out("T-001")
    running = start(later if asynchronous else handler, concurrency=3)
    hall.wait_for(lambda: len(hall.of("claim")) == 2 and hall.parked == 1, "one running, one parked")
    assert begun_work.wait(PATIENCE_SECONDS)
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
