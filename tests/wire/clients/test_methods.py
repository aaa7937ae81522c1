"""`GET /client/methods`: what is on offer to a client."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.wire.clients import methods
from tests.wire.clients.counter import ON_THE_MODEL, Client, Counter
from tests.wire.services.bureau import refused


async def offered(client: Client, query: str = "") -> list[str]:
    """The names on one page."""
    return [method["method"] for method in (await page(client, query))["methods"]]


async def page(client: Client, query: str = "") -> Any:
    """One page."""
    return await client.send("GET", f"methods{query}").json()


async def test_what_is_on_offer(made: Counter) -> None:
    """`GET /client/methods` (what is on offer, with live worker counts)."""
    await made.hire("ann", "hello", "longtask")
    ben = await made.hire("ben", "hello")
    await ben.leave().reply()
    client = await made.client()
    assert await page(client) == {
        "methods": [
            {"method": "kiwi/hello", "service": "kiwi", "name": "hello", "dispatch": "exclusive", "workers": 2,
             "live_workers": 1},
            {"method": "kiwi/longtask", "service": "kiwi", "name": "longtask", "dispatch": "exclusive", "workers": 1,
             "live_workers": 1},
        ],
        "next": None,
    }  # fmt: skip


async def test_nothing_is_on_offer(made: Counter) -> None:
    """Without workers there are no methods."""
    assert await page(await made.client()) == {"methods": [], "next": None}


async def test_a_client_sees_what_it_may_call(made: Counter) -> None:
    """Only what `allow` permits is told."""
    await made.hire("w", "hello", "help", "longtask")
    await made.hire("w", "add", service="math")
    assert await offered(await made.client("shop", "kiwi/hel*", "math/sub")) == ["kiwi/hello", "kiwi/help"]
    assert await offered(made.operator()) == ["kiwi/hello", "kiwi/help", "kiwi/longtask", "math/add"]


async def test_pages(made: Counter) -> None:
    """Lists come in pages: `next` of an answer is the `after` of the next request."""
    await made.hire("w", *(f"m{number}" for number in range(5)), "secret")
    client = await made.client("shop", "kiwi/m?")
    first = await page(client, "?limit=3")
    assert ([method["name"] for method in first["methods"]], first["next"]) == (["m0", "m1", "m2"], "kiwi/m2")
    second = await page(client, "?limit=3&after=kiwi/m2")
    assert ([method["name"] for method in second["methods"]], second["next"]) == (["m3", "m4"], None)


@ON_THE_MODEL
async def test_a_client_that_may_call_little_reads_on(made: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be short if little of what was looked at may be called; `next` leads on to the rest."""
    monkeypatch.setattr(methods, "LIMIT_MAX", 2)
    monkeypatch.setattr(methods, "PAGES_MAX", 1)
    await made.hire("w", *"abcdef")
    client = await made.client("shop", "kiwi/f")
    found, after = [], ""
    while True:
        answer = await page(client, f"?limit=2&after={after}" if after else "?limit=2")
        found += [method["name"] for method in answer["methods"]]
        after = answer["next"]
        if after is None:
            break
    assert found == ["f"]


async def test_one_service(made: Counter) -> None:
    """The methods of one service."""
    await made.hire("w", "hello")
    await made.hire("w", "add", service="math")
    assert await offered(made.operator(), "?service=math") == ["math/add"]


@ON_THE_MODEL
@pytest.mark.parametrize("query", ["?limit=0", "?limit=x", "?limit=1001", "?after=x"])
async def test_bad_parameters(made: Counter, query: str) -> None:
    """A parameter that cannot be is named."""
    body = await refused(made.operator().send("GET", f"methods{query}"), 422, "validation_error")
    assert body["detail"].startswith(query[1:].split("=", maxsplit=1)[0])


async def test_a_database_that_is_away(made: Counter) -> None:
    """503 `unavailable`."""
    client = await made.client()
    await page(client)
    made.store.away = True
    await refused(client.send("GET", "methods"), 503, "unavailable")
