"""Whether bytes that were written to a connection are known to have missed their reader."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys

if sys.platform == "linux":
    import fcntl
    import termios

    def _unacknowledged_bytes(descriptor: int) -> int:
        return int(struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, b"\0\0\0\0"))[0])

else:

    def _unacknowledged_bytes(descriptor: int) -> int:
        del descriptor  # other systems do not tell
        return 0


def waiting_bytes(transport: asyncio.Transport) -> int:
    """How much of what was written the peer has not taken, as far as the system tells."""
    waiting = transport.get_write_buffer_size()
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            waiting += _unacknowledged_bytes(connection.fileno())
    return waiting


def undelivered(transport: asyncio.Transport) -> bool:
    """True if the peer, which has closed, had not received everything that was written when it closed.

    Its close acknowledges what had come: what is still unacknowledged came too late, and what comes too late to a
    closed socket is answered by a reset.
    """
    if transport.get_write_buffer_size() > 0:
        return True
    connection = transport.get_extra_info("socket")
    if connection is None:
        return False
    try:
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
            return True
        return _unacknowledged_bytes(connection.fileno()) > 0
    except OSError:
        return True
