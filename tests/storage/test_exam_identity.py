"""The exam, part 5: services, clients, their secrets, logins and the keys that sign tokens."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.domain.topics import SIGNING_KEYS, topic_of_access, topic_of_client, topic_of_service
from hiringhall.ports.asks import Swept
from hiringhall.ports.identity import (
    PREVIOUS_SECRET_MS,
    REPLAY_MS,
    BeginSession,
    DeleteClient,
    DeleteService,
    EndSessions,
    FindClients,
    FindSecrets,
    FindServices,
    FindSessions,
    FindSigningKeys,
    ForgetLogins,
    HashedSecret,
    ListClients,
    ListServices,
    PauseService,
    Put,
    PutClient,
    PutService,
    PutSigningKey,
    ReadSettings,
    RefreshSession,
    Reseal,
    Session,
)
from tests.storage.desk import Desk

HOUR = 3_600_000
LIFETIME = 30 * 24 * HOUR
MADE, CHOSEN, THIRD = (
    HashedSecret("s1", "sha256", "aa"),
    HashedSecret("s2", "argon2", "$argon2id$x"),
    HashedSecret("s3", "sha256", "cc"),
)


async def service(desk: Desk, name: str) -> Any:
    """A service as operators see it."""
    (view,) = await desk.read(FindServices((name,), desk.now))
    return view


async def secrets(desk: Desk, owner: str, role: Any = "worker") -> list[str]:
    """The ids of the valid secrets of an owner, the present one first."""
    return [view.id for view in await desk.read(FindSecrets(((role, owner),), desk.now))]


async def stands(desk: Desk, sid: str) -> bool:
    """Whether a login stands."""
    views = await desk.read(FindSessions((sid,), desk.now))
    return bool(views) and views[0].stands


async def log_in(desk: Desk, sid: str = "sid", secret: str = "s1", worker: str = "w") -> bool:
    """A worker of `math` logs in; its refresh token is called like the session."""
    begun: bool = await desk.ask(BeginSession(sid, "worker", worker, "math", secret, sid.encode(), LIFETIME))
    return begun


async def refresh(desk: Desk, old: str, new: str, role: Any = "worker") -> Session | None:
    """A refresh token is exchanged."""
    session: Session | None = await desk.ask(RefreshSession(role, old.encode(), new.encode(), LIFETIME))
    return session


async def test_a_service_is_made_and_changed(desk: Desk) -> None:
    """Absent members keep their value."""
    assert await desk.ask(PutService("math", spare=MADE, settings={"url": "sealed-1", "x": "y"})) == Put(True, True)
    assert {topic_of_service("math"), topic_of_access("worker", "math")} <= set(desk.rings)
    view = await service(desk, "math")
    assert (view.dispatch, view.methods, view.paused, view.settings, view.secrets) == (
        "exclusive", "{}", False, ("url", "x"), 1,
    )  # fmt: skip
    made_at = view.made_at
    assert await desk.ask(PutService("math", dispatch="race", settings={"x": None, "z": "w"}, spare=CHOSEN)) == Put(
        False
    )
    assert await desk.ask(PutService("math", methods='{"add":{}}')) == Put(False)
    view = await service(desk, "math")
    assert (view.dispatch, view.methods, view.settings, view.made_at) == ("race", '{"add":{}}', ("url", "z"), made_at)
    assert await secrets(desk, "math") == ["s1"]
    assert await desk.read(ReadSettings("math")) == {("math", "url"): "sealed-1", ("math", "z"): "w"}
    assert await desk.read(ReadSettings(None)) == await desk.read(ReadSettings("math"))
    assert await desk.read(ReadSettings("other")) == {}


async def test_a_new_secret_leaves_the_previous_valid_for_a_day(desk: Desk) -> None:
    """Two secrets may be valid at once: a new one leaves the previous valid 24 h."""
    await desk.ask(PutService("math", secret=MADE))
    await desk.ask(PutService("math", secret=CHOSEN))
    assert await secrets(desk, "math") == ["s2", "s1"]
    desk.now += PREVIOUS_SECRET_MS - 1
    assert await secrets(desk, "math") == ["s2", "s1"]
    desk.now += 1
    assert await secrets(desk, "math") == ["s2"]
    assert (await service(desk, "math")).secrets == 1


async def test_at_most_two_secrets_are_valid(desk: Desk) -> None:
    """A third ends the first at once."""
    for secret in (MADE, CHOSEN, THIRD):
        await desk.ask(PutService("math", secret=secret))
    assert await secrets(desk, "math") == ["s3", "s2"]


async def test_retire_ends_the_previous_now(desk: Desk) -> None:
    """`?retire=true` ends it now: with a new secret, and without one."""
    await desk.ask(PutService("math", secret=MADE))
    await desk.ask(PutService("math", secret=CHOSEN, retire=True))
    assert await secrets(desk, "math") == ["s2"]
    await desk.ask(PutService("math", secret=THIRD))
    await desk.ask(PutService("math", retire=True))
    assert await secrets(desk, "math") == ["s3"]


async def test_a_login_ends_with_its_secret(desk: Desk) -> None:
    """Revoking a secret ends its tokens."""
    await desk.ask(PutService("math", secret=MADE))
    assert await log_in(desk)
    await desk.ask(PutService("math", secret=CHOSEN))
    assert await stands(desk, "sid")
    assert await log_in(desk, "sid2", "s2")
    await desk.ask(PutService("math", retire=True))
    assert not await stands(desk, "sid")
    assert await refresh(desk, "sid", "again") is None
    assert await stands(desk, "sid2")
    assert not await log_in(desk, "sid3", "s1")


async def test_services_are_paused(desk: Desk) -> None:
    """Pausing is told to whoever deals with the service."""
    assert not await desk.ask(PauseService("math", True))
    await desk.ask(PutService("math"))
    assert await desk.ask(PauseService("math", True))
    assert topic_of_service("math") in desk.rings
    assert (await service(desk, "math")).paused
    assert await desk.ask(PauseService("math", False))
    assert not (await service(desk, "math")).paused


async def test_a_service_is_deleted_with_everything_that_lets_in(desk: Desk) -> None:
    """Of a deleted service neither secrets nor settings nor logins are left."""
    assert not await desk.ask(DeleteService("math"))
    await desk.ask(PutService("math", secret=MADE, settings={"a": "b"}))
    await desk.ask(PutService("other", secret=THIRD))
    assert await log_in(desk)
    assert await desk.ask(DeleteService("math"))
    assert {topic_of_service("math"), topic_of_access("worker", "math")} <= set(desk.rings)
    assert await desk.read(FindServices(("math",), desk.now)) == []
    assert (await secrets(desk, "math"), await secrets(desk, "other")) == ([], ["s3"])
    assert await desk.read(ReadSettings(None)) == {}
    assert await desk.read(FindSessions(("sid",), desk.now)) == []
    assert await refresh(desk, "sid", "again") is None
    await desk.ask(PutService("math", secret=CHOSEN))
    assert not await log_in(desk)


async def test_clients(desk: Desk) -> None:
    """A client has patterns of what it may call; its logins tell them."""
    assert await desk.ask(PutClient("ci", spare=MADE, allow='["math/*"]')) == Put(True, True)
    assert {topic_of_client("ci"), topic_of_access("client", "ci")} <= set(desk.rings)
    assert await desk.ask(BeginSession("c", "client", "ci", None, "s1", b"c", LIFETIME))
    (session,) = await desk.read(FindSessions(("c",), desk.now))
    assert (session.role, session.subject, session.service, session.stands, session.allow) == (
        "client", "ci", None, True, '["math/*"]',
    )  # fmt: skip
    assert await desk.ask(PutClient("ci", secret=CHOSEN)) == Put(False)
    assert await desk.ask(PutClient("ci", allow='["*"]')) == Put(False)
    (view,) = await desk.read(FindClients(("ci", "nobody"), desk.now))
    assert (view.allow, view.secrets) == ('["*"]', 2)
    assert await desk.ask(DeleteClient("ci"))
    assert not await desk.ask(DeleteClient("ci"))
    assert not await stands(desk, "c")
    assert await secrets(desk, "ci", "client") == []


async def test_a_service_and_a_client_of_one_name_are_two(desk: Desk) -> None:
    """The secrets of one do not open the other."""
    await desk.ask(PutService("math", secret=MADE))
    await desk.ask(PutClient("math", secret=CHOSEN, allow="[]"))
    assert (await secrets(desk, "math"), await secrets(desk, "math", "client")) == (["s1"], ["s2"])
    await desk.ask(DeleteClient("math"))
    assert await secrets(desk, "math") == ["s1"]


async def test_lists_come_in_pages(desk: Desk) -> None:
    """Services and clients come in the order of their ids, after the last one of the page before."""
    for name in ("b", "a", "c"):
        await desk.ask(PutService(name))
        await desk.ask(PutClient(name, allow="[]"))
    assert [view.id for view in await desk.read(ListServices("a", 1, desk.now))] == ["b"]
    assert [view.id for view in await desk.read(ListServices(now=desk.now))] == ["a", "b", "c"]
    assert [view.id for view in await desk.read(ListClients("a", 5, desk.now))] == ["b", "c"]


async def test_a_refresh_token_is_exchanged_once(desk: Desk) -> None:
    """`grant_type=refresh_token` rotates the refresh token; the session stays."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    assert await refresh(desk, "sid", "r1") == Session("sid", "w", "math")
    desk.now += LIFETIME - 10
    assert await refresh(desk, "r1", "r2") == Session("sid", "w", "math")
    desk.now += LIFETIME - 10
    assert await stands(desk, "sid")


