"""Operators' routes about services and clients."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hiringhall.auth.keyring import Keyring, Keyrings
from hiringhall.auth.tokens import Tokens
from hiringhall.config import Settings
from hiringhall.operations.hall import Hall
from hiringhall.operations.login import Attempt, Granted
from hiringhall.operations.service_settings import settings_of
from hiringhall.ports.identity import FindSigningKeys, ReadSettings
from hiringhall.storage.sqlite.store import SqliteStore
from hiringhall.wakeups.local import LocalWakeups
from tests.wire.operators.conftest import OPERATOR, Operator

VALUE = "postgres://user:very-secret@db/x"


async def logs_in(operator: Operator, owner: str, secret: str, role: Any = "worker") -> bool:
    """Whether the secret of a service or client is good."""
    future = operator.hall.loop.create_future()
    operator.hall.logins.log_in(Attempt(role, owner, "w", secret, "here"), future.set_result)
    return isinstance(await future, Granted)


async def test_a_secret_is_made_and_told_once(operator: Operator) -> None:
    """Absent on creation: a secret is made and returned once."""
    made = await operator.call("PUT", "/admin/services/math", 201, json={})
    assert len(made["secret"]) == 43
    assert made["service"] == {
        "id": "math", "dispatch": "exclusive", "methods": {}, "paused": False, "settings": [], "secrets": 1,
        "made_at": made["service"]["made_at"],
    }  # fmt: skip
    again = await operator.call("PUT", "/admin/services/math", json={"dispatch": "race"})
    assert "secret" not in again
    assert (await operator.call("GET", "/admin/services/math"))["service"]["dispatch"] == "race"
    assert await logs_in(operator, "math", made["secret"])


async def test_a_service_needs_no_body(operator: Operator) -> None:
    """Everything about a service may be left to the hall."""
    assert (await operator.call("PUT", "/admin/services/math", 201))["secret"]


async def test_a_chosen_secret_is_not_told(operator: Operator) -> None:
    """The secret that was given is not sent back, and opens the service."""
    made = await operator.call("PUT", "/admin/services/math", 201, json={"secret": "chosen"})
    assert "secret" not in made
    assert await logs_in(operator, "math", "chosen")
    made = await operator.call("PUT", "/admin/clients/ci", 201, json={"secret": "chosen", "allow": ["*"]})
    assert "secret" not in made
    assert await logs_in(operator, "ci", "chosen", "client")


@pytest.mark.parametrize(
    ("path", "role", "body"), [("services/math", "worker", {}), ("clients/math", "client", {"allow": ["*"]})]
)
async def test_a_new_secret_is_made_for_one_that_is_there(operator: Operator, path: str, role: str, body: Any) -> None:
    """`?make_secret=true` makes a new secret and tells it once; the one before stays good for a day, or ends now."""
    secrets = [(await operator.call("PUT", f"/admin/{path}", 201, json=body))["secret"]]
    secrets.append((await operator.call("PUT", f"/admin/{path}?make_secret=true"))["secret"])
    assert [await logs_in(operator, "math", secret, role) for secret in secrets] == [True, True]
    secrets.append((await operator.call("PUT", f"/admin/{path}?make_secret=true&retire=true"))["secret"])
    assert [await logs_in(operator, "math", secret, role) for secret in secrets] == [False, False, True]
    assert "secret" not in await operator.call("PUT", f"/admin/{path}?make_secret=true", json={"secret": "chosen"})
    assert await logs_in(operator, "math", "chosen", role)


async def test_the_signing_key_is_replaced(operator: Operator) -> None:
    """`POST /admin/keys/rotate`: all servers sign with a new key; the one before is good for one token lifetime."""
    signing = operator.hall.identities.signing
    before = await signing.rotate()
    answer = await operator.call("POST", "/admin/keys/rotate")
    assert answer["key_id"] != before
    assert answer["previous_seconds"] == signing.lifetime_seconds
    keys = await operator.hall.store.read(FindSigningKeys())
    assert [(key.kid, key.retired_ms_ago is None) for key in keys[:2]] == [(answer["key_id"], True), (before, False)]


async def test_absent_members_keep_their_value(operator: Operator) -> None:
    """Absent members keep their value; settings are added one by one, and null removes one."""
    await operator.call("PUT", "/admin/services/math", 201, json={
        "dispatch": "race",
        "methods": {"add": {"dispatch": "exclusive", "run_limit_seconds": 1.5}},
        "settings": {"a": "1", "b": "2"},
    })  # fmt: skip
    await operator.call("PUT", "/admin/services/math", json={"settings": {"a": None, "c": "3"}, "dispatch": None})
    service = (await operator.call("GET", "/admin/services/math"))["service"]
    assert service["dispatch"] == "race"
    assert service["methods"] == {"add": {"dispatch": "exclusive", "run_limit_seconds": 1.5}}
    assert service["settings"] == ["b", "c"]
    assert (await settings_of(operator.hall, "math")).values == {"b": "2", "c": "3"}
    await operator.call("PUT", "/admin/services/math", json={"methods": {}})
    assert (await operator.call("GET", "/admin/services/math"))["service"]["methods"] == {}


async def test_the_same_secret_again_changes_nothing(operator: Operator) -> None:
    """The same again does not become a second secret; another one leaves two, and `?retire=true` ends one now."""
    await operator.call("PUT", "/admin/services/math", 201, json={"secret": "one"})
    again = await operator.call("PUT", "/admin/services/math", json={"secret": "one"})
    assert again["service"]["secrets"] == 1
    assert (await operator.call("PUT", "/admin/services/math", json={"secret": "two"}))["service"]["secrets"] == 2
    assert [await logs_in(operator, "math", secret) for secret in ("one", "two")] == [True, True]
    retired = await operator.call("PUT", "/admin/services/math?retire=true", json={"secret": "two"})
    assert retired["service"]["secrets"] == 1
    assert [await logs_in(operator, "math", secret) for secret in ("one", "two")] == [False, True]


async def test_values_of_settings_are_never_shown(operator: Operator) -> None:
    """Operators' answers hold names only; the database holds what is sealed, bound to its place."""
    made = await operator.call("PUT", "/admin/services/math", 201, json={"settings": {"db": VALUE, "other": "x"}})
    for answer in (
        made,
        await operator.call("GET", "/admin/services/math"),
        await operator.call("GET", "/admin/services"),
    ):
        assert VALUE not in str(answer)
        assert "very-secret" not in str(answer)
    sealed = await operator.hall.store.read(ReadSettings("math"))
    assert "very-secret" not in str(sealed)
    assert b"very-secret" not in base64.urlsafe_b64decode(sealed["math", "db"].rpartition(".")[2])
    assert operator.hall.keyrings.settings.open(sealed["math", "db"], "another place") is None
    assert (await settings_of(operator.hall, "math")).values["db"] == VALUE


