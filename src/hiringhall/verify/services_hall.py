"""The scripted hall for service workers, which also knocks at the port of a Lazy one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.verify.heard import Heard, Reply
from hiringhall.verify.numerals import Numeral
from hiringhall.verify.scripted_hall import ScriptedHall, answer, refusal

SERVICE: Final = "verify"
SECRET: Final = "secret of the service: 1+1=2&more"  # noqa: S105 - for a hall that lives for one case
WORKER: Final = "verifier-1"
PROTECTED: Final = ("registration", "drain", "lock", "response", "feedback", "heartbeat", "goodbye")


class ServicesHall(ScriptedHall):
    """Logs one worker in, hands it the calls of one service, and takes its answers."""

    secrets = (SECRET, "access-token-", "refresh-token-")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._minted = 0
        self._ends: dict[str, float] = {}
        self._refresh: set[str] = set()
        self.registered = False
        self.profile: dict[str, Any] = {}
        self._held: dict[str, dict[str, Any]] = {}
        self._answered: set[str] = set()
        self._leaving = False

    def environment(self) -> dict[str, str]:
        """What the worker is told."""
        return {
            "HALL_SERVICE": SERVICE,
            "HALL_SERVICE_SECRET": SECRET,
            "HALL_WORKER_ID": WORKER,
            "HALL_RUN_MODE": "Eager",
        }

    def add(self, work: dict[str, Any]) -> None:
        """Queue a call."""
        self._answered.discard(work.get("request_id", ""))
        self.work.append({"request_id": "r-1", "method": "echo", "lock_required": False, "params": None, **work})
        self.timeline.changed()

    def revoke(self, everything: bool) -> None:
        """Accept no token that was given so far; `everything`: and no refresh token."""
        self._ends.clear()
        if everything:
            self._refresh.clear()

    def forget_workers(self) -> None:
        """Know no worker, but accept its tokens."""
        self.registered = False

    async def reply(self, heard: Heard, gone: Callable[[], bool]) -> Reply | None:
        """Do what a request asks."""
        if heard.route == "login":
            return self._login(heard)
        if heard.route not in PROTECTED:
            return refusal(404, "no such route")
        if self._ends.get(heard.token, 0.0) <= self.timeline.now:
            return refusal(401, "this token is not accepted")
        if heard.route in ("heartbeat", "goodbye") and heard.id != WORKER:
            return refusal(403, "only for the worker itself", code="worker_forbidden")
        found = await self._drain(heard, gone) if heard.route == "drain" else self._at_once(heard)
        if found is None or not self.directive:
            return found
        return found._replace(headers=(*found.headers, ("Hall-Directive", self.directive)))

    def _at_once(self, heard: Heard) -> Reply:
        if heard.route == "registration":
            return self._registration(heard)
        if heard.route == "lock":
            return self._lock(heard)
        if heard.route == "response":
            return self._response(heard)
        if heard.route == "feedback":
            return answer(200, {"accepted": len(heard.json) if isinstance(heard.json, list) else 1})
        if heard.route == "heartbeat":
            return answer(200, self.registered)
        self._leaving = True
        self.timeline.changed()
        return answer(200, {"ok": True})

    def _login(self, heard: Heard) -> Reply:
        form = heard.form
        kind = form.get("grant_type")
        if kind == "client_credentials":
            wanted = {"service_id": SERVICE, "auth_secret": SECRET, "worker_id": WORKER}
            if any(form.get(name) != value for name, value in wanted.items()):
                return refusal(401, "service, secret and worker id do not fit", code="invalid_client")
        elif kind == "refresh_token":
            if form.get("refresh_token") not in self._refresh:
                return refusal(401, "the refresh token is dead", code="invalid_grant")
            self._refresh.discard(form["refresh_token"])
        else:
            return refusal(400, "grant_type: client_credentials or refresh_token", code="unsupported_grant_type")
        self._minted += 1
        token, refresh = f"access-token-{self._minted}", f"refresh-token-{self._minted}"
        seconds = self.case.hall.token_seconds
        self._ends[token] = self.timeline.now + seconds
        self._refresh.add(refresh)
        lasts = int(seconds) if seconds == int(seconds) else seconds
        told = {"access_token": token, "token_type": "Bearer", "expires_in": lasts, "refresh_token": refresh}
        return answer(200, told)

    def _registration(self, heard: Heard) -> Reply:
        members = heard.members
        if members.get("service_id") != SERVICE or members.get("worker_id") != WORKER:
            return refusal(403, "service_id and worker_id are not the token's", code="forbidden")
        self.registered, self._leaving = True, False
        self.profile = members
        usual = {"heartbeat_delay": f"{self.case.hall.heartbeat_seconds:g}", "hall_version": "1.0"}
        return answer(200, {**usual, **self.case.hall.settings})

    async def _drain(self, heard: Heard, gone: Callable[[], bool]) -> Reply | None:
        if not self.registered:
            return refusal(409, "register first", code="not_registered")
        self._take_back_lost(heard)
        seconds = self.hold_seconds(heard.query.get("wait"), 0.0)
        if not await self.wait_for_work(seconds, gone) or self._leaving:
            return None if gone() else answer(200, [])
        most = heard.query.get("max", "") if self.case.hall.obeys_max else ""
        count = min(len(self.work), int(most) if most.isdigit() else len(self.work))
        batch = [self.work.popleft() for _ in range(count)]
        for message in batch:
            self._held[message["request_id"]] = message
            self.handed.append(message["request_id"])
            heard.handed.append(message["request_id"])
        return answer(200, batch)

    def _take_back_lost(self, heard: Heard) -> None:
        """What was in an answer that did not arrive is handed over again, unless the worker names it as held."""
        named = heard.headers.get("hall-holding", "").split(",")
        for request_id in sorted(self.lost):
            if request_id in self._held and request_id not in named:
                self.work.append(self._held.pop(request_id))
        self.lost.clear()

    def _lock(self, heard: Heard) -> Reply:
        if heard.id not in self._held:
            return refusal(404, "no such request")
        return answer(200, {"request_id": heard.id})

    def _response(self, heard: Heard) -> Reply:
        request_id = heard.members.get("request_id")
        if request_id in self._answered:
            return answer(200, {"request_id": request_id})
        if request_id not in self._held:
            return refusal(404, "no such request")
        if heard.members.get("status") not in ("success", "failed", "error"):
            return refusal(422, "status: success, failed or error")
        self._held.pop(str(request_id))
        self._answered.add(str(request_id))
        return answer(200, {"request_id": request_id})

    @property
    def probe_port(self) -> tuple[str, int] | None:
        """Where the Lazy worker said that it listens."""
        ip, port = self.profile.get("ip"), self.profile.get("port")
        if isinstance(ip, str) and isinstance(port, Numeral) and port.whole:
            return ip, int(port.text)
        return None
