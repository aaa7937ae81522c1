"""The protocol document, sentence by sentence."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.operations.parts import BOOTSTRAP, SHARED, Office, office


async def test_health(hall: Office) -> None:
    """`GET /health`: 200 {"status": "ok"}, no auth; "503 Service Unavailable if Postgres is unreachable"."""
    assert await hall.send("GET", "/health", token=None).json() == {"status": "ok"}
    hall.store.away = True
    reply = hall.send("GET", "/health", token=None)
    body = await reply.json(503)
    assert (body["error_code"], body["status"], body["task_id"]) == ("unavailable", "unavailable", None)
    assert "taken away" not in str(body)


async def test_register(hall: Office) -> None:
    """`POST /workers/register`: 201, a `w-` id with 12 url-safe characters, and a token that opens the other routes."""
    body = await hall.send("POST", "/workers/register", {"hostname": "worker-vm-01"}, BOOTSTRAP).json(201)
    assert set(body) == {"worker_id", "token"}
    assert re.fullmatch(r"w-[A-Za-z0-9_-]{12}", body["worker_id"])
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", body["token"])
    claim = hall.claim(body["worker_id"], token=body["token"], wait=0)
    assert (await claim.reply()).status == 204


@pytest.mark.parametrize("token", [None, SHARED, "wrong", ""])
async def test_register_needs_the_bootstrap_token(hall: Office, token: str | None) -> None:
    """`missing_or_invalid_bootstrap`, 401, also for tokens of another kind."""
    conversation = hall.send("POST", "/workers/register", {"hostname": "h"}, token)
    body = await conversation.json(401)
    assert (body["error_code"], body["task_id"]) == ("missing_or_invalid_bootstrap", None)
    assert (b"www-authenticate", b'Bearer realm="whilly"') in (await conversation.reply()).headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/workers/w/heartbeat"), ("POST", "/tasks/claim"), ("POST", "/tasks/T/complete"),
        ("POST", "/tasks/T/fail"), ("POST", "/tasks/T/release"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("token", [None, BOOTSTRAP, "wrong"])
async def test_the_other_routes_need_a_bearer(hall: Office, method: str, path: str, token: str | None) -> None:
    """`missing_or_invalid_bearer`, 401, before the body is looked at."""
    conversation = hall.send(method, path, b"{", token)
    body = await conversation.json(401)
    assert (body["error_code"], body["task_id"]) == ("missing_or_invalid_bearer", None)
    assert (b"www-authenticate", b'Bearer realm="whilly"') in (await conversation.reply()).headers


async def test_a_token_beyond_ascii_is_401(hall: Office) -> None:
    """A token with any bytes is a wrong token, not an error of the server."""
    assert (await hall.claim(token="tökén ☃").json(401))["error_code"] == "missing_or_invalid_bearer"


async def test_heartbeat(hall: Office) -> None:
    """{"ok": true}; "ok=false (with HTTP 200) means the worker is not (or no longer) registered"; mismatch 400."""
    await hall.admit("w")
    assert await hall.send("POST", "/workers/w/heartbeat", {"worker_id": "w"}).json() == {"ok": True}
    assert await hall.send("POST", "/workers/x/heartbeat", {"worker_id": "x"}).json() == {"ok": False}
    body = await hall.send("POST", "/workers/w/heartbeat", {"worker_id": "x"}).json(400)
    assert body["error_code"] == "worker_id_mismatch"


@pytest.mark.parametrize(("delay", "visibility", "told"), [(30, 60, b"20"), (1.5, 4, b"1.333"), (0.5, 60, b"0.5")])
async def test_the_hall_says_how_often_to_beat(delay: float, visibility: float, told: bytes) -> None:
    """`Hall-Heartbeat` on register and heartbeat: min(heartbeat delay, visibility timeout / 3), in seconds."""
    async with office(heartbeat_delay=delay, visibility_timeout=visibility) as made:
        await made.admit("w")
        for path, body, token in (
            ("/workers/register", {"hostname": "h"}, BOOTSTRAP),
            ("/workers/w/heartbeat", {"worker_id": "w"}, SHARED),
            ("/workers/x/heartbeat", {"worker_id": "x"}, SHARED),
        ):
            reply = await made.send("POST", path, body, token).reply()
            assert reply.headers == ((b"hall-heartbeat", told),)
            published = await made.send("POST", f"/whilly{path}", body, token).reply()
            assert published.headers == ()


async def test_claim_answers_the_task(hall: Office) -> None:
    """200 with the task as in the document's example: all its members, in its order."""
    await hall.apply("T-001")
    body = await hall.claim().json()
    assert list(body) == ["task"]
    assert list(body["task"].items()) == [
        ("id", "T-001"), ("plan_id", "p"), ("status", "CLAIMED"), ("version", 2), ("priority", "high"),
        ("description", "do it"), ("dependencies", []), ("key_files", ["a.py"]), ("acceptance_criteria", []),
        ("test_steps", []), ("prd_requirement", ""),
    ]  # fmt: skip


