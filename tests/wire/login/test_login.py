"""Logging in: what is asked for, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import json

import jwt
import pytest

from hiringhall.auth.identities import Identity
from hiringhall.ports.identity import DeleteClient, DeleteService, PutService
from tests.operations.parts import BOOTSTRAP, OPERATOR, SHARED
from tests.wire.login.gatehouse import CHOSEN, Gatehouse, body_of


@pytest.mark.parametrize("secret", [None, CHOSEN])
async def test_a_worker_logs_in(house: Gatehouse, secret: str | None) -> None:
    """Answers `{"access_token","token_type":"Bearer","expires_in","refresh_token"}`."""
    answer = await house.worker(await house.service(secret=secret))
    assert set(answer) == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 3600)
    identity = await house.known(answer["access_token"])
    assert (identity.role, identity.subject, identity.service) == ("worker", "w", "math")
    assert identity.session


@pytest.mark.parametrize("secret", [None, CHOSEN])
async def test_a_client_logs_in(house: Gatehouse, secret: str | None) -> None:
    """`client_id`, `client_secret` for clients; the response of workers "matches the client token response"."""
    answer = await house.client(await house.client_of(secret=secret))
    assert set(answer) == {"access_token", "token_type", "expires_in", "refresh_token"}
    identity = await house.known(answer["access_token"], "client")
    assert (identity.role, identity.subject, identity.service) == ("client", "ci", None)


async def test_a_client_need_not_name_the_grant(house: Gatehouse) -> None:
    """A client's form is `client_id` and `client_secret`."""
    secret = await house.client_of()
    body_of(await house.send("/client/auth_token", {"client_id": "ci", "client_secret": secret}), 200)


async def test_the_token_says_who_and_until_when(house: Gatehouse) -> None:
    """JWT: `sub`, `role`, `service_id`, `sid`, `iss`, `iat`, `exp`, `jti`, header `kid`."""
    token = (await house.worker(await house.service()))["access_token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    header = jwt.get_unverified_header(token)
    assert set(claims) == {"sub", "role", "service_id", "sid", "iss", "iat", "exp", "jti"}
    assert (claims["sub"], claims["role"], claims["service_id"]) == ("w", "worker", "math")
    assert claims["exp"] - claims["iat"] == 3600
    assert header["alg"] == "HS256"
    assert header["kid"]
    token = (await house.client(await house.client_of()))["access_token"]
    assert "service_id" not in jwt.decode(token, options={"verify_signature": False})


async def test_json_with_the_same_members(house: Gatehouse) -> None:
    """Form routes accept JSON with the same members too, whatever the content type says."""
    secret = await house.service()
    members = {"grant_type": "client_credentials", "service_id": "math", "auth_secret": secret, "worker_id": "w"}
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        reply = await house.send("/worker/auth_token", json.dumps(members).encode(), headers={"content-type": kind})
        body_of(reply, 200)


async def test_answers_are_not_stored(house: Gatehouse) -> None:
    """`Cache-Control: no-store` on every worker and client answer."""
    reply = await house.send("/worker/auth_token", {})
    assert not [value for name, value in reply.headers if name == b"cache-control" and value != b"no-store"]


@pytest.mark.parametrize("missing", ["grant_type", "service_id", "auth_secret", "worker_id"])
async def test_a_missing_field_of_a_worker(house: Gatehouse, missing: str) -> None:
    """400 missing field; the text names it."""
    form = {"grant_type": "client_credentials", "service_id": "math", "auth_secret": "s", "worker_id": "w"}
    for value in (None, ""):
        sent = {name: text if name != missing else value for name, text in form.items() if name != missing or value}
        answer = body_of(await house.send("/worker/auth_token", sent), 400)
        assert answer["error"] == answer["error_code"] == "invalid_request"
        assert missing in answer["detail"]


@pytest.mark.parametrize("missing", ["client_id", "client_secret"])
async def test_a_missing_field_of_a_client(house: Gatehouse, missing: str) -> None:
    """400 missing field; the text names it."""
    form = {"client_id": "ci", "client_secret": "s"}
    del form[missing]
    assert missing in body_of(await house.send("/client/auth_token", form), 400)["detail"]


async def test_an_unsupported_grant(house: Gatehouse) -> None:
    """400 unsupported grant."""
    for path in ("/worker/auth_token", "/client/auth_token"):
        answer = body_of(await house.send(path, {"grant_type": "password"}), 400)
        assert answer["error"] == "unsupported_grant_type"
    form = {"grant_type": "refresh_token"}
    assert "refresh_token" in body_of(await house.send("/worker/auth_token", form), 400)["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[1]", 400),
        (b"\xff\xfe", 400),
        (b"grant_type=%ff", 400),
        (b"grant_type=a&grant_type=b", 400),
        (b'{"grant_type": 1}', 422),
        (b'{"grant_type":"client_credentials","service_id":"m","auth_secret":"s","worker_id":"."}', 422),
        (b"grant_type=client_credentials&service_id=m&auth_secret=s&worker_id=a%00b", 422),
        (b"grant_type=client_credentials&service_id=m&auth_secret=s&worker_id=" + b"x" * 257, 422),
        (b"grant_type=client_credentials&service_id=m&worker_id=w&auth_secret=" + b"x" * 1025, 422),
    ],
)
async def test_bodies_that_cannot_be(house: Gatehouse, body: bytes, status: int) -> None:
    """What cannot be read is refused; worker ids obey the rules of identifiers."""
    body_of(await house.send("/worker/auth_token", body), status)


