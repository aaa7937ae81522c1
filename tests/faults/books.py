"""Whether what a hall remembers agrees with what its workers were told."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import apsw

from tests.faults.load import Ledger
from tests.hall_client import HallClient

LEGITIMATE = frozenset(
    {"released", "lease_expired", "worker_offline", "worker_restarted", "shutdown", "connection_lost", "answer_lost"}
)


def mesh(count: int, width: int = 40, prefix: str = "T-") -> list[dict[str, Any]]:
    """Tasks of which each, but for the first ones, depends on two earlier ones, so that `width` are ready at most."""
    return [
        {
            "id": f"{prefix}{number:05}",
            "dependencies": [f"{prefix}{number - back:05}" for back in (width, width - 1) if number >= width],
        }
        for number in range(count)
    ]


def check_present(client: HallClient, plan: str, told: Ledger) -> None:
    """Nothing that was acknowledged before is lost now; workers may have gone on meanwhile."""
    tasks = client.tasks(plan)
    for task_id, (claimed, version) in told.completed.items():
        task = tasks[task_id]
        assert (task["state"], task["version"]) == ("done", version), f"{claimed} was acknowledged, but there is {task}"
    for claimed in told.claims:
        task = tasks[claimed.task_id]
        held = (task["state"], task["version"], task["worker_id"]) == ("held", claimed.version, claimed.worker)
        assert held or task["version"] > claimed.version, f"{claimed} was acknowledged, but there is {task}"


def check_history(client: HallClient, plan: str, told: Ledger) -> Counter[str]:
    """Each task was finished once, after what it depends on, and every answer has its line in the log.

    Returns how often work came back for which cause.
    """
    assert not told.strange, told.strange[:5]
    histories = {task_id: client.history(plan, task_id) for task_id in client.tasks(plan)}
    finished_at: dict[str, str] = {}
    causes: Counter[str] = Counter()
    for task_id, lines in histories.items():
        ends = [line for line in lines if line["move"] == "complete"]
        assert len(ends) == 1, f"{task_id} was finished {len(ends)} times: {lines}"
        assert lines[-1] is ends[0], f"{task_id} went on after its end: {lines}"
        finished_at[task_id] = ends[0]["at"]
        versions = [line["version"] for line in lines]
        assert versions == sorted(set(versions)), f"the versions of {task_id} do not rise: {lines}"
        causes.update(line["cause"] for line in lines if line["move"] == "release")
    assert set(causes) <= LEGITIMATE, causes
    _check_answers(histories, told)
    for task_id, task in client.tasks(plan).items():
        first = next(line["at"] for line in histories[task_id] if line["move"] == "hold")
        early = [needed for needed in task["dependencies"] if finished_at[needed] > first]
        assert not early, f"{task_id} was handed over before {early} were done"
    return causes


def _check_answers(histories: dict[str, list[Any]], told: Ledger) -> None:
    known = {
        (task_id, line["move"], line["version"], line["worker_id"])
        for task_id, lines in histories.items()
        for line in lines
    }
    for claimed in told.claims:
        assert (claimed.task_id, "hold", claimed.version, claimed.worker) in known, f"{claimed} has no line in the log"
    for task_id, (claimed, version) in told.completed.items():
        assert (task_id, "complete", version, claimed.worker) in known, f"the end of {claimed} has no line in the log"
    for claimed, answer, repeated in told.refused:
        mine = (claimed.task_id, "complete", claimed.version + 1, claimed.worker) in known
        taken = any(
            line["move"] == "release" and line["version"] > claimed.version for line in histories[claimed.task_id]
        )
        assert (repeated and mine) or taken, f"{claimed} was refused for no reason: {answer}"


def check_integrity(path: Path) -> None:
    """The file of a SQLite hall is whole."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert connection.pragma("integrity_check") == "ok"
    finally:
        connection.close()
