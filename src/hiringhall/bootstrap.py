"""Puts a server together: the only module that knows which adapters exist."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hiringhall.auth.first_start import Folder
from hiringhall.auth.keyring import BadKey, Keyring, Keyrings, key_of_folder, keys_from_tokens, read_keys
from hiringhall.auth.source import read_networks
from hiringhall.auth.tokens import Tokens, make_token, split_values
from hiringhall.config import BadSetting, Declared, Settings
from hiringhall.operations.declared import apply_declared
from hiringhall.operations.hall import Hall, terms_of
from hiringhall.operations.owners import reseal
from hiringhall.operations.recheck import Recheck
from hiringhall.operations.service_settings import warn_of_closed
from hiringhall.ports.store import Store, StoreUnavailable
from hiringhall.ports.wakeups import Wakeups
from hiringhall.probe.addresses import Rules, parse_networks
from hiringhall.probe.own import OwnPlaces
from hiringhall.probe.prober import Prober
from hiringhall.probe.scheduler import ProbeScheduler
from hiringhall.probe.stored import StoredLazyWorkers
from hiringhall.storage.schema import SchemaTooNew
from hiringhall.sweepers.runner import SweepRunner
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wire.chain import Chain
from hiringhall.wire.clients.feedback import FeedbackApplication
from hiringhall.wire.clients.routes import clients_router
from hiringhall.wire.exchange import Router
from hiringhall.wire.login.routes import login_router
from hiringhall.wire.operators.application import operators_application
from hiringhall.wire.plans.routes import published_router, root_router
from hiringhall.wire.services.routes import services_router

if TYPE_CHECKING:
    from hiringhall.wakeups.postgres import RingListener

log = logging.getLogger("hiringhall")

DATABASE_FILE: Final = "hall.sqlite"
LISTEN_WITHIN_SECONDS: Final = 2.0
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Server:
    """One server, ready to be put behind a listener."""

    def __init__(self, hall: Hall, folder: Folder, made: dict[str, str], listener: RingListener | None) -> None:
        self.hall = hall
        self.folder = folder
        self.router: Router = Chain(root_router(hall), services_router(hall), login_router(hall), clients_router(hall))
        self.whilly_router: Router = published_router(hall)
        self.asgi_app = FeedbackApplication(hall, operators_application(hall))
        self.made_tokens = bool(made)
        """Whether `server.json` holds tokens that the hall made."""
        keep_plans = hall.settings.keep_plans
        self.sweeps = SweepRunner(
            hall.coalescer,
            hall.terms,
            keep_plans_ms=None if keep_plans is None else round(keep_plans * 1000),
            keep_calls_ms=round(hall.settings.keep_calls * 1000),
        )
        hall.task_failed = self.sweeps.task_failed
        lazy_workers = StoredLazyWorkers(hall.store.read, hall.time)
        self._probes = hall.probes = ProbeScheduler(Prober(Rules()), lazy_workers, jitter=hall.jitter)
        hall.wakeups.after_commit(self._probes.rings_committed)
        self.on_drain_start: Callable[[], None] = hall.drain_starts
        self.on_drain: Callable[[], None] = hall.drain
        self._made = made
        self._recheck = Recheck(hall)
        self._listener = listener

    def start(self, listening: Sequence[tuple[str, int]]) -> None:
        """Begin what works in the background. `listening`: the hosts and ports at which the server can be reached."""
        self._recheck.start()
        self.sweeps.start()
        settings = self.hall.settings
        self._probes.start(OwnPlaces(settings, parse_networks(settings.probe_networks), listening).rules)

    def announce(self, url: str) -> None:
        """Write down where the server is, once it listens."""
        self.folder.say(f"the server at {url} (process {os.getpid()})")
        self.folder.write_server({"url": url, **self._made})

    async def close(self) -> None:
        """End the background work, write down what is only in memory, let go of the database and the folder."""
        if self._listener is not None:
            await self._listener.close()
        await self._probes.stop()
        await self._recheck.stop()
        await self.sweeps.stop()
        await self.hall.close()
        self.folder.close()


async def build(settings: Settings, declared: Declared | None = None) -> Server:
    """A server from its settings, in the running event loop.

    Raises:
        BadSetting: a setting is missing or does not fit the others.
        FolderInUse: another server works in the data folder.
        StoreUnavailable: the database cannot be reached, or a newer version wrote it.
    """
    _check(settings)
    folder = Folder(Path(settings.data))
    try:
        made = _make_tokens(settings, folder)
        tokens = _tokens(settings, made)
        keyrings = _keyrings(settings, folder.path, made)
        wakeups = LocalWakeups()
        try:
            store, listener = await _open(settings, folder.path, wakeups)
        except SchemaTooNew as newer:
            raise StoreUnavailable(str(newer)) from None
        if listener is not None:
            listener.start()
            with contextlib.suppress(TimeoutError):  # the re-check covers what is missed until it listens
                await asyncio.wait_for(listener.ready(), LISTEN_WITHIN_SECONDS)
        hall = Hall(settings, tokens, store, wakeups, keyrings)
        try:
            await hall.identities.signing.prepare()
            await reseal(hall)
            if declared is not None:
                await apply_declared(hall, declared)
            await warn_of_closed(hall)
        except BaseException:
            if listener is not None:
                await listener.close()
            await hall.close()
            raise
        return Server(hall, folder, made, listener)
    except BaseException:
        folder.close()
        raise


def _check(settings: Settings) -> None:
    if settings.database and not settings.admin_token:
        raise BadSetting(
            "HALL_ADMIN_TOKEN: must be set with a PostgreSQL database, since all servers on it need the same one"
        )
    for name, url in (("database", settings.database), ("database_listen", settings.database_listen)):
        if url and not url.startswith(("postgresql://", "postgres://")):
            raise BadSetting(f"{settings.origin(name)}: must be a URL that begins with postgresql://")
    try:
        parse_networks(settings.probe_networks)
    except ValueError as problem:
        raise BadSetting(f"{settings.origin('probe_networks')}: {problem}") from None
    try:
        read_networks(settings.trusted_proxies)
    except ValueError as problem:
        raise BadSetting(f"{settings.origin('trusted_proxies')}: {problem}") from None
    if settings.host not in LOOPBACK and not settings.behind_tls:
        log.warning(
            "listening on %s without TLS: tokens can be read on the way; put a proxy with TLS in front (--behind-tls)",
            settings.host,
        )


def _make_tokens(settings: Settings, folder: Folder) -> dict[str, str]:
    """Tokens for what is not configured; those that were made before are used again."""
    before: dict[str, Any] = folder.read_server()
    made = {}
    for name, configured in (("admin_token", settings.admin_token), ("bootstrap_token", settings.bootstrap_token)):
        if not configured and not settings.database:
            known = before.get(name)
            made[name] = known if isinstance(known, str) and known else make_token()
    return made


def _tokens(settings: Settings, made: dict[str, str]) -> Tokens:
    values = {}
    for name, configured in (
        ("admin_token", settings.admin_token), ("bootstrap_token", settings.bootstrap_token),
        ("worker_token", settings.worker_token), ("metrics_token", settings.metrics_token),
    ):  # fmt: skip
        try:
            values[name] = split_values(configured or made.get(name, ""))
        except ValueError as problem:
            raise BadSetting(f"{settings.origin(name)}: {problem}") from None
    return Tokens(
        operator=values["admin_token"], bootstrap=values["bootstrap_token"],
        worker=values["worker_token"], metrics=values["metrics_token"],
    )  # fmt: skip


def _keyrings(settings: Settings, folder: Path, made: dict[str, str]) -> Keyrings:
    """The configured keys, or the one that a hall with a folder of its own keeps there.

    Without either, signing keys are sealed with keys derived from the operator's tokens, and nothing else is sealed.
    """
    try:
        if settings.key:
            keys = read_keys(settings.key)
        elif settings.key_file:
            keys = read_keys(Path(settings.key_file).read_text(encoding="utf-8", errors="replace"))
        else:
            keys = [] if settings.database else key_of_folder(folder)
    except OSError as problem:
        if settings.key_file and not settings.key:
            raise BadSetting(f"{settings.origin('key_file')}: {settings.key_file}: {problem.strerror}") from None
        raise
    except BadKey as problem:
        place = ""
        if settings.key:
            place = f"{settings.origin('key')}: "
        elif settings.key_file:
            place = f"{settings.origin('key_file')}: {settings.key_file} "
        raise BadSetting(f"{place}{problem}") from None
    derived = keys_from_tokens(split_values(settings.admin_token or made.get("admin_token", "")))
    return Keyrings(Keyring(keys), Keyring([*keys, *derived]))


async def _open(settings: Settings, folder: Path, wakeups: Wakeups) -> tuple[Store, RingListener | None]:
    """The store and, if there may be other servers on it, what hears their rings."""
    terms = terms_of(settings)
    if not settings.database:
        from hiringhall.storage.sqlite.store import SqliteStore

        return await SqliteStore.open(folder / DATABASE_FILE, terms=terms), None
    from hiringhall.storage.postgres.store import PostgresStore
    from hiringhall.wakeups.postgres import RingListener

    try:
        store = await PostgresStore.open(settings.database, terms=terms, connections=settings.database_connections)
    except ValueError:  # whose text may be a part of the password
        raise BadSetting(
            f"{settings.origin('database')}: cannot be understood; '/', ':', '@', '%' and the like in user and "
            "password are written as '%2F', '%3A', '%40', '%25'"
        ) from None
    return store, RingListener(settings.database_listen or settings.database, wakeups, store.origin)