async def test_a_used_refresh_token_revokes_its_family(desk: Desk) -> None:
    """A used one revokes its family."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    await log_in(desk, "sid2")
    assert await refresh(desk, "sid", "r1")
    desk.now += REPLAY_MS
    assert await refresh(desk, "sid", "r2") is None
    assert not await stands(desk, "sid")
    assert await refresh(desk, "r1", "r3") is None
    assert await stands(desk, "sid2")


async def test_a_replay_from_a_lost_answer_gets_a_working_pair(desk: Desk) -> None:
    """Except a replay within 30 s from a lost answer, which gets a fresh working pair."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    assert await refresh(desk, "sid", "r1")
    desk.now += REPLAY_MS - 2
    assert await refresh(desk, "sid", "r2") == Session("sid", "w", "math")
    assert await refresh(desk, "r2", "r3") == Session("sid", "w", "math")
    assert await stands(desk, "sid")


async def test_a_replay_after_the_answer_arrived_revokes(desk: Desk) -> None:
    """Whoever used the answer had not lost it: the replay is somebody else's."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    assert await refresh(desk, "sid", "r1")
    assert await refresh(desk, "r1", "r2")
    assert await refresh(desk, "sid", "r3") is None
    assert not await stands(desk, "sid")


@pytest.mark.parametrize(("kept", "dropped"), [("r1", "r2"), ("r2", "r1")])
async def test_of_two_answers_either_may_be_used(desk: Desk, kept: str, dropped: str) -> None:
    """Two requests with one refresh token at once log nobody out: the answer that is kept works; using the other one
    after that revokes the family."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    assert await refresh(desk, "sid", "r1")
    assert await refresh(desk, "sid", "r2")
    assert await refresh(desk, kept, "r3")
    assert await stands(desk, "sid")
    assert await refresh(desk, dropped, "r4") is None
    assert not await stands(desk, "sid")


