"""`POST /worker/feedback`: what is kept, what is dropped, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.ports.calls import AddFeedback
from tests.wire.services.bureau import Bureau, ServiceWorker, on_databases, refused

ITEM: dict[str, Any] = {"st": 1, "sn": "hello", "ft": 3, "pr": True, "fc": {"percent": 50}}


async def busy(made: Bureau) -> tuple[ServiceWorker, str]:
    """A worker that holds a call."""
    worker = await made.hire("w")
    request_id = await made.submit()
    await worker.ids()
    return worker, request_id


@on_databases
async def test_one_object(made: Bureau) -> None:
    """Feedback has short keys: rid (request id), st (source type), sn (source name), ft (feedback type), pr (persist
    required) and fc (content)."""
    worker, request_id = await busy(made)
    body = (
        b'{"rid":"%b","st":1,"sn":"hello","ft":"step","pr":true,"fc":{"n":3544790567247868102}}' % request_id.encode()
    )
    assert await worker.tell(body).json() == {"accepted": 1}
    (row,) = await made.feedback(request_id)
    assert (row.number, row.worker) == (1, worker.key)
    item = row.item
    assert (item.rid, item.st, item.sn, item.ft, item.pr, item.fc) == (
        request_id, 1, "hello", b'"step"', True, b'{"n":3544790567247868102}',
    )  # fmt: skip


@on_databases
async def test_an_array(made: Bureau) -> None:
    """Feedback accepts one object or an array, in whose order the items are numbered."""
    worker, request_id = await busy(made)
    items = [{**ITEM, "rid": request_id, "fc": number} for number in range(5)]
    assert await worker.tell(items).json() == {"accepted": 5}
    assert [(row.number, row.item.fc) for row in await made.feedback(request_id)] == [
        (number + 1, str(number).encode()) for number in range(5)
    ]
    assert await worker.tell([]).json() == {"accepted": 0}


async def test_what_is_optional(made: Bureau) -> None:
    """Only `rid` and `ft` are needed; what is missing or null is defaulted, what is unknown ignored."""
    worker, request_id = await busy(made)
    assert await worker.tell({"rid": request_id, "ft": 0, "sn": None, "colour": "red"}).json() == {"accepted": 1}
    (row,) = await made.feedback(request_id)
    assert (row.item.st, row.item.sn, row.item.pr, row.item.fc) == (1, "", False, b"null")


@on_databases
async def test_nul_in_the_content(made: Bureau) -> None:
    """U+0000 in any text comes back exactly, as the escape."""
    worker, request_id = await busy(made)
    assert await worker.tell({**ITEM, "rid": request_id, "sn": "a\u0000b", "fc": "a\u0000b"}).json() == {"accepted": 1}
    (row,) = await made.feedback(request_id)
    assert (row.item.sn, row.item.fc) == ("a\u0000b", b'"a\\u0000b"')


@on_databases
async def test_what_is_dropped(made: Bureau) -> None:
    """Unknown or finished `rid`, or a worker that was never handed the request: accepted and dropped with
    `{"accepted": 0}`."""
    worker, request_id = await busy(made)
    other = await made.hire("other")
    assert await other.tell({**ITEM, "rid": request_id}).json() == {"accepted": 0}
    assert await worker.tell({**ITEM, "rid": "r-none"}).json() == {"accepted": 0}
    assert await worker.tell([{**ITEM, "rid": "r-none"}, {**ITEM, "rid": request_id}]).json() == {"accepted": 1}
    await worker.respond(request_id).json()
    assert await worker.tell({**ITEM, "rid": request_id}).json() == {"accepted": 0}
    assert len(await made.feedback(request_id)) == 1


async def test_background_processes(made: Bureau) -> None:
    """st 2 = background process: about no request, so it is dropped."""
    worker = await made.hire("w")
    assert await worker.tell({**ITEM, "st": 2, "rid": None}).json() == {"accepted": 0}
    assert await worker.tell([{**ITEM, "st": 2}, {**ITEM, "st": 2, "rid": ""}]).json() == {"accepted": 0}


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"rid": None}, "rid"),
        ({"rid": ""}, "rid"),
        ({"rid": 7}, "rid"),
        ({"rid": "a\u0000"}, "rid"),
        ({"st": 3}, "st"),
        ({"st": "1"}, "st"),
        ({"st": True}, "st"),
        ({"sn": 1}, "sn"),
        ({"sn": "x" * 257}, "sn"),
        ({"ft": None}, "ft"),
        ({"ft": 1.5}, "ft"),
        ({"ft": "x" * 65}, "ft"),
        ({"ft": [1]}, "ft"),
        ({"ft": True}, "ft"),
        ({"ft": 2**53}, "ft"),
        ({"pr": "yes"}, "pr"),
        ({"fc": "x" * 65_536}, "fc"),
    ],
)
async def test_bad_items_are_named(made: Bureau, members: dict[str, Any], field: str) -> None:
    """Bad items are 422 and never touch the request: nothing of the body is kept."""
    worker, request_id = await busy(made)
    good = {**ITEM, "rid": request_id}
    body = await refused(worker.tell({**good, **members}), 422, "validation_error")
    assert body["detail"].startswith(f"{field}: ")
    body = await refused(worker.tell([good, {**good, **members}]), 422, "validation_error")
    assert body["detail"].startswith(f"[1].{field}: ")
    assert await made.feedback(request_id) == []


@pytest.mark.parametrize("number", [b"9" * 5000, b"1e400", b"-0"])
async def test_numbers_that_cannot_be_meant(made: Bureau, number: bytes) -> None:
    """A number of any length is read, and refused where it cannot be."""
    worker, request_id = await busy(made)
    await refused(worker.tell(b'{"rid":"%b","ft":1,"st":%b}' % (request_id.encode(), number)), 422, "validation_error")


@pytest.mark.parametrize("body", [b"", b"7", b'"x"', b"[1]", b"{", b'{"rid":NaN}', b"null"])
async def test_what_is_no_feedback(made: Bureau, body: bytes) -> None:
    """What is neither an object nor an array of objects is refused, 400 or 422."""
    worker = await made.hire("w")
    assert (await worker.tell(body).reply()).status in (400, 422)


async def test_feedback_is_batched(made: Bureau) -> None:
    """Every item is written (batched): what arrives together is one batch."""
    worker, request_id = await busy(made)
    before = len(made.store.batches)
    asked = [worker.tell({**ITEM, "rid": request_id}) for _ in range(20)]
    for each in asked:
        assert await each.json() == {"accepted": 1}
    batches = [batch for batch in made.store.batches[before:] if any(type(ask) is AddFeedback for ask in batch)]
    assert len(batches) == 1
    assert [row.number for row in await made.feedback(request_id)] == list(range(1, 21))
