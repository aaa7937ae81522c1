"""Whatever bytes arrive, the answer is in the error envelope or the connection is closed, and nothing else suffers."""

from __future__ import annotations

import contextlib
import json
import random
import socket
from pathlib import Path

from bench.client import Answer, Malformed, parse
from hiringhall.domain.refusals import CODES
from tests.conftest import StartHall
from tests.faults.hostile import Hostile, cases, loose_cases, targets
from tests.hall_client import HallClient, connect
from tests.hall_process import Database, HallProcess
from tests.waiting import until

ANSWER_SECONDS = 8.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
DETAIL_CHARACTERS_MAX = 5_000
SHARE = 8
"""Among all tests every eighth attempt is made; with more rounds, all of them."""
GROWTH_MAX_KIB = 12 * 1024


def attempt(hall: HallProcess, hostile: Hostile) -> str | None:
    """Make one attempt; what is wrong with the outcome, None if nothing is."""
    with connect(hall.url) as connection:
        connection.settimeout(ANSWER_SECONDS)
        with contextlib.suppress(OSError):  # it may be refused before it was sent to its end
            connection.sendall(hostile.sent)
        if hostile.waits:
            return None
        try:
            answer = first_answer(connection)
        except TimeoutError:
            return "no answer, and the connection stays open"
        except (Malformed, ValueError) as problem:
            return f"no HTTP: {problem}"
    return None if answer is None else complaint_about(answer)


def first_answer(connection: socket.socket) -> Answer | None:
    """The first answer; None if the connection is closed instead."""
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionError:
            more = b""
        data = (data + more).removeprefix(CONTINUE)
        parsed = parse(data) if data else None
        if parsed is not None:
            return parsed[0]
        if not more:
            return None


def complaint_about(answer: Answer) -> str | None:
    """Why this is not what a client can be answered with."""
    if answer.status < 400:
        return None
    told = json.loads(answer.body)
    code = told.get("error_code", told.get("error"))
    if code not in CODES:
        return f"{answer.status} with {code!r}, which is not on the list"
    if CODES[code] != answer.status:
        return f"{answer.status} with {code!r}, which belongs to {CODES[code]}"
    if answer.status == 500:
        return f"500: {told}"
    if not isinstance(told.get("detail"), str) or not told["detail"]:
        return f"{answer.status} without a detail"
    if len(told["detail"]) > DETAIL_CHARACTERS_MAX:
        return f"{answer.status} with a detail of {len(told['detail'])} characters"
    return None


def resident_kib(pid: int) -> int:
    """The memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"/proc tells nothing of process {pid}")


def open_files(pid: int) -> int:
    """How many files and connections a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def test_hostile_input(database: Database, start_hall: StartHall, fault_rounds: int) -> None:
    """No bytes make a server fail, forget, or grow: thousands of attempts, after each of which it is healthy."""
    hall = start_hall(database, HALL_CLAIM_HOLD=0.05, HALL_VISIBILITY_TIMEOUT=3600)
    attempts = [each for target in targets() for each in cases(target)]
    random.Random(11).shuffle(attempts)
    if fault_rounds < SHARE:
        attempts = attempts[::SHARE]
    attempts += loose_cases(11)
    problems = []
    with HallClient(hall.url) as client:
        client.apply("kept", "A", "B", "C")
        worker = client.register()
        worker.complete(worker.claim("kept"))
        held = worker.claim("kept")
        sizes = []
        for half in (attempts[::2], attempts[1::2]):
            for hostile in half:
                problem = attempt(hall, hostile)
                if problem is not None:
                    problems.append(f"{hostile.name}: {problem}")
                health = client.call("GET", "/health")
                assert health.status_code == 200, f"{hostile.name}: then /health says {health.text}"
            sizes.append(resident_kib(hall.pid))
        idle = open_files(hall.pid)
        assert not problems, f"{len(problems)} of {len(attempts)} attempts\n" + "\n".join(problems[:40])
        assert sizes[1] - sizes[0] < GROWTH_MAX_KIB, sizes
        until(lambda: open_files(hall.pid) < 60, within_seconds=20, waiting_for=f"connections to be closed, {idle} are")
        assert worker.complete(held)["version"] == 3
        states = {task_id: task["state"] for task_id, task in client.tasks("kept").items()}
        assert states == {"A": "done", "B": "done", "C": "ready"}
    assert hall.stop() == 0
    assert "Traceback" not in hall.stderr
    assert "a bug" not in hall.stderr
