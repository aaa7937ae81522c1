"""The client against the scripted hall: calls, waits, listens, cancels, and tries again."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scripted_hall import PATIENCE_SECONDS, Reaction, answer, cut, render, sending
from scripted_services import ScriptedServices, fields, query

from hiringhall_worker import CallFailed, CallPending, Client, Refused, Unauthorized, Unreachable

LOST: list[Reaction] = [
    cut,
    sending(then_close=True),
    sending(render(202, {"request_id": "r-1", "status": "queued"})[:-4], then_close=True),
    answer(502),
]


@pytest.fixture
def client(services: ScriptedServices) -> Iterator[Client]:
    with Client(services.url, client_id="shop", secret="s3cret") as found:
        yield found


def later(action: Any) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_a_call_and_its_result(services: ScriptedServices, client: Client) -> None:
    """The client logs in once, calls, and gets the result with its numbers as they are."""
    services.answers["math/add"] = {"status": "success", "result": 3544790567247868102, "error_text": None}
    assert client.call("math/add", {"a": 1, "b": 2}) == 3544790567247868102
    assert client.call("math/add", [1, 2], timeout=5) == 3544790567247868102
    assert fields(services.of("client_login")[0]) == {
        "grant_type": "client_credentials",
        "client_id": "shop",
        "client_secret": "s3cret",
    }
    first, second = services.of("call")
    assert first.json == {"method": "math/add", "params": {"a": 1, "b": 2}, "wait": 30.0}
    assert second.json["params"] == [1, 2] and 0 < second.json["wait"] <= 5
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]
    assert len(services.of("client_login")) == 1
    assert first.connection == second.connection


def test_the_operator_needs_no_login(services: ScriptedServices) -> None:
    """A token is used as it is."""
    services.tokens.add("operator-token")
    with Client(services.url, token="operator-token") as client:
        assert client.methods() == [{"method": "math/add", "workers": 1}, {"method": "math/sub", "workers": 1}]
    assert services.of("client_login") == []
    assert [heard.path for heard in services.of("methods")] == [
        "/client/methods",
        "/client/methods?after=math%2Fadd",
    ]


@pytest.mark.parametrize("status", ["failed", "error", "cancelled", "expired"])
def test_a_call_that_fails_is_raised(services: ScriptedServices, client: Client, status: str) -> None:
    """CallFailed has the status, the text and the id, and can be pickled."""
    services.answers["math/add"] = {"status": status, "result": None, "error_text": "no"}
    with pytest.raises(CallFailed, match=f"{status}: no") as caught:
        client.call("math/add")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.status, error.error_text, error.request_id) == (status, "no", "r-1")


def test_a_result_that_takes_longer_than_one_held_request(
    services: ScriptedServices, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client asks again until the result is there."""
    monkeypatch.setattr("hiringhall_worker.client.client.HOLD_SECONDS", 0.05)
    monkeypatch.setattr("hiringhall_worker.client.pending.HOLD_SECONDS", 0.05)
    thread = later(lambda: (services.wait_heard("look", 3), services.finish("r-1", result="late")))
    assert client.call("math/add") == "late"
    thread.join()


def test_a_call_that_outlives_its_timeout_lives_on(services: ScriptedServices, client: Client) -> None:
    """CallPending carries the handle, from which the result can be had later."""
    with pytest.raises(CallPending, match="r-1 is still queued") as caught:
        client.call("math/add", timeout=0.1)
    assert isinstance(caught.value, TimeoutError)
    services.finish("r-1", result=3)
    assert caught.value.pending.result() == 3
    assert client.pending("r-1").result(0) == 3


