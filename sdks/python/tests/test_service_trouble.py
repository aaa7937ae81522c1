"""A service worker against a hall that refuses, cuts, delays and restarts."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, Reaction, answer, cut, render, sending, silence
from scripted_services import ScriptedServices, fields

from hiringhall_worker import Call, Refused, Superseded, Unauthorized

SUPERSEDED = {"error_code": "worker_superseded", "detail": "another process registered", "task_id": None}
GOOD = b'[{"request_id":"r-1","method":"add","lock_required":false,"params":[1,2]}]'
LOST: list[Reaction] = [
    cut,
    sending(then_close=True),
    sending(render(200, {"a": 1})[:-2], then_close=True),
    answer(502),
]


def add(a: int, b: int) -> int:
    return a + b


def waits_for_cancel(call: Call) -> None:
    assert call.cancelled.wait(PATIENCE_SECONDS)


def test_a_bad_secret_ends_the_run(services: ScriptedServices, serve: Start, caplog: pytest.LogCaptureFixture) -> None:
    """A 401 at login says what to check, and no secret is ever logged."""
    caplog.set_level(logging.DEBUG)
    services.script["login"].append(answer(401, {"error": "invalid_client", "error_code": "invalid_client"}))
    error = serve({"add": add}).wait()
    assert isinstance(error, Unauthorized)
    assert "invalid_client" in str(error) and "HALL_SERVICE_SECRET" in str(error)
    assert "s3cret" not in caplog.text + str(error)


@pytest.mark.parametrize("status", [404, 405, 422])
@pytest.mark.parametrize("verb", ["login", "registration", "drain"])
def test_a_wrong_address_ends_the_run(services: ScriptedServices, serve: Start, verb: str, status: int) -> None:
    """What no repetition mends is raised."""
    services.script[verb].append(answer(status, {"error_code": "not_found", "detail": "", "task_id": None}))
    assert isinstance(serve({"add": add}).wait(), Refused)


@pytest.mark.parametrize("verb", ["registration", "drain", "heartbeat", "response", "feedback", "lock"])
def test_a_token_refused_in_mid_life_is_refreshed(services: ScriptedServices, serve: Start, verb: str) -> None:
    """On whatever a 401 comes, the refresh token brings a new one, and the request is sent again."""

    def speaks(call: Call) -> str:
        call.feedback("hello")
        return "done"

    services.settings["heartbeat_delay"] = "0.05"
    services.script[verb].append(answer(401, {"error_code": "missing_or_invalid_bearer"}))
    services.call("r-1", "speaks", lock_required=True)
    running = serve({"speaks": speaks})
    assert services.response("r-1")["result"] == "done"
    services.wait_heard(verb, 2)
    services.wait_heard("heartbeat", 2)
    logins = services.of("login")
    assert len(logins) == 2
    assert fields(logins[1]) == {"grant_type": "refresh_token", "refresh_token": "secret-refresh-1"}
    assert running.error is None


def test_a_dead_refresh_token_means_logging_in_again(services: ScriptedServices, serve: Start) -> None:
    """When the refresh token is refused too, the secret brings new tokens; the worker does not register again."""
    services.script["login"].extend([services._usual, answer(401, {"error": "invalid_grant"})])
    running = serve({"add": add})
    services.wait_parked()
    services.revoke()
    services.call("r-1", "add", [1, 2])
    grants = [fields(heard)["grant_type"] for heard in services.wait_heard("login", 3)]
    assert grants == ["client_credentials", "refresh_token", "client_credentials"]
    assert len(services.of("registration")) == 1
    assert running.error is None


def test_a_token_that_is_never_accepted_ends_the_run(services: ScriptedServices, serve: Start) -> None:
    """After a refresh and a login the third 401 in a row is believed."""
    services.script["registration"].extend([answer(401)] * 3)
    assert isinstance(serve({"add": add}).wait(), Unauthorized)
    assert [fields(h)["grant_type"] for h in services.of("login")] == [
        "client_credentials",
        "refresh_token",
        "client_credentials",
    ]


def test_a_token_is_refreshed_before_it_ends(services: ScriptedServices, serve: Start) -> None:
    """A short-lived token is renewed halfway, without any request having been refused."""
    services.lifetime_seconds = 0.4
    services.settings["heartbeat_delay"] = "0.05"
    serve({"add": add})
    services.wait_heard("login", 3)
    first, second = services.of("login")[:2]
    assert 0.2 <= second.at - first.at < 0.39
    assert fields(second)["grant_type"] == "refresh_token"


@pytest.mark.parametrize("reaction", LOST)
@pytest.mark.parametrize("verb", ["login", "registration", "drain", "response"])
def test_a_lost_answer_is_repaired(services: ScriptedServices, serve: Start, verb: str, reaction: Reaction) -> None:
    """Reset, closed, cut in half or 502: the request is sent again."""
    services.script[verb].append(reaction)
    services.call("r-1", "add", [1, 2])
    serve({"add": add})
    assert services.response("r-1")["result"] == 3
    services.wait_heard(verb, 2)


@pytest.mark.parametrize("reaction", LOST)
def test_a_response_is_repeated_with_its_key(services: ScriptedServices, serve: Start, reaction: Reaction) -> None:
    """Every attempt to answer is the same request with the same Idempotency-Key."""
    services.script["response"].append(reaction)
    services.call("r-1", "add", [1, 2])
    serve({"add": add})
    first, second = services.wait_heard("response", 2)[:2]
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] != ""
    services.call("r-2", "add", [1, 2])
    services.response("r-2")
    assert services.of("response")[-1].headers["idempotency-key"] != first.headers["idempotency-key"]


@pytest.mark.parametrize("reaction", LOST[:3])
def test_a_lock_whose_answer_is_lost_is_asked_again(
    services: ScriptedServices, serve: Start, reaction: Reaction
) -> None:
    """The lock may be this worker's already: it asks once more."""
    services.script["lock"].append(reaction)
    services.call("r-1", "add", [1, 2], lock_required=True)
    serve({"add": add})
    assert services.response("r-1")["result"] == 3


