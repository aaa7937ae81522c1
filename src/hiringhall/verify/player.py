"""Plays one case: starts the hall and the worker, goes through the steps, and says how it went."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from msgspec import UNSET

from hiringhall.verify.cases import Case, Counted, Exit, Expected, Many, Never, Restart, Step
from hiringhall.verify.heard import Heard, misfit
from hiringhall.verify.matching import Saved
from hiringhall.verify.numerals import shown
from hiringhall.verify.plans_hall import PlansHall
from hiringhall.verify.probing import ProbeFailed, knock
from hiringhall.verify.result import Result, described
from hiringhall.verify.scripted_hall import ScriptedHall
from hiringhall.verify.services_hall import ServicesHall
from hiringhall.verify.timeline import Timeline
from hiringhall.verify.worker_process import WorkerProcess, told

HALLS: Final[dict[str, type[ScriptedHall]]] = {"plans": PlansHall, "services": ServicesHall}
# The same for all cases; a case may override each.
ENVIRONMENT: Final = {
    "HALL_CONCURRENCY": "1",
    "HALL_HOLD_SECONDS": "2",
    "HALL_ANSWER_SECONDS": "10",
    "HALL_HEARTBEAT_SECONDS": "30",
}
WAIT_SECONDS: Final = 10.0
# A clock of the worker's may tick a little faster than ours.
EARLY_SECONDS: Final = 0.03


class Failed(Exception):
    """The worker did not do what the case says: what was expected, and what was seen instead."""

    def __init__(self, expected: str, seen: str) -> None:
        super().__init__(expected, seen)
        self.expected = expected
        self.seen = seen


class Player:
    """One case, one hall, one run of the worker."""

    def __init__(self, case: Case, command: Sequence[str], patience: float = 1.0) -> None:
        self._case = case
        self._command = command
        self._patience = patience
        self.timeline = Timeline()
        self.hall = HALLS[case.protocol](case, self.timeline)
        self._worker: WorkerProcess | None = None
        self._saved: Saved = {}
        # Requests from here on count for the next expectation; `_acted_at` is where the last action left it.
        self._cursor = 0
        self._acted_at = 0
        self._moment = 0.0

    async def play(self) -> Result:
        """Play it to its end. CannotStart if the command cannot be run."""
        await self.hall.start()
        failure: Failed | None = None
        try:
            environment: dict[str, str | None] = {
                **ENVIRONMENT,
                "HALL_SERVER": self.hall.url,
                "HALL_PROTOCOL": self._case.protocol,
                **self.hall.environment(),
                **self._case.environment,
            }
            self._worker = await WorkerProcess.start(self._command, environment, self.timeline)
            for step in self._case.steps:
                await self._step(step)
            for counted in self._case.finally_:
                self._count(counted)
        except Failed as found:
            failure = found
        finally:
            if self._worker is not None:
                await self._worker.end()
            await self.hall.kill()
        if failure is None:
            failure = self._manners()
        expected, seen = ("", "") if failure is None else (failure.expected, failure.seen)
        return Result(self._case, expected, seen, self.timeline, self.timeline.now)

    async def _step(self, step: Step) -> None:
        (name,) = step.given
        value = getattr(step, name)
        perform: Callable[[Any], Awaitable[None]] = getattr(self, f"_on_{name}")
        if name not in ("expect", "never", "exit"):
            self.timeline.note(f"• {name}: {described(value)}")
        await perform(value)

    def _acted(self) -> None:
        self._cursor = self._acted_at = len(self.timeline.heard)
        self._moment = self.timeline.now

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        return await self.timeline.wait_until(condition, self.timeline.now + seconds * self._patience)

    @property
    def _running(self) -> WorkerProcess:
        assert self._worker is not None
        return self._worker

    async def _on_expect(self, expected: Expected) -> None:
        for _ in range(expected.times):
            await self._expect(expected)

    async def _expect(self, expected: Expected) -> None:
        found: list[Heard] = []

        def look() -> bool:
            start = self._acted_at if expected.anytime else self._cursor
            for number in range(start, len(self.timeline.heard)):
                heard = self.timeline.heard[number]
                if not heard.taken and misfit(expected, heard, self._saved) is None:
                    heard.taken = True
                    found.append(heard)
                    if not expected.anytime:
                        self._cursor = number + 1
                    return True
            return False

        def over() -> bool:
            return look() or self._running.status is not None

        began = self._moment
        left = began + expected.within_ms / 1000 * self._patience - self.timeline.now
        await self._until(over, max(0.0, left) / self._patience)
        if not found:
            raise Failed(described(expected), self._instead(expected))
        early = expected.not_before_ms / 1000 - (found[0].at - began)
        if expected.not_before_ms and early > EARLY_SECONDS:
            raise Failed(described(expected), f"it came after {(found[0].at - began) * 1000:.0f} ms already")
        self._moment = max(began, found[0].at)

    def _instead(self, expected: Expected) -> str:
        """Why nothing that came was what was expected: the nearest of what came."""
        start = self._acted_at if expected.anytime else self._cursor
        of_route = [h for h in self.timeline.heard[start:] if h.route == expected.request and not h.taken]
        status = self._running.status
        ended = "" if status is None else f"; the worker has ended ({told(status)})"
        if of_route:
            nearest = misfit(expected, of_route[-1], dict(self._saved)) or "too late"
            return f"{expected.request} came, but {nearest}{ended}"
        before = [h for h in self.timeline.heard[:start] if h.route == expected.request and not h.taken]
        if before:
            return f"{expected.request} came, but before the step ahead{ended}"
        return ended.removeprefix("; ") or f"no {expected.request} came within {expected.within_ms} ms"

    async def _on_never(self, never: Never) -> None:
        start = self._cursor
        found: list[Heard] = []

        def seen() -> bool:
            heard = self.timeline.heard[start:]
            found[:] = [one for one in heard if not one.taken and misfit(never, one, dict(self._saved)) is None]
            return bool(found)

        # Not stretched by the patience: a slow machine makes nothing appear that must not.
        if await self.timeline.wait_until(seen, self.timeline.now + never.for_ms / 1000):
            raise Failed(f"no {described(never)}", f"{found[0].method} {found[0].target} at {found[0].at:.3f} s")
        self._moment = self.timeline.now

    async def _on_call(self, call: dict[str, Any]) -> None:
        self._acted()
        self.hall.add(call)

    async def _on_task(self, task: dict[str, Any]) -> None:
        self._acted()
        self.hall.add(task)

    async def _on_many(self, many: Many) -> None:
        self._acted()
        name, first = ("request_id", "r-") if self._case.protocol == "services" else ("id", "T-")
        for number in range(1, many.count + 1):
            self.hall.add({**many.like, name: f"{first}{number}"})

    async def _on_handed(self, work_id: str) -> None:
        if not await self._until(lambda: work_id in self.hall.handed, WAIT_SECONDS):
            raise Failed(f"the worker takes {work_id}", "it did not ask for it")
        self._acted()

    async def _on_parked(self, milliseconds: int) -> None:
        def parked() -> bool:
            return self.hall.parked > 0 or self._running.status is not None

        if not await self._until(parked, milliseconds / 1000) or self._running.status is not None:
            seen = "" if self._running.status is None else f": it has ended ({told(self._running.status)})"
            raise Failed("the worker asks for work, and waits for the answer", f"no request is held{seen}")
        self._acted()

    async def _on_pause_ms(self, milliseconds: int) -> None:
        await asyncio.sleep(milliseconds / 1000)
        self._moment = self.timeline.now

    async def _on_signal(self, name: str) -> None:
        self._acted()
        if self._running.status is not None:
            self.timeline.note("  the worker had ended before")
        self._running.signal(name)

    async def _on_exit(self, wanted: Exit) -> None:
        left = self._moment + wanted.within_ms / 1000 * self._patience - self.timeline.now
        ended = await self._until(lambda: self._running.status is not None, max(0.0, left) / self._patience)
        status = self._running.status
        expected = f"the worker ends within {wanted.within_ms} ms, status {wanted.status}"
        if not ended or status is None:
            raise Failed(expected, "it still runs")
        fits = {"any": True, "not 0": status != 0}.get(str(wanted.status), status == wanted.status)
        if not fits:
            raise Failed(expected, f"it ended: {told(status)}")

    async def _on_restart(self, restart: Restart) -> None:
        self._acted()
        await self.hall.kill()
        if restart.forget in ("tokens", "workers"):
            self.hall.revoke(everything=True)
        if restart.forget == "workers":
            self.hall.forget_workers()
        await asyncio.sleep(restart.down_ms / 1000)
        await self.hall.start()
        self.timeline.note("  the hall is back")

    async def _on_directive(self, directive: str) -> None:
        self._acted()
        self.hall.direct(directive)

    async def _on_revoke(self, what: str) -> None:
        self._acted()
        self.hall.revoke(everything=what == "all")

    async def _on_forget(self, _what: str) -> None:
        self._acted()
        self.hall.forget_workers()

    async def _on_probe(self, probe: Any) -> None:
        assert isinstance(self.hall, ServicesHall)
        where = self.hall.probe_port
        if where is None:
            raise Failed("the registration tells ip and port", shown(self.hall.profile))
        self._acted()
        try:
            await knock(where, probe, probe.within_ms / 1000 * self._patience)
        except ProbeFailed as problem:
            raise Failed(described(probe), str(problem)) from None

    def _count(self, counted: Counted) -> None:
        wanted = "" if counted.answered is UNSET else str(counted.answered)
        fitting = [heard for heard in self.timeline.heard if misfit(counted, heard, dict(self._saved)) is None]
        count = sum(not wanted or heard.status == wanted for heard in fitting)
        least, most = counted.at_least, counted.at_most
        if counted.exactly is not UNSET:
            least = most = counted.exactly
        if count < least or (most is not UNSET and count > most):
            raise Failed(f"in all {described(counted)}", f"there were {count}")

    def _manners(self) -> Failed | None:
        """What no worker may do in any case."""
        if self.hall.problems:
            return Failed("every request is HTTP/1.1", self.hall.problems[0])
        printed = "".join(self.timeline.output)
        for secret in self.hall.secrets:
            if secret in printed:
                return Failed("no secret or token is printed", f"the worker printed {secret[:8]}…")
        if unused := self.hall.unused():
            return Failed(f"the worker sends what the case waits for: {unused[0]}", "it never did")
        return None
