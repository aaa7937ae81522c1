"""The hall of one process: everything that operations work with."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Final

from hiringhall.auth.identities import Identities
from hiringhall.auth.keyring import Keyrings
from hiringhall.auth.signing import SigningKeys
from hiringhall.auth.source import Sources, read_networks
from hiringhall.auth.tokens import Tokens
from hiringhall.config import Settings
from hiringhall.domain.lease import Terms
from hiringhall.operations.coalescer import Coalescer
from hiringhall.operations.follow import Followers
from hiringhall.operations.handback import HandBack
from hiringhall.operations.login import Logins
from hiringhall.operations.parked import ParkedCalls
from hiringhall.operations.presence import Presence
from hiringhall.ports.no_probes import NoProbes
from hiringhall.ports.probes import Probes
from hiringhall.ports.store import Store
from hiringhall.ports.wakeups import Wakeups

CLOSE_SECONDS: Final = 2.0
"""How long the end of the process waits for the database."""


def nothing() -> None:
    """What nobody has to hear of."""


def terms_of(settings: Settings) -> Terms:
    """The settings that leases depend on."""
    return Terms(
        visibility_timeout_ms=round(settings.visibility_timeout * 1000),
        heartbeat_delay_ms=round(settings.heartbeat_delay * 1000),
        run_limit_ms=round(settings.run_limit * 1000),
        call_run_limit_ms=round(settings.call_run_limit * 1000),
    )


class Hall:
    """The parts, and whether the process is about to end. Belongs to the event loop's thread."""

    def __init__(
        self, settings: Settings, tokens: Tokens, store: Store, wakeups: Wakeups, keyrings: Keyrings | None = None
    ) -> None:
        self.settings = settings
        self.tokens = tokens
        self.store = store
        self.wakeups = wakeups
        self.terms = terms_of(settings)
        self.loop = asyncio.get_running_loop()
        self.time = self.loop.time
        self.jitter = random.random
        self.coalescer = Coalescer(store, wakeups, waiting_limit=settings.waiting_limit)
        self.presence = Presence(store, self.coalescer, wakeups, self.terms)
        self.keyrings = keyrings or Keyrings.passing()
        signing = SigningKeys(store, self.keyrings.signing, wakeups, settings.token_lifetime)
        self.identities = Identities(store, tokens, wakeups, signing)
        self.logins = Logins(store, self.coalescer, wakeups, signing)
        self.sources = Sources(read_networks(settings.trusted_proxies))
        self.hand_back = HandBack(self.coalescer)
        self.followers = Followers(store, wakeups)
        self.parked = ParkedCalls(self.loop)
        self.task_failed: Callable[[], None] = nothing
        """Called when a worker failed a task: another attempt may be due soon."""
        self.probes: Probes = NoProbes()
        """What wakes workers at ports of their own."""
        self.ready = True
        """Whether new connections are welcome; what `/ready` tells."""
        self.draining = False
        """Whether calls that wait for work are answered at once, with the empty answer."""

    def drain_starts(self) -> None:
        """The process is asked to end: load balancers may look elsewhere."""
        self.ready = False

    def drain(self) -> None:
        """The listener is closed: parked calls get their empty answer at once."""
        self.ready = False
        self.draining = True
        for call in list(self.parked):
            call.end()
        self.followers.end()

    def unavailable(self, failure: Exception) -> None:
        """The database is away: parked calls end."""
        for call in list(self.parked):
            call.fail(failure)
        self.followers.unavailable(failure)

    async def close(self) -> None:
        """Write down what is only in memory, unless the database does not answer, and let go of the store."""
        self.logins.close()
        with contextlib.suppress(TimeoutError):  # what is lost are signs of life, and hand-overs whose leases end
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.hand_back.close()
                await self.presence.flush()
                await self.coalescer.idle()
        await self.store.close()
