"""`GET /client/requests/{id}/feedback`: a call followed by Server-Sent Events."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from hiringhall.ports.calls import ReadFeedback
from hiringhall.wire.clients import feedback
from tests.wire.clients.counter import ON_THE_MODEL, Counter
from tests.wire.services.bureau import ServiceWorker

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


def item(request_id: str, content: Any = None, **members: Any) -> dict[str, Any]:
    """An item of feedback."""
    return {"rid": request_id, "st": 1, "sn": "hello", "ft": "progress", "pr": True, "fc": content, **members}


async def held(made: Counter) -> tuple[ServiceWorker, Any, str]:
    """A worker, a client, and a call of the client that the worker holds."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    assert await worker.ids() == [request_id]
    return worker, client, request_id


async def test_feedback_and_outcome(made: Counter) -> None:
    """Clients follow by Server-Sent Events (`event: feedback`, `id` = number, data = the item with the document's short
    keys and `at`; at the end `event: outcome`)."""
    worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await worker.tell(item(request_id, {"percent": 40})).json()
    (first,) = await stream.came(1)
    assert (first["event"], first["id"]) == ("feedback", "1")
    data = json.loads(first["data"])
    assert TIME(data.pop("at"))
    assert data == item(request_id, {"percent": 40})
    await worker.tell([item(request_id, 1), item(request_id, 2, ft=7, st=2, pr=False)]).json()
    await stream.came(3)
    await worker.respond(request_id, result="done").json()
    *items, last = await stream.ended()
    assert [event["id"] for event in items] == ["1", "2", "3"]
    assert last["event"] == "outcome"
    assert "id" not in last
    assert json.loads(last["data"]) == await client.show(request_id).json(200)
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-store"
    assert len(made.hall.followers) == 0


async def test_a_finished_call_is_told_at_once(made: Counter) -> None:
    """Whoever comes late is told all that is kept, and the outcome."""
    worker, client, request_id = await held(made)
    await worker.tell([item(request_id, number) for number in range(30)]).json()
    await worker.respond(request_id, "failed", error_text="no").json()
    *items, last = await client.follow(request_id).ended()
    assert [json.loads(event["data"])["fc"] for event in items] == list(range(30))
    assert json.loads(last["data"])["error_text"] == "no"


async def test_resuming(made: Counter) -> None:
    """`Last-Event-ID` resume."""
    worker, client, request_id = await held(made)
    await worker.tell([item(request_id, number) for number in range(5)]).json()
    stream = client.follow(request_id, last="3")
    assert [event["id"] for event in await stream.came(2)] == ["4", "5"]
    stream.leave()
    await stream.ended()
    await worker.respond(request_id).json()
    assert [event["event"] for event in await client.follow(request_id, last="5").ended()] == ["outcome"]
    assert [event["event"] for event in await client.follow(request_id, last="999").ended()] == ["outcome"]


@ON_THE_MODEL
@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 16])
async def test_a_last_event_id_that_cannot_be(made: Counter, last: str) -> None:
    """An id that no event has is 422."""
    client = await made.client()
    request_id = await client.made_call()
    assert await client.follow(request_id, last=last).refused(422) == "validation_error"


async def test_content_travels_digit_for_digit(made: Counter) -> None:
    """Content is kept as raw JSON text; line breaks between its tokens do not break the event."""
    worker, client, request_id = await held(made)
    content = b'{"n":3544790567247868102,\r\n "x": [1e400,\n0.1000000000000000055], "t": "\\u0000 \xe2\x80\xa8"}'
    head = json.dumps(item(request_id)).encode()
    await worker.send("POST", "feedback", head.replace(b'"fc": null', b'"fc": ' + content)).json()
    stream = client.follow(request_id)
    await stream.came(1)
    data = next(line for line in stream.text.split(b"\n") if line.startswith(b"data: "))
    assert content.replace(b"\r", b" ").replace(b"\n", b" ") in data
    stream.leave()


@ON_THE_MODEL
async def test_a_comment_line_while_nothing_happens(made: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment line every 15 s; here sooner."""
    assert feedback.COMMENT_SECONDS == 15
    monkeypatch.setattr(feedback, "COMMENT_SECONDS", 0.05)
    _worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await _text(stream, b": still there\n\n: still there\n\n")
    assert stream.events == []
    stream.leave()
    await stream.ended()


async def test_news_that_all_is_as_before_does_not_put_the_comment_off(
    made: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comment comes although the re-check tells more often how the call stands."""
    monkeypatch.setattr(feedback, "COMMENT_SECONDS", 0.3)
    _worker, client, request_id = await held(made)
    stream = client.follow(request_id)

    async def tell() -> None:
        while b": still there" not in stream.text:
            await made.hall.followers.recheck()
            await asyncio.sleep(0)

    await asyncio.wait_for(tell(), 10)
    stream.leave()
    await stream.ended()


async def _text(stream: Any, text: bytes) -> None:
    from tests.waiting import until_async

    async def there() -> bool:
        return text in stream.text

    await until_async(there, waiting_for=repr(text))


async def test_a_reader_that_goes_away_costs_nothing(made: Counter) -> None:
    """A reader that disconnects is forgotten, and the call goes on."""
    worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await made.following(1)
    stream.leave()
    await stream.ended()
    assert len(made.hall.followers) == 0
    await worker.respond(request_id, result=1).json()
    assert (await client.show(request_id).json(200))["result"] == 1


async def test_the_end_of_the_process_ends_streams(made: Counter) -> None:
    """Streams end at shutdown, so that the exit is in time; the reader comes back with `Last-Event-ID`."""
    worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await worker.tell(item(request_id)).json()
    await stream.came(1)
    made.hall.drain()
    assert [event["event"] for event in await stream.ended()] == ["feedback"]
    assert await client.follow(request_id).ended() == []


async def test_a_database_that_is_away_is_waited_for(made: Counter) -> None:
    """A stream outlives an outage of the database; one that begins in it is 503."""
    worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await worker.tell(item(request_id, 1)).json()
    await stream.came(1)
    made.store.away = True
    await made.rechecking.run_once()
    assert await client.follow(request_id).refused(503) == "unavailable"
    made.store.away = False
    await worker.tell(item(request_id, 2)).json()
    assert len(await stream.came(2)) == 2
    stream.leave()
    await stream.ended()


async def test_a_lost_ring_is_noticed(made: Counter) -> None:
    """The re-check covers a lost ring for followers too."""
    worker, client, request_id = await held(made)
    stream = client.follow(request_id)
    await made.following(1)
    await made.settle_down()
    made.wakeups._hooks.remove(made.hall.followers._rung)
    await worker.tell(item(request_id, 1)).json()
    await made.settle_down()
    assert stream.events == []
    await made.rechecking.run_once()
    await stream.came(1)
    stream.leave()
    await stream.ended()


async def test_a_flood_is_read_in_pages(made: Counter) -> None:
    """A stream holds one page of items at most, and items of any number arrive in their order."""
    worker, client, request_id = await held(made)
    for start in range(0, 600, 100):
        await worker.tell([item(request_id, number) for number in range(start, start + 100)]).json()
    await worker.respond(request_id).json()
    *items, _ = await client.follow(request_id).ended()
    assert [json.loads(event["data"])["fc"] for event in items] == list(range(600))
    pages = [read.limit for read in made.store.reads if isinstance(read, ReadFeedback)]
    assert pages[0] == 8
    assert max(pages) <= 200
