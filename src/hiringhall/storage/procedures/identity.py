"""Services and clients: make, change, pause and remove them, with their secrets, settings and logins."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from hiringhall.domain.call import Dispatch
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_access, topic_of_client, topic_of_service
from hiringhall.ports.identity import (
    PREVIOUS_SECRET_MS,
    ClientView,
    DeleteClient,
    DeleteService,
    FindClients,
    FindSecrets,
    FindServices,
    ListClients,
    ListServices,
    PauseService,
    Put,
    PutClient,
    PutService,
    ReadSettings,
    Role,
    SecretView,
    ServiceView,
)
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.lanes import lock_services, pause_lanes
from hiringhall.storage.procedures.steer_calls import end_service


def put_service(context: Context, asks: Sequence[PutService]) -> Procedure:
    """Make services, or change what is said of those that there are."""
    outcomes = []
    for ask in asks:
        made = yield Fetch(
            "insert_service",
            {
                "service": ask.service,
                "dispatch": ask.dispatch or Dispatch.EXCLUSIVE.value,
                "methods": ask.methods or "{}",
                "now": context.now,
            },
        )
        if not made:  # locks it too, so that two who bring a secret do so one after the other
            yield Fetch("update_service", {"service": ask.service, "dispatch": ask.dispatch, "methods": ask.methods})
        outcomes.append((yield from _put_secret(context, "worker", ask.service, ask, created=bool(made))))
        names = sorted(ask.settings)
        sealed = [{"service": ask.service, "name": name, "sealed": ask.settings[name]} for name in names]
        if removed := [{"service": row["service"], "name": row["name"]} for row in sealed if row["sealed"] is None]:
            yield Many("delete_setting", removed)
        if kept := [row for row in sealed if row["sealed"] is not None]:
            yield Many("upsert_setting", kept)
        context.ring(topic_of_service(ask.service))
        context.ring(topic_of_access("worker", ask.service))
    return outcomes


def put_client(context: Context, asks: Sequence[PutClient]) -> Procedure:
    """Make clients, or change what is said of those that there are."""
    outcomes = []
    for ask in asks:
        made = yield Fetch("insert_client", {"client": ask.client, "allow": ask.allow or "[]", "now": context.now})
        if not made:
            yield Fetch("update_client", {"client": ask.client, "allow": ask.allow})
        outcomes.append((yield from _put_secret(context, "client", ask.client, ask, created=bool(made))))
        context.ring(topic_of_client(ask.client))
        context.ring(topic_of_access("client", ask.client))
    return outcomes


def _put_secret(
    context: Context, role: Role, owner: str, ask: PutService | PutClient, *, created: bool
) -> Generator[Step, list[Row], Put]:
    """A new secret leaves the one before valid for a while, and ends the one before that. The owner's row is locked."""
    spare_used = created and ask.secret is None and ask.spare is not None
    secret = ask.spare if spare_used else ask.secret
    whose = {"role": role, "owner": owner}
    if secret is None:
        if ask.retire:
            yield Many("delete_previous_secrets", [whose])
        return Put(created)
    if ask.instead_of is not None:
        present = yield Fetch("find_present_secret", whose)
        if [row[0] for row in present] != [ask.instead_of]:
            return Put(created, outrun=True)
    if ask.retire:
        yield Many("delete_secrets", [whose])
    else:
        yield Many("delete_previous_secrets", [whose])
        yield Many("outdate_secret", [{**whose, "valid_until": context.now + PREVIOUS_SECRET_MS}])
    row = {**whose, "id": secret.id, "kind": secret.kind, "hash": secret.hash, "now": context.now}
    yield Many("insert_secret", [row])
    return Put(created, spare_used)