def test_messages_that_come_twice_run_once(services: ScriptedServices, serve: Start) -> None:
    """A surplus answer on the connection is not taken for the next drain's."""
    text = f"HTTP/1.1 200 OK\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD
    services.script["drain"].append(sending(text + text))
    serve({"add": add})
    services.response("r-1")
    services.wait_parked()
    assert len(services.of("response")) == 1


@pytest.mark.parametrize("verb", ["login", "registration", "drain", "response", "lock"])
@pytest.mark.parametrize("status", [503, 429])
def test_retry_after_is_obeyed(services: ScriptedServices, serve: Start, verb: str, status: int) -> None:
    """No attempt comes before the time that the hall asked for."""
    services.script[verb].append(answer(status, {"error_code": "unavailable"}, Retry_After="0.4"))
    services.call("r-1", "add", [1, 2], lock_required=True)
    serve({"add": add})
    first, second = services.wait_heard(verb, 2)[:2]
    assert 0.4 <= second.at - first.at < 3.0


@pytest.mark.parametrize("status", [404, 409, 410])
def test_an_answer_that_is_not_wanted_is_dropped(
    services: ScriptedServices, serve: Start, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """A refused answer is logged and not repeated; the worker goes on."""
    services.script["response"].append(answer(status, {"error_code": "not_yours", "detail": "too late"}))
    services.call("r-1", "add", [1, 2])
    services.call("r-2", "add", [1, 2])
    serve({"add": add})
    services.response("r-2")
    assert [heard.json["request_id"] for heard in services.of("response")] == ["r-1", "r-2"]
    assert "too late" in caplog.text


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_answer_that_the_hall_cannot_take_becomes_an_error(
    services: ScriptedServices, serve: Start, status: int
) -> None:
    """A result that is too large, say, is told as an error in its place, under another key."""
    services.script["response"].append(answer(status, {"error_code": "payload_too_large", "detail": "1 MiB fit"}))
    services.call("r-1", "long")
    serve({"long": lambda: "x" * 100_000})
    first, second = services.wait_heard("response", 2)
    assert second.json["status"] == "error" and second.json["result"] is None
    assert "100" in second.json["error_text"] and "1 MiB fit" in second.json["error_text"]
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


@pytest.mark.parametrize("verb", ["drain", "heartbeat", "response", "registration"])
def test_a_superseded_worker_ends_with_a_clear_error(services: ScriptedServices, serve: Start, verb: str) -> None:
    """Another process under the same name ends this one, which says no goodbye."""
    services.settings["heartbeat_delay"] = "0.05"
    services.call("r-1", "add", [1, 2])
    services.script[verb].append(answer(409, SUPERSEDED))
    error = serve({"add": add}, worker_id="twin").wait()
    assert isinstance(error, Superseded)
    assert "math/twin" in str(error) and "worker_id" in str(error)
    assert services.of("goodbye") == []


def test_a_superseded_worker_cancels_what_runs(services: ScriptedServices, serve: Start) -> None:
    """Methods hear at once that their call is no longer this worker's, and nothing is answered."""
    services.settings["heartbeat_delay"] = "0.05"
    services.call("r-1", "wait")
    running = serve({"wait": waits_for_cancel})
    services.wait_heard("heartbeat")
    services.script["heartbeat"].append(answer(409, SUPERSEDED))
    assert isinstance(running.wait(), Superseded)
    assert services.of("response") == []


def test_heartbeat_false_registers_anew(services: ScriptedServices, serve: Start) -> None:
    """A worker that was removed, and is not known any more, registers again and goes on."""
    services.settings["heartbeat_delay"] = "0.05"
    services.script["heartbeat"].append(answer(200, False))
    running = serve({"add": add})
    services.wait_heard("registration", 2)
    services.call("r-1", "add", [1, 2])
    assert services.response("r-1")["result"] == 3
    assert running.error is None


def test_a_drain_by_an_unknown_worker_registers(services: ScriptedServices, serve: Start) -> None:
    """A hall that lost this worker says so to its drain: it registers, and goes on."""
    services.script["drain"].append(answer(409, {"error_code": "not_registered", "detail": ""}))
    services.call("r-1", "add", [1, 2])
    serve({"add": add})
    assert services.response("r-1")["result"] == 3
    assert len(services.of("registration")) == 2


def test_a_drain_that_is_no_array_is_asked_again(services: ScriptedServices, serve: Start) -> None:
    """Odd answers and odd messages neither end the worker nor keep it from the good ones."""
    odd: list[Any] = [7, {"method": "add"}, {"request_id": 5}, {"request_id": "r-2", "method": None}]
    services.script["drain"].extend([answer(200, {"messages": []}), answer(200, odd)])
    services.call("r-1", "add", [1, 2])
    serve({"add": add}, concurrency=2)
    assert services.response("r-1")["result"] == 3
    assert services.response("r-2")["status"] == "error"


def test_cancel_reaches_a_method_and_its_answer_still_counts(services: ScriptedServices, serve: Start) -> None:
    """`cancel` sets `call.cancelled` of the named call; what the method answers is sent."""

    def stops(call: Call) -> str:
        assert call.cancelled.wait(PATIENCE_SECONDS)
        return "half done"

    services.settings["heartbeat_delay"] = "0.05"
    services.call("r 1", "stops")
    serve({"stops": stops})
    services.wait_heard("heartbeat")
    services.directive = "cancel=r%201,r-9"
    answer_ = services.response("r 1")
    assert (answer_["status"], answer_["result"]) == ("success", "half done")


def test_cancel_reaches_an_async_method(services: ScriptedServices, serve: Start) -> None:
    """A coroutine that is cancelled ends the call as failed, with that word."""

    async def sleeps() -> None:
        await asyncio.sleep(PATIENCE_SECONDS)

    services.settings["heartbeat_delay"] = "0.05"
    services.call("r-1", "sleeps")
    serve({"sleeps": sleeps})
    services.wait_heard("heartbeat")
    services.directive = "cancel=r-1"
    told = services.response("r-1")
    assert (told["status"], told["error_text"]) == ("failed", "math/sleeps: cancelled")


def test_quiet_stops_draining_until_it_is_gone(services: ScriptedServices, serve: Start) -> None:
    """A quiet worker keeps beating and drains nothing."""
    services.settings["heartbeat_delay"] = "0.05"
    services.directive = "quiet"
    serve({"add": add})
    services.wait_heard("drain")
    services.call("r-1", "add", [1, 2])
    services.wait_heard("heartbeat", 4)
    assert len(services.of("drain")) == 1
    services.directive = None
    assert services.response("r-1")["result"] == 3


def test_terminate_ends_the_run_gracefully(services: ScriptedServices, serve: Start) -> None:
    """`terminate` ends the run as SIGTERM does: what runs is answered first."""
    gate = threading.Event()

    def wait() -> str:
        assert gate.wait(PATIENCE_SECONDS)
        return "finished"

    services.settings["heartbeat_delay"] = "0.05"
    services.call("r-1", "wait")
    running = serve({"wait": wait}, grace_seconds=None)
    services.wait_heard("heartbeat")
    services.directive = "terminate"
    services.wait_heard("goodbye")
    beats = len(services.of("heartbeat"))
    services.wait_heard("heartbeat", beats + 2)
    gate.set()
    assert running.wait() is None
    assert services.response("r-1")["result"] == "finished"


def test_the_hall_restarts(services: ScriptedServices, serve: Start) -> None:
    """A worker survives a hall that is killed under it, and comes back later, with its tokens no longer known."""
    gate = threading.Event()

    def wait() -> str:
        assert gate.wait(PATIENCE_SECONDS)
        return "kept"

    services.settings["heartbeat_delay"] = "0.2"
    services.call("r-1", "wait")
    running = serve({"wait": wait}, concurrency=2)
    services.wait_heard("drain", 2)
    services.close()
    gate.set()
    again = ScriptedServices(services.port)
    try:
        again.call("r-2", "wait")
        assert again.response("r-1")["result"] == "kept"
        assert again.response("r-2")["result"] == "kept"
        assert again.of("registration") == []
        assert running.stop() is None
        again.wait_heard("goodbye")
    finally:
        again.close()


def test_a_hall_that_is_not_there_yet(services: ScriptedServices, serve: Start) -> None:
    """A worker may be started before the hall."""
    services.close()
    serve({"add": add})
    again = ScriptedServices(services.port)
    try:
        again.call("r-1", "add", [1, 2])
        assert again.response("r-1")["result"] == 3
    finally:
        again.close()


def test_a_hall_that_never_answers_does_not_keep_the_worker_from_ending(
    services: ScriptedServices, serve: Start
) -> None:
    """Neither a silent login nor a silent goodbye delays the end."""
    services.script["goodbye"].append(silence)
    running = serve({"add": add})
    services.wait_parked()
    assert running.stop() is None
    services.script["login"].append(silence)
    running = serve({"add": add})
    services.wait_heard("login", 2)
    assert running.stop() is None
