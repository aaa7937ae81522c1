"""What a worker says and hears on the two wires: the protocol at the root, and the published 4.x clients' own."""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from bench.client import Address, Answer, Connection, head_of, whole

WIRES = ("plans", "whilly")


class Refused(Exception):
    """The server answered with something other than what the step needs."""


class HeldTask(msgspec.Struct):
    """The members of a handed-over task that a worker has to repeat."""

    id: str
    version: int


class ClaimAnswer(msgspec.Struct):
    """A claim's 200; the wire of the published clients adds `plan`, which does not matter here."""

    task: HeldTask


class Registered(msgspec.Struct):
    """A register's 201."""

    worker_id: str
    token: str


decode_claim = msgspec.json.Decoder(ClaimAnswer).decode
decode_registered = msgspec.json.Decoder(Registered).decode


class Identity(NamedTuple):
    """A worker id and the bearer that it shows."""

    worker_id: str
    token: str


def refusal_of(wire: str, answer: Answer) -> str:
    """An unexpected answer in one line: status, error code, detail."""
    try:
        body = json.loads(answer.body or b"{}")
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    code = body.get("error" if wire == "whilly" else "error_code") or body.get("error_code") or body.get("error") or "-"
    return f"{answer.status} {code}: {str(body.get('detail', answer.body[:200]))[:300]}"


class Speaker:
    """One worker's requests as bytes: what never changes is built once."""

    __slots__ = ("after_id", "before_id", "identity", "settle_head", "wire", "worker_member")

    def __init__(self, wire: str, address: Address, identity: Identity) -> None:
        if wire not in WIRES:
            raise ValueError(f"{wire!r} is no wire: plans or whilly")
        self.wire = wire
        self.identity = identity
        self.worker_member = b'{"worker_id":' + json.dumps(identity.worker_id).encode()
        self.before_id = f"POST {address.prefix}/tasks/".encode()
        head = head_of(address, "POST", "", identity.token)
        self.after_id = head[len(b"POST ") :]
        self.settle_head = b"/complete" + self.after_id

    def claim(self, plan: str) -> bytes:
        """A long-polled claim on `plan`."""
        body = self.worker_member + b',"plan_id":' + json.dumps(plan).encode() + b"}"
        return whole(self.before_id + b"claim" + self.after_id, body)

    def complete(self, task: HeldTask) -> bytes:
        """Settle a task as done."""
        body = b'%b,"version":%d}' % (self.worker_member, task.version)
        return b"%b%b%b%d\r\n\r\n%b" % (self.before_id, path_part(task.id), self.settle_head, len(body), body)

    def release(self, task: HeldTask) -> bytes:
        """Give a task back; the published clients' wire wants a reason."""
        reason = b',"reason":"shutdown"' if self.wire == "whilly" else b""
        body = b'%b,"version":%d%b}' % (self.worker_member, task.version, reason)
        return whole(self.before_id + path_part(task.id) + b"/release" + self.after_id, body)


def path_part(text: str) -> bytes:
    """A task id as one segment of a path."""
    if text.isascii() and text.replace("-", "").isalnum():
        return text.encode()
    return quote(text, safe="").encode()


async def register(connection: Connection, wire: str, address: Address, bootstrap: str, hostname: str) -> Identity:
    """Mint a worker id with its own token; Refused if the server does not answer 201."""
    head = head_of(address, "POST", f"{address.prefix}/workers/register", bootstrap)
    answer = await connection.call(whole(head, json.dumps({"hostname": hostname}).encode()))
    if answer.status != 201:
        raise Refused(f"register: {refusal_of(wire, answer)}")
    registered = decode_registered(answer.body)
    return Identity(registered.worker_id, registered.token)