async def test_claim_of_nothing_is_204(hall: Office) -> None:
    """204 without a body for an empty plan and for one that nobody knows."""
    await hall.apply()
    for plan in ("p", "unknown"):
        reply = await hall.claim(plan=plan, wait=0).reply()
        assert (reply.status, reply.body) == (204, b"")


@pytest.mark.parametrize(
    ("verb", "more", "status"),
    [("complete", {}, "DONE"), ("fail", {"reason": "exit_code=1"}, "FAILED"), ("release", {}, "PENDING")],
)
async def test_settling(hall: Office, verb: str, more: dict[str, Any], status: str) -> None:
    """200 with the task, its new status and its version raised by one."""
    await hall.apply("T-001")
    await hall.claim().json()
    body = await hall.settle(verb, "T-001", 2, **more).json()
    assert list(body) == ["task"]
    assert (body["task"]["id"], body["task"]["status"], body["task"]["version"]) == ("T-001", status, 3)


async def test_a_repeat_is_a_conflict(hall: Office) -> None:
    """409 with exactly the document's members, and who finished it."""
    await hall.apply("T-001")
    await hall.claim().json()
    await hall.settle("complete", "T-001", 2).json()
    again = hall.settle("complete", "T-001", 2)
    body = await again.json(409)
    assert set(body) == {"error_code", "task_id", "expected_version", "actual_version", "actual_status", "detail"}
    assert (body["error_code"], body["task_id"]) == ("version_conflict", "T-001")
    assert (body["expected_version"], body["actual_version"], body["actual_status"]) == (2, 3, "DONE")
    assert (await again.reply()).headers == ((b"hall-finished-by", b"self"),)
    other = await hall.settle("fail", "T-001", 2, "x", reason="r").reply()
    assert (b"hall-finished-by", b"other") in other.headers


async def test_a_release_of_what_was_swept(hall: Office) -> None:
    """ "a row that already PENDING … returns 409 with actual_status="PENDING"."""
    await hall.apply("T-001")
    await hall.claim().json()
    await hall.settle("release", "T-001", 2).json()
    conversation = hall.settle("release", "T-001", 2)
    body = await conversation.json(409)
    assert (body["actual_version"], body["actual_status"]) == (3, "PENDING")
    assert (await conversation.reply()).headers == ()


async def test_a_task_that_exists_nowhere(hall: Office) -> None:
    """409 with both actual members null, never 404."""
    body = await hall.settle("complete", "nowhere", 2).json(409)
    assert (body["error_code"], body["task_id"], body["expected_version"]) == ("version_conflict", "nowhere", 2)
    assert body["actual_version"] is None
    assert body["actual_status"] is None


async def test_a_workers_own_token_is_for_itself(hall: Office) -> None:
    """Another worker's id is 403 `worker_forbidden`; a path that differs from the body is 400 before that."""
    me = await hall.send("POST", "/workers/register", {"hostname": "h"}, BOOTSTRAP).json(201)
    token = me["token"]
    await hall.apply("T")
    for conversation in (
        hall.claim("other", token=token),
        hall.settle("complete", "T", 2, "other", token),
        hall.send("POST", "/workers/other/heartbeat", {"worker_id": "other"}, token),
    ):
        assert (await conversation.json(403))["error_code"] == "worker_forbidden"
    mismatch = hall.send("POST", f"/workers/{me['worker_id']}/heartbeat", {"worker_id": "other"}, token)
    assert (await mismatch.json(400))["error_code"] == "worker_id_mismatch"


async def test_a_task_of_another_worker_is_a_conflict(hall: Office) -> None:
    """With a worker's own token only its own hold is settled; with the shared token a matching version settles."""
    me = await hall.send("POST", "/workers/register", {"hostname": "h"}, BOOTSTRAP).json(201)
    await hall.apply("T")
    await hall.claim("holder").json()
    body = await hall.settle("complete", "T", 2, me["worker_id"], me["token"]).json(409)
    assert (body["actual_version"], body["actual_status"]) == (2, "CLAIMED")
    assert "another worker" in body["detail"]
    assert (await hall.settle("complete", "T", 2, "somebody").json())["task"]["status"] == "DONE"


