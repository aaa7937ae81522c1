"""Workers' ports for the tests: each behaves in its own way, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

from hiringhall.ports.probes import LazyWorker
from hiringhall.probe.addresses import Rules

Manner = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LOOPBACK = Rules(listens_on_loopback=True)


def lazy_worker(port: object, *, key: str = "service:s/w", ip: object = "127.0.0.1") -> LazyWorker:
    """A worker that registered from loopback."""
    return LazyWorker(key, ip, port, "127.0.0.1", False)


class WakeUpPort:
    """One port at which a worker waits. Keeps every packet that arrived, and whether connections ended."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []
        self.connected = 0
        self.ended = 0
        self.port = 0

    async def packet(self, reader: asyncio.StreamReader) -> str:
        """Read one packet, until its JSON is complete, and return its id."""
        read = b""
        while True:
            piece = await reader.read(7)
            if not piece:
                raise ConnectionError("the hall closed before its packet was complete")
            read += piece
            with contextlib.suppress(ValueError):
                packet_id: str = json.loads(read)["PacketId"]
                self.packets.append(read)
                return packet_id


@contextlib.asynccontextmanager
async def wake_up_port(
    manner: Callable[[WakeUpPort, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[WakeUpPort]:
    """A port that treats each connection in the given manner until the test is over."""
    port = WakeUpPort()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port.connected += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await manner(port, reader, writer)
            while await reader.read(65_536):
                pass
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            port.ended += 1
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port.port = server.sockets[0].getsockname()[1]
    try:
        yield port
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def acknowledges(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As the document says."""
    packet_id = await port.packet(reader)
    writer.write(f"ACK:{packet_id}".encode())
    await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with a reset instead of a FIN."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
