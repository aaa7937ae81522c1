"""A hall that does as a case says, with a proxy in front that delays, cuts and repeats."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from msgspec import UNSET

from hiringhall.verify import cases
from hiringhall.verify.cases import Case, Rule
from hiringhall.verify.front import Arrived, Front, Line, render
from hiringhall.verify.heard import Heard, Reply, route_of
from hiringhall.verify.numerals import encode
from hiringhall.verify.script import Script
from hiringhall.verify.timeline import Timeline

SILENCE_SECONDS: Final = 120.0
USUAL_HOLD_SECONDS: Final = 2.0
LONGEST_HOLD_SECONDS: Final = 55.0
CODES: Final = {
    400: "malformed_json",
    401: "missing_or_invalid_bearer",
    403: "worker_forbidden",
    404: "not_found",
    409: "not_held",
    410: "gone",
    413: "payload_too_large",
    422: "validation_error",
    429: "queue_full",
    503: "unavailable",
}


def refusal(status: int, detail: str, *, code: str = "", **members: Any) -> Reply:
    """A refusal in the hall's envelope."""
    told = {"error_code": code or CODES.get(status, "internal_error"), "detail": detail, "task_id": None, **members}
    headers = (("WWW-Authenticate", 'Bearer realm="whilly"'),) if status == 401 else ()
    return Reply(status, encode(told).encode(), headers)


def answer(status: int, value: Any) -> Reply:
    """An answer with a JSON body."""
    return Reply(status, encode(value).encode())


