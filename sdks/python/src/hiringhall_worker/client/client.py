"""The public face: a client that calls methods of services."""

from __future__ import annotations

import math
import secrets
import ssl
import time
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any

from .. import jsontext, wire
from ..errors import Refused
from ..given import checked_seconds
from ..jsontext import ParseFloat
from ..login import Grant, Keeper
from ..transport import Address
from .outcome import CallPending
from .pending import HOLD_SECONDS, PendingCall, read_members
from .place import find
from .wires import Wires


class Client:
    """Calls `service/method` and gets the answer. One object for all threads.

    server: the hall's address (default: HALL_SERVER, else as a hall on this machine wrote it down, else
        http://127.0.0.1:8400).
    client_id, secret: as the operator made them (default: HALL_CLIENT_ID, HALL_CLIENT_SECRET).
    token: the operator's token, which may call everything (default: HALL_ADMIN_TOKEN, else as a hall on this machine
        made it).
    patience_seconds: how long to try again when the hall does not answer, or asks to come later.
    answer_seconds: how long to wait for an answer that the hall is not asked to hold.
    parse_float: makes the value of a number with a fraction in results from its text, like `decimal.Decimal`.
    tls: for https with a certificate authority of one's own.
    Bad settings are a ValueError that names the setting. Every method may raise Unauthorized, Refused (with the hall's
    `status` and `code`) and Unreachable.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        client_id: str | None = None,
        secret: str | None = None,
        token: str | None = None,
        patience_seconds: float = 30.0,
        answer_seconds: float = 10.0,
        parse_float: ParseFloat | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        place = find(server, client_id, secret, token)
        address = Address.of(place.server, tls)
        keeper = None if place.login is None else Keeper(Grant(place.login), address)
        self._answer_seconds = checked_seconds("answer_seconds", answer_seconds)
        self._wires = Wires(
            address, keeper, place.token, checked_seconds("patience_seconds", patience_seconds, least=0)
        )
        self._parse_float = parse_float

    def call(self, method: str, params: Any = None, *, timeout: float | None = None, **options: Any) -> Any:
        """Call `service/method` and return its result. `timeout` is how many seconds to wait for it.

        Raises CallFailed if the call does not end with success. Raises CallPending if it has not ended within
        `timeout`: it lives on, and `error.pending` is its handle. `options` are those of `start`.
        """
        deadline = math.inf if timeout is None else time.monotonic() + checked_seconds("timeout", timeout, least=0)
        hold = min(HOLD_SECONDS, max(0.0, deadline - time.monotonic()))
        pending, status = self._started(method, params, hold, options, timeout)
        left = deadline - time.monotonic()
        if left <= 0 and pending.ended is None:
            raise CallPending(pending, status)
        return pending.result(None if timeout is None else max(0.0, left))

    def start(self, method: str, params: Any = None, **options: Any) -> PendingCall:
        """Call `service/method` and return at once, with the handle of the call.

        params: any JSON value; an object gives the method's parameters by name, an array by position.
        deadline_seconds: 1 s to 30 days, after which nobody wants the answer (default 24 h).
        priority: -100 to 100, higher first. retries: how often an `error` is tried again, at most 10.
        dispatch: exclusive, race or broadcast, instead of what the service is set to.
        requires: what the worker must have, like `{"platform": "linux", "tags": {"gpu": "yes"}}`.
        if_no_worker: queue (default) or fail: then Refused with the code `no_worker`.
        run_limit_seconds: how long one run may take before the call is given to another worker.
        traceparent: W3C trace context, passed on to the method.
        idempotency_key: by default one is made for each call, so that a repetition after a lost answer calls once;
            give one to have that also over restarts of this program.
        """
        return self._started(method, params, 0.0, options)[0]

    def pending(self, request_id: str) -> PendingCall:
        """The handle of a call that was made before, perhaps by another process of the same client."""
        return PendingCall(self._wires, request_id, self._answer_seconds, self._parse_float)

    def methods(self) -> list[Any]:
        """What is on offer to this client: for each method its full name (`method`), `workers`, `live_workers`."""
        found: list[Any] = []
        query = ""
        while True:
            path = f"/client/methods{query}"
            answer = self._wires.answered(partial(self._asking, path))
            page = read_members(answer, self._parse_float)
            listed = page.get("methods")
            found += listed if isinstance(listed, list) else []
            if not isinstance(page.get("next"), str):
                return found
            query = f"?after={wire.part(page['next'])}"

    def close(self) -> None:
        """Close the connections."""
        self._wires.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asking(self, path: str, token: str) -> wire.Request:
        return wire.Request("methods", path, token, b"", self._answer_seconds, method="GET")

    def _started(
        self,
        method: str,
        params: Any,
        hold_seconds: float,
        options: Mapping[str, Any],
        most_seconds: float | None = None,
    ) -> tuple[PendingCall, str]:
        unknown = [name for name in options if name not in OPTIONS]
        if unknown:
            raise TypeError(f"there is no option {unknown[0]!r}; there are {', '.join(OPTIONS)}")
        given = {name: value for name, value in options.items() if name not in HEADERS and value is not None}
        members = {"method": method, "params": {} if params is None else params, **given}
        if hold_seconds > 0:
            members["wait"] = round(hold_seconds, 3)
        body = jsontext.encode(members)
        headers = [("Idempotency-Key", options.get("idempotency_key") or secrets.token_urlsafe(18))]
        if options.get("traceparent"):
            headers.append(("traceparent", options["traceparent"]))
        seconds = hold_seconds + self._answer_seconds
        answer = self._wires.answered(
            lambda token: wire.Request("call", "/client/requests", token, body, seconds, tuple(headers)), most_seconds
        )
        found = read_members(answer, self._parse_float)
        request_id = found.get("request_id")
        if not isinstance(request_id, str):
            raise Refused("the answer is not the hall's: it names no request_id")
        pending = self.pending(request_id)
        return pending, pending.keep(found)


HEADERS = ("idempotency_key", "traceparent")
OPTIONS = (
    "deadline_seconds",
    "priority",
    "retries",
    "dispatch",
    "requires",
    "if_no_worker",
    "run_limit_seconds",
    "traceparent",
    "idempotency_key",
)
