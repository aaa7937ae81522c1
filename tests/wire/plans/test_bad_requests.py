"""What is wrong with a request is said, naming the field and the reason, and never repeating what was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hiringhall.ports.asks import Settle
from hiringhall.wire.json_bodies import hold_of
from tests.operations.parts import BOOTSTRAP, SHARED, Office

ROUTES = [
    ("/workers/register", BOOTSTRAP),
    ("/workers/w/heartbeat", SHARED),
    ("/tasks/claim", SHARED),
    ("/tasks/T/complete", SHARED),
    ("/tasks/T/fail", SHARED),
    ("/tasks/T/release", SHARED),
]
GOOD = {"hostname": "h", "worker_id": "w", "plan_id": "p", "version": 1, "reason": "r", "wait": 0}


@pytest.mark.parametrize(("path", "token"), ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"   ", b"{", b"{} {}", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":"\\ud800"}', b'{"a":"\\udc00x"}',
        b'{"a":"\xff"}', b"\xff\xfe{\x00}\x00", b'{"a":01}', b'{"a":"x\ny"}',
        b'{"a":' + b"[" * 101 + b"]" * 101 + b"}", b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", b"[" * 5000,
        b'{"worker_id": 5, "hostname": 5, "a"}',
    ],
)  # fmt: skip
async def test_what_is_no_json_is_400(hall: Office, path: str, token: str, body: bytes) -> None:
    """Not UTF-8, not JSON, lone surrogates, NaN, nesting over 100: 400 `malformed_json`."""
    found = await hall.send("POST", path, body, token).json(400)
    assert (found["error_code"], found["task_id"]) == ("malformed_json", None)


@pytest.mark.parametrize(("path", "token"), ROUTES)
@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'"text"', b"{}"])
async def test_json_of_another_shape_is_422(hall: Office, path: str, token: str, body: bytes) -> None:
    """JSON that is no object, or lacks a member: 422 `validation_error`."""
    found = await hall.send("POST", path, body, token).json(422)
    assert found["error_code"] == "validation_error"


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        ("/workers/register", "hostname", 5),
        ("/workers/register", "hostname", ""),
        ("/workers/register", "hostname", "x" * 257),
        ("/workers/register", "hostname", None),
        ("/workers/w/heartbeat", "worker_id", 5),
        ("/workers/w/heartbeat", "worker_id", None),
        ("/tasks/claim", "worker_id", ""),
        ("/tasks/claim", "worker_id", "x" * 257),
        ("/tasks/claim", "worker_id", "a\u0000b"),
        ("/tasks/claim", "worker_id", ".."),
        ("/tasks/claim", "plan_id", ""),
        ("/tasks/claim", "plan_id", []),
        ("/tasks/claim", "plan_id", "x" * 257),
        ("/tasks/claim", "plan_id", "a\nb"),
        ("/tasks/claim", "max_tasks", 0),
        ("/tasks/claim", "max_tasks", 101),
        ("/tasks/claim", "max_tasks", "1"),
        ("/tasks/T/complete", "version", -1),
        ("/tasks/T/complete", "version", 2**53),
        ("/tasks/T/complete", "version", 2**80),
        ("/tasks/T/complete", "version", 1.5),
        ("/tasks/T/complete", "version", True),
        ("/tasks/T/complete", "version", None),
        ("/tasks/T/complete", "version", "one"),
        ("/tasks/T/complete", "version", "-1"),
        ("/tasks/T/complete", "version", "٣"),
        ("/tasks/T/complete", "version", []),
        ("/tasks/T/complete", "plan_id", ""),
        ("/tasks/T/complete", "worker_id", "\u0007"),
        ("/tasks/T/fail", "reason", 5),
        ("/tasks/T/fail", "reason", None),
    ],
)
async def test_a_bad_member_is_named(hall: Office, path: str, field: str, value: Any) -> None:
    """422 names the member and why, and does not repeat its value."""
    token = BOOTSTRAP if path.endswith("register") else SHARED
    found = await hall.send("POST", path, {**GOOD, field: value}, token).json(422)
    assert found["error_code"] == "validation_error"
    assert found["detail"].startswith(f"{field}: ")
    if isinstance(value, str) and len(value) > 2:
        assert value not in found["detail"]


@pytest.mark.parametrize("missing", ["worker_id", "version", "reason"])
async def test_a_missing_member_is_named(hall: Office, missing: str) -> None:
    """422 names what is missing."""
    body = {name: value for name, value in GOOD.items() if name != missing}
    found = await hall.send("POST", "/tasks/T/fail", body).json(422)
    assert missing in found["detail"]


async def test_a_big_number_is_out_of_range(hall: Office) -> None:
    """A number that no machine holds is 422, not a bug."""
    body = b'{"worker_id":"w","version":1e400}'
    assert (await hall.send("POST", "/tasks/T/complete", body).json(422))["error_code"] == "validation_error"


@pytest.mark.parametrize("wait", [-1, -0.1, "5", True, None, [], {}])
async def test_a_bad_wait_is_400(hall: Office, wait: Any) -> None:
    """`wait` that is negative or no number: 400 `invalid_wait`."""
    assert (await hall.claim(wait=wait).json(400))["error_code"] == "invalid_wait"


@pytest.mark.parametrize("version", [2, 2.0, "2", "02"])
async def test_whole_numbers_in_other_spellings_are_versions(hall: Office, version: object) -> None:
    """1.0 and "1" are accepted, since the published server does so."""
    await hall.apply("T")
    await hall.claim().json()
    assert (await hall.settle("complete", "T", version).json())["task"]["status"] == "DONE"


async def test_unknown_members_are_ignored_and_the_last_of_equal_ones_counts(hall: Office) -> None:
    """Requests may carry more than the document names; of duplicate members the last one counts."""
    await hall.apply("T")
    body = b'\xef\xbb\xbf{"zz":{"deep":[1e400,{"a":null}]},"worker_id":"x","worker_id":"w","plan_id":"p","reason":1}'
    assert (await hall.send("POST", "/tasks/claim", body).json())["task"]["id"] == "T"
    assert (await hall.settle("complete", "T", 2, cost_usd="0.42").json())["task"]["status"] == "DONE"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
async def test_the_content_type_does_not_matter(hall: Office, kind: str) -> None:
    """JSON routes ignore the content type."""
    claim = hall.claim(wait=0, headers={"Content-Type": kind})
    assert (await claim.reply()).status == 204


async def test_a_body_in_parts_is_415(hall: Office) -> None:
    """…except multipart."""
    found = await hall.claim(headers={"Content-Type": "Multipart/form-data; boundary=x"}).json(415)
    assert found["error_code"] == "unsupported_media_type"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
async def test_a_wrong_method_is_405(hall: Office, method: str) -> None:
    """405 with the methods that the path knows, before the token is looked at."""
    conversation = hall.send(method, "/tasks/claim", token=None)
    assert (await conversation.json(405))["error_code"] == "method_not_allowed"
    assert (await conversation.reply()).headers == ((b"allow", b"POST"),)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/tasks",
        "/tasks/",
        "/tasks/T",
        "/tasks//complete",
        "/tasks/T/complete/",
        "/tasks/a/b/complete",
        "/workers//heartbeat",
        "/admin/plans",
        "/whillyx",
    ],
)
async def test_other_paths_are_not_ours(hall: Office, path: str) -> None:
    """What is no route of plan workers is left to others."""
    assert hall.router.match(b"POST", path.encode()) is None


@pytest.mark.parametrize("raw", ["%ff", "%C3", "a%00b", "x" * 257, "..", "%2e", "%0a"])
async def test_a_bad_id_in_the_path(hall: Office, raw: str) -> None:
    """A part of the path that can be no id is refused, naming it."""
    conversation = hall.settle("complete", raw, 1)
    reply = await conversation.reply()
    assert reply.status in (400, 422)
    assert b"task_id" in reply.body


async def test_a_long_reason_is_cut(hall: Office) -> None:
    """A failure must always be reportable: a longer reason is cut with a marker."""
    await hall.apply("T")
    await hall.claim().json()
    assert (await hall.settle("fail", "T", 2, reason="x" * 500_000).json())["task"]["status"] == "FAILED"
    (ask,) = hall.store.asked(Settle)
    assert len(ask.reason) == 2048
    assert ask.reason.endswith("(cut)")


async def test_a_database_that_is_away_is_503_on_every_route(hall: Office) -> None:
    """503 `unavailable` with Retry-After."""
    hall.store.away = True
    for path, token in ROUTES:
        conversation = hall.send("POST", path, GOOD, token)
        reply = await conversation.reply()
        assert reply.status == 503, path
        assert (b"retry-after", b"1") in reply.headers
        assert json.loads(reply.body)["error_code"] == "unavailable"


@pytest.mark.parametrize("wait", [56, 1e308, 10**400])
def test_a_long_wait_is_clamped(wait: float) -> None:
    """`wait` is clamped to 55 s, whatever number it is."""
    assert hold_of(wait, 30.0) == 55.0
