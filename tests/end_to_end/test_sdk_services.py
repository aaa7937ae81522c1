"""The Python SDK's service worker and client with a real hall between them, also when the hall goes away."""

from __future__ import annotations

import base64
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hiringhall_worker import Call, CallFailed, Client, Fail, HallError, ServiceWorker, Superseded, Unauthorized
from tests.conftest import StartHall
from tests.hall_client import HallClient, fine
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess
from tests.waiting import until

WAIT_SECONDS = 20.0


class Running:
    """A worker in a thread, and how its run ended."""

    def __init__(self, worker: ServiceWorker) -> None:
        self.worker = worker
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.worker.run()
        except HallError as error:
            self.error = error

    def wait(self) -> BaseException | None:
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive(), "the worker did not end"
        return self.error

    def stop(self) -> None:
        self.worker.stop()
        self.wait()


Serve = Callable[..., Running]


@pytest.fixture
def hall(start_hall: StartHall, database: Database) -> HallProcess:
    key = base64.b64encode(bytes(32)).decode()
    settings = {"HALL_HEARTBEAT_DELAY": 0.3, "HALL_VISIBILITY_TIMEOUT": 5, "HALL_TOKEN_LIFETIME": 3, "HALL_KEY": key}
    return start_hall(database, **settings)


@pytest.fixture
def operator(hall: HallProcess) -> Iterator[HallClient]:
    with HallClient(hall.url) as found:
        yield found


@pytest.fixture
def secret(operator: HallClient) -> str:
    return str(fine(operator.call("PUT", "/admin/services/math", {"settings": {"greeting": "hello"}}))["secret"])


@pytest.fixture
def client(hall: HallProcess, operator: HallClient) -> Iterator[Client]:
    made = fine(operator.call("PUT", "/admin/clients/shop", {"allow": ["math/*"]}))["secret"]
    with Client(hall.url, client_id="shop", secret=made) as found:
        yield found


@pytest.fixture
def serve(hall: HallProcess, secret: str) -> Iterator[Serve]:
    """Start a worker in a thread: `serve({"add": add}, **settings)`."""
    begun: list[Running] = []

    def begin(methods: dict[str, Callable[..., Any]], **settings: Any) -> Running:
        worker = ServiceWorker(hall.url, service="math", secret=secret, **{"grace_seconds": 0.0, **settings})
        for name, method in methods.items():
            worker.method(name)(method)
        begun.append(Running(worker))
        return begun[-1]

    yield begin
    for running in begun:
        running.stop()


def add(a: int, b: int) -> int:
    return a + b


def test_calls_are_answered_whatever_their_params(client: Client, serve: Serve) -> None:
    """Results, refusals and errors come to the client in the worker's words; numbers are exact."""

    def same(value: Any) -> Any:
        return value

    def refuse() -> None:
        raise Fail("not today")

    running = serve({"add": add, "same": same, "refuse": refuse}, concurrency=4)
    assert client.call("math/add", [2**80, 1], timeout=WAIT_SECONDS) == 2**80 + 1
    for value in (None, [], {"a": [None, True, 1.5, "\0 ü 🙂"]}, "text", -0.5):
        assert client.call("math/same", [value], timeout=WAIT_SECONDS) == value
    with pytest.raises(CallFailed, match="failed: not today"):
        client.call("math/refuse", timeout=WAIT_SECONDS)
    with pytest.raises(CallFailed, match="error: math/add: parameter 'b' is missing; it takes a: int, b: int"):
        client.call("math/add", {"a": 1}, timeout=WAIT_SECONDS)
    assert running.worker.settings["greeting"] == "hello"
    assert {one["method"]: one["live_workers"] for one in client.methods()}["math/add"] == 1


def test_feedback_reaches_the_client_while_the_method_runs(client: Client, serve: Serve) -> None:
    """Each item once, in order, the last one too, and the outcome after it."""
    gate = threading.Event()

    def tells(call: Call) -> str:
        call.progress(10, "begun")
        assert gate.wait(WAIT_SECONDS)
        for number in range(300):
            call.feedback(number)
        return "done"

    serve({"tells": tells})
    pending = client.start("math/tells")
    items = pending.feedback()
    assert next(items).percent == 10
    gate.set()
    assert [item.content for item in items] == list(range(300))
    assert pending.result(0) == "done"


def test_tokens_are_renewed_over_and_over(client: Client, serve: Serve) -> None:
    """With tokens that last three seconds, worker and client go on as if nothing was."""
    running = serve({"add": add})
    begun = threading.Event()
    for number in range(25):
        assert client.call("math/add", [number, 1], timeout=WAIT_SECONDS) == number + 1
        begun.wait(0.2)
    assert running.error is None


