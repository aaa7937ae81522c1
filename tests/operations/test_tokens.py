"""Tokens: what opens what."""

from __future__ import annotations

import re

import pytest

from hiringhall.auth.tokens import BEARERS_REMEMBERED_MAX, Tokens, hash_of, make_token, make_worker_id, split_values

TOKENS = Tokens(operator=["op"], bootstrap=["boot", "boot2"], worker=["work"], metrics=["met"])


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (None, "missing bearer token"),
        (b"", "invalid authorization scheme"),
        (b"Basic abc", "invalid authorization scheme"),
        (b"Bearer", "empty bearer token"),
        (b"Bearer    ", "empty bearer token"),
        (b"Bearer\ttok", "invalid authorization scheme"),
    ],
)
def test_headers_without_a_token(header: bytes | None, complaint: str) -> None:
    """What holds no token opens nothing, and says why."""
    bearer = TOKENS.bearer(header)
    assert bearer.complaint.startswith(complaint)
    assert not any((bearer.is_operator, bearer.is_bootstrap, bearer.is_worker, bearer.is_metrics))


@pytest.mark.parametrize("header", [b"Bearer work", b"bearer work", b"BEARER   work  "])
def test_the_scheme_is_case_insensitive(header: bytes) -> None:
    """Blanks around the token and the case of the scheme do not matter."""
    bearer = TOKENS.bearer(header)
    assert bearer.is_worker
    assert not bearer.complaint


def test_each_token_opens_its_own() -> None:
    """A token of one kind opens nothing of another; of two values both count."""
    assert [TOKENS.bearer(b"Bearer " + name).is_bootstrap for name in (b"boot", b"boot2", b"work", b"boot3")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert TOKENS.bearer(b"Bearer op").is_operator
    assert TOKENS.bearer(b"Bearer met").is_metrics


def test_tokens_beyond_ascii_are_wrong_tokens() -> None:
    """Any bytes may come; they are compared as bytes."""
    assert not TOKENS.bearer(b"Bearer \xff\xfe\xc3\xa9").is_worker
    assert Tokens(worker=["tökén"]).bearer("Bearer tökén".encode()).is_worker


def test_what_is_remembered_is_bounded() -> None:
    """Each header value is looked into once, and not all are kept for ever."""
    tokens = Tokens(worker=["work"])
    assert tokens.bearer(b"Bearer x") is tokens.bearer(b"Bearer x")
    for number in range(BEARERS_REMEMBERED_MAX + 10):
        tokens.bearer(b"Bearer %d" % number)
    assert len(tokens._remembered) <= BEARERS_REMEMBERED_MAX


def test_made_tokens_and_ids() -> None:
    """Tokens have 43 URL-safe characters, worker ids are `w-` and 12."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", make_token())
    assert re.fullmatch(r"w-[A-Za-z0-9_-]{12}", make_worker_id())
    assert make_worker_id() != make_worker_id()
    assert len(hash_of(b"x")) == 32


def test_up_to_two_values() -> None:
    """A setting takes two values, so that a token can be replaced without an outage; more is an error."""
    assert split_values("") == ()
    assert split_values(" a , b ") == ("a", "b")
    with pytest.raises(ValueError, match="up to 2"):
        split_values("a,b,c")
