"""Bearer tokens: made, hashed, compared in constant time, and sorted by what they open.

Comparisons are on bytes: a token with characters beyond ASCII is a wrong token, not an error.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from hashlib import sha256
from hmac import compare_digest
from typing import Final

BEARERS_REMEMBERED_MAX: Final = 20_000
VALUES_MAX: Final = 2


def hash_of(token: bytes) -> bytes:
    """The SHA-256 of a token, which is all that is kept of one that was made here."""
    return sha256(token).digest()


def make_token() -> str:
    """A new token: 256 bits, 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def make_worker_id() -> str:
    """A new worker id: `w-` and 12 URL-safe characters."""
    return "w-" + secrets.token_urlsafe(9)


def split_values(setting: str) -> tuple[str, ...]:
    """The values of a token setting: up to two, comma-separated, so that a token can be replaced without an outage.

    Raises:
        ValueError: there are more, or the setting is given and holds none, so that nothing could open anything.
    """
    values = tuple(part.strip() for part in setting.split(",") if part.strip())
    if len(values) > VALUES_MAX:
        raise ValueError(f"takes up to {VALUES_MAX} values, comma-separated, not {len(values)}")
    if setting and not values:
        raise ValueError("holds no token")
    return values


class Bearer:
    """What an Authorization header opens. `hash`: of its token, for those that belong to one worker."""

    __slots__ = ("complaint", "hash", "is_bootstrap", "is_metrics", "is_operator", "is_worker")

    def __init__(self, token: bytes | None, complaint: str = "") -> None:
        self.hash = b"" if token is None else hash_of(token)
        self.complaint = complaint
        """Why it opens nothing at all; empty if it holds a token."""
        self.is_operator = self.is_bootstrap = self.is_worker = self.is_metrics = False


class Tokens:
    """The configured tokens of a hall."""

    def __init__(
        self,
        *,
        operator: Iterable[str] = (),
        bootstrap: Iterable[str] = (),
        worker: Iterable[str] = (),
        metrics: Iterable[str] = (),
    ) -> None:
        self._operator = [hash_of(token.encode()) for token in operator]
        self._bootstrap = [hash_of(token.encode()) for token in bootstrap]
        self._worker = [hash_of(token.encode()) for token in worker]
        self._metrics = [hash_of(token.encode()) for token in metrics]
        self._remembered: dict[bytes | None, Bearer] = {}

    def bearer(self, header: bytes | None) -> Bearer:
        """What an Authorization header opens; each value is looked into once."""
        found = self._remembered.get(header)
        if found is None:
            if len(self._remembered) >= BEARERS_REMEMBERED_MAX:
                self._remembered.clear()
            found = self._remembered[header] = self._sort(header)
        return found

    def _sort(self, header: bytes | None) -> Bearer:
        if header is None:
            return Bearer(None, "missing bearer token")
        scheme, _, rest = header.partition(b" ")
        if scheme.lower() != b"bearer":
            return Bearer(None, "invalid authorization scheme: expected 'Bearer <token>'")
        token = rest.strip()
        if not token:
            return Bearer(None, "empty bearer token")
        bearer = Bearer(token)
        bearer.is_operator = _is_one_of(bearer.hash, self._operator)
        bearer.is_bootstrap = _is_one_of(bearer.hash, self._bootstrap)
        bearer.is_worker = _is_one_of(bearer.hash, self._worker)
        bearer.is_metrics = _is_one_of(bearer.hash, self._metrics)
        return bearer


def _is_one_of(token_hash: bytes, hashes: list[bytes]) -> bool:
    found = False
    for known in hashes:
        found |= compare_digest(token_hash, known)
    return found


def wall_clock() -> float:
    """The time of day in seconds since the epoch, by which tokens expire."""
    return time.time()
