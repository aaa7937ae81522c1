"""Large bodies of peers that show no token, sent to a real server."""

from __future__ import annotations

import contextlib
import json
import select
import socket

from tests.conftest import StartHall
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess

WAITED_SECONDS = 10.0
REFUSED = {
    "POST /tasks/claim": (401, "missing_or_invalid_bearer"),
    "POST /whilly/tasks/T/events": (401, None),
    "POST /workers/register": (401, "missing_or_invalid_bootstrap"),
    "POST /worker/response": (401, "missing_or_invalid_bearer"),
    "PUT /worker/lock_request/r-1": (401, "missing_or_invalid_bearer"),
    "POST /client/requests": (401, "missing_or_invalid_bearer"),
    "PUT /client/requests": (405, "method_not_allowed"),
    "POST /whilly/no/such/path": (404, None),
}
"""The published wire of plan workers has envelopes of its own."""


def begun(hall: HallProcess, line: str, *headers: str, body: bytes = b"x" * 70_000) -> tuple[int, dict[str, str]]:
    """Begin a request whose body of 1 MiB does not come to its end; the answer, after which the server closes."""
    head = "\r\n".join((f"{line} HTTP/1.1", "Host: hall", *headers, "", ""))
    with socket.create_connection((hall.host, hall.port), timeout=WAITED_SECONDS) as connection:
        connection.sendall(head.encode() + body)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    top, _, content = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in top.lower()
    return int(top.split()[1]), json.loads(content)


def test_a_large_body_without_a_token_is_not_waited_for(start_hall: StartHall, sqlite_database: Database) -> None:
    """Where a token is needed a large body without any is refused at once, and so is one that nobody wants."""
    hall = start_hall(sqlite_database)
    for line, (status, code) in REFUSED.items():
        answer = begun(hall, line, "Content-Length: 1048576")
        assert (answer[0], answer[1].get("error_code")) == (status, code), line
    line, chunk = "POST /client/requests", b"11170\r\n" + b"x" * 70_000
    assert begun(hall, line, "Transfer-Encoding: chunked", body=chunk)[0] == 401
    assert begun(hall, line, "Content-Length: 1048576", "Expect: 100-continue", body=b"")[0] == 401


def test_large_bodies_have_room_together(start_hall: StartHall, sqlite_database: Database) -> None:
    """What large bodies take together is limited by `HALL_BODIES_LIMIT`: 503 with `Retry-After` is beyond it."""
    hall = start_hall(sqlite_database, HALL_BODIES_LIMIT=2_000_000)
    head = f"POST /client/requests HTTP/1.1\r\nHost: hall\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
    half = f"{head}Content-Length: 1048576\r\n\r\n".encode() + b"x" * 1_000_000
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection((hall.host, hall.port), timeout=WAITED_SECONDS))
            for _ in range(3)
        ]
        for connection in connections:
            connection.sendall(half)
        refused, _, _ = select.select(connections, [], [], WAITED_SECONDS)
        assert len(refused) == 1, "whichever came last"
        top, _, content = refused[0].recv(65_536).partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in top.lower()
    assert b"connection: close" in top.lower()
    assert json.loads(content)["error_code"] == "unavailable"
