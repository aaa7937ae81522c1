"""The server and its service workers are killed at any moment while many clients call."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from tests.conftest import StartHall
from tests.echo_worker import EchoWorker
from tests.faults.books import LEGITIMATE, check_integrity
from tests.faults.call_load import CallLedger, CallLoad
from tests.hall_client import HallClient, fine, part
from tests.hall_process import Database
from tests.waiting import until

SERVICE = "mirror"
SECRET = "a-secret-of-the-tests"
WORKERS = 3
ENDS = {"complete", "complete_late"}


class Crew:
    """Workers of the service. One that was killed comes back under its own name or a new one."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._count = WORKERS
        self.workers = [self._start(f"mirror-{number}") for number in range(WORKERS)]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

    def _start(self, name: str) -> EchoWorker:
        return EchoWorker(self._url, SERVICE, SECRET, self._folder, name)

    def kill_one(self, dice: random.Random) -> None:
        """Kill one of them, and start another, half of the time under the same name."""
        place = dice.randrange(WORKERS)
        self.workers[place].kill()
        name = self.workers[place].worker_id
        if dice.random() < 0.5:
            self._count += 1
            name = f"mirror-{self._count}"
        self.workers[place] = self._start(name)


def check_outcomes(client: HallClient, told: CallLedger) -> Counter[str]:
    """Every accepted call ended once, with the answer to its own params; returns the causes of further hand-overs."""
    assert not told.strange, told.strange[:5]
    causes: Counter[str] = Counter()
    for request_id, number in told.accepted.items():
        outcome = told.outcomes[request_id]
        assert (outcome["status"], outcome["result"]) == ("success", number), outcome
        assert fine(client.call("GET", f"/client/requests/{request_id}")) == outcome, "the outcome changed"
        lines = fine(client.call("GET", f"/admin/work/{part(request_id)}"))["history"]
        ends = [line for line in lines if line["move"] in ENDS]
        assert len(ends) == 1, f"{request_id} was finished {len(ends)} times: {lines}"
        assert lines[-1] is ends[0], f"{request_id} went on after its end: {lines}"
        handed = [line["cause"] for line in lines if line["move"] == "hold"]
        assert handed[:1] == ["first"], f"{request_id} was first handed over because of {handed[:1]}"
        causes.update(handed[1:])
    assert set(causes) <= LEGITIMATE, causes
    return causes


def test_accepted_calls_end_once_whoever_is_killed(
    database: Database, start_hall: StartHall, tmp_path: Path, fault_rounds: int
) -> None:
    """After kill -9 of server and workers under load, every accepted call has ended once for its client, and what
    ran again tells why."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=2, HALL_HEARTBEAT_DELAY=0.5)
    dice = random.Random(11)
    with HallClient(hall.url) as client:
        fine(client.call("PUT", f"/admin/services/{SERVICE}", {"secret": SECRET}))
        with Crew(hall.url, tmp_path / "work") as crew:
            load = CallLoad([hall.url], f"{SERVICE}/echo").start()
            for _ in range(fault_rounds):
                for kill_server in dice.sample((True, False), 2):
                    enough = load.answered + dice.randint(50, 200)
                    until(lambda: load.answered >= enough, within_seconds=90, waiting_for="the load")  # noqa: B023
                    if kill_server:
                        hall.kill()
                        if database.dialect == "sqlite":
                            check_integrity(database.directory / "hall.sqlite")
                        hall.start()
                    else:
                        crew.kill_one(dice)
            told = load.stop()
            assert told.lost > 0
            causes = check_outcomes(client, told)
    assert causes, "nobody was killed with a call in hand"
