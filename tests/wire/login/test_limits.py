"""What limits logging in, what is remembered for how long, and keys that are replaced."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import jwt
import pytest

from hiringhall.auth import credentials
from hiringhall.auth.keyring import Keyring, Keyrings
from hiringhall.auth.tokens import wall_clock
from hiringhall.auth.verifier import WAITING_OF_A_SOURCE_MAX
from hiringhall.domain.owners import ServiceWish
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_access
from hiringhall.operations.owners import Choice, Stored, put_service
from hiringhall.ports.identity import DeleteService, FindSecrets, FindSessions, FindSigningKeys, PutService
from hiringhall.ports.store import Store, StoreUnavailable
from tests.wire.login.gatehouse import CHOSEN, Gatehouse, gatehouse

ONE, TWO = b"1" * 32, b"2" * 32


async def test_failures_are_limited(house: Gatehouse) -> None:
    """10 a minute, then 429; others unaffected."""
    secret = await house.service()
    await house.service("other")
    for _ in range(10):
        await house.worker("wrong", status=401)
    assert (await house.worker("wrong", status=429))["error"] == "slow_down"
    await house.worker(secret, status=429)
    await house.worker(secret, peer="192.0.2.8")
    await house.worker("wrong", "other", status=401)
    house.later = 61
    await house.worker(secret)


@pytest.mark.parametrize("secret", [None, CHOSEN])
async def test_a_verified_pair_is_accepted_while_limited(house: Gatehouse, secret: str | None) -> None:
    """While limited, a pair verified in the last 5 min is still accepted."""
    good = await house.service(secret=secret)
    await house.worker(good)
    for _ in range(10):
        await house.worker("wrong", status=401)
    await house.worker("wrong", status=429)
    await house.worker(good, worker="another")
    house.later = 290
    for _ in range(10):
        await house.worker("wrong", status=401)
    await house.worker(good)
    house.later = 301
    await house.worker(good, status=429)


async def test_a_remembered_pair_ends_with_its_secret(house: Gatehouse) -> None:
    """What is remembered of a secret that was retired opens nothing."""
    await house.service(secret=CHOSEN)
    await house.worker(CHOSEN)
    await house.service(secret="another", retire=True)
    await house.worker(CHOSEN, status=401)


async def test_too_many_at_once(house: Gatehouse) -> None:
    """A bounded queue: 503 with `Retry-After` when it is full; made secrets never stand in it."""
    made = await house.service()
    await house.service("slow", secret=CHOSEN)
    guesses = [house.worker(f"guess {number}", f"nobody-{number}", status=401) for number in range(3)]
    await asyncio.gather(*guesses)
    logins = [
        house.send(
            "/worker/auth_token",
            {
                "grant_type": "client_credentials", "service_id": f"nobody-{number}", "auth_secret": "guess",
                "worker_id": "w",
            },
        )
        for number in range(WAITING_OF_A_SOURCE_MAX + 10)
    ]  # fmt: skip
    replies, _ = await asyncio.gather(asyncio.gather(*logins), house.worker(made))
    statuses = [reply.status for reply in replies]
    assert statuses.count(503) == 10
    assert statuses.count(401) == WAITING_OF_A_SOURCE_MAX
    full = next(reply for reply in replies if reply.status == 503)
    assert (b"retry-after", b"1") in full.headers


async def test_wrong_secrets_take_the_same_time(house: Gatehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown service and wrong secret look alike in time: each costs two slow hashes, whatever there is to compare."""
    await house.service("made")
    await house.service("chosen", secret=CHOSEN)
    await house.service("both", secret=CHOSEN)
    await house.service("both", secret="another")
    compared: list[str] = []
    matches = credentials._matches

    def counted(stored: str, secret: str) -> bool:
        compared.append(stored)
        return matches(stored, secret)

    monkeypatch.setattr(credentials, "_matches", counted)
    for service in ("made", "chosen", "both", "nobody"):
        compared.clear()
        await house.worker("wrong", service, status=401)
        assert len(compared) == 2, service


async def test_the_database_away(house: Gatehouse) -> None:
    """503 while the database does not answer, also for whoever shows a token."""
    secret = await house.service()
    token = (await house.worker(secret))["access_token"]
    await house.known(token)
    house.store.away = True
    await house.known(token)
    house.later = 6
    with pytest.raises(StoreUnavailable):
        await house.who(token)
    await house.worker(secret, status=503)
    await house.refresh("any", 503)
    house.store.away = False
    await house.known(token)


