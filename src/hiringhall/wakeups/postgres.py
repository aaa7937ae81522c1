"""Rings of other replicas: one connection that only listens, and comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any, Final

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from hiringhall.domain.announcement import CHANNEL, heard
from hiringhall.domain.topics import EVERYTHING
from hiringhall.ports.wakeups import Wakeups

log = logging.getLogger("hiringhall")

CONNECT_SECONDS: Final = 5.0
ALIVE_EVERY_SECONDS: Final = 15.0
ALIVE_WITHIN_SECONDS: Final = 5.0
BACK_OFF_SECONDS: Final = (0.1, 5.0)
CONSEQUENCE: Final = "what other servers do wakes nobody here at once, but within about a second"


class RingListener:
    """Hears what other replicas ring and rings it here. Belongs to one event loop.

    A ring may be lost while there is no connection, hence everything is rung once there is one again.
    """

    def __init__(self, url: str, wakeups: Wakeups, origin: str) -> None:
        self._url = url
        self._wakeups = wakeups
        self._origin = origin
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Whether rings are being heard now."""
        return self._listening.is_set()

    def start(self) -> None:
        """Begin to listen, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="hall ring listener")

    async def ready(self) -> None:
        """Return once rings are being heard."""
        await self._listening.wait()

    async def close(self) -> None:
        """Hear nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        least, most = BACK_OFF_SECONDS
        pause = least
        missed = told = False
        while True:
            try:
                async with asyncio.timeout(2 * CONNECT_SECONDS):
                    connection = await self._connect()
            except Exception as problem:  # noqa: BLE001 - whatever it is, the next attempt may succeed
                if not told:
                    told = True
                    log.warning("no connection that listens to the database: %s; %s", _plain(problem), CONSEQUENCE)
                missed = True
                await asyncio.sleep(pause * (0.5 + random.random() / 2))
                pause = min(2 * pause, most)
                continue
            pause, told = least, False
            try:
                await self._listen(connection, missed=missed)
            finally:
                connection.terminate()
            missed = True

    async def _listen(self, connection: asyncpg.Connection[Any], *, missed: bool) -> None:
        """Hear rings until the connection is gone. `missed`: some may have been lost before."""
        self._listening.set()
        try:
            if missed:
                self._ring(EVERYTHING, 1)
            await _until_gone(connection)
        finally:
            self._listening.clear()

    def _ring(self, topic: str, count: int) -> None:
        try:
            self._wakeups.ring(topic, count)
        except Exception as bug:  # noqa: BLE001 - whoever was rung is at fault, and must not end the listening
            context = {"message": "a ring of another server could not be told", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _connect(self) -> asyncpg.Connection[Any]:
        connection = await asyncpg.connect(
            self._url,
            timeout=CONNECT_SECONDS,
            command_timeout=ALIVE_WITHIN_SECONDS,
            server_settings={"application_name": "hiringhall listen"},
            target_session_attrs=SessionAttribute.primary,
        )
        try:
            await connection.add_listener(CHANNEL, self._hear)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _hear(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        for topic, count in heard(str(payload), self._origin).items():
            self._ring(topic, count)


def _plain(problem: Exception) -> str:
    """What went wrong, without the address that it went wrong with: it holds a password."""
    told = isinstance(problem, (OSError, asyncpg.PostgresError)) and str(problem)
    return told or type(problem).__name__


async def _until_gone(connection: asyncpg.Connection[Any]) -> None:
    """Return when the connection has ended, or has not answered in time."""
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _: gone.set())
    while not gone.is_set() and not connection.is_closed():
        try:
            async with asyncio.timeout(ALIVE_EVERY_SECONDS):
                await gone.wait()
        except TimeoutError:
            try:
                await connection.execute("SELECT 1")
            except Exception:  # noqa: BLE001 - whatever it is, this connection is of no more use
                return