async def test_other_methods_and_parts(house: Gatehouse) -> None:
    """405 for another method, 415 for a form in parts."""
    assert body_of(await house.send("/worker/auth_token", b"", method="GET"), 405)["error_code"] == "method_not_allowed"
    parts = {"content-type": "multipart/form-data; boundary=x"}
    body_of(await house.send("/client/auth_token", b"--x--", headers=parts), 415)


@pytest.mark.parametrize("secret", [None, CHOSEN])
async def test_a_wrong_secret_looks_like_an_unknown_service(house: Gatehouse, secret: str | None) -> None:
    """Unknown service and wrong secret look alike."""
    await house.service(secret=secret)
    await house.client_of(secret=secret)
    wrong = await house.worker("wrong", status=401)
    assert wrong == await house.worker("wrong", "nobody", status=401)
    assert wrong["error"] == "invalid_client"
    assert await house.client("wrong", status=401) == await house.client("wrong", "nobody", status=401)


async def test_one_secret_does_not_open_another(house: Gatehouse) -> None:
    """The secret of a service opens that service alone, and no client of the same name."""
    secret = await house.service()
    await house.service("other")
    await house.client_of("math")
    await house.worker(secret, "other", status=401)
    await house.client(secret, "math", status=401)


async def test_roles_cannot_be_confused(house: Gatehouse) -> None:
    """403 for a token of another role, 401 for one that opens nothing."""
    worker = (await house.worker(await house.service()))["access_token"]
    client = (await house.client(await house.client_of()))["access_token"]
    await house.refused(worker, "forbidden", "client")
    await house.refused(client, "forbidden", "worker")
    for known in (BOOTSTRAP, SHARED):
        await house.refused(known, "forbidden", "client")
    await house.refused(OPERATOR, "forbidden", "worker")
    await house.refused("nothing", "missing_or_invalid_bearer")
    await house.refused(None, "missing_or_invalid_bearer")
    await house.refused("", "missing_or_invalid_bearer")


async def test_the_operator_is_a_client(house: Gatehouse) -> None:
    """The operator token is accepted as the client `operator`, allowed everything."""
    identity = await house.known(OPERATOR, "client")
    assert identity == Identity("client", "operator", None, "")
    assert house.hall.identities.allows(identity, "any", "thing")


