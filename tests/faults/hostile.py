"""Requests that no good client sends: what may be wrong with a body, with the framing, with a path, as raw bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from hiringhall.wire.operators.access import Access
from hiringhall.wire.operators.routes import SERVED
from hiringhall.wire.plans.routes import PUBLISHED_ROUTES, ROUTES
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN

MIB = 1024 * 1024
GOOD_ID = b"hostile"


class Target(NamedTuple):
    """A route, and what opens it. Parameters in its path stand in braces."""

    method: bytes
    template: bytes
    token: bytes

    @property
    def path(self) -> bytes:
        """The path with a harmless identifier in every place."""
        return self.path_with(GOOD_ID)

    def path_with(self, identifier: bytes) -> bytes:
        """The path with this text, as it is, in every place."""
        parts = self.template.split(b"/")
        return b"/".join(identifier if part.startswith(b"{") else part for part in parts)


class Hostile(NamedTuple):
    """One attempt. `waits`: the server cannot know that nothing more comes, so no answer is due."""

    name: str
    sent: bytes
    waits: bool = False


def targets() -> list[Target]:
    """Every route of workers and operators."""
    found = []
    for prefix, table in (("", ROUTES), ("/whilly", ROUTES), ("/whilly", PUBLISHED_ROUTES)):
        for path, methods in table.items():
            token = BOOTSTRAP_TOKEN if path.endswith("/register") else WORKER_TOKEN
            found += [Target(method, (prefix + path).encode(), token.encode()) for method in methods]
    for served in SERVED:
        token = "" if served.access is Access.OPEN else ADMIN_TOKEN
        found.append(Target(served.method.encode(), served.path.encode(), token.encode()))
    return found


def cases(target: Target) -> Iterator[Hostile]:
    """Everything that is tried on one route."""
    label = f"{target.method.decode()} {target.template.decode()}"
    for name, body in BODIES.items():
        yield Hostile(f"{label}: body {name}", _request(target, body), waits=name in LONG_WAITS)
    for name, lines in HEADERS.items():
        body = b'{"worker_id":"hostile","plan_id":"hostile","version":1,"reason":"","hostname":"h"}'
        yield Hostile(f"{label}: header {name}", _request(target, body, lines))
    for name, identifier in IDENTIFIERS.items():
        if b"{" in target.template:
            yield Hostile(f"{label}: id {name}", _request(target, b"{}", path=target.path_with(identifier)))
    for name, query in QUERIES.items():
        yield Hostile(f"{label}: query {name}", _request(target, b"{}", path=target.path + b"?" + query))
    for name, (lines, content, waits) in FRAMES.items():
        head = b"%b %b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %b\r\n" % (
            target.method,
            target.path,
            target.token,
        )
        yield Hostile(f"{label}: frame {name}", head + lines + b"\r\n" + content, waits)
    for name, line in _request_lines(target).items():
        rest = b"\r\nHost: h\r\nAuthorization: Bearer %b\r\nContent-Length: 2\r\n\r\n{}" % target.token
        yield Hostile(f"{label}: line {name}", line + rest)


def loose_cases(seed: int) -> Iterator[Hostile]:
    """What is not even an attempt at a request."""
    dice = random.Random(seed)
    yield Hostile("nothing", b"", waits=True)
    yield Hostile("line ends", b"\r\n" * 50, waits=True)
    yield Hostile("TLS", bytes.fromhex("16030100c8010000c40303") + dice.randbytes(190))
    yield Hostile("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield Hostile("HTTP/0.9", b"GET /\r\n", waits=True)
    yield Hostile("half a line", b"POST /tasks/cl", waits=True)
    yield Hostile("a line without end", b"GET /" + b"a" * (2 * MIB))
    yield Hostile("SSH", b"SSH-2.0-OpenSSH_9.9\r\n")
    for number in range(20):
        yield Hostile(f"noise {number}", dice.randbytes(dice.randint(1, 3000)), waits=True)
    good = b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n"
    yield Hostile("noise after a good request", good + dice.randbytes(500))
    yield Hostile("many requests at once", good * 500)


def _request(target: Target, body: bytes, lines: bytes = b"", path: bytes | None = None) -> bytes:
    return b"%b %b HTTP/1.1\r\nHost: h\r\n%bAuthorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b" % (
        target.method,
        target.path if path is None else path,
        lines,
        target.token,
        len(body),
        body,
    )


def _member(value: bytes) -> bytes:
    """A body whose every member that a route may look at has this value."""
    workers = b"worker_id plan_id task_id version reason hostname wait max_tasks type"
    operators = b"id name tasks priority status dependencies on_failure max_attempts"
    names = (workers + b" " + operators).split()
    return b"{" + b",".join(b'"%b":%b' % (name, value) for name in names) + b"}"


def _fine_but(member: bytes, value: bytes) -> bytes:
    """A body that every worker's route takes, but for one member."""
    members = {
        b"worker_id": b'"hostile"',
        b"plan_id": b'"hostile"',
        b"version": b"1",
        b"reason": b'"r"',
        b"hostname": b'"h"',
        member: value,
    }
    return b"{" + b",".join(b'"%b":%b' % each for each in members.items()) + b"}"


