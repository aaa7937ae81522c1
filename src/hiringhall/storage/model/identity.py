"""Services, clients, secrets, logins and signing keys, as the oracle keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hiringhall.domain.names import service_worker
from hiringhall.domain.topics import SIGNING_KEYS, topic_of_access, topic_of_client, topic_of_service, topic_of_worker
from hiringhall.ports import identity as port
from hiringhall.ports.asks import Swept

if TYPE_CHECKING:
    from hiringhall.storage.model.hall import Hall


@dataclass(slots=True)
class Service:
    """A service and its sealed settings."""

    made_at: int
    dispatch: str = "exclusive"
    methods: str = "{}"
    paused: bool = False
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Client:
    """A client and what it may call."""

    made_at: int
    allow: str = "[]"


@dataclass(slots=True)
class Secret:
    """A secret of an owner, at most two of which are valid."""

    stored: port.HashedSecret
    valid_until: int | None = None


@dataclass(slots=True)
class Login:
    """A session."""

    role: port.Role
    subject: str
    service: str | None
    secret: str
    expires_at: int
    incarnation: int | None = None
    ended: bool = False


@dataclass(slots=True)
class Refresh:
    """A refresh token."""

    sid: str
    parent: bytes | None
    used_at: int | None = None
    superseded: bool = False


@dataclass(slots=True)
class SigningKey:
    """A key that signs, or did."""

    sealed: str
    retired_at: int | None = None


@dataclass(slots=True)
class Gate:
    """Everything that lets somebody in."""

    services: dict[str, Service] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    secrets: dict[tuple[port.Role, str], list[Secret]] = field(default_factory=dict)  # the present one first
    logins: dict[str, Login] = field(default_factory=dict)
    refresh: dict[bytes, Refresh] = field(default_factory=dict)
    keys: dict[str, SigningKey] = field(default_factory=dict)

    def valid(self, role: port.Role, owner: str, now: int) -> list[Secret]:
        """The secrets of an owner with which one can log in."""
        return [
            each for each in self.secrets.get((role, owner), ()) if each.valid_until is None or each.valid_until > now
        ]

    def stands(self, login: Login, now: int) -> bool:
        """Whether a login has not ended, nor its secret."""
        owner = login.subject if login.service is None else login.service
        ids = {secret.stored.id for secret in self.valid(login.role, owner, now)}
        return not login.ended and login.expires_at > now and login.secret in ids


def put_service(hall: Hall, ask: port.PutService) -> port.Put:
    """Make a service, or change what is said of it."""
    created = ask.service not in hall.gate.services
    service = hall.gate.services.setdefault(ask.service, Service(hall.now))
    service.dispatch = ask.dispatch or service.dispatch
    service.methods = ask.methods or service.methods
    for name, sealed in ask.settings.items():
        if sealed is None:
            service.settings.pop(name, None)
        else:
            service.settings[name] = sealed
    hall.rings[topic_of_service(ask.service)] += 1
    return _put_secret(hall, "worker", ask.service, ask, created=created)


def put_client(hall: Hall, ask: port.PutClient) -> port.Put:
    """Make a client, or change what is said of it."""
    created = ask.client not in hall.gate.clients
    client = hall.gate.clients.setdefault(ask.client, Client(hall.now))
    client.allow = ask.allow or client.allow
    hall.rings[topic_of_client(ask.client)] += 1
    return _put_secret(hall, "client", ask.client, ask, created=created)


def _put_secret(
    hall: Hall, role: port.Role, owner: str, ask: port.PutService | port.PutClient, *, created: bool
) -> port.Put:
    hall.rings[topic_of_access(role, owner)] += 1
    spare_used = created and ask.secret is None and ask.spare is not None
    fresh = ask.spare if spare_used else ask.secret
    present = [secret for secret in hall.gate.secrets.get((role, owner), ()) if secret.valid_until is None]
    if fresh is None:
        if ask.retire:
            hall.gate.secrets[role, owner] = present
        return port.Put(created)
    if ask.instead_of is not None and [secret.stored.id for secret in present] != [ask.instead_of]:
        return port.Put(created, outrun=True)
    for secret in present:
        secret.valid_until = hall.now + port.PREVIOUS_SECRET_MS
    hall.gate.secrets[role, owner] = [Secret(fresh), *([] if ask.retire else present)]
    return port.Put(created, spare_used)


def pause_service(hall: Hall, ask: port.PauseService) -> bool:
    """Stop or go on handing out the calls of a service."""
    service = hall.gate.services.get(ask.service)
    if service is None:
        return False
    service.paused = ask.paused
    hall.pause_lanes(ask.service, paused=ask.paused)
    hall.rings[topic_of_service(ask.service)] += 1
    return True


def delete_service(hall: Hall, ask: port.DeleteService) -> bool:
    """Remove a service with everything that lets its workers in."""
    if hall.gate.services.pop(ask.service, None) is None:
        return False
    hall.rings[topic_of_service(ask.service)] += 1
    _remove_access(hall, "worker", ask.service)
    return True


def delete_client(hall: Hall, ask: port.DeleteClient) -> bool:
    """Remove a client with everything that lets it in."""
    if hall.gate.clients.pop(ask.client, None) is None:
        return False
    hall.rings[topic_of_client(ask.client)] += 1
    _remove_access(hall, "client", ask.client)
    return True


def _remove_access(hall: Hall, role: port.Role, owner: str) -> None:
    gate = hall.gate
    gate.secrets.pop((role, owner), None)
    for sid, login in list(gate.logins.items()):
        if login.role == role and owner == (login.subject if login.service is None else login.service):
            _forget(gate, sid)
    hall.rings[topic_of_access(role, owner)] += 1


def _forget(gate: Gate, sid: str) -> None:
    del gate.logins[sid]
    gate.refresh = {token: each for token, each in gate.refresh.items() if each.sid != sid}


def begin_session(hall: Hall, ask: port.BeginSession) -> bool:
    """Log in, if the secret is still valid."""
    owner = ask.subject if ask.service is None else ask.service
    if ask.secret not in {secret.stored.id for secret in hall.gate.valid(ask.role, owner, hall.now)}:
        return False
    hall.gate.logins[ask.sid] = Login(ask.role, ask.subject, ask.service, ask.secret, hall.now + ask.lifetime_ms)
    hall.gate.refresh[ask.refresh_hash] = Refresh(ask.sid, None)
    return True


def refresh_session(hall: Hall, ask: port.RefreshSession) -> port.Session | None:
    """Exchange a refresh token."""
    gate = hall.gate
    token = gate.refresh.get(ask.old_hash)
    login = None if token is None else gate.logins[token.sid]
    if token is None or login is None or login.role != ask.role or not gate.stands(login, hall.now):
        return None
    successors = [each for each in gate.refresh.values() if each.parent == ask.old_hash]
    if token.used_at is None and not token.superseded:
        token.used_at = hall.now
        for each in gate.refresh.values():
            if token.parent is not None and each.parent == token.parent and each is not token:
                each.superseded = True
    else:
        late = token.used_at is None or hall.now - token.used_at > port.REPLAY_MS
        if token.superseded or late or any(each.used_at is not None for each in successors):
            login.ended = True
            _ring_login(hall, login)
            return None
    login.expires_at = hall.now + ask.lifetime_ms
    gate.refresh[ask.new_hash] = Refresh(token.sid, ask.old_hash)
    return port.Session(token.sid, login.subject, login.service)


def _ring_login(hall: Hall, login: Login) -> None:
    if login.service is None:
        hall.rings[topic_of_access("client", login.subject)] += 1
    else:
        hall.rings[topic_of_worker(service_worker(login.service, login.subject))] += 1


def end_sessions(hall: Hall, ask: port.EndSessions) -> int:
    """End the logins of a worker."""
    meant = [
        login
        for login in hall.gate.logins.values()
        if (login.service, login.subject, login.ended) == (ask.service, ask.worker_id, False)
    ]
    for login in meant:
        login.ended = True
    if meant:
        _ring_login(hall, meant[0])
    return len(meant)


def put_signing_key(hall: Hall, ask: port.PutSigningKey) -> bool:
    """Replace the key that signs, unless somebody else has done so."""
    keys = hall.gate.keys
    present = next((kid for kid, key in keys.items() if key.retired_at is None), None)
    if present != ask.instead_of or ask.kid in keys:
        return False
    if present is not None:
        keys[present].retired_at = hall.now
    keys[ask.kid] = SigningKey(ask.sealed)
    hall.rings[SIGNING_KEYS] += 1
    return True


def reseal(hall: Hall, ask: port.Reseal) -> None:
    """Store signing keys and settings sealed anew."""
    for kid, (before, now) in ask.keys.items():
        key = hall.gate.keys.get(kid)
        if key is not None and key.sealed == before:
            key.sealed = now
    for (service, name), (before, now) in ask.settings.items():
        settings = hall.gate.services[service].settings if service in hall.gate.services else {}
        if settings.get(name) == before:
            settings[name] = now


def forget_logins(hall: Hall, ask: port.ForgetLogins) -> Swept:
    """Delete what has ended."""
    gate, now = hall.gate, hall.now
    ended = [sid for sid, login in gate.logins.items() if login.expires_at <= now]
    for sid in ended:
        _forget(gate, sid)
    before = now - ask.keep_used_refresh_ms
    used = [token for token, each in gate.refresh.items() if each.used_at is not None and each.used_at < before]
    for token in used:
        del gate.refresh[token]
    kept = {owner: gate.valid(*owner, now) for owner in gate.secrets}
    outdated = sum(map(len, gate.secrets.values())) - sum(map(len, kept.values()))
    gate.secrets = kept
    retired = [kid for kid, key in gate.keys.items() if (key.retired_at or now) < now - ask.keep_keys_ms]
    for kid in retired:
        del gate.keys[kid]
    return Swept(len(ended) + len(used) + outdated + len(retired))


VERBS: Final[dict[type[Any], Callable[[Hall, Any], Any]]] = {
    port.PutSigningKey: put_signing_key,
    port.Reseal: reseal,
    port.PutService: put_service,
    port.PutClient: put_client,
    port.PauseService: pause_service,
    port.DeleteService: delete_service,
    port.DeleteClient: delete_client,
    port.BeginSession: begin_session,
    port.RefreshSession: refresh_session,
    port.EndSessions: end_sessions,
    port.ForgetLogins: forget_logins,
}


def answer(hall: Hall, query: port.IdentityQuery) -> Any:
    """Answer a question about who may come in."""
    gate = hall.gate
    match query:
        case port.FindServices():
            return [_service_view(hall, id_, query.now) for id_ in query.services if id_ in gate.services]
        case port.ListServices():
            ids = [id_ for id_ in sorted(gate.services) if id_ > query.after][: query.limit]
            return [_service_view(hall, id_, query.now) for id_ in ids]
        case port.ReadSettings():
            return {
                (id_, name): sealed
                for id_, service in gate.services.items()
                if query.service in (None, id_)
                for name, sealed in service.settings.items()
            }
        case port.FindClients():
            return [_client_view(hall, id_, query.now) for id_ in query.clients if id_ in gate.clients]
        case port.ListClients():
            ids = [id_ for id_ in sorted(gate.clients) if id_ > query.after][: query.limit]
            return [_client_view(hall, id_, query.now) for id_ in ids]
        case port.FindSecrets():
            return [
                port.SecretView(
                    role, owner, each.stored.id, each.stored.kind, each.stored.hash, each.valid_until is not None
                )
                for role, owner in query.owners
                for each in gate.valid(role, owner, query.now or hall.now)
            ]
        case port.FindSessions():
            return [_session_view(hall, sid, query.now) for sid in query.sids if sid in gate.logins]
        case port.FindSigningKeys():
            return _signing_keys(hall, query.now or hall.now)


def _service_view(hall: Hall, id_: str, now: int | None) -> port.ServiceView:
    service = hall.gate.services[id_]
    secrets = len(hall.gate.valid("worker", id_, now or hall.now))
    names = tuple(sorted(service.settings))
    return port.ServiceView(id_, service.dispatch, service.methods, service.paused, service.made_at, names, secrets)


def _client_view(hall: Hall, id_: str, now: int | None) -> port.ClientView:
    client = hall.gate.clients[id_]
    return port.ClientView(id_, client.allow, client.made_at, len(hall.gate.valid("client", id_, now or hall.now)))


def _session_view(hall: Hall, sid: str, now: int | None) -> port.SessionView:
    login = hall.gate.logins[sid]
    client = hall.gate.clients.get(login.subject) if login.service is None else None
    return port.SessionView(
        sid, login.role, login.subject, login.service, login.incarnation,
        hall.gate.stands(login, now or hall.now), None if client is None else client.allow,
    )  # fmt: skip


def _signing_keys(hall: Hall, now: int) -> list[port.SigningKeyView]:
    views = [
        port.SigningKeyView(kid, key.sealed, None if key.retired_at is None else now - key.retired_at)
        for kid, key in hall.gate.keys.items()
    ]
    return sorted(views, key=lambda view: (-1 if view.retired_ms_ago is None else view.retired_ms_ago, view.kid))