def test_the_handle_of_a_call(services: ScriptedServices, client: Client) -> None:
    """start returns at once; the handle tells the status, and the outcome with all its members."""
    pending = client.start("math/add", [1, 2], priority=5, deadline_seconds=60, requires={"platform": "linux"})
    assert services.of("call")[0].json == {
        "method": "math/add",
        "params": [1, 2],
        "priority": 5,
        "deadline_seconds": 60,
        "requires": {"platform": "linux"},
    }
    assert pending.request_id == "r-1"
    assert pending.status() == "queued"
    assert pending.outcome() is None
    with pytest.raises(CallPending):
        pending.result(wait=0.05)
    services.finish("r-1", status="failed", error_text="no", finished_at="now")
    outcome = pending.outcome(5)
    assert outcome is not None and outcome.status == pending.status() == "failed"
    assert outcome.members["finished_at"] == "now"
    with pytest.raises(CallFailed):
        pending.result()


def test_an_unknown_option_is_named(client: Client) -> None:
    """A misspelt option does not vanish."""
    with pytest.raises(TypeError, match="there is no option 'prority'"):
        client.start("math/add", prority=1)


def test_a_broadcast_has_answers(services: ScriptedServices, client: Client) -> None:
    """The result of a broadcast is the list of what each worker answered."""
    told = [{"worker_id": "w", "status": "success", "result": 1, "error_text": None}]
    services.answers["math/add"] = {"status": "success", "result": None, "answers": told}
    assert client.call("math/add", dispatch="broadcast") == told


def test_cancelling(services: ScriptedServices, client: Client) -> None:
    """cancel tells whether the call is cancelled, being cancelled, or had ended."""
    pending = client.start("math/add")
    assert pending.cancel() == "cancelled"
    with pytest.raises(CallFailed, match="cancelled"):
        pending.result()
    pending = client.start("math/add")
    services.calls["r-2"]["status"] = "held"
    assert pending.cancel() == "cancelling"
    services.finish("r-2", result=1)
    assert client.pending("r-2").cancel() == "success"


@pytest.mark.parametrize("reaction", LOST)
@pytest.mark.parametrize("verb", ["client_login", "call", "look", "methods"])
def test_a_lost_answer_is_repaired(services: ScriptedServices, client: Client, verb: str, reaction: Reaction) -> None:
    """Whatever is lost is asked again, and the call is made once."""
    services.script[verb].append(reaction)
    pending = client.start("math/add", [1])
    services.finish(pending.request_id, result=3)
    assert pending.result() == 3
    client.methods()
    assert list(services.calls) == ["r-1"]
    assert len(services.of(verb)) == (3 if verb == "methods" else 2)


def test_a_repeated_call_is_the_same_bytes_with_the_same_key(services: ScriptedServices, client: Client) -> None:
    """So the hall knows it for the same call, also when it was carried out before the answer was lost."""

    def carried_out_and_lost(sock: Any, heard: Any) -> bool:
        left, right = __import__("socket").socketpair()
        with left, right:
            services._usual(left, heard)
        return cut(sock, heard)

    services.answers["math/add"] = {"status": "success", "result": 3}
    services.script["call"].append(carried_out_and_lost)
    assert client.call("math/add", [1, 2]) == 3
    first, second = services.of("call")
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])
    assert list(services.calls) == ["r-1"]
    client.start("math/add", idempotency_key="mine")
    assert services.of("call")[2].headers["idempotency-key"] == "mine"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("verb", ["client_login", "call"])
def test_retry_after_is_obeyed(services: ScriptedServices, client: Client, verb: str, status: int) -> None:
    """No attempt comes before the time that the hall asked for."""
    services.answers["math/add"] = {"status": "success", "result": 3}
    services.script[verb].append(answer(status, {"error_code": "queue_full"}, Retry_After="0.4"))
    assert client.call("math/add") == 3
    first, second = services.of(verb)
    assert 0.4 <= second.at - first.at < 3.0


def test_waiting_longer_than_the_patience_is_not_begun(services: ScriptedServices) -> None:
    """A Retry-After beyond the patience, and a hall that is not there, are told at once and after the patience."""
    client = Client(services.url, client_id="shop", secret="s", patience_seconds=2)
    services.script["call"].append(answer(429, {"error_code": "queue_full"}, Retry_After="60"))
    begun = time.monotonic()
    with pytest.raises(Unreachable, match="queue_full"):
        client.call("math/add")
    assert time.monotonic() - begun < 1.0
    services.close()
    with pytest.raises(Unreachable):
        client.call("math/add")
    assert time.monotonic() - begun < 4.0
    client.close()


