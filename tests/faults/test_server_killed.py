"""The server is killed at any moment, or its database is, under many claiming workers."""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.conftest import StartHall
from tests.faults.books import check_history, check_integrity, check_present, mesh
from tests.faults.load import Load
from tests.hall_client import HallClient, claim_bytes, connect
from tests.hall_process import Database
from tests.postgres_server import PostgresServer
from tests.waiting import until

PLAN = "P"
TASKS_PER_ROUND = 300


def test_acknowledged_moves_survive_a_killed_server(
    database: Database, start_hall: StartHall, fault_rounds: int
) -> None:
    """After every kill -9 under 32 workers nothing acknowledged is lost or done twice, and the plan finishes."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=2)
    dice = random.Random(7)
    with HallClient(hall.url) as client:
        load = Load([hall.url], PLAN).start()
        for number in range(fault_rounds):
            client.apply(PLAN, *mesh(TASKS_PER_ROUND, prefix=f"R{number}-"))
            enough = load.done + dice.randint(50, 200)
            until(lambda: load.done >= enough, within_seconds=60, waiting_for="the load")  # noqa: B023
            hall.kill()
            told = load.ledger.copy()
            if database.dialect == "sqlite":
                check_integrity(database.directory / "hall.sqlite")
            hall.start()
            check_present(client, PLAN, told)
        until(lambda: client.is_finished(PLAN), within_seconds=120, waiting_for="the plan to finish")
        told = load.stop()
        assert told.lost > 0
        check_history(client, PLAN, told)
    if database.dialect == "sqlite":
        hall.stop()
        check_integrity(database.directory / "hall.sqlite")


def test_acknowledged_moves_survive_a_crashing_database(
    own_postgres: PostgresServer, tmp_path: Path, start_hall: StartHall, fault_rounds: int
) -> None:
    """While PostgreSQL is away the server says so and ends parked calls; afterwards all goes on by itself."""
    hall = start_hall(Database("postgres", tmp_path / "data", own_postgres.url), HALL_VISIBILITY_TIMEOUT=2)
    dice = random.Random(7)
    with HallClient(hall.url) as client:
        load = Load([hall.url], PLAN).start()
        for number in range(fault_rounds):
            client.apply(PLAN, *mesh(TASKS_PER_ROUND, prefix=f"R{number}-"))
            enough = load.done + dice.randint(50, 200)
            until(lambda: load.done >= enough, within_seconds=60, waiting_for="the load")  # noqa: B023
            with connect(hall.url) as parked:
                parked.sendall(claim_bytes("w-parked", "nothing here", 55))
                until(lambda: "w-parked" in client.workers(), waiting_for="the claim to arrive")
                own_postgres.stop("immediate")
                told = load.ledger.copy()
                until(
                    lambda: client.call("GET", "/health").status_code == 503,
                    within_seconds=20,
                    waiting_for="/health to say that the database is away",
                )
                assert re.fullmatch(r"\d+", client.call("GET", "/health").headers["retry-after"])
                parked.settimeout(20)
                ended = parked.recv(65536)
                assert ended.startswith(b"HTTP/1.1 503 "), ended
                assert b"\r\nretry-after: " in ended.lower()
                assert b'"error_code":"unavailable"' in ended
            refused = client.call("GET", "/admin/plans")
            assert (refused.status_code, refused.json()["error_code"]) == (503, "unavailable")
            assert "retry-after" in refused.headers
            own_postgres.start()
            until(
                lambda: client.call("GET", "/health").status_code == 200,
                within_seconds=20,
                waiting_for="/health to say that the database is back",
            )
            check_present(client, PLAN, told)
            assert hall.running, f"the server ended in round {number}"
        until(lambda: client.is_finished(PLAN), within_seconds=120, waiting_for="the plan to finish")
        told = load.stop()
        assert told.unavailable > 0
        assert told.lost == 0, "the server cut connections"
        check_history(client, PLAN, told)