async def test_settings_that_cannot_be_opened_are_named(operator: Operator) -> None:
    """A service tells which of its settings no present key opens, until they are set anew."""
    await operator.call("PUT", "/admin/services/math", 201, json={"settings": {"db": VALUE, "url": "x"}})
    operator.hall.keyrings = Keyrings.passing()
    await operator.call("PUT", "/admin/services/math", json={"settings": {"url": "y"}})
    shown = (await operator.call("GET", "/admin/services/math"))["service"]
    assert (shown["settings"], shown["unreadable_settings"]) == (["db", "url"], ["db"])
    await operator.call("PUT", "/admin/services/math", json={"settings": {"db": VALUE}})
    assert "unreadable_settings" not in (await operator.call("GET", "/admin/services/math"))["service"]


async def test_services_are_listed_in_pages(operator: Operator) -> None:
    """Lists come in the order of ids, with the `after` of the next page."""
    for name in ("b", "a", "c"):
        await operator.call("PUT", f"/admin/services/{name}", 201)
        await operator.call("PUT", f"/admin/clients/{name}", 201, json={"allow": []})
    page = await operator.call("GET", "/admin/services?limit=2")
    assert ([service["id"] for service in page["services"]], page["next"]) == (["a", "b"], "b")
    page = await operator.call("GET", "/admin/clients?after=b")
    assert ([client["id"] for client in page["clients"]], page["next"]) == (["c"], None)


async def test_a_service_is_paused(operator: Operator) -> None:
    """`POST /admin/services/{id}/{pause,resume}`"""
    await operator.call("PUT", "/admin/services/math", 201)
    assert (await operator.call("POST", "/admin/services/math/pause"))["service"]["paused"]
    assert not (await operator.call("POST", "/admin/services/math/resume"))["service"]["paused"]
    await operator.refused("POST", "/admin/services/other/pause", 404, "not_found")


async def test_what_is_deleted_is_gone(operator: Operator) -> None:
    """A deleted service or client is not found any more."""
    await operator.call("PUT", "/admin/services/a%20b", 201)
    await operator.call("PUT", "/admin/clients/ci", 201, json={"allow": ["*"]})
    assert await operator.call("DELETE", "/admin/services/a%20b") == {"service_id": "a b", "deleted": True}
    assert await operator.call("DELETE", "/admin/clients/ci") == {"client_id": "ci", "deleted": True}
    for method in ("GET", "DELETE"):
        await operator.refused(method, "/admin/services/a%20b", 404, "not_found")
        await operator.refused(method, "/admin/clients/ci", 404, "not_found")