def test_a_call_with_a_timeout_does_not_try_for_much_longer(services: ScriptedServices, client: Client) -> None:
    """A hall that is not there is told after the timeout, not after the whole patience."""
    services.close()
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        client.call("math/add", timeout=0.5)
    assert time.monotonic() - begun < 3.0


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"[]", b"{}"])
def test_an_answer_that_is_not_the_halls_is_told(services: ScriptedServices, client: Client, body: bytes) -> None:
    """A captive portal, say, answers everything with 200."""
    services.script["call"].append(sending(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body))
    with pytest.raises(Refused, match="the answer is not the hall's"):
        client.call("math/add")


def test_a_token_refused_in_mid_life_is_refreshed(services: ScriptedServices, client: Client) -> None:
    """A 401 on a call is followed by a refresh, and the call is made; on a fresh login it is believed."""
    client.start("math/add")
    services.revoke()
    client.start("math/add")
    assert [fields(h)["grant_type"] for h in services.of("client_login")] == ["client_credentials", "refresh_token"]
    services.script["call"].extend([answer(401, {"error_code": "missing_or_invalid_bearer"})] * 3)
    with pytest.raises(Unauthorized, match="missing_or_invalid_bearer"):
        client.start("math/add")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "unknown_method", Refused),
        (422, "validation_error", Refused),
        (503, "no_worker", Refused),
        (403, "forbidden", Unauthorized),
    ],
)
def test_what_no_repetition_mends_is_raised(
    services: ScriptedServices, client: Client, status: int, code: str, kind: type[Exception]
) -> None:
    """The exception has the hall's words, its status and its code."""
    services.script["call"].append(answer(status, {"error_code": code, "detail": "did you mean math/add?"}))
    with pytest.raises(kind, match="did you mean") as caught:
        client.call("math/ad")
    if isinstance(caught.value, Refused):
        assert (caught.value.status, caught.value.code) == (status, code)
    assert len(services.of("call")) == 1


def test_a_bad_secret_is_told(services: ScriptedServices, client: Client) -> None:
    """A 401 at login names what to check, and not the secret."""
    services.script["client_login"].append(answer(401, {"error": "invalid_client"}))
    with pytest.raises(Unauthorized, match="check the client's id and its secret") as caught:
        client.methods()
    assert "s3cret" not in str(caught.value)


def test_feedback_is_followed_to_the_end(services: ScriptedServices, client: Client) -> None:
    """Items come as the method says them; after the outcome the iterator ends, and the result is known."""
    pending = client.start("math/add")
    services.say("r-1", {"percent": 50, "text": "half"}, "progress")
    found = pending.feedback()
    first = next(found)
    assert (first.number, first.type, first.percent, first.text) == (1, "progress", 50, "half")
    services.say("r-1", "nearly")
    services.finish("r-1", result=3)
    assert [(item.number, item.content, item.text, item.percent) for item in found] == [(2, "nearly", "nearly", None)]
    assert pending.result() == 3
    assert services.of("look") == []
    assert [item.number for item in pending.feedback()] == [1, 2]