async def test_an_ambiguous_task_is_refused(hall: Office) -> None:
    """Several plans with a task of that id, none of them held: 409 `ambiguous_task_id`; `plan_id` ends all doubt."""
    await hall.apply("T", plan="one")
    await hall.apply("T", plan="two")
    body = await hall.settle("complete", "T", 1).json(409)
    assert body["error_code"] == "ambiguous_task_id"
    assert "one" in body["detail"]
    assert "two" in body["detail"]
    body = await hall.settle("complete", "T", 1, plan_id="two").json(409)
    assert (body["error_code"], body["actual_status"]) == ("version_conflict", "PENDING")


async def test_ids_may_be_any_text(hall: Office) -> None:
    """Raw paths are split, then each part is decoded once: ids may hold slashes, percent signs and any script."""
    for task in ("a/b", "100%25", "T ☃", "claim", "w?x#y"):
        plan = f"plan of {task}"
        await hall.apply(task, plan=plan)
        assert (await hall.claim(plan=plan).json())["task"]["id"] == task
        body = await hall.settle("complete", quote(task, safe=""), 2).json()
        assert (body["task"]["id"], body["task"]["status"]) == (task, "DONE")


async def test_prefer_next(hall: Office) -> None:
    """`Prefer: next` with `plan_id`: the answer adds the next task, already claimed, or null."""
    await hall.apply("T1", "T2")
    await hall.claim().json()
    headers = {"Prefer": "respond-async, Next"}
    body = await hall.settle("complete", "T1", 2, plan_id="p", headers=headers).json()
    assert (body["task"]["status"], body["next"]["id"], body["next"]["status"]) == ("DONE", "T2", "CLAIMED")
    body = await hall.settle("fail", "T2", body["next"]["version"], plan_id="p", reason="r", headers=headers).json()
    assert (body["task"]["status"], body["next"]) == ("FAILED", None)
    assert "next" not in await hall.settle("complete", "T1", 2, headers=headers).json(409)


async def test_a_lost_next_returns(hall: Office) -> None:
    """An answer with `next` that did not arrive gives the next task back; the settle stands."""
    await hall.apply("T1", "T2")
    await hall.claim().json()
    conversation = hall.settle("complete", "T1", 2, plan_id="p", headers={"Prefer": "next"})
    assert (await conversation.json())["next"]["version"] == 2
    assert conversation.lost is not None
    conversation.lost()
    assert (await hall.claim("x").json())["task"]["id"] == "T2"


async def test_a_keyed_repeat_is_answered_again(hall: Office) -> None:
    """With an Idempotency-Key a repeated complete is 200 from the present row; with another body 422."""
    await hall.apply("T1")
    await hall.claim().json()
    headers = {"Idempotency-Key": "abc"}
    first = await hall.settle("complete", "T1", 2, headers=headers).json()
    assert await hall.settle("complete", "T1", 2, headers=headers).json() == first
    reused = await hall.settle("complete", "T1", 2, headers=headers, other=1).json(422)
    assert reused["error_code"] == "idempotency_key_reused"


async def test_an_empty_key_is_none(hall: Office) -> None:
    """Whoever sends an empty Idempotency-Key with everything gets each task once, and no answer of another call."""
    await hall.apply("T1", "T2")
    headers = {"Idempotency-Key": ""}
    first = (await hall.claim(headers=headers).json())["task"]
    second = (await hall.claim(headers=headers).json())["task"]
    assert (first["id"], second["id"]) == ("T1", "T2")
    await hall.settle("complete", "T1", 2, headers=headers).json()
    assert (await hall.settle("complete", "T1", 2, headers=headers, other=1).json(409))["actual_status"] == "DONE"


async def test_another_claim_under_the_same_key_is_another_one(hall: Office) -> None:
    """A key repeats the claim that it came with first: for another plan or number of tasks it brings fresh ones."""
    await hall.apply("T1", "T2")
    await hall.apply("T9", plan="q")
    headers = {"Idempotency-Key": "abc"}
    first = (await hall.claim(headers=headers).json())["task"]
    assert (await hall.claim(plan="q", headers=headers).json())["task"]["id"] == "T9"
    assert [task["id"] for task in (await hall.claim(max_tasks=5, headers=headers).json())["tasks"]] == ["T2"]
    assert (await hall.claim(headers=headers).json())["task"] == first


async def test_another_verb_under_the_same_key_is_refused(hall: Office) -> None:
    """Complete and release carry the same members: a release is no repeat of a complete, and is not answered as one."""
    await hall.apply("T1")
    await hall.claim().json()
    headers = {"Idempotency-Key": "abc"}
    await hall.settle("complete", "T1", 2, headers=headers).json()
    reused = await hall.settle("release", "T1", 2, headers=headers).json(422)
    assert reused["error_code"] == "idempotency_key_reused"
