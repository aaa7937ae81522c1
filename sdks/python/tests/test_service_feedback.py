"""What methods say while they run: it arrives, and it never costs a method anything."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS, Reaction, answer, cut, silence
from scripted_services import ScriptedServices

from hiringhall_worker import Call
from hiringhall_worker.services import feed

REFUSED = {"error_code": "validation_error", "detail": "no", "task_id": None}


def test_the_short_keys_of_the_protocol(services: ScriptedServices, serve: Start) -> None:
    """An item carries rid, st, sn, ft, pr and fc; progress is not persistent."""

    def tells(call: Call) -> None:
        call.progress(50, "half")
        call.feedback({"rows": 3}, type=7)

    services.call("r-1", "tells")
    serve({"tells": tells})
    services.response("r-1")
    common = {"rid": "r-1", "st": 1, "sn": "tells"}
    assert services.fed_back() == [
        {**common, "ft": "progress", "pr": False, "fc": {"percent": 50, "text": "half"}},
        {**common, "ft": 7, "pr": True, "fc": {"rows": 3}},
    ]


def test_it_arrives_before_the_answer_and_in_order(services: ScriptedServices, serve: Start) -> None:
    """What was said last is not lost because the answer overtakes it; items travel in batches."""

    async def counts(call: Call) -> None:
        for number in range(500):
            call.feedback(number)
            if number == 100:
                await asyncio.sleep(0)

    services.call("r-1", "counts")
    serve({"counts": counts})
    services.response("r-1")
    verbs = [heard.verb for heard in services.heard]
    before = services.heard[: verbs.index("response")]
    said = [item["fc"] for heard in before if heard.verb == "feedback" for item in heard.json]
    assert said == list(range(500))
    assert len(services.of("feedback")) < 50


@pytest.mark.parametrize("reaction", [cut, answer(422, REFUSED), answer(500), answer(404), answer(413), silence])
def test_a_failed_post_never_fails_the_method(services: ScriptedServices, serve: Start, reaction: Reaction) -> None:
    """Whatever becomes of feedback, the method's answer arrives."""

    def tells(call: Call) -> str:
        call.feedback("hello")
        return "done"

    services.script["feedback"].extend([reaction] * 10)
    services.call("r-1", "tells")
    serve({"tells": tells}, answer_seconds=1.0)
    assert services.response("r-1")["result"] == "done"


def test_one_bad_item_does_not_take_the_others_along(services: ScriptedServices, serve: Start) -> None:
    """A batch that is refused is sent in smaller ones, until the bad item is alone."""

    def picky(sock: Any, heard: Any) -> bool:
        bad = any(item["fc"] == "bad" for item in heard.json)
        return answer(422, REFUSED)(sock, heard) if bad else bool(services._usual(sock, heard))

    def tells(call: Call) -> None:
        for content in ("a", "b", "bad", "c", "d"):
            call.feedback(content)

    services.script["feedback"].extend([picky] * 20)
    services.call("r-1", "tells")
    serve({"tells": tells})
    services.response("r-1")
    accepted = [[i["fc"] for i in heard.json] for heard in services.of("feedback")]
    taken = [content for batch in accepted if "bad" not in batch for content in batch]
    assert taken == ["a", "b", "c", "d"]


def test_what_cannot_be_sent_is_dropped_and_logged(
    services: ScriptedServices, serve: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """An object without a form in JSON, or too much of it, neither raises nor is sent."""

    def tells(call: Call) -> str:
        call.feedback(object())
        call.feedback("x" * 70_000)
        return "done"

    services.call("r-1", "tells")
    serve({"tells": tells})
    assert services.response("r-1")["result"] == "done"
    assert services.fed_back() == []
    assert "type object" in caplog.text and "65536 fit" in caplog.text


def test_a_flood_is_bounded(
    services: ScriptedServices, serve: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While the hall does not answer, the queue keeps the newest items only, and the method is not delayed."""
    monkeypatch.setattr(feed, "QUEUE_ITEMS", 100)
    caplog.set_level(logging.WARNING)
    gate, begun = threading.Event(), threading.Event()

    def held(sock: Any, heard: Any) -> bool:
        begun.set()
        assert gate.wait(PATIENCE_SECONDS)
        return bool(services._usual(sock, heard))

    def tells(call: Call) -> None:
        call.feedback("first")
        assert begun.wait(PATIENCE_SECONDS)
        for number in range(1000):
            call.feedback(number)
        gate.set()

    services.script["feedback"].append(held)
    services.call("r-1", "tells")
    serve({"tells": tells})
    services.response("r-1")
    assert [item["fc"] for item in services.fed_back()] == ["first", *range(900, 1000)]
    assert "900 items of feedback are lost" in caplog.text
