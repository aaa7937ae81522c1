"""The network between the hall and PostgreSQL falls silent: nothing is refused, nothing arrives."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.conftest import StartHall
from tests.faults.wire import SilentWire
from tests.hall_client import HallClient, claim_bytes, connect
from tests.hall_process import Database
from tests.waiting import until

PLAN = "P"
ANSWERED_WITHIN_SECONDS = 15.0


def test_a_silent_database_is_noticed_and_forgiven(postgres_url: str, tmp_path: Path, start_hall: StartHall) -> None:
    """Every call is answered in bounded time, nobody loses work, all goes on after the silence, the end waits not."""
    with SilentWire(postgres_url) as wire:
        hall = start_hall(Database("postgres", tmp_path / "data", wire.url), HALL_VISIBILITY_TIMEOUT=2)
        with HallClient(hall.url) as client:
            client.apply(PLAN, "A", "B")
            worker = client.register()
            held = worker.claim(PLAN)
            with connect(hall.url) as parked:
                parked.sendall(claim_bytes("w-parked", "nothing here", 55))
                until(lambda: "w-parked" in client.workers(), waiting_for="the claim to arrive")
                wire.fall_silent()
                parked.settimeout(ANSWERED_WITHIN_SECONDS)
                ended = parked.recv(65536)
                assert ended.startswith(b"HTTP/1.1 503 "), ended
                assert b"\r\nretry-after: " in ended.lower()
            calls: tuple[Callable[[], httpx.Response], ...] = (
                lambda: client.call("GET", "/health"),
                lambda: worker.settle("complete", held),
                lambda: worker.ask_claim(PLAN, wait=5),
                lambda: client.call("GET", "/admin/plans"),
            )
            with ThreadPoolExecutor(len(calls)) as pool:
                answers = [future.result() for future in [pool.submit(call) for call in calls]]
            for refused in answers:
                assert refused.status_code == 503, refused.text
                assert refused.elapsed.total_seconds() < ANSWERED_WITHIN_SECONDS
            wire.speak_again()
            again = time.monotonic()
            until(
                lambda: client.call("GET", "/health").status_code == 200,
                within_seconds=20,
                waiting_for="/health to say that the database is back",
            )
            until(
                lambda: worker.settle("complete", held).status_code in (200, 409),
                within_seconds=20,
                waiting_for="the completion to be accepted",
            )
            assert client.task(PLAN, held["id"])["state"] == "done", client.history(PLAN, held["id"])
            assert worker.claim(PLAN, wait=10) is not None
            assert time.monotonic() - again < 30
            with connect(hall.url) as waiting:
                wire.fall_silent()
                waiting.sendall(claim_bytes(worker.id, PLAN, 0))
                until(lambda: client.call("GET", "/health").status_code == 503, waiting_for="the silence to be noticed")
                assert hall.stop(within_seconds=10) == 0