@pytest.mark.parametrize("kill", [False, True])
def test_the_hall_restarts_under_everybody(hall: HallProcess, client: Client, serve: Serve, kill: bool) -> None:
    """A call that runs while the hall is away is answered once it is back, and its client gets the answer."""
    gate, ran = threading.Event(), []

    def wait(call: Call) -> str:
        call.feedback("begun")
        ran.append(call.request_id)
        assert gate.wait(WAIT_SECONDS)
        return "kept"

    serve({"wait": wait, "add": add}, concurrency=2)
    pending = client.start("math/wait")
    found: list[Any] = []
    follower = threading.Thread(target=lambda: found.extend(pending.feedback()), daemon=True)
    follower.start()
    until(lambda: ran and found, waiting_for="the method to begin and to be heard")
    hall.restart(kill=kill)
    gate.set()
    assert pending.result(WAIT_SECONDS) == "kept"
    assert ran == [pending.request_id]
    follower.join(WAIT_SECONDS)
    assert [item.content for item in found] == ["begun"]
    assert client.call("math/add", [1, 2], timeout=WAIT_SECONDS) == 3


def test_a_second_process_under_one_name_takes_over(client: Client, serve: Serve) -> None:
    """The first one ends with a clear error, and what it ran is run by the second."""
    ran: list[int] = []

    def hangs(call: Call) -> str:
        ran.append(1)
        if len(ran) == 1:
            assert call.cancelled.wait(WAIT_SECONDS)
        return f"run {len(ran)}"

    first = serve({"hangs": hangs}, worker_id="twin")
    pending = client.start("math/hangs")
    until(lambda: ran, waiting_for="the first run")
    second = serve({"hangs": hangs}, worker_id="twin")
    error = first.wait()
    assert isinstance(error, Superseded)
    assert "math/twin" in str(error)
    assert pending.result(WAIT_SECONDS) == "run 2"
    assert second.error is None


def test_cancelling_reaches_the_method(client: Client, serve: Serve) -> None:
    """A call that runs is told to stop, one that waits is cancelled at once."""

    def stops(call: Call) -> str:
        call.feedback("begun")
        assert call.cancelled.wait(WAIT_SECONDS)
        raise Fail("stopped half-way")

    serve({"stops": stops})
    running = client.start("math/stops")
    next(running.feedback())
    waiting = client.start("math/stops")
    assert waiting.cancel() == "cancelled"
    assert running.cancel() == "cancelling"
    with pytest.raises(CallFailed, match="stopped half-way"):
        running.result(WAIT_SECONDS)
    assert running.cancel() == "failed"


def test_what_a_stopped_worker_leaves_is_done_by_another(client: Client, serve: Serve) -> None:
    """A call given back at the end of the grace is begun elsewhere at once."""
    names: list[str] = []

    def hangs(call: Call) -> str:
        names.append(call.request_id)
        if len(names) == 1:
            assert call.cancelled.wait(WAIT_SECONDS)
        return "done"

    first = serve({"hangs": hangs})
    pending = client.start("math/hangs")
    until(lambda: names, waiting_for="the first run")
    serve({"hangs": hangs})
    first.stop()
    assert pending.result(4) == "done"


def test_race_and_broadcast(client: Client, serve: Serve) -> None:
    """Of racing workers one runs the call; a broadcast has the answer of each."""
    ran: list[str] = []
    for name in ("a", "b", "c"):

        def work(name: str = name) -> str:
            ran.append(name)
            return name

        serve({"work": lambda work=work: work()}, worker_id=name)
    until(lambda: client.methods() and client.methods()[0]["live_workers"] == 3, waiting_for="three workers")
    for _ in range(20):
        client.call("math/work", dispatch="race", timeout=WAIT_SECONDS)
    assert len(ran) == 20
    answers = client.call("math/work", dispatch="broadcast", timeout=WAIT_SECONDS)
    assert sorted((one["worker_id"], one["status"], one["result"]) for one in answers) == [
        (name, "success", name) for name in ("a", "b", "c")
    ]


def test_a_removed_service_ends_its_workers(operator: HallClient, client: Client, serve: Serve) -> None:
    """When the service is gone, its secret is refused, and the worker says so."""
    running = serve({"add": add})
    assert client.call("math/add", [1, 2], timeout=WAIT_SECONDS) == 3
    fine(operator.call("DELETE", "/admin/services/math?force=true"))
    assert isinstance(running.wait(), Unauthorized)


def test_lazy_workers_are_woken(client: Client, serve: Serve) -> None:
    """A Lazy worker answers when it is called, one call after the other."""
    serve({"add": add}, lazy=True, probe_host="127.0.0.1")
    until(client.methods, waiting_for="the worker to register")
    for number in range(10):
        assert client.call("math/add", [number, 1], timeout=5) == number + 1


KILLED = """
import os
from hiringhall_worker import Call, ServiceWorker
worker = ServiceWorker(service="math", worker_id="victim")
@worker.method("dies")
def dies(call: Call):
    call.feedback("begun")
    os.kill(os.getpid(), 9)
worker.run()
"""


def test_what_a_killed_worker_ran_is_run_by_another(
    hall: HallProcess, secret: str, client: Client, serve: Serve
) -> None:
    """A worker that is killed says nothing more; its call goes to another one when its silence is noticed."""
    environment = {"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": secret}
    with subprocess.Popen([sys.executable, "-c", KILLED], env=environment) as victim:
        pending = client.start("math/dies")
        victim.wait(WAIT_SECONDS)
    serve({"dies": lambda: "survived"})
    assert pending.result(WAIT_SECONDS) == "survived"
    with Client(hall.url, token=ADMIN_TOKEN) as operators:
        assert operators.pending(pending.request_id).status() == "success"
