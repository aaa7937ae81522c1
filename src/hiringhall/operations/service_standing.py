"""Whether a login may still act for its worker: one from before the worker last started may not.

"sessions bound to an earlier incarnation get 409 `worker_superseded`". Whoever changes something is judged by the
store; this is for the calls that change nothing, and for the sign of life that every call is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from hiringhall.auth.identities import Identity
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.ports.identity import FindSessions, SessionView

SUPERSEDED: Final = Refused(
    "worker_superseded", "a worker with this id has started since this login; end this process, or log in again"
)
NOT_REGISTERED: Final = Refused(
    "not_registered", "no worker of this id is registered with the service; POST /worker/registration first"
)
_running: Final[set[asyncio.Task[None]]] = set()


def may_be_superseded(identity: Identity, known: Known) -> bool:
    """By what is known here, either part of which may be a little old."""
    service = known.service
    return service is not None and identity.incarnation is not None and identity.incarnation < service.incarnation


def judge(hall: Hall, identity: Identity, known: Known, done: Callable[[bool | Exception], None]) -> None:
    """Call `done` with whether the login is superseded, as the store has it now: it is read after the worker was."""

    async def look() -> None:
        verdict: bool | Exception
        try:
            views: list[SessionView] = await hall.store.read(FindSessions((identity.session,)))
        except Exception as failure:  # noqa: BLE001 - the caller has to hear of it
            verdict = failure
        else:
            bound = views[0].incarnation if views else None
            service = known.service
            verdict = bound is not None and service is not None and bound < service.incarnation
        done(verdict)

    task = hall.loop.create_task(look())
    _running.add(task)
    task.add_done_callback(_running.discard)
