"""Plays one case for servers: sends what it says, and compares what is answered."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, UnsetType

from hiringhall.verify.matching import difference
from hiringhall.verify.numerals import decode, encode, shown
from hiringhall.verify.result import Result, described
from hiringhall.verify.server_cases import Answered, Given, Send, ServerCase, ServerStep
from hiringhall.verify.timeline import Timeline
from hiringhall.verify.variables import Unknown, filled

if TYPE_CHECKING:
    import httpx

LONGEST_ANSWER_SECONDS: Final = 65.0
EARLY_SECONDS: Final = 0.03
METHODS: Final = ["echo", "add"]
# How each name that is not made by a case itself gets known.
HOW: Final = {"operator": "--operator", "bootstrap": "--bootstrap"}


class Refuted(Exception):
    """The server answered otherwise."""

    def __init__(self, expected: str, seen: str) -> None:
        super().__init__(expected, seen)
        self.expected = expected
        self.seen = seen


@dataclass
class UnderWay:
    """A request whose answer is awaited later."""

    sent_at: float
    answer: asyncio.Task[tuple[float, httpx.Response]]


class ServerPlayer:
    """One case against one server. `known`: `operator` and `bootstrap`, the tokens that open it."""

    def __init__(self, case: ServerCase, client: httpx.AsyncClient, known: dict[str, str], patience: float) -> None:
        self._case = case
        self._client = client
        self._patience = patience
        self._known: dict[str, Any] = dict(known)
        self._under_way: dict[str, UnderWay] = {}
        self.timeline = Timeline()

    async def play(self) -> Result:
        """Play it to its end."""
        expected = seen = skipped = ""
        try:
            await self._prepare(self._case.given)
            for step in self._case.steps:
                await self._step(step)
        except Refuted as refuted:
            expected, seen = refuted.expected, refuted.seen
        except Unknown as unknown:
            skipped = f"it needs {HOW.get(unknown.name, unknown.name)}"
        finally:
            for one in self._under_way.values():
                one.answer.cancel()
            await asyncio.gather(*(one.answer for one in self._under_way.values()), return_exceptions=True)
        return Result(self._case, expected, seen, self.timeline, self.timeline.now, skipped)

    async def _prepare(self, given: Given) -> None:
        mark = secrets.token_hex(6)
        if given.tasks is not UNSET:
            self._known["plan"] = f"verify-{mark}"
            body = {"plan_id": "${plan}", "tasks": given.tasks}
            await self._made(Send(method="PUT", path="/admin/plans/${plan}", bearer="${operator}", json=body))
        for number in range(1, given.plan_workers + 1):
            saves = {"worker_id": {"$save": f"worker{number}"}, "token": {"$save": f"token{number}"}}
            send = Send(path="/workers/register", bearer="${bootstrap}", json={"hostname": f"verify-{mark}"})
            await self._made(send, saves)
        if given.service or given.service_workers:
            self._known["service"], self._known["secret"] = f"verify-{mark}", secrets.token_urlsafe(24)
            body = {"secret": "${secret}"}
            await self._made(Send(method="PUT", path="/admin/services/${service}", bearer="${operator}", json=body))
        for number in range(1, given.service_workers + 1):
            await self._service_worker(number)

    async def _service_worker(self, number: int) -> None:
        self._known[f"worker{number}"] = f"verifier-{number}"
        form = {
            "grant_type": "client_credentials",
            "service_id": "${service}",
            "auth_secret": "${secret}",
            "worker_id": f"verifier-{number}",
        }
        saves = {"access_token": {"$save": f"token{number}"}, "refresh_token": {"$save": f"refresh{number}"}}
        await self._made(Send(path="/worker/auth_token", form=form), saves)
        members = {"worker_id": f"verifier-{number}", "service_id": "${service}", "run_mode": "Eager"}
        profile = {**members, "methods": METHODS, "version": "1.0.0", "tags": {}}
        await self._made(Send(path="/worker/registration", bearer=f"${{token{number}}}", json=profile))

    async def _made(self, send: Send, json: Any = UNSET) -> None:
        await self._step(ServerStep(send=send, answer=Answered(status={"$between": [200, 201]}, json=json)))

    async def _step(self, step: ServerStep) -> None:
        if step.pause_ms is not UNSET:
            await asyncio.sleep(step.pause_ms / 1000)
        elif step.give_up is not UNSET:
            one = self._under_way.pop(step.give_up)
            one.answer.cancel()
            await asyncio.gather(one.answer, return_exceptions=True)
            self.timeline.note(f"• gave {step.give_up} up")
        elif step.answer_of is not UNSET:
            await self._compare(self._under_way.pop(step.answer_of), step.answer)
        elif step.send is not UNSET:
            sent = self._sent(step.send)
            if step.later is not UNSET:
                self._under_way[step.later] = sent
            else:
                await self._compare(sent, step.answer)

    def _sent(self, send: Send) -> UnderWay:
        known = self._known
        headers = {name: str(filled(value, known)) for name, value in send.headers.items()}
        if send.bearer is not UNSET:
            headers["authorization"] = f"Bearer {filled(send.bearer, known)}"
        how: dict[str, Any] = {}
        if send.form is not UNSET:
            how["data"] = {name: str(filled(value, known)) for name, value in send.form.items()}
        elif send.json is not UNSET:
            headers.setdefault("content-type", "application/json")
            how["content"] = encode(filled(send.json, known)).encode()
        elif isinstance(send.text, str):
            how["content"] = send.text.encode()
        path = str(filled(send.path, known))
        content = f" {shown(filled(send.json, known))}" if send.json is not UNSET else ""
        self.timeline.note(f"→ {send.method} {path}{content}")
        task = asyncio.ensure_future(self._request(send.method, path, headers, how))
        return UnderWay(self.timeline.now, task)

    async def _request(
        self, method: str, path: str, headers: dict[str, str], how: dict[str, Any]
    ) -> tuple[float, httpx.Response]:
        found = await self._client.request(method, path, headers=headers, **how)
        self.timeline.note(f"← {found.status_code} {found.text[:160]}, to {method} {path.partition('?')[0]}")
        return self.timeline.now, found

    async def _compare(self, one: UnderWay, answered: Answered | UnsetType) -> None:
        assert answered is not UNSET
        import httpx

        expected = described(answered)
        most = answered.within_ms / 1000 * self._patience
        try:
            took, found = await asyncio.wait_for(one.answer, max(0.0, one.sent_at + most - self.timeline.now))
        except TimeoutError:
            raise Refuted(expected, f"no answer within {answered.within_ms} ms") from None
        except httpx.HTTPError as problem:
            raise Refuted(expected, f"no answer: {problem or type(problem).__name__}") from None
        if answered.not_before_ms and took - one.sent_at + EARLY_SECONDS < answered.not_before_ms / 1000:
            raise Refuted(expected, f"the answer came after {(took - one.sent_at) * 1000:.0f} ms already")
        if unlike := self._unlike(answered, found):
            raise Refuted(expected, unlike)

    def _unlike(self, answered: Answered, found: httpx.Response) -> str | None:
        known = self._known
        parts: list[tuple[str, Any, Any]] = [("status", answered.status, found.status_code)]
        if answered.headers:
            wanted = {name.lower(): value for name, value in answered.headers.items()}
            parts.append(("headers", wanted, dict(found.headers)))
        if answered.body is not UNSET:
            parts.append(("body", answered.body, found.text))
        if answered.json is not UNSET:
            try:
                parts.append(("json", answered.json, decode(found.content)))
            except ValueError:
                return f"the body is no JSON: {found.text[:100]!r}"
        saved: dict[str, Any] = {}
        for name, pattern, value in parts:
            if unlike := difference(filled(pattern, known), value, saved, name):
                return f"{unlike} (status {found.status_code})"
        known.update(saved)
        return None
