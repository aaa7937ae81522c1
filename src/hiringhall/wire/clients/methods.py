"""`GET /client/methods`: "what is on offer, with live worker counts", as far as the client may call it."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from hiringhall.ports.calls import ListMethods, MethodView
from hiringhall.wire.clients.call import ClientCall
from hiringhall.wire.json_bodies import invalid
from hiringhall.wire.query import parameters

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 1_000
PAGES_MAX: Final = 10
"""A client that may call little of much is answered a shorter page, and reads on."""
_running: Final[set[asyncio.Task[None]]] = set()


class MethodsCall(ClientCall):
    """A page of methods in the order of their names."""

    __slots__ = ()

    def admitted(self) -> None:
        """It is known who calls."""
        values = parameters(self.exchange.request.query)
        limit = values.get("limit", str(LIMIT_DEFAULT))
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and 1 <= int(limit) <= LIMIT_MAX):
            self.refuse(invalid("limit", f"must be a whole number from 1 to {LIMIT_MAX}"))
            return
        after = values.get("after", "/")
        service, slash, method = after.partition("/")
        if not slash:
            self.refuse(invalid("after", "must be the `next` of the page before, like 'service/method'"))
            return
        task = self.hall.loop.create_task(self._answer((service, method), int(limit), values.get("service")))
        _running.add(task)
        task.add_done_callback(_running.discard)

    async def _answer(self, after: tuple[str, str], limit: int, service: str | None) -> None:
        try:
            found, following = await self._page(after, limit, service)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the client waits for an answer
            self.failed(failure)
            return
        self.answer(msgspec.json.encode({"methods": [_shown(view) for view in found], "next": following}))

    async def _page(
        self, after: tuple[str, str], limit: int, service: str | None
    ) -> tuple[list[MethodView], str | None]:
        """Up to `limit` methods, and where the next page begins, if there may be one."""
        found: list[MethodView] = []
        for _ in range(PAGES_MAX):
            views: list[MethodView] = await self.hall.store.read(ListMethods(after, LIMIT_MAX, service))
            for view in views:
                if self.hall.identities.allows(self.identity, view.service, view.method):
                    if len(found) == limit:
                        return found, "/".join(after)
                    found.append(view)
                after = (view.service, view.method)
            if len(views) < LIMIT_MAX:
                return found, None
        return found, "/".join(after)


def _shown(view: MethodView) -> dict[str, object]:
    return {
        "method": f"{view.service}/{view.method}",
        "service": view.service,
        "name": view.method,
        "dispatch": view.dispatch.value,
        "workers": view.workers,
        "live_workers": view.live,
    }
