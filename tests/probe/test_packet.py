"""The packet byte for byte, and acknowledgements in every piecemeal way."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiringhall.probe.packet import Acknowledgement, pull_signal

GUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
EXPECTED = f"ACK:{GUID}".encode()


def test_the_packet_is_the_documented_one() -> None:
    """{"PacketId":"<guid>","Message":{"MessageText":"pull_signal","Parameters":"<request_id or null>"}}"""
    documented = '{"PacketId":"<guid>","Message":{"MessageText":"pull_signal","Parameters":"<request_id or null>"}}'
    assert pull_signal("<guid>", "<request_id or null>") == documented.encode("ascii")
    assert (
        pull_signal(GUID, "r-1") == documented.replace("<guid>", GUID).replace("<request_id or null>", "r-1").encode()
    )


def test_no_request_is_null_and_no_text() -> None:
    """Without a request id, Parameters is JSON's null."""
    assert pull_signal(GUID, None).endswith(b'"Parameters":null}}')


@given(st.one_of(st.none(), st.text()))
def test_every_packet_is_ascii_and_one_json_value(request_id: str | None) -> None:
    """Whatever a request is called, the packet is one line of ASCII that says it."""
    packet = pull_signal(GUID, request_id)
    assert packet.isascii()
    assert b"\n" not in packet
    assert json.loads(packet)["Message"]["Parameters"] == request_id


def read(pieces: list[bytes]) -> Acknowledgement:
    """What is made of these pieces."""
    acknowledgement = Acknowledgement(GUID)
    for piece in pieces:
        acknowledgement.feed(piece)
    return acknowledgement


@given(st.sampled_from([b"", b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 42), max_size=8))
def test_an_acknowledgement_may_come_in_pieces(ending: bytes, cuts: list[int]) -> None:
    """However it is cut, with a newline or without one, it is complete with its last byte and not before."""
    whole = EXPECTED + ending
    edges = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    assert read([whole[a:b] for a, b in itertools.pairwise(edges)]).complete
    early = read([EXPECTED[:-1]])
    assert not early.complete
    assert not early.wrong


def test_the_id_may_come_in_capitals() -> None:
    """A worker that reads the id as a number may print it in capitals."""
    assert read([f"ACK:{GUID.upper()}".encode()]).complete


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"NAK:" + GUID.encode(), "does not begin"),
        (b"ack:" + GUID.encode(), "does not begin"),
        (b" " + EXPECTED, "does not begin"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not begin"),
        (b"\0" * 100, "does not begin"),
        (b"ACK:\n", "another PacketId"),
        (b"ACK: " + GUID.encode(), "another PacketId"),
        (b"ACK:" + GUID.encode()[::-1], "another PacketId"),
        (b"ACK:null", "another PacketId"),
        (EXPECTED + b"0", "more than"),
        (EXPECTED + b"\n\n", "more than"),
        (EXPECTED + b"\r\nHello", "more than"),
    ],
)
def test_anything_else_is_wrong_at_its_first_wrong_byte(answer: bytes, said: str) -> None:
    """Garbage, a wrong id and a longer answer are each told apart, in one piece and byte by byte up to the id."""
    assert said in read([answer]).wrong
    if not answer.startswith(EXPECTED):
        assert said in read([answer[at : at + 1] for at in range(len(answer))]).wrong


@given(st.binary(max_size=200))
def test_garbage_never_becomes_an_acknowledgement(garbage: bytes) -> None:
    """No bytes but the expected ones are accepted."""
    expected = garbage.lower().startswith(EXPECTED.lower())
    assert read([garbage]).complete == expected


def test_a_flood_is_not_kept() -> None:
    """A megabyte is judged by its first bytes, and only those are kept."""
    acknowledgement = read([b"ACK:", b"x" * 1_000_000, EXPECTED])
    assert acknowledgement.wrong
    assert not acknowledgement.complete
    assert len(acknowledgement._read) < 100
