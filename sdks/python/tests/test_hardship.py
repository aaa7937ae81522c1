"""Everything at once: encrypted, and through a network that loses one answer in four."""

from __future__ import annotations

import os
import random
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_worker import Start
from scripted_hall import Reaction, ScriptedHall, answer, cut, render, sending

from hiringhall_worker import Task
from hiringhall_worker.transport import Address, Connection
from hiringhall_worker.wire import Lost, Request

LOSSES: list[Reaction] = [
    cut,
    sending(then_close=True),
    sending(b"HTTP/1.1 200 OK\r\nContent-Le", then_close=True),
    sending(render(200, {"task": {}})[:-3], then_close=True),
    answer(502),
    answer(503, Retry_After="0"),
]


def test_every_task_ends_whatever_is_lost(hall: ScriptedHall, start: Start) -> None:
    """Tasks are run once each and all of them are told, although answers of every kind get lost."""
    dice = random.Random(1)
    for verb, count in (("claim", 60), ("complete", 60), ("heartbeat", 100)):
        for _ in range(count):
            lost = dice.random() < 0.25
            hall.script[verb].append(dice.choice(LOSSES) if lost else hall._usual)
    ids = [f"T-{number}" for number in range(60)]
    for task_id in ids:
        hall.hand_out(task_id)
    ran: list[str] = []
    guard = threading.Lock()

    def handler(task: Task) -> None:
        with guard:
            ran.append(task.id)

    running = start(handler, concurrency=8, heartbeat_seconds=0.05)
    hall.wait_for(lambda: {heard.task_id for heard in hall.of("complete")} == set(ids), "every task")
    hall.wait_parked()
    assert running.stop() is None
    assert sorted(ran) == sorted(ids)
    keys = {(heard.task_id, heard.headers["idempotency-key"], heard.body) for heard in hall.of("complete")}
    assert len(keys) == len(ids)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    program = shutil.which("openssl")
    if program is None:
        without = "openssl is not installed: TLS IS NOT TESTED"
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(without, pytrace=False)
        pytest.skip(without)
    found = tmp_path / "both.pem"
    command = f"{program} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {found} -out {tmp_path / 'certificate.pem'}"
    subprocess.run(command.split(), check=True, capture_output=True)
    found.write_bytes(found.read_bytes() + (tmp_path / "certificate.pem").read_bytes())
    return found


@pytest.fixture
def encrypted_hall(certificate: Path) -> Iterator[ScriptedHall]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    found = ScriptedHall(tls=context)
    yield found
    found.close()


def test_tls(encrypted_hall: ScriptedHall, certificate: Path, start: Start) -> None:
    """The worker speaks TLS with an https address, keeps its connections, and a parked claim ends at once."""
    running = start(
        lambda task: None,
        server=encrypted_hall.url,
        tls=ssl.create_default_context(cafile=str(certificate)),
        heartbeat_seconds=0.05,
    )
    for number in range(5):
        encrypted_hall.hand_out(f"T-{number}")
    encrypted_hall.wait_heard("complete", 5)
    encrypted_hall.wait_heard("heartbeat", 3)
    encrypted_hall.wait_parked()
    assert len({heard.connection for heard in encrypted_hall.heard}) == 3
    begun = time.monotonic()
    assert running.stop() is None
    assert time.monotonic() - begun < 2.0


def test_an_untrusted_certificate_is_not_accepted(encrypted_hall: ScriptedHall) -> None:
    """Without trust nothing is sent, and the reason is named."""
    found = Connection(Address.of(encrypted_hall.url)).exchange(
        Request("heartbeat", "/workers/w/heartbeat", "t", b"{}", 5.0)
    )
    assert isinstance(found, Lost) and "CERTIFICATE_VERIFY_FAILED" in found.why
    assert encrypted_hall.heard == []
