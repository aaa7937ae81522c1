"""A service worker against the scripted hall: what it says, runs and answers."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS
from scripted_services import ScriptedServices, fields, query

from hiringhall_worker import Call, Fail, ServiceWorker


def add(a: int, b: int) -> int:
    return a + b


def test_a_call_from_login_to_answer(services: ScriptedServices, serve: Start) -> None:
    """The worker logs in, registers, drains, runs the method and answers."""
    services.call("r-1", "add", {"a": 1, "b": 2})
    serve({"add": add}, worker_id="kiwi 1", tags={"os": "linux"}, version="1.0.0")
    assert services.response("r-1") == {"request_id": "r-1", "status": "success", "error_text": None, "result": 3}
    login = services.of("login")[0]
    assert login.headers["content-type"] == "application/x-www-form-urlencoded"
    assert "authorization" not in login.headers
    assert fields(login) == {
        "grant_type": "client_credentials",
        "service_id": "math",
        "auth_secret": "s3cret",
        "worker_id": "kiwi 1",
    }
    told = services.of("registration")[0].json
    assert told["worker_id"] == "kiwi 1" and told["service_id"] == "math" and told["run_mode"] == "Eager"
    assert told["methods"] == ["add"] and told["version"] == "1.0.0"
    assert told["tags"] == {"concurrency": "1", "os": "linux"}
    drain = services.of("drain")[0]
    assert query(drain) == {"wait": "5", "max": "1"} and drain.headers["hall-holding"] == ""
    assert drain.headers["authorization"] == "Bearer secret-token-1"
    assert len(services.of("login")) == len(services.of("registration")) == 1


def test_async_methods_share_a_loop_and_run_at_once(services: ScriptedServices, serve: Start) -> None:
    """Async methods run concurrently, up to `concurrency`."""
    both = asyncio.Event()
    inside: list[str] = []

    async def meet(name: str) -> list[str]:
        inside.append(name)
        if len(inside) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), PATIENCE_SECONDS)
        return sorted(inside)

    services.call("r-1", "meet", {"name": "a"})
    services.call("r-2", "meet", {"name": "b"})
    serve({"meet": meet}, concurrency=2)
    assert services.response("r-1")["result"] == services.response("r-2")["result"] == ["a", "b"]


def test_no_more_is_asked_for_than_there_is_room(services: ScriptedServices, serve: Start) -> None:
    """A drain asks for as many calls as there are free slots, and names what is held."""
    gate = threading.Event()

    def wait() -> None:
        assert gate.wait(PATIENCE_SECONDS)

    services.call("r/1", "wait")
    serve({"wait": wait}, concurrency=3)
    services.wait_heard("drain", 2)
    assert [query(heard)["max"] for heard in services.of("drain")] == ["3", "2"]
    assert services.of("drain")[1].headers["hall-holding"] == "r%2F1"
    gate.set()
    assert services.response("r/1")["status"] == "success"


def test_what_a_hall_hands_out_beyond_the_room_waits(services: ScriptedServices, serve: Start) -> None:
    """A hall that knows no `max` empties its queue; all of it is answered, in order."""
    services.obeys_max = False
    ran: list[int] = []
    for number in range(5):
        services.call(f"r-{number}", "note", [number])
    serve({"note": lambda n: ran.append(n)})
    services.wait_heard("response", 5)
    services.wait_heard("drain", 2)
    assert ran == [0, 1, 2, 3, 4]
    assert services.of("drain")[1].headers["hall-holding"] == ""


def test_a_refusal_is_failed_and_the_client_sees_its_text(services: ScriptedServices, serve: Start) -> None:
    """`Fail` ends the call as failed."""

    def refuse() -> None:
        raise Fail("no such customer")

    services.call("r-1", "refuse")
    serve({"refuse": refuse})
    assert services.response("r-1") == {
        "request_id": "r-1",
        "status": "failed",
        "error_text": "no such customer",
        "result": None,
    }


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_exception_is_an_error_without_its_traceback(
    services: ScriptedServices, serve: Start, caplog: pytest.LogCaptureFixture, in_loop: bool
) -> None:
    """The client sees type and message; the log has the traceback."""

    def breaks() -> None:
        raise ZeroDivisionError("by nothing")

    async def breaks_later() -> None:
        breaks()

    services.call("r-1", "breaks")
    serve({"breaks": breaks_later if in_loop else breaks})
    answer = services.response("r-1")
    assert (answer["status"], answer["error_text"]) == ("error", "math/breaks: ZeroDivisionError: by nothing")
    assert "Traceback" in caplog.text and "def" not in answer["error_text"]


def test_a_result_that_json_cannot_carry_is_an_error(services: ScriptedServices, serve: Start) -> None:
    """What the method returned is named by its type."""
    services.call("r-1", "odd")
    services.call("r-2", "nan")
    serve({"odd": lambda: {1, 2}, "nan": lambda: float("nan")})
    assert services.response("r-1")["error_text"].startswith("math/odd: its result cannot be sent as JSON: a value of")
    assert services.response("r-2")["status"] == "error"


def test_numbers_travel_digit_for_digit(services: ScriptedServices, serve: Start) -> None:
    """Big integers are exact; with `parse_float=Decimal` fractions are too."""
    services.call("r-1", "same", [3544790567247868102])
    serve({"same": lambda x: [x, Decimal("0.1000000000000000055"), Decimal("1E+400")]}, parse_float=Decimal)
    services.response("r-1")
    assert b"[3544790567247868102,0.1000000000000000055,1E+400]" in services.of("response")[0].body


@pytest.mark.parametrize("text", ["1e400", "0.1000000000000000055", "-0.0"])
def test_fractions_come_and_go_as_they_are_written(services: ScriptedServices, serve: Start, text: str) -> None:
    """A Decimal goes out with the digits with which it came."""
    got: list[Any] = []

    def same(x: Any) -> Any:
        got.append(x)
        return x

    body = f'[{{"request_id":"r-1","method":"same","lock_required":false,"params":[{text}]}}]'.encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    services.script["drain"].append(lambda sock, heard: sock.sendall(head + body) is None)
    serve({"same": same}, parse_float=Decimal)
    services.response("r-1")
    assert got == [Decimal(text)]
    told = services.of("response")[0].body.rpartition(b'"result": ')[2].rstrip(b"}")
    assert Decimal(told.decode()) == Decimal(text)


def test_lock_required_is_locked_before_it_runs(services: ScriptedServices, serve: Start) -> None:
    """Only the worker that gets a 2xx for its lock runs the call; the other skips it without a word."""
    services.locked_by_others.add("r-2")
    ran: list[str] = []
    services.call("r 1", "note", ["mine"], lock_required=True)
    services.call("r-2", "note", ["theirs"], lock_required=True)
    services.call("r-3", "note", ["last"])
    serve({"note": ran.append})
    services.response("r-3")
    assert ran == ["mine", "last"]
    assert [heard.path for heard in services.of("lock")] == ["/worker/lock_request/r%201", "/worker/lock_request/r-2"]
    assert {heard.json["request_id"] for heard in services.of("response")} == {"r 1", "r-3"}


def test_a_call_that_is_handed_over_twice_runs_once(services: ScriptedServices, serve: Start) -> None:
    """While a call runs here, a second hand-over of it is not begun."""
    gate = threading.Event()
    ran: list[int] = []

    def wait() -> None:
        ran.append(1)
        assert gate.wait(PATIENCE_SECONDS)

    services.call("r-1", "wait")
    services.call("r-1", "wait")
    serve({"wait": wait}, concurrency=2)
    services.wait_heard("drain", 2)
    services.wait_parked()
    gate.set()
    services.response("r-1")
    assert ran == [1]


def test_settings_are_there_for_the_methods(services: ScriptedServices, serve: Start) -> None:
    """The map from registration is `worker.settings`."""
    services.settings["smtp_host"] = "mail.example"
    worker_seen: list[str] = []
    running = serve({"look": lambda: worker_seen.append(running.worker.settings["smtp_host"])})
    services.call("r-1", "look")
    assert services.response("r-1")["status"] == "success"
    assert worker_seen == ["mail.example"]
    with pytest.raises(TypeError):
        running.worker.settings["smtp_host"] = "x"


def test_what_the_call_knows(services: ScriptedServices, serve: Start) -> None:
    """The method may look at the id, the deadline and the trace of its call."""

    def look(call: Call) -> list[Any]:
        assert call.deadline is not None
        return [call.request_id, call.service, call.method, call.deadline.isoformat(), call.traceparent]

    services.call("r-1", "look", deadline="2026-12-01T00:00:00.000Z", traceparent="00-1-2-01")
    serve({"look": look})
    found = services.response("r-1")["result"]
    assert found == ["r-1", "math", "look", "2026-12-01T00:00:00+00:00", "00-1-2-01"]


def test_the_hall_says_how_often_to_beat(services: ScriptedServices, serve: Start) -> None:
    """Heartbeats come every `heartbeat_delay`, also while a method is busy, and name what is held."""
    gate = threading.Event()

    def busy() -> None:
        while not gate.is_set():
            pass

    services.settings["heartbeat_delay"] = "0.05"
    services.call("r-1", "busy")
    serve({"busy": busy}, worker_id="w/1")
    try:
        services.wait_for(lambda: len([h for h in services.of("heartbeat") if h.headers["hall-holding"] == "r-1"]) > 3)
        assert services.of("heartbeat")[0].path == "/worker/heartbeat/w%2F1"
    finally:
        gate.set()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"service": ""}, "service:"),
        ({"concurrency": 0}, "concurrency:"),
        ({"concurrency": 1001}, "at most 1000"),
        ({"hold_seconds": 60}, "hold_seconds:"),
        ({"grace_seconds": -1}, "grace_seconds:"),
        ({"tags": {"a": {1, 2}}}, "tags:"),
        ({"server": "math"}, "http://HOST:PORT"),
    ],
)
def test_bad_settings_name_themselves(settings: dict[str, Any], message: str) -> None:
    """A wrong setting is a ValueError that says which one."""
    with pytest.raises(ValueError, match=message):
        ServiceWorker(**{"service": "math", "secret": "s", **settings})


def test_a_run_without_methods_or_secret_says_so() -> None:
    """Forgetting the methods or the secret is a clear error."""
    worker = ServiceWorker(service="math")
    with pytest.raises(ValueError, match="no methods"):
        worker.run()
    worker.method("add")(add)
    with pytest.raises(ValueError, match="HALL_SERVICE_SECRET"):
        worker.run()
    with pytest.raises(ValueError, match="math/add is there already"):
        worker.method("add")(add)
