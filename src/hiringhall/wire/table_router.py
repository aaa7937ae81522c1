"""Finds the handler of a raw path in a table of routes.

Raw paths are split first, and each part is decoded once, so that an id may contain a slash.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from hiringhall.domain.refusals import Refused
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Handler, Reply, Route, Router
from hiringhall.wire.hot_call import FixedHeaders, HotCall

BODY_BYTES_MAX: Final = 1024 * 1024
"""Of workers and clients."""
Table = Mapping[str, Mapping[bytes, Callable[[Exchange], HotCall]]]
"""By path, one part of which may be an identifier in braces, and by method: what makes the call."""


def _envelope(refused: Refused, headers: FixedHeaders) -> Reply:
    return refusal(refused.code, refused.detail, headers=headers)


class TableRouter:
    """`match` is called once per request. `closed`: paths that are none of the table's are refused here.

    `envelope`: a refusal as it is sent. `without_head`: paths whose GET changes something, which a HEAD must not.
    `with_token`: paths whose handlers refuse at once what has no Authorization header.
    """

    def __init__(
        self, *tables: Table, closed: bool = False, envelope: Callable[[Refused, FixedHeaders], Reply] = _envelope,
        without_head: Collection[str] = (), with_token: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._closed = closed
        self._envelope = envelope
        self._whole: dict[bytes, dict[bytes, Route]] = {}
        self._around: dict[tuple[bytes, bytes], dict[bytes, Route]] = {}
        self._before: dict[bytes, dict[bytes, Route]] = {}
        self._below: dict[bytes, Router] = {}
        self._nothing = self._route(self._not_found, needs_token=True)
        for table in tables:
            for path, calls in table.items():
                self._add(path.encode(), calls, head=path not in without_head, needs_token=path in with_token)

    def mount_below(self, prefix: bytes, router: Router) -> None:
        """Leave the paths below `prefix` to another router."""
        self._below[prefix[1:]] = router

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of a raw path; None if the paths of this router are open and it is none of them."""
        methods = self._whole.get(path)
        if methods is None:
            parts = path.split(b"/")
            count = len(parts)
            if count > 2 and parts[1] in self._below:
                return self._below[parts[1]].match(method, path[len(parts[1]) + 1 :])
            if count > 3:
                last, before = parts[-1], parts[-2]
                if before:
                    methods = self._around.get((path[: -len(last) - len(before) - 1], last))
                if methods is None and last:
                    methods = self._before.get(path[: -len(last)])
            if methods is None:
                return self._nothing if self._closed else None
        route = methods.get(method)
        return methods[b"*"] if route is None else route

    def _add(
        self, path: bytes, calls: Mapping[bytes, Callable[[Exchange], HotCall]], *, head: bool, needs_token: bool
    ) -> None:
        methods = {method: self._route(_handler(call), needs_token=needs_token) for method, call in calls.items()}
        if head and b"GET" in methods:
            methods[b"HEAD"] = methods[b"GET"]
        methods[b"*"] = self._route(self._wrong_method(b", ".join(sorted(methods))), needs_token=True)
        parts = path.split(b"/")
        if b"{" not in path:
            self._whole[path] = methods
        elif path.endswith(b"}"):
            self._before[path[: -len(parts[-1])]] = methods
        else:
            self._around[path[: -len(parts[-1]) - len(parts[-2]) - 1], parts[-1]] = methods

    def _route(self, handler: Handler, *, needs_token: bool) -> Route:
        return Route(handler, BODY_BYTES_MAX, needs_token)

    def _wrong_method(self, allowed: bytes) -> Handler:
        refused = Refused("method_not_allowed", f"this path knows {allowed.decode()}")
        reply = self._envelope(refused, ((b"allow", allowed),))
        return lambda exchange: exchange.answer(reply)

    def _not_found(self, exchange: Exchange) -> None:
        exchange.answer(self._envelope(Refused("not_found", "there is no such path"), ()))


def _handler(call: Callable[[Exchange], HotCall]) -> Handler:
    def handle(exchange: Exchange) -> None:
        call(exchange).start()

    return handle
