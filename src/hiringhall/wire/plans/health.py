"""`GET /health`: "Liveness probe … to prove the control plane can still reach" its database."""

from __future__ import annotations

import asyncio
from typing import Final

from hiringhall.domain.refusals import Refused
from hiringhall.ports.questions import Alive
from hiringhall.wire.envelope import RETRY_AFTER
from hiringhall.wire.plans.call import Call

ANSWER_WITHIN_SECONDS: Final = 5.0
_running: Final[set[asyncio.Task[None]]] = set()


class HealthCall(Call):
    """No token is needed."""

    __slots__ = ()

    def start(self) -> None:
        """Ask the database."""
        task = self.hall.loop.create_task(self._look())
        _running.add(task)
        task.add_done_callback(_running.discard)

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                await self.hall.store.read(Alive())
        except Exception:  # noqa: BLE001 - whatever it is, the hall is not healthy; what the driver says is nobody's business
            refused = Refused("unavailable", "the database does not answer", extra={"status": "unavailable"})
            self.refuse(refused, RETRY_AFTER)
        else:
            self.answer(b'{"status":"ok"}')
