"""Admitting workers: by the bootstrap token, or on the fly when one with the shared token claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hiringhall.auth.tokens import hash_of, make_token, make_worker_id
from hiringhall.domain.names import plan_worker
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Found
from hiringhall.ports.asks import Register


@dataclass(frozen=True, slots=True)
class Admitted:
    """A new worker. The token is known to nobody else and cannot be told again."""

    worker_id: str
    token: str


def admit(hall: Hall, hostname: str, done: Callable[[Admitted | Exception | None], None]) -> None:
    """ "Mint a fresh (worker_id, token) pair." None: the id is taken, "nearly impossible (64 bits of entropy)"."""
    admitted = Admitted(make_worker_id(), make_token())

    def registered(outcome: Any) -> None:
        if isinstance(outcome, Exception):
            done(outcome)
        else:
            done(admitted if outcome else None)

    token_hash = hash_of(admitted.token.encode())
    hall.coalescer.ask(Register(plan_worker(admitted.worker_id), hostname, token_hash), registered)


def admit_on_the_fly(hall: Hall, worker_id: str, found: Found) -> None:
    """Register a worker that never did, since workers of the first protocol version skip that; then find it."""
    key = plan_worker(worker_id)

    def registered(outcome: Any) -> None:
        if isinstance(outcome, Exception):
            found(outcome)
        else:
            hall.presence.find(key, found)

    hall.coalescer.ask(Register(key, known_is_fine=True), registered)
