"""Makes the sweeps: jittered, one at a time, through the same coalescer as everybody else's asks.

A pass that fails because the database is away is forgotten; the next one finds the same work. A pass that says that
there is more to do is repeated at once. A pass that a change by this process would have made necessary is left out, or
made seldom, where there was none, so that servers with nothing to do leave the database in peace. A pulse that hears of
a retry that is due before the next one comes again at that moment; whoever makes a task fail says so, since its next
attempt may be due before the next pulse looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Mapping
from typing import Final, Protocol

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Ask, Beat, Beaten, Swept
from hiringhall.ports.store import StoreUnavailable
from hiringhall.sweepers.sweeper import KEEP_CALLS_MS, Sweeper, due_after, pulse_interval_seconds, tidying

log = logging.getLogger("hiringhall.sweepers")

LOOK_AGAIN_SECONDS: Final = 0.05
"""How soon a pulse may follow another, however many tasks fail or are due."""


class Committer(Protocol):
    """What a sweep needs of the coalescer."""

    @property
    def asks(self) -> Mapping[str, int]:
        """How many asks of each verb were committed."""
        ...

    async def one(self, ask: Ask) -> object:
        """Commit one ask and return its outcome."""
        ...


class SweepRunner:
    """Runs all sweeps in the background from `start` until `stop`."""

    def __init__(
        self,
        committer: Committer,
        terms: Terms,
        *,
        keep_plans_ms: int | None = None,
        keep_calls_ms: int = KEEP_CALLS_MS,
        seed: int | None = None,
    ) -> None:
        self._committer = committer
        self._terms = terms
        self._sweepers = tidying(keep_plans_ms=keep_plans_ms, keep_calls_ms=keep_calls_ms)
        self._random = random.Random(seed)
        self._tasks: list[asyncio.Task[None]] = []
        self._heard = False
        self._failed = asyncio.Event()
        self.swept: dict[str, int] = {}

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._tasks = [asyncio.create_task(self._pulse(), name="sweep-pulse")]
        self._tasks += [asyncio.create_task(self._repeat(each), name=f"sweep-{each.name}") for each in self._sweepers]

    async def stop(self) -> None:
        """End; a pass under way is not waited for, since the store finishes or forgets it as a whole."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def task_failed(self) -> None:
        """A task failed, and may have another attempt that is due soon."""
        self._failed.set()

    async def _pulse(self) -> None:
        interval_seconds = pulse_interval_seconds(self._terms)
        while True:
            self._failed.clear()
            pause_seconds = interval_seconds * self._random.uniform(0.9, 1.0)
            beaten = await self._put("pulse", Beat())
            if isinstance(beaten, Beaten):
                if beaten.deaf and self._heard:
                    log.warning(
                        "the hall could not hear for a while: nobody loses work for having been silent meanwhile"
                    )
                self._heard = True
                for name, ask in due_after(beaten):
                    await self._sweep(name, ask)
                if beaten.retry_in_ms is not None:
                    pause_seconds = min(pause_seconds, beaten.retry_in_ms / 1000)
            await asyncio.sleep(min(LOOK_AGAIN_SECONDS, interval_seconds))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds - LOOK_AGAIN_SECONDS):
                    await self._failed.wait()

    async def _repeat(self, sweeper: Sweeper) -> None:
        time = asyncio.get_running_loop().time
        idle_seconds = math.inf if sweeper.idle_seconds is None else sweeper.idle_seconds
        committed, found = 0, True
        made_at = changed_at = -math.inf
        while True:
            await asyncio.sleep(sweeper.interval_seconds * self._random.uniform(0.75, 1.25))
            before, committed = committed, sum(self._committer.asks.get(kind.__name__, 0) for kind in sweeper.after)
            if changed := committed != before:
                changed_at = time()
            called_for = found or changed or time() - changed_at < sweeper.lasting_seconds
            if called_for or time() - made_at >= idle_seconds or not sweeper.after:
                found = await self._sweep(sweeper.name, sweeper.ask())
                made_at = time()

    async def _sweep(self, name: str, ask: Ask) -> bool:
        """Make passes until there is nothing more to do; returns whether the last one has to be made again later."""
        while True:
            swept = await self._put(name, ask)
            if not isinstance(swept, Swept):
                return True
            if not swept.more:
                return swept.changed > 0

    async def _put(self, name: str, ask: Ask) -> object:
        try:
            outcome = await self._committer.one(ask)
        except StoreUnavailable:
            return None
        except Exception:
            log.exception("sweep failed", extra={"sweep": name})
            return None
        changed = outcome.changed if isinstance(outcome, Swept) else 0
        self.swept[name] = self.swept.get(name, 0) + changed
        return outcome
