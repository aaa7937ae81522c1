"""The wake-up port of a Lazy worker: the hall connects, sends one packet, and reads `ACK:` and the packet's id.

The port is open to whoever can reach it, so a packet does nothing but make the worker look for calls, and nobody is
listened to for long.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable

log = logging.getLogger("hiringhall_worker")

PACKET_BYTES = 4096
PACKET_SECONDS = 2.0
CONVERSATIONS = 8
PULL_SIGNAL = "pull_signal"


class Malformed(ValueError):
    """What arrives is no packet that this worker understands."""


class Packets:
    """Reads packets out of bytes that arrive in any portions."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, data: bytes) -> list[str]:
        """The ids of the packets that these bytes complete; Malformed for anything but a pull signal."""
        try:
            self._text = (self._text + data.decode("ascii")).lstrip()
        except UnicodeDecodeError:
            raise Malformed("not ASCII") from None
        found = []
        while self._text:
            if not self._text.startswith("{"):
                raise Malformed("not a JSON object")
            try:
                packet, end = json.JSONDecoder().raw_decode(self._text)
            except (ValueError, RecursionError):
                if len(self._text) > PACKET_BYTES:
                    raise Malformed(f"more than {PACKET_BYTES} bytes") from None
                break
            found.append(_packet_id(packet))
            self._text = self._text[end:].lstrip()
        return found


def _packet_id(packet: object) -> str:
    members = packet if isinstance(packet, dict) else {}
    message, packet_id = members.get("Message"), members.get("PacketId")
    if not isinstance(message, dict) or message.get("MessageText") != PULL_SIGNAL:
        raise Malformed("not a pull signal")
    if not isinstance(packet_id, str) or not packet_id or not all("!" <= letter <= "~" for letter in packet_id):
        raise Malformed("no PacketId")
    return packet_id


class Probe:
    """Listens on the port and calls `pulled` for each packet. Making one binds the port, or raises OSError."""

    def __init__(self, host: str, port: int, pulled: Callable[[], None]) -> None:
        self._pulled = pulled
        self._room = threading.Semaphore(CONVERSATIONS)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self.port: int = self._listener.getsockname()[1]

    def start(self) -> None:
        threading.Thread(target=self._accept, name="hiringhall-probe", daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                if self._listener.fileno() < 0:
                    return
                # Out of descriptors, or the peer has gone again: the port stays open.
                time.sleep(0.1)
                continue
            if not self._room.acquire(blocking=False):
                sock.close()
                continue
            threading.Thread(target=self._converse, args=(sock,), name="hiringhall-probed", daemon=True).start()

    def _converse(self, sock: socket.socket) -> None:
        deadline = time.monotonic() + PACKET_SECONDS
        packets = Packets()
        try:
            while (left := deadline - time.monotonic()) > 0:
                sock.settimeout(left)
                data = sock.recv(PACKET_BYTES)
                if not data:
                    break
                for packet_id in packets.feed(data):
                    sock.sendall(f"ACK:{packet_id}".encode("ascii"))
                    self._pulled()
        except Malformed as problem:
            log.info("a probe is not answered: %s", problem)
        except OSError:
            pass  # the hall sends another one
        finally:
            sock.close()
            self._room.release()


def own_address(host: str, port: int) -> str:
    """The address by which this machine speaks to a host, as that host may see it."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect(where)
            return str(sock.getsockname()[0])
    except OSError:
        return "127.0.0.1"
