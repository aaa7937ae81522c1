"""An exchange on a connection of the hot front, and what follows when its answer does not arrive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from hiringhall.asgi.incoming import Incoming
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Reply

if TYPE_CHECKING:
    from hiringhall.asgi.hot_front import HotFront

logger = logging.getLogger("hiringhall")

Call = Callable[[], None]


class HotExchange(Exchange):
    """An exchange whose turn it is on its connection."""

    __slots__ = ("front",)

    request: Incoming

    def __init__(self, request: Incoming, front: HotFront) -> None:
        self.request = request
        self.gone = False
        self.when_gone = None
        self.front: HotFront | None = front
        """None once it is answered or its peer is gone."""

    def peer(self) -> str:
        front = self.front
        name = None if front is None else front.transport.get_extra_info("peername")
        return name[0] if isinstance(name, tuple) else ""

    def answer(self, reply: Reply, lost: Call | None = None) -> None:
        front = self.front
        if front is not None:
            front.send_answer(self, reply, lost)
            return
        if not self.gone:
            logger.error("a second answer to %s %s was dropped", self.request.method, self.request.path)
        if lost is not None:
            asyncio.get_running_loop().call_soon(call, lost)


class Several:
    """Answers of which nobody knows yet whether they arrived; a peer that pipelines can have thousands."""

    __slots__ = ("calls",)

    def __init__(self, *calls: Call) -> None:
        self.calls = list(calls)

    def __call__(self) -> None:
        for each in self.calls:
            call(each)


def call(callback: Call | None) -> None:
    """Call back; a bug in it must not keep the connection from being cleaned up."""
    if callback is None:
        return
    try:
        callback()
    except Exception:
        logger.exception("a bug in what follows a lost connection")


def too_large(limit_bytes: int) -> Reply:
    """The refusal of a body over its limit."""
    return refusal("payload_too_large", f"The body is larger than {limit_bytes} bytes.")