def pause_service(context: Context, asks: Sequence[PauseService]) -> Procedure:
    """Stop or go on handing out the calls of services; leases stay valid."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch("pause_service", {"service": ask.service, "paused": int(ask.paused)})
        if rows:
            context.ring(topic_of_service(ask.service))
            yield from pause_lanes(context, ask.service, paused=ask.paused)
        outcomes.append(bool(rows))
    return outcomes


def delete_service(context: Context, asks: Sequence[DeleteService]) -> Procedure:
    """Remove services with everything that lets their workers in."""
    outcomes = []
    for ask in asks:
        outcome = yield from _delete_service(context, ask)
        outcomes.append(outcome)
    return outcomes


def _delete_service(context: Context, ask: DeleteService) -> Generator[Step, list[Row], bool | Refused]:
    if not (yield from lock_services([ask.service])):
        return False
    refused = yield from end_service(context, ask.service, force=ask.force)
    if refused is not None:
        return refused
    yield Fetch("delete_service", {"service": ask.service})
    yield Many("delete_settings", [{"service": ask.service}])
    sids = yield Fetch("find_sids_of_service", {"service": ask.service})
    yield from _remove_access(context, "worker", ask.service, (row[0] for row in sids))
    context.ring(topic_of_service(ask.service))
    return True


def delete_client(context: Context, asks: Sequence[DeleteClient]) -> Procedure:
    """Remove clients with everything that lets them in."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch("delete_client", {"client": ask.client})
        if rows:
            sids = yield Fetch("find_sids_of_client", {"client": ask.client})
            yield from _remove_access(context, "client", ask.client, (row[0] for row in sids))
            context.ring(topic_of_client(ask.client))
        outcomes.append(bool(rows))
    return outcomes


def _remove_access(context: Context, role: Role, owner: str, sids: Iterable[str]) -> Generator[Step, list[Row], None]:
    yield Many("delete_secrets", [{"role": role, "owner": owner}])
    ended = [{"sid": sid} for sid in sids]
    if ended:
        yield Many("delete_refresh_tokens", ended)
        yield Many("delete_session", ended)
    context.ring(topic_of_access(role, owner))


# --- questions


def asked_at(context: Context, now: int | None) -> int | None:
    """The time at which a question is asked; None leaves that to the database."""
    return now if now is not None else context.now or None


def find_services(context: Context, query: FindServices) -> Procedure:
    """Services by id."""
    rows = yield Fetch("find_services", {"services": list(query.services)})
    return (yield from _service_views(context, rows, query.now))


def list_services(context: Context, query: ListServices) -> Procedure:
    """A page of services."""
    rows = yield Fetch("list_services", {"after": query.after, "limit": query.limit})
    return (yield from _service_views(context, rows, query.now))


def _service_views(context: Context, rows: list[Row], now: int | None) -> Generator[Step, list[Row], list[ServiceView]]:
    ids = [row[0] for row in rows]
    named = (yield Fetch("find_setting_names", {"services": ids})) if ids else []
    names: dict[str, list[str]] = {}
    for service, name in named:
        names.setdefault(service, []).append(name)
    counts = yield from _count_secrets(context, "worker", ids, now)
    return [
        ServiceView(row[0], row[1], row[2], bool(row[3]), row[4], tuple(names.get(row[0], ())), counts.get(row[0], 0))
        for row in rows
    ]


def find_clients(context: Context, query: FindClients) -> Procedure:
    """Clients by id."""
    rows = yield Fetch("find_clients", {"clients": list(query.clients)})
    return (yield from _client_views(context, rows, query.now))


def list_clients(context: Context, query: ListClients) -> Procedure:
    """A page of clients."""
    rows = yield Fetch("list_clients", {"after": query.after, "limit": query.limit})
    return (yield from _client_views(context, rows, query.now))


def _client_views(context: Context, rows: list[Row], now: int | None) -> Generator[Step, list[Row], list[ClientView]]:
    counts = yield from _count_secrets(context, "client", [row[0] for row in rows], now)
    return [ClientView(row[0], row[1], row[2], counts.get(row[0], 0)) for row in rows]


def _count_secrets(
    context: Context, role: Role, owners: list[str], now: int | None
) -> Generator[Step, list[Row], dict[str, int]]:
    found = yield from _secrets(context, role, owners, now)
    counts: dict[str, int] = {}
    for secret in found:
        counts[secret.owner] = counts.get(secret.owner, 0) + 1
    return counts


def find_secrets(context: Context, query: FindSecrets) -> Procedure:
    """The valid secrets of services and clients."""
    found: list[SecretView] = []
    for role in ("worker", "client"):
        owners = [owner for kind, owner in query.owners if kind == role]
        found += yield from _secrets(context, role, owners, query.now)
    return found


def _secrets(
    context: Context, role: Role, owners: list[str], now: int | None
) -> Generator[Step, list[Row], list[SecretView]]:
    if not owners:
        return []
    asked = {"role": role, "owners": owners, "now": asked_at(context, now)}
    rows = yield Fetch("find_secrets", asked)
    return [SecretView(role, row[1], row[2], row[3], row[4], bool(row[5])) for row in rows]


def read_settings(_: Context, query: ReadSettings) -> Procedure:
    """The sealed settings of a service, or of all."""
    rows = yield Fetch("find_settings", {"service": query.service})
    return {(service, name): sealed for service, name, sealed in rows}
