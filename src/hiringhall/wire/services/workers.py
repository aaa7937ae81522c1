"""A worker's own coming and going: registration, heartbeat, goodbye."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final

from hiringhall import __version__
from hiringhall.domain.refusals import Refused
from hiringhall.operations.enlist import enlist, leave
from hiringhall.operations.heartbeat import heartbeat
from hiringhall.operations.holding import holding
from hiringhall.operations.presence import Known
from hiringhall.operations.service_settings import settings_for_worker
from hiringhall.ports.calls import Goodbye, RegisterServiceWorker
from hiringhall.wire.hot_call import FixedHeaders, decoded, json_of, part
from hiringhall.wire.json_bodies import invalid
from hiringhall.wire.services.answers import told_of
from hiringhall.wire.services.bodies import (
    RegistrationBody,
    capabilities_of,
    complaint_about_text,
    goodbye_decoder,
    port_of,
    registration_decoder,
    run_mode_of,
)
from hiringhall.wire.services.call import HEARTBEAT, RegisteredCall, ServiceCall

FORWARDING: Final = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
"""Headers that tell that a proxy passed the request on."""
_running: Final[set[asyncio.Task[None]]] = set()


class RegistrationCall(ServiceCall):
    """ "Register again only when the process starts." """

    __slots__ = ()

    def _found(self, known: Known | Exception | None) -> None:
        if isinstance(known, Exception):
            self.failed(known)
        else:  # whether the login may register is for the store to say
            self.known = known
            self.admitted()

    def admitted(self) -> None:
        body = decoded(registration_decoder, self.headers, self.exchange.request.body)
        ask = body if isinstance(body, Refused) else self._ask(body)
        if isinstance(ask, Refused):
            self.refuse(ask)
        else:
            task = self.hall.loop.create_task(self._enlist(ask))
            _running.add(task)
            task.add_done_callback(_running.discard)

    def _ask(self, body: RegistrationBody) -> RegisterServiceWorker | Refused:
        identity = self.identity
        if body.worker_id is not None and (other := self.check_names_itself(body.worker_id)) is not None:
            return other
        if body.service_id is not None and body.service_id != self.service:
            return Refused("forbidden", "service_id is not the service of the token")
        for field, text in (("ip", body.ip), ("version", body.version)):
            if (complaint := complaint_about_text(text)) is not None:
                return invalid(field, complaint)
        mode, port, capabilities = run_mode_of(body), port_of(body), capabilities_of(body)
        if isinstance(mode, Refused) or isinstance(port, Refused) or isinstance(capabilities, Refused):
            return next(read for read in (mode, port, capabilities) if isinstance(read, Refused))
        peer = self.exchange.peer()
        source = self.hall.sources.of(peer, self.exchange.request.headers)
        return RegisterServiceWorker(
            self.key, identity.session, self.service, identity.subject,
            run_mode=mode, capabilities=capabilities, ip=body.ip or None, port=port,
            source=source or None, forwarded=any(name in self.headers for name in FORWARDING),
            version=body.version or "", trace=bool(body.trace),
        )  # fmt: skip

    async def _enlist(self, ask: RegisterServiceWorker) -> None:
        """Register, unless the worker would lack settings: it must not take the place of one that has them."""
        try:
            settings = await settings_for_worker(self.hall, self.service)
        except Exception as failure:  # noqa: BLE001 - it is answered
            self.failed(failure)
            return
        if isinstance(settings, Refused):
            self.refuse(settings)
        else:
            enlist(self.hall, ask, told_of(self, partial(self._registered, settings)))

    def _registered(self, settings: dict[str, str], known: Known) -> None:
        self.known = known
        delay = interval_of(self)
        said = {**settings, "heartbeat_delay": delay, "hall_version": __version__}
        self.answer(json_of(said), headers=((HEARTBEAT, delay.encode()),))


class HeartbeatCall(ServiceCall):
    """ "the response is a bare true or false" """

    __slots__ = ()

    def admitted(self) -> None:
        worker_id = part(self.exchange.request.path.split(b"/")[-1], "worker_id")
        complaint = worker_id if isinstance(worker_id, Refused) else self.check_names_itself(worker_id)
        if complaint is not None:
            self.refuse(complaint)
            return
        known, held = self.known, self.headers.get(b"hall-holding")
        if known is not None and held is not None:
            holding(self.hall, known, held, self.now)
        interval: FixedHeaders = ((HEARTBEAT, interval_of(self).encode()),)
        self.answer(b"true" if heartbeat(self.hall, known, self.now) else b"false", headers=interval)


class GoodbyeCall(RegisteredCall):
    """ "On SIGINT or SIGTERM send PUT /worker/notify_worker_shutdown/{worker_id}, finish in-flight requests, then
    exit." """

    __slots__ = ()

    def registered(self, known: Known) -> None:
        worker_id = part(self.exchange.request.path.split(b"/")[-1], "worker_id")
        complaint = worker_id if isinstance(worker_id, Refused) else self.check_names_itself(worker_id)
        body: Any = None
        if complaint is None and self.exchange.request.body.strip():
            body = decoded(goodbye_decoder, self.headers, self.exchange.request.body)
            complaint = body if isinstance(body, Refused) else None
        if complaint is not None:
            self.refuse(complaint)
            return
        unstarted = frozenset(body.unstarted or ()) if body is not None else frozenset[str]()
        leave(self.hall, known, Goodbye(known.key, self.identity.session, unstarted), told_of(self, self._left))

    def _left(self, returned: int) -> None:
        self.answer(json_of({"returned": returned}))


def interval_of(call: ServiceCall) -> str:
    """How far apart the worker's heartbeats may be, in seconds."""
    return f"{call.hall.terms.beat_interval_ms / 1000}".removesuffix(".0")
