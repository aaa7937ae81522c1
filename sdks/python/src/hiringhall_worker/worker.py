"""The public face: a worker for the tasks of one plan."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from .bell import Bell
from .errors import Release
from .given import DEFAULT_SERVER, LONGEST_HOLD_SECONDS, checked_seconds, checked_token, checked_width
from .handlers import Handler
from .session import Identity, Session, Terms
from .shift import Rules, Shift
from .task import Task
from .transport import Address
from .wire import reportable

AnyHandler = TypeVar("AnyHandler", bound=Callable[[Task], "Awaitable[Any] | None"])


class PlanWorker:
    """Takes tasks of one plan, runs a handler for each, and tells the hall how it went.

    server: the hall's address, http:// or https:// (default: HALL_SERVER, else http://127.0.0.1:8400).
    bootstrap_token: registers this worker, which mints a worker id and a token (default: HALL_BOOTSTRAP_TOKEN).
    token: the bearer that the cluster shares (default: HALL_WORKER_TOKEN). Together with a bootstrap token the worker
        registers for its id and then speaks with this token; alone, it does not register.
    worker_id: only for a worker that does not register; default a random one.
    concurrency: how many tasks run at once.
    heartbeat_seconds: the time between two signs of life.
    hold_seconds: how long the server may hold a claim while there is nothing to do, at most 55.
    answer_seconds: how long to wait for any other answer, and for a claim's on top of `hold_seconds`.
    grace_seconds: how long running tasks may go on after SIGTERM before they are given back; 0 gives back at once.
    tls: for https with a certificate authority of one's own.
    Bad settings are a ValueError that names the setting.
    """

    Release = Release

    def __init__(
        self,
        server: str | None = None,
        *,
        plan: str,
        bootstrap_token: str | None = None,
        token: str | None = None,
        worker_id: str | None = None,
        concurrency: int = 1,
        heartbeat_seconds: float = 30.0,
        hold_seconds: float = 30.0,
        answer_seconds: float = 10.0,
        grace_seconds: float = 0.0,
        hostname: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not isinstance(plan, str) or not plan:
            raise ValueError("plan: name the plan whose tasks this worker takes")
        self._address = Address.of(server or os.environ.get("HALL_SERVER") or DEFAULT_SERVER, tls)
        self._terms = Terms(
            plan_id=plan,
            hostname=reportable(hostname or socket.gethostname() or "unknown"),
            bootstrap_token=checked_token("bootstrap_token", bootstrap_token, "HALL_BOOTSTRAP_TOKEN"),
            token=checked_token("token", token, "HALL_WORKER_TOKEN"),
            hold_seconds=checked_seconds("hold_seconds", hold_seconds, LONGEST_HOLD_SECONDS),
            answer_seconds=checked_seconds("answer_seconds", answer_seconds),
            heartbeat_seconds=checked_seconds("heartbeat_seconds", heartbeat_seconds),
        )
        if self._terms.bootstrap_token is None and self._terms.token is None:
            raise ValueError(
                "no token: give bootstrap_token= (or HALL_BOOTSTRAP_TOKEN) to register, "
                "or token= (or HALL_WORKER_TOKEN) if the cluster shares one"
            )
        if worker_id is not None and self._terms.token is None:
            raise ValueError("worker_id: only with token=; a worker that registers gets its id from the hall")
        self._worker_id = worker_id
        self._concurrency = checked_width("concurrency", concurrency)
        self._grace_seconds = checked_seconds("grace_seconds", grace_seconds, least=0.0)
        self._handler: Handler | None = None
        self._asked = threading.Event()
        self._running = threading.Lock()
        self._bell: Bell | None = None

    def task(self, handler: AnyHandler) -> AnyHandler:
        """Decorator: the function that runs for each task. It may be `async`.

        Returning completes the task, raising fails it with the exception's text as the reason, and raising `Release`
        gives it back.
        """
        self._handler = handler
        return handler

    def run(self, handler: Handler | None = None, *, once: bool = False, until_empty: bool = False) -> None:
        """Work until SIGTERM, SIGINT, `stop()`, or until the hall says so; then return.

        Signals are caught only in the main thread. `once` ends after one task; `until_empty` ends when a claim
        brought nothing while no task was running here. Raises Unauthorized or Refused when going on is of no use.
        """
        handler = handler or self._handler
        if handler is None:
            raise ValueError("no handler: decorate a function with @worker.task or call run(handler)")
        if not self._running.acquire(blocking=False):
            raise RuntimeError("this worker is running already; make another PlanWorker for a second run")
        try:
            with Bell() as bell:
                self._bell = bell
                session = Session(self._terms, lambda: secrets.token_urlsafe(18), self._identity())
                rules = Rules(self._concurrency, self._grace_seconds, once, until_empty)
                Shift(session, self._address, handler, rules, bell, self._asked).work()
        finally:
            self._bell = None
            self._asked.clear()
            self._running.release()

    def stop(self) -> None:
        """End `run` as SIGTERM would; from any thread, also from a handler. Returns at once."""
        self._asked.set()
        bell = self._bell
        if bell is not None:
            bell.ring()

    def _identity(self) -> Identity | None:
        if self._terms.token is None or (self._terms.bootstrap_token is not None and self._worker_id is None):
            return None
        return Identity(self._worker_id or f"w-{secrets.token_urlsafe(9)}", self._terms.token)
