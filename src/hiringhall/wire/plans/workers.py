"""`POST /workers/register` and `POST /workers/{worker_id}/heartbeat`."""

from __future__ import annotations

from typing import Final

from hiringhall.domain.names import HOSTNAME_CHARACTERS_MAX
from hiringhall.domain.refusals import Refused
from hiringhall.operations.heartbeat import heartbeat
from hiringhall.operations.holding import holding
from hiringhall.operations.register import Admitted, admit
from hiringhall.wire.exchange import Exchange
from hiringhall.wire.hot_call import decoded, json_of, part
from hiringhall.wire.json_bodies import invalid
from hiringhall.wire.plans.bodies import HeartbeatBody, heartbeat_decoder, register_decoder
from hiringhall.wire.plans.call import CHALLENGE, Call, Mount, WorkerCall

OK: Final = b'{"ok":true}'
NOT_OK: Final = b'{"ok":false}'


class RegisterCall(Call):
    """ "Mint a fresh (worker_id, token)" """

    __slots__ = ("_interval",)

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        super().__init__(mount, exchange)
        self._interval = mount.interval

    def start(self) -> None:
        """Look at the token and at the body."""
        headers = dict(self.exchange.request.headers[::-1])
        bearer = self.hall.tokens.bearer(headers.get(b"authorization"))
        if not bearer.is_bootstrap:
            complaint = bearer.complaint or "invalid bootstrap token"
            self.refuse(Refused("missing_or_invalid_bootstrap", complaint), CHALLENGE)
            return
        body = decoded(register_decoder, headers, self.exchange.request.body)
        if isinstance(body, Refused):
            self.refuse(body)
        elif not 1 <= len(body.hostname) <= HOSTNAME_CHARACTERS_MAX:
            self.refuse(invalid("hostname", f"must have 1 to {HOSTNAME_CHARACTERS_MAX} characters"))
        else:
            admit(self.hall, body.hostname, self._admitted)

    def _admitted(self, admitted: Admitted | Exception | None) -> None:
        if isinstance(admitted, Exception):
            self.failed(admitted)
        elif admitted is None:
            self.refuse(Refused("worker_id_collision", "the made worker id is taken; register again"))
        else:
            self.answer(json_of({"worker_id": admitted.worker_id, "token": admitted.token}), 201, self._interval)


class HeartbeatCall(WorkerCall):
    """ "Refresh last_heartbeat" """

    __slots__ = ("_interval",)

    decoder = heartbeat_decoder

    def __init__(self, mount: Mount, exchange: Exchange) -> None:
        super().__init__(mount, exchange)
        self._interval = mount.interval

    def said(self, body: HeartbeatBody) -> None:
        in_path = part(self.exchange.request.path.split(b"/")[-2], "worker_id")
        if isinstance(in_path, Refused):
            self.refuse(in_path)
        elif in_path != body.worker_id:
            self.refuse(Refused("worker_id_mismatch", "worker_id in the body does not match the path"))
        else:
            self.identify(in_path)

    def identified(self) -> None:
        known = self.known
        held = self.headers.get(b"hall-holding")
        if known is not None and held is not None:
            holding(self.hall, known, held, self.now)
        self.answer(OK if heartbeat(self.hall, known, self.now) else NOT_OK, headers=self._interval)
