"""Who may act as which service worker: looked up for a whole batch, together with what the worker is."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import lru_cache

import msgspec

from hiringhall.domain.call import Capabilities
from hiringhall.domain.refusals import Refused
from hiringhall.storage.procedure import FetchMany, Row, Step


class Standing(msgspec.Struct, frozen=True):
    """A registered worker as it is now. `told`: it has to stop some unit."""

    service: str
    capabilities: Capabilities
    leaving: bool
    quiet: bool
    offline: bool
    told: bool

    @property
    def reachable(self) -> bool:
        """Whether it is there, though perhaps it may be given nothing new."""
        return not (self.leaving or self.offline)

    @property
    def live(self) -> bool:
        """Whether it may be given something new."""
        return not (self.leaving or self.offline or self.quiet)


NOT_REGISTERED = Refused(
    "not_registered", "this worker is not registered: it has to send POST /worker/registration first"
)
SUPERSEDED = Refused(
    "worker_superseded",
    "another process has registered as this worker since, or the login has ended: log in and register anew",
)


@lru_cache(maxsize=10_000)
def capabilities_from(text: str) -> Capabilities:
    """What a worker can do, from the stored form."""
    return msgspec.json.decode(text, type=Capabilities)


def find_standings(
    pairs: Iterable[tuple[str, str]],
) -> Generator[Step, list[Row], dict[tuple[str, str], Standing | Refused]]:
    """For each (worker, session): what the worker is, or why the session may not act for it.

    On PostgreSQL no new incarnation of these workers is let in until the transaction ends.
    """
    distinct = sorted(set(pairs))
    found: dict[tuple[str, str], Standing | Refused] = dict.fromkeys(distinct, NOT_REGISTERED)
    rows = yield FetchMany(
        "find_standing",
        [{"ordinal": place, "worker": worker, "session": session} for place, (worker, session) in enumerate(distinct)],
    )
    for ordinal, service, capabilities, leaving, quiet, terminate, offline, told, stands in rows:
        found[distinct[ordinal]] = (
            Standing(
                service,
                capabilities_from(capabilities),
                bool(leaving),
                bool(quiet or terminate),
                bool(offline),
                bool(told),
            )
            if stands
            else SUPERSEDED
        )
    return found
