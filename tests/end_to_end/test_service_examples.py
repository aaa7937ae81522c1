"""The services in examples/, each started with its one command and called over a real hall."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hiringhall_worker import CallFailed, Client
from tests.conftest import StartHall
from tests.hall_client import HallClient, fine
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess
from tests.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SLOW = threading.Event()
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def hall(start_hall: StartHall, sqlite_database: Database) -> HallProcess:
    return start_hall(sqlite_database, HALL_HEARTBEAT_DELAY=0.2)


@pytest.fixture
def client(hall: HallProcess) -> Iterator[Client]:
    with Client(hall.url, token=ADMIN_TOKEN, parse_float=Decimal) as found:
        yield found


@pytest.fixture
def start(hall: HallProcess) -> Iterator[Start]:
    """Start an example for a service: `start("reports", "report_worker.py", *arguments)`."""
    begun: list[subprocess.Popen[str]] = []

    def begin(service: str, program: str, *arguments: str) -> subprocess.Popen[str]:
        with HallClient(hall.url) as operator:
            secret = fine(operator.call("PUT", f"/admin/services/{service}", {}))["secret"]
        environment = {**os.environ, "HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": secret}
        command = [sys.executable, str(EXAMPLES / program), *arguments]
        begun.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str]) -> None:
    """SIGTERM, and a clean end."""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_a_report_is_made_with_progress(client: Client, start: Start) -> None:
    """The client follows the percentages, and the money in the report is exact."""
    process = start("reports", "report_worker.py")
    orders = [{"customer": f"customer {n % 3}", "amount": Decimal("0.10")} for n in range(300)]
    pending = client.start("reports/sales", {"title": "May & June", "orders": orders})
    percents = [item.percent for item in pending.feedback()]
    assert percents == sorted(percents, key=lambda percent: percent or 0)
    assert percents[-1] == 100
    assert len(percents) > 10
    report = pending.result(0)
    assert (report["orders"], report["total"]) == (300, Decimal("30.00"))
    assert report["customers"] == {f"customer {n}": Decimal("10.00") for n in range(3)}
    assert "<h1>May &amp; June</h1>" in report["page"]
    assert "<th>30.00</th>" in report["page"]
    with pytest.raises(CallFailed, match="failed: there are no orders"):
        client.call("reports/sales", {"title": "June", "orders": []}, timeout=10)
    with pytest.raises(CallFailed, match=r"error: reports/sales: parameter 'orders'\[0\]\.amount must be a number"):
        client.call("reports/sales", {"title": "June", "orders": [{"customer": "a", "amount": "1"}]}, timeout=10)
    end(process)


class Pages(BaseHTTPRequestHandler):
    """A web site with a page, a redirection to elsewhere, a big page, and one that never comes."""

    def do_GET(self) -> None:
        if self.path == "/docs/slow":
            SLOW.wait(30)
            return
        bodies = {"/docs/page": b"<h1>hello</h1>", "/docs/big": b"x" * 600_000, "/secret": b"secret"}
        body = bodies.get(self.path, b"")
        self.send_response(302 if self.path == "/docs/away" else 200 if body else 404)
        if self.path == "/docs/away":
            self.send_header("Location", "/secret")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def site() -> Iterator[str]:
    SLOW.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    SLOW.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_pages_are_fetched_at_once_and_within_their_time(client: Client, start: Start, site: str) -> None:
    """Slow pages hold up nobody; a page that is too slow, or too big, is refused in words."""
    start("fetch", "fetch_worker.py", "--allow", f"{site}/docs")
    slow = [client.start("fetch/page", {"url": f"{site}/docs/slow", "timeout_seconds": 2}) for _ in range(10)]
    until(lambda: all(pending.status() == "held" for pending in slow), waiting_for="all slow pages to be under way")
    found = client.call("fetch/page", {"url": f"{site}/docs/page"}, timeout=10)
    assert (found["status"], found["type"], found["text"]) == (200, "text/html", "<h1>hello</h1>")
    for pending in slow:
        with pytest.raises(CallFailed, match="no answer within 2 s"):
            pending.result(15)
    with pytest.raises(CallFailed, match="more than 524288 bytes"):
        client.call("fetch/page", [f"{site}/docs/big"], timeout=10)


DETOURS = (
    "/secret",
    "/docsecret",
    "/docs/../secret",
    "/docs/%2e%2e/secret",
    "/docs/%252e%252e/secret",
    "/docs/..%2fsecret",
    "/docs\\..\\secret",
    "@127.0.0.1/docs/page",
)


def test_the_fetching_worker_is_no_open_proxy(client: Client, start: Start, site: str) -> None:
    """What does not lie below an allowed address is not fetched, however it is spelt."""
    start("fetch", "fetch_worker.py", "--allow", f"{site}/docs/")
    for url in (*(f"{site}{path}" for path in DETOURS), "ftp://127.0.0.1/docs/page", "http://127.0.0.1:1/docs/page"):
        with pytest.raises(CallFailed, match="not among those that may be fetched"):
            client.call("fetch/page", [url], timeout=10)


def test_redirections_are_told_and_not_followed(client: Client, start: Start, site: str) -> None:
    """A page that points elsewhere does not lead the worker there."""
    start("fetch", "fetch_worker.py", "--allow", site)
    found = client.call("fetch/page", [f"{site}/docs/away"], timeout=10)
    assert (found["status"], found["location"], found["text"]) == (302, "/secret", "")


def test_primes_are_counted_in_processes(client: Client, start: Start) -> None:
    """A busy method reports progress, can be cancelled, and its worker stays alive and well the while."""
    process = start("primes", "prime_worker.py")
    pending = client.start("primes/count", {"below": 200_000})
    percents = [item.percent for item in pending.feedback()]
    assert pending.result(0) == 17_984
    assert percents[-1] == 100
    long = client.start("primes/count", {"below": 1_000_000_000})
    next(long.feedback())
    assert long.cancel() == "cancelling"
    with pytest.raises(CallFailed, match="cancelled at"):
        long.result(15)
    assert client.call("primes/count", [100], timeout=15) == 25
    end(process)


@pytest.mark.parametrize("program", ["report_worker.py", "prime_worker.py"])
def test_a_wrong_secret_is_told_in_one_line(hall: HallProcess, program: str) -> None:
    """An example that cannot log in says what to check, and ends with status 1."""
    environment = {**os.environ, "HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": "wrong"}
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert "check the service's name and its secret" in ended.stderr
    assert "Traceback" not in ended.stderr
