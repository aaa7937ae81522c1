"""What the load generator makes of a server's bytes."""

from __future__ import annotations

import pytest

from bench.client import Address, Answer, Malformed, head_of, parse, whole

ADDRESS = Address("127.0.0.1", 8400, "/whilly")
BODY = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 4\r\n\r\nbody"


def test_an_answer_is_taken_with_its_body_and_the_rest_is_kept() -> None:
    """Whatever follows a whole answer belongs to the next one."""
    assert parse(BODY + b"HTTP") == (Answer(200, b"body"), b"HTTP")


@pytest.mark.parametrize("cut", range(len(BODY)))
def test_an_answer_that_is_not_whole_waits(cut: int) -> None:
    """Bytes may be cut anywhere."""
    assert parse(BODY[:cut]) is None


def test_no_content_has_no_body() -> None:
    """A 204 ends with its head."""
    assert parse(b"HTTP/1.1 204 No Content\r\ndate: now\r\n\r\nHTTP") == (Answer(204, b""), b"HTTP")


CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nb;x=1\r\nhello world\r\n0\r\n\r\n"


def test_chunks_are_joined() -> None:
    """A streamed answer is one body."""
    assert parse(CHUNKS + b"next") == (Answer(200, b"abchello world"), b"next")


@pytest.mark.parametrize("cut", range(len(CHUNKS)))
def test_chunks_that_are_not_whole_wait(cut: int) -> None:
    """Chunked bytes may be cut anywhere, too."""
    assert parse(CHUNKS[:cut]) is None


@pytest.mark.parametrize("data", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nserver: x\r\n\r\n"])
def test_what_is_no_answer_is_named(data: bytes) -> None:
    """Another protocol, or a body without a length, is refused."""
    with pytest.raises(Malformed):
        parse(data)


def test_a_request_is_written_with_its_length() -> None:
    """Head, length, blank line, body."""
    assert whole(head_of(ADDRESS, "POST", "/x", "t"), b"{}") == (
        b"POST /x HTTP/1.1\r\nHost: 127.0.0.1:8400\r\nAuthorization: Bearer t\r\n"
        b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize("url", ["https://a:1", "a:1", "http://", "http://a:port"])
def test_a_url_that_cannot_be_loaded_is_named(url: str) -> None:
    """Only plain HTTP is spoken."""
    with pytest.raises(ValueError, match=r"no address|[Pp]ort"):
        Address.of(url)
