"""The packet of a probe and its acknowledgement, as bytes."""

from __future__ import annotations

import json
from typing import Final

PREFIX: Final = b"ACK:"
ENDINGS: Final = (b"", b"\n", b"\r\n", b"\r")
"""What may follow an acknowledgement. Nothing frames it, so that nothing need follow."""
ENDING_BYTES_MAX: Final = 2


def pull_signal(packet_id: str, request_id: str | None) -> bytes:
    """The packet that has a worker drain.

    "one ASCII JSON packet, for example {"PacketId":"<guid>","Message":{"MessageText":"pull_signal","Parameters":
    "<request_id or null>"}}"
    """
    packet = {"PacketId": packet_id, "Message": {"MessageText": "pull_signal", "Parameters": request_id}}
    return json.dumps(packet, ensure_ascii=True, separators=(",", ":")).encode("ascii")


class Acknowledgement:
    """Reads "ACK:<PacketId>", in however many pieces it arrives. Keeps hardly more than its own length.

    What is certainly no acknowledgement is known at its first wrong byte.
    """

    def __init__(self, packet_id: str) -> None:
        self._expected = PREFIX + packet_id.encode("ascii")
        self._read = b""
        self.complete = False
        self.wrong = ""
        """Why what arrived is no acknowledgement, in words; empty as long as it may become one."""

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes."""
        if self.complete or self.wrong or not piece:
            return
        length = len(self._expected)
        self._read += piece[: length + ENDING_BYTES_MAX + 1 - len(self._read)]
        begun = self._read[:length]
        # A worker may print the id in capitals: it is a number, however it is written.
        if begun[: len(PREFIX)] != PREFIX[: len(begun)]:
            self.wrong = "it answered something that does not begin with 'ACK:'"
        elif begun.lower() != self._expected[: len(begun)].lower():
            self.wrong = "it acknowledged another PacketId"
        elif len(begun) == length:
            self.complete = self._read[length:] in ENDINGS
            if not self.complete:
                self.wrong = "it answered more than the acknowledgement"
