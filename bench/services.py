"""A service on a hall under test: made by the operator, with workers and clients that log in as any would."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from bench.client import Connection, connect, head_of, whole
from bench.plans import fresh_name
from bench.targets import Target
from bench.wires import Refused, refusal_of

METHOD = "echo"


@dataclass(frozen=True)
class Service:
    """A service, a client that may call it, and their secrets."""

    name: str
    secret: str
    client: str
    client_secret: str


@dataclass(frozen=True)
class Worker:
    """A logged-in and registered service worker."""

    target: Target
    worker_id: str
    token: str

    def head(self, method: str, path: str) -> bytes:
        """The head of one of its requests."""
        return head_of(self.target.root, method, f"{self.target.root.prefix}{path}", self.token)


async def ask(connection: Connection, request: bytes, step: str, *accepted: int) -> dict[str, object]:
    """The answer's members; Refused names the step if the status is none of those accepted."""
    answer = await connection.call(request)
    if answer.status not in accepted:
        raise Refused(f"{step}: {refusal_of('calls', answer)}")
    found = json.loads(answer.body) if answer.body else {}
    return found if isinstance(found, dict) else {"": found}


async def make_service(target: Target) -> Service:
    """Make a service and a client with secrets of their own."""
    name, client = fresh_name("service"), fresh_name("client")
    service = Service(name, secrets.token_urlsafe(24), client, secrets.token_urlsafe(24))
    bodies: Mapping[str, object] = {
        f"/admin/services/{quote(name)}": {"secret": service.secret},
        f"/admin/clients/{quote(client)}": {"secret": service.client_secret, "allow": [f"{name}/*"]},
    }
    connection = await connect(target.root)
    try:
        for path, body in bodies.items():
            head = head_of(target.root, "PUT", f"{target.root.prefix}{path}", target.operator_token)
            await ask(connection, whole(head, json.dumps(body).encode()), f"PUT {path}", 200, 201)
    finally:
        await connection.close()
    return service


async def token_for(target: Target, connection: Connection, path: str, form: Mapping[str, str]) -> str:
    """An access token for a secret."""
    body = urlencode({"grant_type": "client_credentials", **form}).encode()
    head = head_of(target.root, "POST", f"{target.root.prefix}{path}", None)
    head = head.replace(b"application/json", b"application/x-www-form-urlencoded")
    return str((await ask(connection, whole(head, body), f"POST {path}", 200))["access_token"])


async def client_token(target: Target, service: Service) -> str:
    """An access token of the service's client."""
    connection = await connect(target.root)
    try:
        form = {"client_id": service.client, "client_secret": service.client_secret}
        return await token_for(target, connection, "/client/auth_token", form)
    finally:
        await connection.close()


async def admit(target: Target, service: Service, connection: Connection, worker_id: str, **members: object) -> Worker:
    """Log a worker in and register it; `members` are added to the registration."""
    form = {"service_id": service.name, "auth_secret": service.secret, "worker_id": worker_id}
    worker = Worker(target, worker_id, await token_for(target, connection, "/worker/auth_token", form))
    registration = {
        "worker_id": worker_id, "service_id": service.name, "run_mode": "Eager", "methods": [METHOD], **members,
    }  # fmt: skip
    request = whole(worker.head("POST", "/worker/registration"), json.dumps(registration).encode())
    await ask(connection, request, "registration", 200)
    return worker