def _task(member: bytes) -> bytes:
    return b'{"worker_id":"hostile","plan_id":"hostile","version":1,"reason":"r","tasks":[{"id":"A",%b}]}' % member


BODIES: dict[str, bytes] = {
    "empty": b"",
    "spaces": b" \r\n\t ",
    "no JSON": b"hello",
    "half JSON": b'{"worker_id":"hos',
    "two values": b"{}{}",
    "UTF-16": '{"worker_id":"hostile"}'.encode("utf-16"),
    "Latin-1": '{"worker_id":"häßlich","plan_id":"ü"}'.encode("latin-1"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "overlong UTF-8": b'{"worker_id":"\xc0\xaf"}',
    "surrogates in UTF-8": b'{"worker_id":"\xed\xa0\x80"}',
    "a NUL byte": b'{"worker_id":"a\x00b"}',
    "only NUL": b"\x00" * 100,
    "NUL escaped": _member(b'"a\\u0000b"'),
    "a lone surrogate": _member(b'"\\ud800"'),
    "surrogates reversed": _member(b'"\\udc00\\ud800"'),
    "NaN": _member(b"NaN"),
    "Infinity": _member(b"-Infinity"),
    "a huge number": _member(b"1" + b"0" * 400),
    "an absurd number": _member(b"9" * 100_000),
    "2^63": _member(b"9223372036854775808"),
    "2^64": _member(b"18446744073709551616"),
    "minus one": _member(b"-1"),
    "1e999": _member(b"1e999"),
    "a fraction": _member(b"1.5"),
    "true": _member(b"true"),
    "null": _member(b"null"),
    "an array": _member(b"[[[]]]"),
    "an object": _member(b'{"a":{"b":[]}}'),
    "empty texts": _member(b'""'),
    "a newline": _member(b'"a\\nb"'),
    "dots": _member(b'".."'),
    "a long text": _member(b'"' + b"x" * 50_000 + b'"'),
    "an array only": b"[]",
    "null only": b"null",
    "a number only": b"12",
    "a text only": b'"hostile"',
    "nested 101": b"[" * 101 + b"]" * 101,
    "nested half a million": b"[" * 500_000,
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "duplicate members": b'{"worker_id":"a","worker_id":"b","version":1,"version":"x"}',
    "many members": b"{" + b",".join(b'"m%d":%d' % (n, n) for n in range(20_000)) + b"}",
    "a megabyte id": b'{"worker_id":"' + b"x" * (MIB - 100) + b'","plan_id":"p","version":1}',
    "a megabyte too large": b'{"worker_id":"' + b"x" * MIB + b'"}',
    "9 MiB": b"x" * (9 * MIB),
    "bad tasks": b'{"tasks":[null,1,"a",[],{},{"id":null},{"id":"A"},{"id":"A"}]}',
    "bad priority": _task(b'"priority":{"a":1}'),
    "bad dependencies": _task(b'"dependencies":["A",null,{},"\\ud800"]'),
    "bad backoff": _task(b'"retry_backoff":{"base_seconds":-1,"factor":1e308,"max_seconds":"x"},"max_attempts":1e30'),
    "bad limits": _task(b'"run_limit_seconds":1e300,"max_abandoned":99999999999999999999'),
}

ODD_VALUES: dict[str, bytes] = {
    "10^400": b"1" + b"0" * 400,
    "minus 10^400": b"-1" + b"0" * 400,
    "1e400": b"1e400",
    "2^64": b"18446744073709551616",
    "a fraction": b"0.1000000000000000055",
    "a lone surrogate": b'"\\udead"',
    "NUL": b'"\\u0000"',
    "257 characters": b'"' + b"x" * 257 + b'"',
    "half a megabyte": b'"' + "ä".encode() * 250_000 + b'"',
    "a list": b"[1]",
    "false": b"false",
    "digits": b'"12345678901234567890"',
    "digits not ASCII": '"١٢"'.encode(),
}
LONG_WAITS = frozenset({"wait 10^400", "wait 2^64"})
"""What a claim is held for as long as any."""
MEMBERS = (b"worker_id", b"plan_id", b"version", b"reason", b"hostname", b"wait", b"max_tasks", b"task_id", b"type")
BODIES |= {
    f"{member.decode()} {name}": _fine_but(member, value) for member in MEMBERS for name, value in ODD_VALUES.items()
}
BODIES |= {
    f"{member} {name}": b'{"%b":%b,"tasks":[{"id":"A","%b":%b,"retry_backoff":{"%b":%b}}]}'
    % ((member.encode(), value) * 3)
    for member in ("max_attempts", "run_limit_seconds", "max_abandoned", "base_seconds", "factor", "max_seconds")
    for name, value in ODD_VALUES.items()
}

HEADERS: dict[str, bytes] = {
    "no ASCII": b"X-Odd: \xff\xfe\xc3\xa4\r\n",
    "token not ASCII": b"Authorization: Bearer t\xc3\xb6ken\r\n",
    "token empty": b"Authorization: Bearer \r\n",
    "token without scheme": b"Authorization: \r\n",
    "token of another scheme": b"Authorization: Basic aGFsbDpoYWxs\r\n",
    "token of 10 kB": b"Authorization: Bearer " + b"x" * 10_000 + b"\r\n",
    "token of a megabyte": b"Authorization: Bearer " + b"x" * MIB + b"\r\n",
    "token twice": b"Authorization: Bearer a, Bearer b\r\nAuthorization: Bearer c\r\n",
    "five thousand": b"".join(b"X-%d: y\r\n" % number for number in range(5_000)),
    "a name of 100 kB": b"X" * 100_000 + b": y\r\n",
    "multipart": b"Content-Type: multipart/form-data; boundary=x\r\n",
    "odd content type": b"Content-Type: \xff/\xff; charset=utf-16\r\n",
    "gzip": b"Content-Encoding: gzip\r\n",
    "two hosts": b"Host: evil\r\n",
    "expect": b"Expect: 100-continue\r\n",
    "expect nonsense": b"Expect: the unexpected\r\n",
    "upgrade to HTTP/2": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
    "upgrade to WebSocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
    "odd connection": b"Connection: \x01, close, keep-alive, \xff\r\n",
    "request id too long": b"X-Request-Id: " + b"r" * 5_000 + b"\r\n",
    "request id not ASCII": b"X-Request-Id: \xff\xfe\r\n",
    "odd key": b"Idempotency-Key: \xff" + b"k" * 5_000 + b"\r\n",
    "empty key": b"Idempotency-Key: \r\n",
    "odd holding": b"Hall-Holding: ,,%zz,a/b/c@@,/@-1,%00/%ff@99999999999999999999999,\xff@1\r\n",
    "huge holding": b"Hall-Holding: " + b"P/T@1," * 4_000 + b"\r\n",
    "odd preference": b"Prefer: next, next; wait=\xff\r\n",
    "odd trace": b"traceparent: 00-zz-\xff-01\r\n",
    "odd cookies": b"Cookie: \xff=\x01; a\r\nForwarded: for=\xff\r\nX-Forwarded-For: \xff\r\nRange: bytes=-1-\r\n",
}

IDENTIFIERS: dict[str, bytes] = {
    "slash": b"%2F",
    "slashes": b"%2f%2F..%2f",
    "NUL": b"%00",
    "control": b"%0d%0aX-Evil:%20yes",
    "half an escape": b"%",
    "bad escape": b"%zz",
    "dot": b".",
    "dots": b"..",
    "dots escaped": b"%2e%2E",
    "climbing": b"../../etc/passwd",
    "overlong": b"%C0%AF",
    "no UTF-8": b"%ff%fe",
    "surrogate": b"%ed%a0%80",
    "raw bytes": b"\xc3\xa4\xff",
    "escaped twice": b"%252F",
    "empty": b"",
    "plus": b"+",
    "semicolon": b";a=b",
    "fragment": b"#x",
    "backslash": b"\\..\\",
    "quote": b"'%27%22--",
    "257": b"x" * 257,
    "5 kB": b"x" * 5_000,
    "a megabyte": b"x" * MIB,
    "a huge number": b"9" * 300,
    "2^63": b"9223372036854775808",
    "digits not ASCII": "١٢".encode(),
    "digits not ASCII escaped": b"%D9%A1%D9%A2",
    "minus": b"-1",
    "template": b"{plan_id}",
}

QUERIES: dict[str, bytes] = {
    "empty": b"",
    "ampersands": b"&&&=&=",
    "bad escape": b"limit=%zz",
    "no UTF-8": b"%ff=%ff",
    "NUL": b"id=%00&after=%00",
    "limits": b"limit=-1",
    "large limit": b"limit=99999999999999999999999",
    "odd limit": "limit=١".encode(),
    "same twice": b"limit=1&limit=2",
    "switches": b"force=maybe&summary=perhaps&prune=2&cascade=",
    "id": b"id=%2F%2F%2F",
    "id no UTF-8": b"id=%25ff",
    "id of a plan only": b"id=P%2F",
    "status": b"status=,,\xff,DONE",
    "raw bytes": b"a=\xff\xfe",
    "long": b"a=" + b"x" * 20_000,
    "many": b"&".join(b"a%d=1" % number for number in range(2_000)),
}

FRAMES: dict[str, tuple[bytes, bytes, bool]] = {
    "length negative": (b"Content-Length: -1\r\n", b"{}", False),
    "length a word": (b"Content-Length: two\r\n", b"{}", False),
    "length signed": (b"Content-Length: +2\r\n", b"{}", False),
    "length hexadecimal": (b"Content-Length: 0x2\r\n", b"{}", False),
    "length empty": (b"Content-Length: \r\n", b"{}", False),
    "length huge": (b"Content-Length: 99999999999999999999999999\r\n", b"{}", False),
    "length too much to read": (b"Content-Length: 999999999999\r\n", b"{}", True),
    "length twice": (b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}", False),
    "lengths differ": (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}", False),
    "lengths listed": (b"Content-Length: 2, 2\r\n", b"{}", False),
    "length too large": (b"Content-Length: 50\r\n", b"{}", True),
    "length too small": (b"Content-Length: 1\r\n", b"{}GET", False),
    "length and chunks": (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "chunks and length": (b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "gzip": (b"Transfer-Encoding: gzip\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "chunked twice": (b"Transfer-Encoding: chunked, chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "chunked last but one": (b"Transfer-Encoding: chunked, identity\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "chunked disguised": (b"Transfer-Encoding: \x0bchunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", False),
    "chunk size a word": (b"Transfer-Encoding: chunked\r\n", b"two\r\n{}\r\n0\r\n\r\n", False),
    "chunk size negative": (b"Transfer-Encoding: chunked\r\n", b"-2\r\n{}\r\n0\r\n\r\n", False),
    "chunk size huge": (b"Transfer-Encoding: chunked\r\n", b"FFFFFFFFFFFFFFFFFF\r\n{}\r\n", False),
    "chunk too long": (b"Transfer-Encoding: chunked\r\n", b"1\r\n{}\r\n0\r\n\r\n", False),
    "chunk unfinished": (b"Transfer-Encoding: chunked\r\n", b"2\r\n{", True),
    "chunks without end": (b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n", True),
    "chunk extension": (b"Transfer-Encoding: chunked\r\n", b'2;a="b"\r\n{}\r\n0\r\n\r\n', False),
    "trailer": (b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n", False),
    "many small chunks": (b"Transfer-Encoding: chunked\r\n", b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n", False),
    "chunks too large": (b"Transfer-Encoding: chunked\r\n", b"20000\r\n" + b"x" * 0x20000 + b"\r\n", True),
    "head unfinished": (b"X-Half: ye", b"", True),
    "header without colon": (b"no colon here\r\nContent-Length: 2\r\n", b"{}", False),
    "header name with space": (b"X Odd: y\r\nContent-Length: 2\r\n", b"{}", False),
    "header without name": (b": y\r\nContent-Length: 2\r\n", b"{}", False),
    "header folded": (b"X-Long: a\r\n b\r\nContent-Length: 2\r\n", b"{}", False),
    "header with NUL": (b"X-Nul: a\x00b\r\nContent-Length: 2\r\n", b"{}", False),
    "space before colon": (b"Content-Length : 2\r\n", b"{}", False),
    "bare line feed": (b"Content-Length: 2\n", b"{}", False),
    "bare carriage return": (b"X: a\rb\r\nContent-Length: 2\r\n", b"{}", False),
    "header of 200 kB": (b"X-Big: " + b"y" * 200_000 + b"\r\nContent-Length: 2\r\n", b"{}", False),
    "junk behind": (b"Content-Length: 2\r\n", b"{}\x00\xff\xfejunk\r\n\r\n", False),
}


def _request_lines(target: Target) -> dict[str, bytes]:
    method, path = target.method, target.path
    return {
        "lower case method": method.lower() + b" " + path + b" HTTP/1.1",
        "unknown method": b"BREW " + path + b" HTTP/1.1",
        "long method": b"A" * 1_000 + b" " + path + b" HTTP/1.1",
        "other methods": b"PATCH " + path + b" HTTP/1.1",
        "TRACE": b"TRACE " + path + b" HTTP/1.1",
        "OPTIONS": b"OPTIONS " + path + b" HTTP/1.1",
        "CONNECT": b"CONNECT " + path + b" HTTP/1.1",
        "HTTP/1.0": method + b" " + path + b" HTTP/1.0",
        "HTTP/1.2": method + b" " + path + b" HTTP/1.2",
        "HTTP/3.0": method + b" " + path + b" HTTP/3.0",
        "no version": method + b" " + path,
        "absolute": method + b" http://hall" + path + b" HTTP/1.1",
        "absolute and odd": method + b" http://[::1" + path + b" HTTP/1.1",
        "asterisk": method + b" * HTTP/1.1",
        "no path": method + b"  HTTP/1.1",
        "relative": method + b" " + path[1:] + b" HTTP/1.1",
        "slash behind": method + b" " + path + b"/ HTTP/1.1",
        "slashes": method + b" /" + path + b" HTTP/1.1",
        "space in path": method + b" " + path + b" x HTTP/1.1",
        "tab": method + b"\t" + path + b" HTTP/1.1",
        "NUL in path": method + b" " + path + b"\x00 HTTP/1.1",
        "upper case path": method + b" " + path.upper() + b" HTTP/1.1",
        "dots in path": method + b" /x/.." + path + b" HTTP/1.1",
    }
