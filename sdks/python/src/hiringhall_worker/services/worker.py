"""The public face: a worker that offers methods of one service."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from .. import jsontext
from ..bell import Bell
from ..given import DEFAULT_SERVER, LONGEST_HOLD_SECONDS, checked_seconds, checked_width
from ..jsontext import ParseFloat
from ..login import Grant, Keeper, Login
from ..transport import Address
from .methods import Methods
from .probe import Probe, own_address
from .session import Session, Terms
from .shift import Rules, Shift

AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

EAGER = "Eager"
LAZY = "Lazy"
MOST_AT_ONCE = 1000
PLATFORMS = {"win32": "windows", "darwin": "macos"}


class ServiceWorker:
    """Offers methods of one service, runs them when they are called, and gives the hall their answers.

    server: the hall's address, http:// or https:// (default: HALL_SERVER, else http://127.0.0.1:8400).
    service: the service whose methods these are.
    secret: the service's secret (default: HALL_SERVICE_SECRET).
    worker_id: the name of this process among the workers of the service; default the host's name and a random part. A
        second process with the same one takes over from the first.
    concurrency: how many calls run at once, at most 1000.
    lazy: take calls only when the hall knocks at `probe_port`, instead of asking all the time.
    probe_host, probe_port: where a Lazy worker listens; port 0 is any free one.
    ip: the address at which the hall reaches a Lazy worker; default the one by which this machine speaks to the hall.
    version, tags, platform, supported_executors, interactive_desktop, browser_runtime: what registration tells about
        this worker, by which calls can choose.
    heartbeat_seconds: the longest time between two signs of life; by default as the hall says.
    hold_seconds: how long the hall may hold a drain while there is nothing to do, at most 55.
    answer_seconds: how long to wait for any other answer, and for a drain's on top of `hold_seconds`.
    grace_seconds: how long running calls may go on after SIGTERM before they are given back; None is for ever.
    parse_float: makes the value of a number with a fraction in `params` from its text, like `decimal.Decimal`.
    tls: for https with a certificate authority of one's own.
    Bad settings are a ValueError that names the setting.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        service: str,
        secret: str | None = None,
        worker_id: str | None = None,
        concurrency: int = 1,
        lazy: bool = False,
        probe_host: str = "0.0.0.0",
        probe_port: int = 0,
        ip: str | None = None,
        version: str | None = None,
        tags: Mapping[str, str] | None = None,
        platform: str | None = None,
        supported_executors: Sequence[str] = (),
        interactive_desktop: bool = False,
        browser_runtime: bool = False,
        heartbeat_seconds: float | None = None,
        hold_seconds: float = 30.0,
        answer_seconds: float = 10.0,
        grace_seconds: float | None = None,
        parse_float: ParseFloat | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not service:
            raise ValueError("service: name the service whose methods this worker offers")
        self._address = Address.of(server or os.environ.get("HALL_SERVER") or DEFAULT_SERVER, tls)
        self._secret = secret if secret is not None else os.environ.get("HALL_SERVICE_SECRET", "").strip()
        self._concurrency = checked_width("concurrency", concurrency, MOST_AT_ONCE)
        self._lazy = bool(lazy)
        self._probe_at = (probe_host, probe_port)
        self._ip = ip
        profile = {
            "run_mode": LAZY if lazy else EAGER,
            "version": version,
            "tags": {"concurrency": str(concurrency), **(tags or {})},
            "platform": platform or PLATFORMS.get(sys.platform, sys.platform),
            "supported_executors": list(supported_executors),
            "interactive_desktop": bool(interactive_desktop),
            "browser_runtime": bool(browser_runtime),
            "trace": True,
        }
        _check_profile(profile)
        self._terms = Terms(
            service=service,
            worker_id=worker_id or f"{socket.gethostname() or 'worker'}-{secrets.token_hex(4)}",
            profile=profile,
            hold_seconds=checked_seconds("hold_seconds", hold_seconds, LONGEST_HOLD_SECONDS),
            answer_seconds=checked_seconds("answer_seconds", answer_seconds),
            heartbeat_seconds=_seconds_or_none("heartbeat_seconds", heartbeat_seconds),
            parse_float=parse_float,
        )
        self._grace_seconds = _seconds_or_none("grace_seconds", grace_seconds, least=0.0)
        self._methods = Methods(service)
        self._asked = threading.Event()
        self._running = threading.Lock()
        self._session: Session | None = None
        self._bell: Bell | None = None

    @property
    def worker_id(self) -> str:
        """The name of this process among the workers of the service."""
        return self._terms.worker_id

    @property
    def settings(self) -> Mapping[str, str]:
        """The service's settings, as the hall told them at registration; empty before."""
        session = self._session
        return MappingProxyType({} if session is None else session.settings)

    def method(self, name: str, *, raw: bool = False, in_process: bool = False) -> Callable[[AnyHandler], AnyHandler]:
        """Decorator: the function that answers calls of `service/name`. It may be `async`.

        The members of `params`, or its values in their order, become the arguments, checked against the annotations;
        a parameter that is named `call`, or annotated with `Call`, gets the call. With `raw` its one parameter gets
        the whole of `params`. `in_process` runs it in a process of its own. What it returns is the result; raising
        `Fail` ends the call as failed, any other exception as error. ValueError if no params could fill its signature.
        """

        def take(handler: AnyHandler) -> AnyHandler:
            self._methods.add(name, handler, raw, in_process)
            return handler

        return take

    def run(self) -> None:
        """Work until SIGTERM, SIGINT, `stop()`, or until the hall says so; then return.

        Signals are caught only in the main thread. Raises Unauthorized, Refused or Superseded when going on is of no
        use, and OSError if a Lazy worker cannot listen.
        """
        if not self._methods:
            raise ValueError("no methods: decorate a function with @worker.method('name')")
        if not self._secret:
            raise ValueError("secret: give secret= or HALL_SERVICE_SECRET")
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(
                "a method's process has begun to run the worker: call run() below `__name__ == '__main__'`"
            )
        if not self._running.acquire(blocking=False):
            raise RuntimeError("this worker is running already; make another ServiceWorker for a second run")
        try:
            with Bell() as bell:
                self._bell = bell
                self._work(bell)
        finally:
            self._bell = None
            self._asked.clear()
            self._running.release()

    def stop(self) -> None:
        """End `run` as SIGTERM would; from any thread, also from a method. Returns at once."""
        self._asked.set()
        bell = self._bell
        if bell is not None:
            bell.ring()

    def _work(self, bell: Bell) -> None:
        shifts: list[Shift] = []
        probe = Probe(*self._probe_at, lambda: shifts[0].drainer.pull()) if self._lazy else None
        session = Session(self._whole_terms(probe), lambda: secrets.token_urlsafe(18))
        self._session = session
        keeper = Keeper(Grant(self._login()), self._address)
        rules = Rules(self._concurrency, self._grace_seconds)
        shifts.append(Shift(session, self._address, keeper, self._methods, rules, bell, self._asked, probe))
        shifts[0].work()

    def _whole_terms(self, probe: Probe | None) -> Terms:
        told = {name: value for name, value in self._terms.profile.items() if value is not None}
        profile = {**told, "methods": list(self._methods)}
        if probe is not None:
            profile["ip"] = self._ip or own_address(self._address.host, self._address.port)
            profile["port"] = probe.port
        return Terms(**{**vars(self._terms), "profile": profile})

    def _login(self) -> Login:
        fields = {
            "service_id": self._terms.service,
            "auth_secret": self._secret,
            "worker_id": self._terms.worker_id,
        }
        advice = "check the service's name and its secret (secret= or HALL_SERVICE_SECRET)"
        return Login("/worker/auth_token", fields, advice, self._terms.answer_seconds)


def _check_profile(profile: Mapping[str, Any]) -> None:
    for name, value in profile.items():
        try:
            jsontext.encode(value)
        except jsontext.Unsendable as problem:
            raise ValueError(f"{name}: {problem}") from None


def _seconds_or_none(setting: str, value: float | None, least: float | None = None) -> float | None:
    return None if value is None else checked_seconds(setting, value, least=least)
