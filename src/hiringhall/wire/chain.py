"""Several routers as one: the first that knows a path answers it."""

from __future__ import annotations

from hiringhall.wire.exchange import Route, Router


class Chain:
    """Asks its routers in order."""

    def __init__(self, *routers: Router) -> None:
        self._routers = routers

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of the first router that knows the path; None if none does."""
        for router in self._routers:
            route = router.match(method, path)
            if route is not None:
                return route
        return None
