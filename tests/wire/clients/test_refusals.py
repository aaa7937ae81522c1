"""Who may call what, and what cannot be called."""

from __future__ import annotations

import pytest

from tests.wire.clients.counter import ON_THE_MODEL, Client, Counter, answered
from tests.wire.services.bureau import SERVICE, refused


async def test_a_client_sees_only_its_own_requests(made: Counter) -> None:
    """A client sees only its own requests: another's is 404, to show, to take back and to follow."""
    shop, desk = await made.client("shop"), await made.client("desk")
    request_id = await shop.made_call()
    await refused(desk.show(request_id), 404, "not_found")
    await refused(desk.withdraw(request_id), 404, "not_found")
    assert await desk.follow(request_id).refused(404) == "not_found"
    assert await shop.status(request_id) == "queued"
    assert await made.operator().status(request_id) == "queued"


async def test_an_unknown_request(made: Counter) -> None:
    """An id that is none is 404."""
    client = await made.client()
    await refused(client.show("r-nobody"), 404, "not_found")
    await refused(client.withdraw("r-nobody"), 404, "not_found")
    assert await client.follow("r-nobody").refused(404) == "not_found"


@ON_THE_MODEL
async def test_a_client_may_call_only_what_it_is_allowed(made: Counter) -> None:
    """A client may call only what its `allow` patterns (shell wildcards over `service/method`) permit."""
    client = await made.client("shop", f"{SERVICE}/hel*", "other/x")
    await client.made_call(f"{SERVICE}/hello")
    await refused(client.call(f"{SERVICE}/longtask"), 403, "forbidden")
    await refused(client.call("other/xy"), 403, "forbidden")
    await refused(client.call("nosuch/hello"), 403, "forbidden")


async def test_the_operator_is_a_client(made: Counter) -> None:
    """The operator token is accepted as the client `operator`, allowed everything."""
    worker, operator = await made.hire("w"), made.operator()
    request_id = await operator.made_call()
    assert (await made.call(request_id)).client == "operator"
    await answered(worker, request_id, result=1)
    assert (await operator.show(request_id).json(200))["result"] == 1


async def test_tokens_of_others_open_nothing(made: Counter) -> None:
    """Without a token, or with a wrong one, 401; with a worker's, 403."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    for token, status, code in (("wrong", 401, "missing_or_invalid_bearer"), (worker.token, 403, "forbidden")):
        other = Client(made, "shop", token)
        for conversation in (
            other.call(),
            other.show(request_id),
            other.withdraw(request_id),
            other.send("GET", "methods"),
        ):
            await refused(conversation, status, code)
        assert await other.follow(request_id).refused(status) == code
    bare = made.send("POST", "/client/requests", {"method": "kiwi/hello", "params": None})
    await refused(bare, 401, "missing_or_invalid_bearer")
    assert (b"www-authenticate", b'Bearer realm="hall"') in (await bare.reply()).headers


async def test_unknown_service(made: Counter) -> None:
    """Unknown service: 404 `unknown_service`."""
    await refused(made.operator().call("nosuch/hello"), 404, "unknown_service")


async def test_unknown_method(made: Counter) -> None:
    """A method that none of the service's known workers ever registered: 404 `unknown_method` with the nearest
    names."""
    await made.hire("w", "hello", "longtask")
    body = await refused((await made.client()).call(f"{SERVICE}/helo"), 404, "unknown_method")
    assert body["nearest"][0] == "hello"


async def test_no_worker_has_ever_been_there(made: Counter) -> None:
    """No worker has ever been there: queued."""
    client = await made.client()
    assert await client.status(await client.made_call(f"{SERVICE}/anything")) == "queued"


async def test_no_worker_if_it_has_to_be_there(made: Counter) -> None:
    """`"if_no_worker": "fail"`: 503 `no_worker`; with one that is live it is queued."""
    client = await made.client()
    refusal = client.call(if_no_worker="fail")
    await refused(refusal, 503, "no_worker")
    await made.hire("w")
    await client.made_call(if_no_worker="fail")
    await refused(client.call(if_no_worker="fail", requires={"platform": "mars"}), 503, "no_worker")


@ON_THE_MODEL
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed_json"), (b"", 400, "malformed_json"), (b'{"method": 5}', 422, "validation_error"),
        (b'{"method": "kiwi/hello"}', 422, "validation_error"),
        (b'{"method": "kiwi/hello", "params": 1, "wait": "x"}', 400, "invalid_wait"),
        (b'{"method": "kiwi/hello", "params": 1, "retries": 99}', 422, "validation_error"),
    ],
)  # fmt: skip
async def test_bad_bodies(made: Counter, body: bytes, status: int, code: str) -> None:
    """400 for what is no JSON, 422 for what cannot be."""
    await refused((await made.client()).send("POST", "requests", body), status, code)


@ON_THE_MODEL
async def test_a_form_with_parts(made: Counter) -> None:
    """JSON routes ignore Content-Type except `multipart/*` (415)."""
    client = await made.client()
    body = {"method": f"{SERVICE}/hello", "params": None}
    await refused(
        client.send("POST", "requests", body, Content_Type="multipart/form-data; boundary=x"),
        415,
        "unsupported_media_type",
    )
    await client.send("POST", "requests", body, Content_Type="text/plain").json(202)


async def test_a_full_queue(made: Counter) -> None:
    """10 000 queued per service, softly (429 `queue_full` + Retry-After); here a few."""
    await made.hire("w")
    object.__setattr__(made.hall.settings, "queue_limit", 2)
    client = await made.client()
    conversation = client.call()
    for _ in range(6):
        conversation = client.call()
        if (await conversation.reply()).status == 429:
            break
    await refused(conversation, 429, "queue_full")
    assert (b"retry-after", b"1") in (await conversation.reply()).headers


@ON_THE_MODEL
async def test_wrong_methods(made: Counter) -> None:
    """405 `method_not_allowed` with Allow."""
    client = await made.client()
    conversation = client.send("PUT", "requests/r-1")
    await refused(conversation, 405, "method_not_allowed")
    assert (b"allow", b"DELETE, GET, HEAD") in (await conversation.reply()).headers
    await refused(client.send("GET", "requests"), 405, "method_not_allowed")
    assert await client.follow("r-1", method="POST").refused(405) == "method_not_allowed"