async def test_what_is_known_is_at_most_five_seconds_old(house: Gatehouse) -> None:
    """Caches of tokens live at most 5 s: revoking ends tokens within 5 s even where no ring arrives."""
    secret = await house.service()
    token = (await house.worker(secret))["access_token"]
    await house.known(token)
    await house.store.store.commit([DeleteService("math")])  # as another server does whose ring is lost
    await house.known(token)
    house.later = 5.1
    await house.refused(token, "missing_or_invalid_bearer")
    await house.worker(secret, status=401)


async def test_what_is_used_is_renewed_in_passing(house: Gatehouse) -> None:
    """Whoever calls all the time never waits for the database."""
    token = (await house.worker(await house.service()))["access_token"]
    await house.known(token)
    reads = len([query for query in house.store.reads if isinstance(query, FindSessions)])
    house.later = 4
    found: list[Any] = []
    house.hall.identities.identify(f"Bearer {token}".encode(), "worker", found.append)
    assert len(found) == 1
    await house.hall.identities._sessions.one("somebody else's, read after it")
    assert len([query for query in house.store.reads if isinstance(query, FindSessions)]) > reads


async def test_a_ring_makes_stale(house: Gatehouse) -> None:
    """And are rung on change: another server's ring counts at once."""
    token = (await house.worker(await house.service()))["access_token"]
    await house.known(token)
    await house.store.store.commit([DeleteService("math")])
    house.wakeups.ring(topic_of_access("worker", "math"))
    await house.refused(token, "missing_or_invalid_bearer")


async def test_a_revoked_secret_that_is_rung_elsewhere(house: Gatehouse) -> None:
    """A secret that another server retired does not log in here any more."""
    old = await house.service()
    await house.worker(old)
    await house.service(secret=CHOSEN)
    await house.store.store.commit([PutService("math", retire=True)])
    house.wakeups.ring("*")
    await house.worker(old, status=401)


async def test_servers_that_bring_the_same_new_secret_at_once(store: Store) -> None:
    """Declared in `hall.toml`: servers that start at once with a new secret leave the one before valid."""
    async with gatehouse(store) as one, gatehouse(store) as two:
        wish = ServiceWish(secret=CHOSEN)
        old = await one.service()
        put = [put_service(house.hall, "math", wish, Choice(spare=False)) for house in (one, two)]
        assert await asyncio.gather(*put) == [Stored(False), Stored(False)]
        secrets = await store.read(FindSecrets((("worker", "math"),)))
        assert [(secret.kind, secret.previous) for secret in secrets] == [("argon2", False), ("sha256", True)]
        two.wakeups.ring("*")
        await two.worker(CHOSEN)
        await two.worker(old)


async def test_keys_are_replaced(house: Gatehouse) -> None:
    """Keys are rotatable: the previous one is accepted for one token lifetime, and signs no more."""
    secret = await house.service()
    before = (await house.worker(secret))["access_token"]
    kid = await house.hall.identities.signing.rotate()
    after = (await house.worker(secret))["access_token"]
    assert jwt.get_unverified_header(after)["kid"] == kid != jwt.get_unverified_header(before)["kid"]
    await house.known(before)
    await house.known(after)
    signing = house.hall.identities.signing
    signing.clock = wall_clock  # by which the token itself stays in time
    house.later = signing.lifetime_seconds + 1
    house.hall.identities._remembered.clear()
    await house.refused(before, "missing_or_invalid_bearer")
    await house.known(after)


async def test_another_server_learns_a_new_key(house: Gatehouse, store: Store) -> None:
    """A token with a key that is not known yet has the keys read again."""
    secret = await house.service()
    await house.worker(secret)
    async with gatehouse(store, house.hall.keyrings) as other:
        await other.hall.identities.signing.rotate()
        token = (await other.worker(secret))["access_token"]
        await house.known(token)
        assert jwt.get_unverified_header((await house.worker(secret))["access_token"])["kid"]


async def test_two_servers_that_start_at_once_agree_on_a_key(store: Store) -> None:
    """One of several makes the key, all use it."""
    keyrings = Keyrings(Keyring(), Keyring([ONE]))
    async with gatehouse(store, keyrings) as one, gatehouse(store, keyrings) as two:
        await asyncio.gather(one.hall.identities.signing.prepare(), two.hall.identities.signing.prepare())
        assert len(await store.read(FindSigningKeys())) == 1
        await two.known((await one.worker(await one.service()))["access_token"])


