"""The requests of both wires, byte by byte where they differ."""

from __future__ import annotations

import json

import pytest

from bench.client import Address, Answer
from bench.wires import HeldTask, Identity, Speaker, refusal_of

WORKER = Identity('w-"1', "token")


def request_of(data: bytes) -> tuple[str, dict[str, object]]:
    """The request line and the body of one request, whose length must be right."""
    head, _, body = data.partition(b"\r\n\r\n")
    assert int(head.rpartition(b"Content-Length: ")[2]) == len(body)
    return head.partition(b"\r\n")[0].decode(), json.loads(body)


@pytest.mark.parametrize(("wire", "prefix"), [("plans", ""), ("whilly", "/whilly")])
def test_claim_and_complete_are_the_same_on_both_wires(wire: str, prefix: str) -> None:
    """`{"worker_id", "plan_id"}` and `{"worker_id", "version"}`, below the prefix."""
    speaker = Speaker(wire, Address("h", 1, prefix), WORKER)
    assert request_of(speaker.claim("p/1")) == (
        f"POST {prefix}/tasks/claim HTTP/1.1",
        {"worker_id": 'w-"1', "plan_id": "p/1"},
    )
    assert request_of(speaker.complete(HeldTask("T-1", 7))) == (
        f"POST {prefix}/tasks/T-1/complete HTTP/1.1",
        {"worker_id": 'w-"1', "version": 7},
    )


def test_only_the_published_clients_release_with_a_reason() -> None:
    """The protocol's release body has no reason; the published servers require one."""
    task = HeldTask("a/b ü", 2)
    plain = request_of(Speaker("plans", Address("h", 1, ""), WORKER).release(task))
    published = request_of(Speaker("whilly", Address("h", 1, ""), WORKER).release(task))
    assert plain == ("POST /tasks/a%2Fb%20%C3%BC/release HTTP/1.1", {"worker_id": 'w-"1', "version": 2})
    assert published[1] == {"worker_id": 'w-"1', "version": 2, "reason": "shutdown"}


@pytest.mark.parametrize(
    ("wire", "body", "shown"),
    [
        ("plans", b'{"error_code":"version_conflict","detail":"late"}', "409 version_conflict: late"),
        ("whilly", b'{"error":"version_conflict","detail":"late"}', "409 version_conflict: late"),
        ("whilly", b"Internal Server Error", "409 -: b'Internal Server Error'"),
    ],
)
def test_a_refusal_is_told_in_one_line(wire: str, body: bytes, shown: str) -> None:
    """Status, code and detail, whichever key the wire uses for the code."""
    assert refusal_of(wire, Answer(409, body)) == shown


def test_an_unknown_wire_is_named() -> None:
    """There are two wires."""
    with pytest.raises(ValueError, match="plans or whilly"):
        Speaker("grpc", Address("h", 1, ""), WORKER)
