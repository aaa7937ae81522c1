"""What an error of the driver means: the database is away, others were in the way, or the ask itself is at fault."""

from __future__ import annotations

from typing import Final

import asyncpg

AWAY: Final[tuple[type[BaseException], ...]] = (
    OSError,
    EOFError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shut down, starting up, or the statement took too long
    asyncpg.InsufficientResourcesError,  # too many connections, no space
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,  # it has become a standby
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.TargetServerAttributeNotMatched,
    asyncpg.InternalClientError,
    asyncpg.InterfaceError,
)
RACES: Final[tuple[type[BaseException], ...]] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,  # another replica made the same meanwhile
)


def is_away(error: BaseException) -> bool:
    """Whether nothing can be expected of this connection; what became of its transaction is not known."""
    # A value that cannot be sent is the ask's fault, although the driver calls that an interface error too.
    return isinstance(error, AWAY) and not isinstance(error, asyncpg.DataError)


def is_race(error: BaseException) -> bool:
    """Whether the same again may well succeed, since only a concurrent transaction was in the way."""
    return isinstance(error, RACES)