async def test_a_key_that_cannot_be_opened_is_replaced(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """If no key opens a stored signing key, a new one is made: tokens die, workers log in again."""
    async with gatehouse(store, Keyrings(Keyring(), Keyring([ONE]))) as before:
        secret = await before.service()
        tokens = await before.worker(secret)
    async with gatehouse(store, Keyrings(Keyring(), Keyring([TWO]))) as after:
        await after.hall.identities.signing.prepare()
        assert "a new one is made" in caplog.text
        await after.refused(tokens["access_token"], "missing_or_invalid_bearer")
        await after.known((await after.refresh(tokens["refresh_token"]))["access_token"])
        await after.known((await after.worker(secret))["access_token"])


async def test_a_key_is_sealed_anew_when_keys_change(store: Store) -> None:
    """Two keys are valid for rotation; afterwards the old one is not needed."""
    async with gatehouse(store, Keyrings(Keyring(), Keyring([ONE]))) as before:
        token = (await before.worker(await before.service()))["access_token"]
    for keys in ([TWO, ONE], [TWO]):
        async with gatehouse(store, Keyrings(Keyring(), Keyring(keys))) as house:
            await house.hall.identities.signing.prepare()
            await house.known(token)


async def test_only_our_signatures_count(house: Gatehouse) -> None:
    """Only HS256 is accepted, only with our keys, only from us, and only whole."""
    token = (await house.worker(await house.service()))["access_token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    kid = jwt.get_unverified_header(token)["kid"]
    key, _ = house.hall.identities.signing._keys[kid]
    forged = {
        "nothing": jwt.encode(claims, None, "none", headers={"kid": kid}),
        "another key": jwt.encode(claims, b"x" * 32, "HS256", headers={"kid": kid}),
        "another algorithm": jwt.encode(claims, key * 2, "HS512", headers={"kid": kid}),
        "right key, other algorithm": jwt.encode(claims, key * 2, "HS384", headers={"kid": kid}),
        "no key named": jwt.encode(claims, key, "HS256"),
        "another issuer": jwt.encode({**claims, "iss": "x"}, key, "HS256", headers={"kid": kid}),
        "no session": jwt.encode({**claims, "sid": "x"}, key, "HS256", headers={"kid": kid}),
        "another's session": jwt.encode({**claims, "sub": "x"}, key, "HS256", headers={"kid": kid}),
        "another service": jwt.encode({**claims, "service_id": "x"}, key, "HS256", headers={"kid": kid}),
        "no end": jwt.encode({n: v for n, v in claims.items() if n != "exp"}, key, "HS256", headers={"kid": kid}),
        "no text": jwt.encode({**claims, "exp": "x"}, key, "HS256", headers={"kid": kid}),
        "altered": token[:-8] + "AAAAAAAA",
        "cut": token.rpartition(".")[0],
    }
    for what, bad in forged.items():
        assert isinstance(await house.who(bad), Refused), what
    as_client = jwt.encode({**claims, "role": "client"}, key, "HS256", headers={"kid": kid})
    await house.refused(as_client, "missing_or_invalid_bearer", "client")


async def test_an_unknown_key_costs_a_look_a_second(house: Gatehouse) -> None:
    """Tokens with made-up keys do not make the database busy."""
    await house.worker(await house.service())
    bad = [jwt.encode({"a": 1}, b"x" * 32, "HS256", headers={"kid": str(number)}) for number in range(50)]
    before = len([query for query in house.store.reads if isinstance(query, FindSigningKeys)])
    outcomes = await asyncio.gather(*(house.who(token) for token in bad))
    assert all(isinstance(outcome, Refused) for outcome in outcomes)
    assert len([query for query in house.store.reads if isinstance(query, FindSigningKeys)]) - before <= 2


async def test_no_secret_in_logs_and_answers(house: Gatehouse, caplog: pytest.LogCaptureFixture) -> None:
    """Never in logs nor error texts: not the secret, nor a wrong one, nor a token."""
    caplog.set_level(logging.DEBUG)
    await house.service(secret=CHOSEN)
    answers: list[Any] = [await house.worker("a wrong secret", status=401)]
    tokens = await house.worker(CHOSEN)
    answers.append(await house.refresh("a-wrong-refresh-token", 401))
    answers.append(await house.who(tokens["access_token"] + "x"))
    house.store.away = True
    house.later = 6
    answers.append(await house.worker(CHOSEN, status=503))
    said = caplog.text + repr(answers)
    for word in (CHOSEN, "a wrong secret", "a-wrong-refresh-token", *map(str, tokens.values())):
        if word not in ("Bearer", "3600"):
            assert word not in said


async def test_lifetimes_may_be_fractions(store: Store) -> None:
    """Fractions of a second are allowed in durations."""
    async with gatehouse(store, token_lifetime=2.5) as house:
        answer = await house.worker(await house.service())
        assert answer["expires_in"] == 2.5
        house.later = 2.4
        await house.known(answer["access_token"])
        house.later = 2.6
        await house.refused(answer["access_token"], "missing_or_invalid_bearer")