async def test_a_client_is_changed(operator: Operator) -> None:
    """`{"secret"?, "allow"}`; a new client needs patterns."""
    await operator.refused("PUT", "/admin/clients/ci", 422, "validation_error", json={"secret": "s"})
    made = await operator.call("PUT", "/admin/clients/ci", 201, json={"allow": ["math/*"]})
    assert made["client"]["allow"] == ["math/*"]
    changed = await operator.call("PUT", "/admin/clients/ci", json={"secret": "new"})
    assert (changed["client"]["allow"], changed["client"]["secrets"]) == (["math/*"], 2)
    assert await logs_in(operator, "ci", made["secret"], "client")


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("services/math", {"secrets": "s3cret"}, "secrets"),
        ("services/math", {"secret": ""}, "secret"),
        ("services/math", {"secret": ["s3cret"]}, "secret"),
        ("services/math", {"settings": {"a": 1}}, "settings.a"),
        ("services/math", {"settings": {"hall_version": "s3cret"}}, "settings.hall_version"),
        ("services/math", {"settings": {"": "s3cret"}}, "settings"),
        ("services/math", {"settings": "s3cret"}, "settings"),
        ("services/math", {"dispatch": "s3cret"}, "dispatch"),
        ("services/math", {"methods": {"add": {"dispatch": 1}}}, "methods.add.dispatch"),
        ("services/math", {"methods": {"add": {"run_limit_seconds": -1}}}, "methods.add.run_limit_seconds"),
        ("services/math", {"methods": {"add": None}}, "methods.add"),
        ("services/math", {"methods": {"add": {"other": 1}}}, "methods.add.other"),
        ("services/math", ["s3cret"], "body"),
        ("services/a%2Fb", {}, "service_id"),
        ("clients/operator", {"allow": []}, "client_id"),
        ("clients/ci", {"allow": "s3cret"}, "allow"),
        ("clients/ci", {"allow": ["*s3cret" * 9]}, "allow"),
        ("clients/ci", {"allow": [1]}, "allow"),
        ("clients/ci", {"allow": [""]}, "allow"),
    ],
)
async def test_complaints_name_the_member(operator: Operator, path: str, body: Any, named: str) -> None:
    """422 says which field and why, and never echoes the input."""
    envelope = await operator.refused("PUT", f"/admin/{path}", 422, "validation_error", json=body)
    assert envelope["detail"].startswith(named + ":")
    assert "s3cret" not in str(envelope)


async def test_other_tokens_do_not_open_it(operator: Operator) -> None:
    """A worker's access token is known, but opens nothing of the operator's: 403."""
    secret = (await operator.call("PUT", "/admin/services/math", 201))["secret"]
    future = operator.hall.loop.create_future()
    operator.hall.logins.log_in(Attempt("worker", "math", "w", secret, "here"), future.set_result)
    headers = {"authorization": f"Bearer {(await future).access_token}"}
    await operator.refused("GET", "/admin/services", 403, "forbidden", headers=headers)
    await operator.refused(
        "GET", "/admin/services", 401, "missing_or_invalid_bearer", headers={"authorization": "Bearer x.y.z"}
    )


@pytest.fixture
async def keyless(tmp_path: Path) -> AsyncIterator[Operator]:
    """An operator of a hall without a key for settings."""
    keyrings = Keyrings(Keyring(), Keyring([b"k" * 32]))
    store = await SqliteStore.open(tmp_path / "hall.db")
    hall = Hall(Settings(), Tokens(operator=[OPERATOR]), store, LocalWakeups(), keyrings)
    operator = Operator(hall)
    yield operator
    await operator.client.aclose()
    await hall.close()


async def test_without_a_key_no_setting_is_stored(keyless: Operator) -> None:
    """It must be configured before a setting is stored, else 422 `key_missing`; everything else works."""
    made = await keyless.call("PUT", "/admin/services/math", 201, json={"dispatch": "race"})
    assert await logs_in(keyless, "math", made["secret"])
    await keyless.refused("PUT", "/admin/services/math", 422, "key_missing", json={"settings": {"a": "b"}})
    await keyless.refused("PUT", "/admin/services/new", 422, "key_missing", json={"settings": {"a": "b"}})
    await keyless.call("PUT", "/admin/services/math", json={"settings": {"a": None}})
    await keyless.refused("GET", "/admin/services/new", 404, "not_found")
