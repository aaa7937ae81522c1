"""Logins and their refresh tokens, and the keys that sign tokens."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from hiringhall.domain.names import service_worker
from hiringhall.domain.topics import SIGNING_KEYS, topic_of_access, topic_of_worker
from hiringhall.ports.asks import Swept
from hiringhall.ports.identity import (
    REPLAY_MS,
    BeginSession,
    EndSessions,
    FindSessions,
    FindSigningKeys,
    ForgetLogins,
    PutSigningKey,
    RefreshSession,
    Reseal,
    Session,
    SessionView,
    SigningKeyView,
)
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.identity import asked_at


def begin_session(context: Context, asks: Sequence[BeginSession]) -> Procedure:
    """Log in, as far as the secrets are still valid."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch(
            "insert_session",
            {
                "sid": ask.sid, "role": ask.role, "subject": ask.subject, "service": ask.service,
                "secret": ask.secret, "now": context.now, "expires_at": context.now + ask.lifetime_ms,
            },
        )  # fmt: skip
        if rows:
            yield _new_refresh_token(context, ask.sid, ask.refresh_hash, None)
        outcomes.append(bool(rows))
    return outcomes


def _new_refresh_token(context: Context, sid: str, token_hash: bytes, parent: bytes | None) -> Many:
    row = {"hash": token_hash, "sid": sid, "parent": parent, "now": context.now}
    return Many("insert_refresh_token", [row])


def refresh_session(context: Context, asks: Sequence[RefreshSession]) -> Procedure:
    """Exchange refresh tokens."""
    outcomes = []
    for ask in asks:
        outcome = yield from _refresh(context, ask)
        outcomes.append(outcome)
    return outcomes


def _refresh(context: Context, ask: RefreshSession) -> Generator[Step, list[Row], Session | None]:
    found = yield Fetch("find_refresh_token", {"hash": ask.old_hash})
    if not found:
        return None
    sid, _, superseded = found[0]
    # Locks the login, so that what follows is decided for one request after the other.
    expires_at = context.now + ask.lifetime_ms
    extended = {"sid": sid, "role": ask.role, "now": context.now, "expires_at": expires_at}
    sessions = yield Fetch("extend_session", extended)
    if not sessions:
        return None
    _, subject, service = sessions[0]
    used = yield Fetch("use_refresh_token", {"hash": ask.old_hash, "now": context.now})
    if not used:
        again = yield Fetch("find_refresh_token", {"hash": ask.old_hash})
        used_at = again[0][1] if again else None
        successors = yield Fetch("find_used_successors", {"hash": ask.old_hash})
        if superseded or used_at is None or context.now - used_at > REPLAY_MS or successors:
            yield Many("end_session", [{"sid": sid, "now": context.now}])
            context.ring(topic_of_access("client", subject) if service is None else _topic(service, subject))
            return None
    else:
        yield Many("supersede_siblings", [{"hash": ask.old_hash}])
    yield _new_refresh_token(context, sid, ask.new_hash, ask.old_hash)
    return Session(sid, subject, service)


def _topic(service: str, worker_id: str) -> str:
    return topic_of_worker(service_worker(service, worker_id))


def end_sessions(context: Context, asks: Sequence[EndSessions]) -> Procedure:
    """End the logins of workers."""
    outcomes = []
    for ask in asks:
        ended = yield from end_logins_of(context, ask.service, ask.worker_id)
        outcomes.append(ended)
    return outcomes


def end_logins_of(context: Context, service: str, worker_id: str) -> Generator[Step, list[Row], int]:
    """End the logins of a worker; also a part of removing it."""
    rows = yield Fetch("end_sessions", {"service": service, "subject": worker_id, "now": context.now})
    if rows:
        context.ring(_topic(service, worker_id))
    return len(rows)


def put_signing_key(context: Context, asks: Sequence[PutSigningKey]) -> Procedure:
    """Replace the key that signs, unless somebody else has done so."""
    outcomes = []
    for ask in asks:
        free = True
        if ask.instead_of is not None:
            free = bool((yield Fetch("retire_signing_key", {"kid": ask.instead_of, "now": context.now})))
        rows = []
        if free:
            rows = yield Fetch("insert_signing_key", {"kid": ask.kid, "sealed": ask.sealed, "now": context.now})
        if rows:
            context.ring(SIGNING_KEYS)
        outcomes.append(bool(rows))
    return outcomes


def reseal(_: Context, asks: Sequence[Reseal]) -> Procedure:
    """Store signing keys and settings sealed anew."""
    for ask in asks:
        if ask.keys:
            yield Many(
                "reseal_signing_key",
                [{"kid": kid, "before": before, "sealed": now} for kid, (before, now) in sorted(ask.keys.items())],
            )
        if ask.settings:
            yield Many(
                "reseal_setting",
                [
                    {"service": service, "name": name, "before": before, "sealed": now}
                    for (service, name), (before, now) in sorted(ask.settings.items())
                ],
            )
    return [None] * len(asks)


def forget_logins(context: Context, asks: Sequence[ForgetLogins]) -> Procedure:
    """Delete what has ended, in portions."""
    outcomes = []
    for ask in asks:
        now = context.now
        ended = yield Fetch("find_ended_sessions", {"now": now, "limit": ask.limit})
        if ended:
            yield Many("delete_refresh_tokens", [{"sid": row[0]} for row in ended])
            yield Many("delete_session", [{"sid": row[0]} for row in ended])
        before = now - ask.keep_used_refresh_ms
        used = yield Fetch("delete_used_refresh_tokens", {"before": before, "limit": ask.limit})
        secrets = yield Fetch("delete_ended_secrets", {"now": now})
        keys = yield Fetch("delete_retired_keys", {"before": now - ask.keep_keys_ms})
        more = len(ended) == ask.limit or len(used) == ask.limit
        outcomes.append(Swept(len(ended) + len(used) + len(secrets) + len(keys), more))
    return outcomes


# --- questions


def find_sessions(context: Context, query: FindSessions) -> Procedure:
    """Logins by id."""
    rows = yield Fetch("find_sessions", {"sids": list(query.sids), "now": asked_at(context, query.now)})
    return [SessionView(row[0], row[1], row[2], row[3], row[4], bool(row[5]), row[6]) for row in rows]


def find_signing_keys(context: Context, query: FindSigningKeys) -> Procedure:
    """All signing keys."""
    rows = yield Fetch("find_signing_keys", {"now": asked_at(context, query.now)})
    return [SigningKeyView(*row) for row in rows]