def test_feedback_goes_on_after_a_broken_connection(services: ScriptedServices, client: Client) -> None:
    """The stream is taken up after the last item; a token that ended meanwhile is renewed."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    item = b'event: feedback\nid: 1\ndata: {"rid":"r-1","ft":"message","fc":1}\n\n'
    services.script["listen"].extend([cut, sending(head + item + b"event: feedback\nid: 2\nda", then_close=True)])
    pending = client.start("math/add")
    for content in (1, 2, 3):
        services.say("r-1", content)
    found = pending.feedback()
    assert next(found).content == 1
    services.revoke()
    services.finish("r-1", result="done")
    assert [one.content for one in found] == [2, 3]
    assert "last-event-id" not in services.of("listen")[0].headers
    assert services.of("listen")[-1].headers["last-event-id"] == "1"


def test_feedback_of_a_call_that_is_not_there(services: ScriptedServices, client: Client) -> None:
    """A refusal is raised, not tried again."""
    services.script["listen"].append(answer(404, {"error_code": "not_found", "detail": "no such request"}))
    with pytest.raises(Refused, match="no such request"):
        list(client.pending("r-9").feedback())


def test_numbers_travel_digit_for_digit(services: ScriptedServices) -> None:
    """Params go out and results come back exactly, with `parse_float=Decimal`."""
    client = Client(services.url, client_id="shop", secret="s", parse_float=Decimal)
    body = b'{"request_id":"r-1","status":"success","result":[1e400,0.1000000000000000055],"error_text":null}'
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    services.script["call"].append(sending(head + body))
    assert client.call("math/add", [Decimal("0.10"), 10**40]) == [Decimal("1e400"), Decimal("0.1000000000000000055")]
    assert b'"params":[0.10,10000000000000000000000000000000000000000]' in services.of("call")[0].body
    client.close()


def test_many_threads_share_one_client(services: ScriptedServices, client: Client) -> None:
    """One login serves them all, also when the token ends under their hands."""
    services.answers["math/add"] = {"status": "success", "result": 3}
    with ThreadPoolExecutor(16) as pool:
        first = list(pool.map(lambda n: client.call("math/add", [n]), range(64)))
        services.revoke()
        second = list(pool.map(lambda n: client.call("math/add", [n]), range(64)))
    assert first == second == [3] * 64
    assert len(services.calls) == 128
    assert len(services.of("client_login")) == 2
    assert len({heard.connection for heard in services.of("call")}) < 40


def test_the_wait_of_a_look(services: ScriptedServices, client: Client) -> None:
    """result asks the hall to hold the request for as long as the caller waits, at most half a minute."""
    pending = client.start("math/add")
    with pytest.raises(CallPending):
        pending.result(0.2)
    assert float(query(services.of("look")[0])["wait"]) == pytest.approx(0.2, abs=0.1)


def test_settings_from_the_surroundings(
    services: ScriptedServices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The environment stands in, then what a hall on this machine wrote down; its token opens that hall alone."""
    services.tokens.update({"written-token", "told-token"})
    with pytest.raises(ValueError, match="nothing to log in with"):
        Client(services.url)
    folder = tmp_path / "hiringhall"
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"url": services.url, "admin_token": "written-token"}))
    with Client() as client:
        client.methods()
    with pytest.raises(ValueError, match="nothing to log in with"):
        Client("http://127.0.0.1:1")
    monkeypatch.setenv("HALL_ADMIN_TOKEN", "told-token,older")
    with Client() as client:
        client.methods()
    monkeypatch.setenv("HALL_CLIENT_ID", "shop")
    with pytest.raises(ValueError, match="HALL_CLIENT_SECRET"):
        Client()
    monkeypatch.setenv("HALL_CLIENT_SECRET", "s")
    with Client() as client:
        client.methods()
    used = [heard.headers["authorization"] for heard in services.of("methods")][::2]
    assert used == ["Bearer written-token", "Bearer told-token", "Bearer secret-token-1"]
    with pytest.raises(ValueError, match="client_id:"):
        monkeypatch.delenv("HALL_CLIENT_ID")
        Client(services.url, secret="s")


def test_patience_is_for_ever_only_where_it_is_said(services: ScriptedServices) -> None:
    """A call may wait for its result longer than for the hall."""
    client = Client(services.url, client_id="shop", secret="s", patience_seconds=0.2)
    thread = later(lambda: (services.wait_heard("call"), time.sleep(0.5), services.finish("r-1", result=1)))
    assert client.call("math/add") == 1
    thread.join(PATIENCE_SECONDS)
    client.close()