class ScriptedHall(ABC):
    """Behaves like a hall unless a rule of the case says otherwise."""

    secrets: tuple[str, ...] = ()

    def __init__(self, case: Case, timeline: Timeline) -> None:
        self.case = case
        self.timeline = timeline
        self.directive = ""
        self.parked = 0
        self.problems: list[str] = []
        self.work: deque[dict[str, Any]] = deque()
        self.handed: list[str] = []
        self.lost: set[str] = set()
        self._script = Script(case.answers)
        self._front = Front(self._answer, self._malformed, timeline.changed)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._front.port}"

    async def start(self) -> None:
        """Listen."""
        await self._front.start()

    async def kill(self) -> None:
        """End as a killed process does."""
        await self._front.kill()

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """What the worker is told."""

    @abstractmethod
    def add(self, work: dict[str, Any]) -> None:
        """Put a call or task into the queue."""

    @abstractmethod
    def revoke(self, everything: bool) -> None:
        """Accept no token that was given so far; `everything`: and no refresh token."""

    @abstractmethod
    def forget_workers(self) -> None:
        """Know no worker, but accept their tokens."""

    @abstractmethod
    async def reply(self, heard: Heard, gone: Callable[[], bool]) -> Reply | None:
        """Do what a request asks and say what is answered; None if the peer has gone before there was an answer."""

    def direct(self, directive: str) -> None:
        """Tell the worker something with every answer; parked requests end at once."""
        self.directive = directive
        self.timeline.changed()

    def unused(self) -> list[str]:
        """What rules never applied."""
        return self._script.unused()

    async def wait_for_work(self, seconds: float, gone: Callable[[], bool]) -> bool:
        """Hold a request until there is work; whether there is, and somebody to take it."""
        told = self.directive

        def over() -> bool:
            return gone() or self.directive != told or bool(self.work and self.case.hall.wakes)

        if not self.work and not gone() and seconds > 0:
            self.parked += 1
            self.timeline.changed()
            try:
                await self.timeline.wait_until(over, self.timeline.now + seconds)
            finally:
                self.parked -= 1
                self.timeline.changed()
            if not self.case.hall.wakes:
                return False
        return bool(self.work) and not gone()

    def hold_seconds(self, wanted: Any, usual: float) -> float:
        """How long a request is held that says so."""
        try:
            return min(max(0.0, float(str(wanted))), LONGEST_HOLD_SECONDS)
        except ValueError:
            return usual

    def _malformed(self, problem: str) -> None:
        self.problems.append(problem)
        self.timeline.note(f"✗ {problem}")

    async def _answer(self, arrived: Arrived, line: Line) -> bool:
        route, known_id = route_of(self.case.protocol, arrived.method, arrived.target)
        now = self.timeline.now
        heard = Heard(now, arrived.method, arrived.target, arrived.headers, arrived.body, route, known_id)
        self.timeline.hear(heard)
        rule = self._script.pick(heard)
        if rule is None:
            return await self._send(heard, await self.reply(heard, lambda: line.gone), line)
        found = await self._by_rule(rule, heard, line)
        if rule.fault is not UNSET or rule.reply is not UNSET:
            self.lost.update(heard.handed)
        if rule.late_ms:
            await asyncio.sleep(rule.late_ms / 1000)
        if rule.fault in ("reset", "close", "silence"):
            return await self._break(rule.fault, heard, line)
        if found is not None:
            found = found._replace(headers=(*found.headers, *rule.headers.items()))
        return await self._send(heard, found, line, rule)

    async def _by_rule(self, rule: Rule, heard: Heard, line: Line) -> Reply | None:
        found: Reply | None = None
        if rule.acts:
            found = await self.reply(heard, lambda: line.gone)
        if rule.twice is not UNSET:
            again = replace(heard, at=self.timeline.now, handed=[])
            self.timeline.note(f"  the proxy repeats {heard.method} {heard.target}")
            # Nobody reads the answer to what comes too late, so nothing is held for it.
            second = await self.reply(again, lambda: rule.twice == "first")
            self.lost.update(again.handed if rule.twice == "first" else heard.handed)
            found = found if rule.twice == "first" else second
        return found if rule.reply is UNSET else made(rule.reply)

    async def _break(self, fault: str, heard: Heard, line: Line) -> bool:
        heard.status = {"reset": "connection reset", "close": "closed", "silence": "no answer"}[fault]
        self.timeline.note(f"← {heard.status}, to {heard.method} {heard.target}")
        if fault == "silence":
            await line.wait_gone(SILENCE_SECONDS)
        if fault == "reset":
            line.reset()
        return False

    async def _send(self, heard: Heard, reply: Reply | None, line: Line, rule: Rule | None = None) -> bool:
        if reply is None:
            heard.status = "gone"
            self.timeline.note(f"  the worker gave up {heard.method} {heard.target}")
            return False
        framing = "" if rule is None or rule.framing is UNSET else rule.framing
        data = render(reply, framing)
        half = rule is not None and rule.fault == "half"
        if half:
            data = data[: len(data) - max(1, len(reply.body) // 2)]
        heard.status = str(reply.status)
        body = reply.body[:120].decode("utf-8", "replace")
        cut = " (cut in its middle)" if half else ""
        self.timeline.note(f"← {reply.status} {body}{cut}, to {heard.method} {heard.target.partition('?')[0]}")
        await self._write(data, line, rule)
        return not half and framing != "until_close" and "close" not in dict(reply.headers).get("Connection", "")

    async def _write(self, data: bytes, line: Line, rule: Rule | None) -> None:
        if rule is None or rule.pieces is UNSET:
            await line.send(data)
            return
        size = rule.pieces.bytes
        for start in range(0, len(data), size):
            await line.send(data[start : start + size])
            await asyncio.sleep(rule.pieces.pause_ms / 1000)


def made(scripted: cases.Reply) -> Reply:
    """The answer that a case spells out."""
    headers = tuple(scripted.headers.items())
    if scripted.text is not UNSET:
        return Reply(scripted.status, scripted.text.encode(), (("Content-Type", "text/plain"), *headers))
    if scripted.json is not UNSET:
        return Reply(scripted.status, encode(scripted.json).encode(), headers)
    if scripted.status >= 400:
        usual = refusal(scripted.status, "as the case says")
        return usual._replace(headers=(*usual.headers, *headers))
    return Reply(scripted.status, b"", headers)