async def test_a_refresh_token_is_of_its_role(desk: Desk) -> None:
    """A worker's refresh token is dead in a client's hands, and stays good in the worker's."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    assert await refresh(desk, "sid", "r1", "client") is None
    assert await refresh(desk, "unknown", "r1") is None
    assert await refresh(desk, "sid", "r1")


async def test_a_login_expires_unless_it_is_refreshed(desk: Desk) -> None:
    """What is not refreshed ends, and is forgotten."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    desk.now += LIFETIME
    assert not await stands(desk, "sid")
    assert await refresh(desk, "sid", "r1") is None
    assert await desk.ask(ForgetLogins()) == Swept(1)
    assert await desk.read(FindSessions(("sid",), desk.now)) == []


async def test_the_logins_of_a_worker_are_ended(desk: Desk) -> None:
    """A removed worker's logins end, another's do not."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    await log_in(desk, "sid2")
    await log_in(desk, "sid3", worker="v")
    assert await desk.ask(EndSessions("math", "w")) == 2
    assert desk.rung_for("service:math/w")
    assert await desk.ask(EndSessions("math", "w")) == 0
    assert [await stands(desk, sid) for sid in ("sid", "sid2", "sid3")] == [False, False, True]
    assert await refresh(desk, "sid", "r1") is None


async def test_one_key_signs(desk: Desk) -> None:
    """A key is replaced by whoever knows the present one; the one before stays readable."""
    assert await desk.ask(PutSigningKey("k1", "sealed-1"))
    assert SIGNING_KEYS in desk.rings
    assert not await desk.ask(PutSigningKey("k2", "sealed-2"))
    assert not await desk.ask(PutSigningKey("k2", "sealed-2", instead_of="k0"))
    assert await desk.ask(PutSigningKey("k2", "sealed-2", instead_of="k1"))
    assert not await desk.ask(PutSigningKey("k3", "sealed-3", instead_of="k1"))
    desk.now += 5
    views = await desk.read(FindSigningKeys(desk.now))
    assert [(view.kid, view.retired_ms_ago) for view in views] == [("k2", None), ("k1", 6)]


async def test_what_is_sealed_is_sealed_anew(desk: Desk) -> None:
    """A changed value is not overwritten by an older one that was sealed anew."""
    await desk.ask(PutService("math", settings={"a": "old", "b": "old"}))
    await desk.ask(PutSigningKey("k1", "old"))
    await desk.ask(Reseal({"k1": ("old", "new")}, {("math", "a"): ("old", "new"), ("math", "b"): ("older", "new")}))
    assert await desk.read(ReadSettings("math")) == {("math", "a"): "new", ("math", "b"): "old"}
    assert (await desk.read(FindSigningKeys(desk.now)))[0].sealed == "new"


async def test_what_has_ended_is_forgotten(desk: Desk) -> None:
    """Ended secrets, used refresh tokens and retired keys go when they are of no use any more."""
    await desk.ask(PutService("math", secret=MADE))
    await log_in(desk)
    await refresh(desk, "sid", "r1")
    await desk.ask(PutService("math", secret=CHOSEN))
    await desk.ask(PutSigningKey("k1", "sealed-1"))
    await desk.ask(PutSigningKey("k2", "sealed-2", instead_of="k1"))
    assert await desk.ask(ForgetLogins()) == Swept()
    desk.now += 8 * 24 * HOUR
    assert await desk.ask(ForgetLogins()) == Swept(2)  # the secret, and the refresh token that was used
    desk.now += 30 * 24 * HOUR
    assert await desk.ask(ForgetLogins()) == Swept(2)  # the login, and the key
    assert len(await desk.read(FindSigningKeys(desk.now))) == 1


@pytest.mark.parametrize("name", ["a b", "ü/x", "..."])
async def test_names_are_any_text(desk: Desk, name: str) -> None:
    """Names come back as they were given."""
    await desk.ask(PutService(name, secret=MADE, settings={name: "sealed"}))
    assert (await service(desk, name)).settings == (name,)
