"""Whatever a worker sends, the answer is fine or in the envelope, nothing is a 500, and the next request is served."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hiringhall.domain.refusals import CODES
from tests.faults.hostile import BODIES, ODD_VALUES, QUERIES
from tests.wire.services.bureau import Bureau, ServiceWorker, on_databases

GOOD: dict[str, dict[bytes, bytes]] = {
    "registration": {
        b"worker_id": b'"w"', b"service_id": b'"kiwi"', b"run_mode": b'"Eager"', b"methods": b'["hello"]',
        b"ip": b'"10.0.0.1"', b"port": b"5000", b"version": b'"1"', b"tags": b'{"os":"linux"}',
        b"supported_executors": b'["python"]', b"platform": b'"linux"', b"interactive_desktop": b"false",
        b"browser_runtime": b"false", b"trace": b"false",
    },
    "response": {b"request_id": b'"r-1"', b"status": b'"error"', b"error_text": b'"e"', b"result": b"null"},
    "feedback": {
        b"rid": b'"r-1"', b"st": b"1", b"sn": b'"n"', b"ft": b'"t"', b"pr": b"true", b"fc": b'"c"',
    },
    "notify_worker_shutdown/w": {b"unstarted": b'["r-1"]'},
}  # fmt: skip
VALUES: dict[str, bytes] = {
    **ODD_VALUES,
    "null": b"null",
    "an empty text": b'""',
    "an object with odd names": b'{"":"","\\u0000":"\\u0000","a":{"b":[]}}',
    "a list of odd texts": b'["","\\u0000","..",null,1]',
    "many texts": b"[" + b",".join(b'"m%d"' % number for number in range(3_000)) + b"]",
}


def bodies(path: str) -> Iterator[tuple[str, bytes]]:
    """Bodies that are wrong as a whole, and those that are right but for one member."""
    yield from BODIES.items()
    for member in GOOD[path]:
        for name, value in VALUES.items():
            members = {**GOOD[path], member: value}
            yield f"{member.decode()} {name}", b"{" + b",".join(b'"%b":%b' % each for each in members.items()) + b"}"


async def complaint(worker: ServiceWorker, method: str, path: str, body: bytes = b"") -> str | None:
    """What is wrong with the answer."""
    reply = await worker.send(method, path, body).reply()
    if reply.status < 400:
        return None
    told = json.loads(reply.body)
    if CODES.get(told["error_code"]) != reply.status or reply.status >= 500:
        return f"{reply.status} {told}"
    return None if len(told["detail"]) < 1_000 else f"a detail of {len(told['detail'])} characters"


@on_databases
async def test_hostile_bodies(made: Bureau) -> None:
    """No body makes a route fail."""
    problems = []
    for path in GOOD:
        worker = await made.hire("w")
        await made.submit()
        await worker.ids()
        method = "PUT" if path.startswith("notify") else "POST"
        for name, body in bodies(path):
            problem = await complaint(worker, method, path, body)
            if problem is not None:
                problems.append(f"{path} {name}: {problem}")
    assert not problems, "\n".join(problems[:20])
    worker = await made.hire("w")
    request_id = await made.submit()
    assert request_id in await worker.ids()


async def test_hostile_paths_and_queries(made: Bureau) -> None:
    """No path and no query makes a route fail."""
    worker = await made.hire("w")
    problems = [await complaint(worker, "GET", f"messages?{query.decode('latin-1')}") for query in QUERIES.values()]
    for odd in ("%00", "%ff", "..", "%2e%2e", "a%2Fb", "%F0%9F%98%80", "x" * 300, "%", "%zz", "%0d%0a", ";", "+"):
        problems.append(await complaint(worker, "PUT", f"lock_request/{odd}"))
        problems.append(await complaint(worker, "GET", f"heartbeat/{odd}"))
        problems.append(await complaint(worker, "PUT", f"notify_worker_shutdown/{odd}"))
    assert [problem for problem in problems if problem] == []
