"""Secrets, keys, sources and failed attempts: the parts from which logging in is made."""

from __future__ import annotations

import asyncio
import base64
import threading
from pathlib import Path

import pytest

from hiringhall.auth.attempts import FAILURES_MAX, PAIRS_MAX, Attempts
from hiringhall.auth.credentials import chosen_one_of, hash_chosen, made_one_of, made_secret
from hiringhall.auth.keyring import BadKey, Keyring, key_of_folder, keys_from_tokens, read_keys
from hiringhall.auth.source import Sources, read_networks
from hiringhall.auth.verifier import WAITING_MAX, WAITING_OF_A_SOURCE_MAX, Verifier
from hiringhall.ports.identity import HashedSecret, SecretView

ONE, TWO = b"1" * 32, b"2" * 32


def view(stored: HashedSecret) -> SecretView:
    """A stored secret as it is read."""
    return SecretView("worker", "math", stored.id, stored.kind, stored.hash, previous=False)


def test_made_secrets_are_stored_as_sha256() -> None:
    """Made secrets (256 bit) are stored as SHA-256."""
    secret, stored = made_secret()
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32
    assert (stored.kind, len(stored.hash)) == ("sha256", 64)
    assert secret not in repr(stored)
    assert made_one_of([view(stored)], secret) == stored.id
    assert made_one_of([view(stored)], secret + "x") is None


def test_chosen_secrets_are_stored_as_argon2id() -> None:
    """Chosen ones as Argon2id (19 MiB, t=2)."""
    stored = hash_chosen("chosen ü")
    assert stored.hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert chosen_one_of([view(stored)], "chosen ü") == stored.id
    assert chosen_one_of([view(stored)], "chosen u") is None
    assert chosen_one_of([], "chosen ü") is None
    assert made_one_of([view(stored)], "chosen ü") is None


def test_what_is_sealed_is_bound_to_its_place() -> None:
    """AES-GCM: only the key that sealed opens, only for what was sealed, and never what was altered."""
    keyring = Keyring([ONE])
    sealed = keyring.seal(b"secret", "here")
    assert b"secret" not in base64.urlsafe_b64decode(sealed.rpartition(".")[2])
    assert keyring.open(sealed, "here") == b"secret"
    assert keyring.open(sealed, "there") is None
    assert Keyring([TWO]).open(sealed, "here") is None
    assert keyring.seal(b"secret", "here") != sealed
    for altered in (sealed[:-2] + "AA", "v2" + sealed[2:], "", "v1.x", sealed.rpartition(".")[0] + ".!"):
        assert keyring.open(altered, "here") is None


def test_two_keys_are_valid_for_rotation() -> None:
    """The first one seals, both open, and what the second sealed is found out."""
    before = Keyring([ONE]).seal(b"secret", "here")
    both = Keyring([TWO, ONE])
    assert both.open(before, "here") == b"secret"
    assert not both.is_sealed_with_first(before)
    after = both.seal(b"secret", "here")
    assert both.is_sealed_with_first(after)
    assert Keyring([TWO]).open(after, "here") == b"secret"


@pytest.mark.parametrize("text", ["", ",", "x", "AAAA", base64.b64encode(ONE + b"1").decode(), "ü" * 43])
def test_keys_that_are_none(text: str) -> None:
    """32 bytes, base64; the complaint does not show what it was."""
    with pytest.raises(BadKey) as caught:
        read_keys(text)
    assert not text.strip(", ") or text not in str(caught.value)


def test_keys_are_read() -> None:
    """One or two, in either alphabet of base64, with or without padding, from a line or two."""
    key = bytes(range(223, 255))
    for text in (base64.b64encode(key), base64.urlsafe_b64encode(key), base64.b64encode(key).rstrip(b"=")):
        assert read_keys(text.decode()) == [key]
    assert read_keys(f" {base64.b64encode(ONE).decode()} ,{base64.b64encode(TWO).decode()}\n") == [ONE, TWO]
    with pytest.raises(BadKey, match="one key, or 2"):
        read_keys(",".join([base64.b64encode(ONE).decode()] * 3))


def test_a_folder_keeps_its_key(tmp_path: Path) -> None:
    """The key of a folder is made once; a file that holds something else is named."""
    made = key_of_folder(tmp_path)
    assert key_of_folder(tmp_path) == made
    (tmp_path / "key").write_bytes(b"\xff")
    with pytest.raises(BadKey, match=str(tmp_path / "key")):
        key_of_folder(tmp_path)


