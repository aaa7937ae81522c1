"""Secrets of services and clients: made ones are stored as SHA-256, chosen ones as Argon2id."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from hiringhall.auth.tokens import make_token
from hiringhall.ports.identity import HashedSecret, SecretView

CHECKS_OF_A_WRONG_ONE: Final = 2
"""A wrong secret costs as many checks as an owner may have secrets, so that none can be told from one that is not."""
_hasher: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
_nobodys: Final = _hasher.hash(make_token())


def new_id() -> str:
    """A new id of a secret or a session."""
    return secrets.token_urlsafe(16)


def made_secret() -> tuple[str, HashedSecret]:
    """A new secret of 256 bits, and how it is stored: there is nothing to guess."""
    secret = make_token()
    return secret, HashedSecret(new_id(), "sha256", sha256(secret.encode()).hexdigest())


def hash_chosen(secret: str) -> HashedSecret:
    """How a secret that somebody chose is stored. Takes tens of milliseconds and 19 MiB."""
    return HashedSecret(new_id(), "argon2", _hasher.hash(secret.encode()))


def made_one_of(views: Sequence[SecretView], secret: str) -> str | None:
    """The id of the made secret that it is, if it is one of them."""
    digest = sha256(secret.encode()).hexdigest()
    found = None
    for view in views:
        if view.kind == "sha256" and compare_digest(view.hash, digest):
            found = view.id
    return found


def chosen_one_of(views: Sequence[SecretView], secret: str) -> str | None:
    """The id of the chosen secret that it is, if any; a wrong one takes the same time whatever there is."""
    chosen = [view for view in views if view.kind == "argon2"]
    for view in chosen:
        if _matches(view.hash, secret):
            return view.id
    for _ in range(CHECKS_OF_A_WRONG_ONE - len(chosen)):
        _matches(_nobodys, secret)
    return None


def _matches(stored: str, secret: str) -> bool:
    try:
        return _hasher.verify(stored, secret.encode())
    except (VerificationError, InvalidHashError):
        return False