async def test_a_client_may_call_what_its_patterns_permit(house: Gatehouse) -> None:
    """Shell wildcards over `service/method`."""
    secret = await house.client_of(allow='["math/*", "text/up?er", "[ab]/c"]')
    identity = await house.known((await house.client(secret))["access_token"], "client")
    allowed = house.hall.identities.allows
    assert allowed(identity, "math", "add")
    assert allowed(identity, "text", "upper")
    assert allowed(identity, "b", "c")
    assert not allowed(identity, "mathematics", "add")
    assert not allowed(identity, "text", "uper")
    await house.client_of(allow="[]")
    identity = await house.known((await house.client(secret))["access_token"], "client")
    assert not allowed(identity, "math", "add")


async def test_a_token_ends(house: Gatehouse) -> None:
    """Tokens are valid for `HALL_TOKEN_LIFETIME`."""
    token = (await house.worker(await house.service()))["access_token"]
    house.later = 3598
    await house.known(token)
    house.later = 3601
    await house.refused(token, "missing_or_invalid_bearer")


async def test_a_refreshed_session_keeps_its_id(house: Gatehouse) -> None:
    """A refreshed session keeps its `sid`; logging in makes a new one."""
    secret = await house.service()
    first = await house.worker(secret)
    second = await house.refresh(first["refresh_token"])
    assert second["refresh_token"] != first["refresh_token"]
    one, two = await house.known(first["access_token"]), await house.known(second["access_token"])
    assert one == two
    assert (await house.known((await house.worker(secret))["access_token"])).session != one.session


async def test_a_refresh_token_of_nobody(house: Gatehouse) -> None:
    """401 dead refresh token."""
    assert (await house.refresh("nobody's", 401))["error"] == "invalid_grant"
    worker = await house.worker(await house.service())
    await house.refresh(worker["refresh_token"], 401, "client")
    await house.refresh(worker["refresh_token"])


async def test_a_stolen_refresh_token_ends_the_session(house: Gatehouse) -> None:
    """A used one revokes its family, and the tokens end with it."""
    first = await house.worker(await house.service())
    second = await house.refresh(first["refresh_token"])
    third = await house.refresh(second["refresh_token"])
    await house.known(third["access_token"])
    await house.refresh(first["refresh_token"], 401)
    await house.refused(third["access_token"], "missing_or_invalid_bearer")
    await house.refresh(third["refresh_token"], 401)


async def test_a_lost_answer_does_not_lock_out(house: Gatehouse) -> None:
    """A replay within 30 s from a lost answer gets a fresh working pair."""
    first = await house.worker(await house.service())
    await house.refresh(first["refresh_token"])
    again = await house.refresh(first["refresh_token"])
    await house.known(again["access_token"])
    await house.refresh(again["refresh_token"])


async def test_deleting_ends_tokens(house: Gatehouse) -> None:
    """Revoking a service or client ends its tokens, at once where the ring arrives."""
    worker = await house.worker(await house.service())
    client = await house.client(await house.client_of())
    await house.known(worker["access_token"])
    await house.known(client["access_token"], "client")
    await house.hall.coalescer.one(DeleteService("math"))
    await house.hall.coalescer.one(DeleteClient("ci"))
    await house.refused(worker["access_token"], "missing_or_invalid_bearer")
    await house.refused(client["access_token"], "missing_or_invalid_bearer", "client")
    await house.refresh(worker["refresh_token"], 401)


async def test_revoking_a_secret_ends_its_tokens(house: Gatehouse) -> None:
    """A new secret leaves the previous valid; retiring ends it and its tokens."""
    old = await house.service()
    before = await house.worker(old)
    await house.service(secret=CHOSEN)
    after = await house.worker(CHOSEN)
    await house.worker(old)
    await house.known(before["access_token"])
    await house.hall.coalescer.one(PutService("math", retire=True))
    await house.refused(before["access_token"], "missing_or_invalid_bearer")
    await house.known(after["access_token"])
    await house.worker(old, status=401)


async def test_many_log_in_with_one_chosen_secret(house: Gatehouse) -> None:
    """A verified pair is remembered: many workers with one chosen secret wait for one check."""
    await house.service(secret=CHOSEN)
    answers = await asyncio.gather(*(house.worker(CHOSEN, worker=f"w{number}") for number in range(100)))
    assert len({answer["refresh_token"] for answer in answers}) == 100