def test_keys_from_tokens() -> None:
    """Whoever has the same operator tokens has the same keys."""
    assert keys_from_tokens(["a", "b"]) == [*keys_from_tokens(["a"]), *keys_from_tokens(["b"])]
    assert len({*keys_from_tokens(["a", "b"])}) == 2
    assert len(keys_from_tokens(["a"])[0]) == 32


def test_ten_failures_a_minute() -> None:
    """10 a minute, then no more until the first of them is a minute ago; others unaffected."""
    attempts = Attempts()
    who, other = ("here", "worker", "math"), ("there", "worker", "math")
    for second in range(FAILURES_MAX):
        assert attempts.wait_seconds(who, float(second)) == 0
        attempts.begin(who, float(second))
    assert attempts.wait_seconds(who, 9.5) == 51
    assert attempts.wait_seconds(who, 59.9) == 1
    assert attempts.wait_seconds(other, 9.5) == 0
    assert attempts.wait_seconds(who, 60.0) == 0
    attempts.begin(who, 60.0)
    assert attempts.wait_seconds(who, 60.5) == 1


def test_success_does_not_count() -> None:
    """An attempt counts from its beginning, until it turns out to be none."""
    attempts = Attempts()
    who = ("here", "worker", "math")
    for _ in range(FAILURES_MAX):
        attempts.begin(who, 1.0)
    assert attempts.wait_seconds(who, 1.0)
    attempts.succeeded(who, 1.0)
    assert not attempts.wait_seconds(who, 1.0)


def test_what_is_counted_is_bounded() -> None:
    """Those who have not failed for longest are forgotten first."""
    attempts = Attempts()
    for number in range(PAIRS_MAX + 10):
        attempts.begin((str(number), "worker", "math"), 0.0)
    assert len(attempts._failures) == PAIRS_MAX
    assert ("0", "worker", "math") not in attempts._failures


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "source"),
    [
        ("", "10.0.0.1", ["1.2.3.4"], "10.0.0.1"),
        ("10.0.0.0/8", "192.0.2.1", ["1.2.3.4"], "192.0.2.1"),
        ("10.0.0.0/8", "10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
        ("10.0.0.0/8", "10.0.0.1", ["6.6.6.6, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
        ("10.0.0.0/8", "10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4, nonsense"], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["1.2.3.4:5678"], "1.2.3.4"),
        ("::1, 10.0.0.1", "::1", ["[2001:db8::1]:80"], "2001:db8::1"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.0/8", "", ["1.2.3.4"], ""),
    ],
)
def test_the_source_of_a_request(trusted: str, peer: str, forwarded: list[str], source: str) -> None:
    """The peer, or the last address of `X-Forwarded-For` added by a peer in `HALL_TRUSTED_PROXIES`."""
    headers = [(b"host", b"h"), *((b"x-forwarded-for", line.encode()) for line in forwarded)]
    assert Sources(read_networks(trusted)).of(peer, headers) == source


def test_networks_that_are_none() -> None:
    """A network that is none is refused, without showing it."""
    with pytest.raises(ValueError, match="must be networks like") as caught:
        read_networks("10.0.0.0/8, s3cret")
    assert "s3cret" not in str(caught.value)


async def test_the_queue_of_slow_hashes_is_bounded() -> None:
    """Verified in one thread with a bounded queue, in which nobody takes all the room."""
    verifier = Verifier(asyncio.get_running_loop())
    gate, all_done = threading.Event(), asyncio.Event()
    results: list[object] = []

    def done(result: object) -> None:
        results.append(result)
        if len(results) == WAITING_MAX:
            all_done.set()

    assert verifier.compute(gate.wait, "first", done)
    taken = [verifier.compute(lambda: None, "one", done) for _ in range(WAITING_OF_A_SOURCE_MAX + 5)]
    assert taken.count(True) == WAITING_OF_A_SOURCE_MAX
    others = [verifier.compute(lambda: None, f"source {number}", done) for number in range(WAITING_MAX)]
    assert others.count(True) == WAITING_MAX - WAITING_OF_A_SOURCE_MAX - 1
    gate.set()
    await asyncio.wait_for(all_done.wait(), 5)
    assert verifier.compute(lambda: None, "one", done)
    verifier.stop()


async def test_a_bug_in_a_job_is_its_own() -> None:
    """What a job raises is told to whoever wanted it, and the thread goes on."""
    verifier = Verifier(asyncio.get_running_loop())
    with pytest.raises(ZeroDivisionError):
        await verifier.result(lambda: 1 / 0, "here")
    assert await verifier.result(lambda: 2, "here") == 2
    verifier.stop()
