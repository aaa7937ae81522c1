"""With 100 000 ready and 10 000 held units, the hot statements walk the indexes meant for them, on both databases."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from hiringhall.storage.postgres.connection import settings_for
from hiringhall.storage.postgres.prepared import Prepared
from hiringhall.storage.postgres.prepared import load as load_postgres
from hiringhall.storage.postgres.store import PostgresStore
from hiringhall.storage.sqlite.connection import load as load_sqlite
from hiringhall.storage.sqlite.store import SqliteStore

ALL = 110_000
NUMBERS = "WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {until})"
FILL = (
    "INSERT INTO lane (id, key) SELECT i, 'plan:p' || i FROM numbers WHERE i <= 500",
    "INSERT INTO plan (id, name, lane, applied_at) SELECT 'p' || i, '', i, 0 FROM numbers WHERE i <= 500",
    """
    INSERT INTO work (id, lane, state, priority, seq, waiting_on, version, handed_version, holder, handed_at, run_until)
    SELECT i, 1, CASE WHEN i <= 10000 THEN 'held' ELSE 'ready' END, 2, i, 0, 2, 2,
        CASE WHEN i <= 10000 THEN 'plan:w-' || (i % 64) END, 0, CASE WHEN i <= 10000 THEN i END
    FROM numbers
    """,
    """
    INSERT INTO task (work, lane, task_id, policy, detail, digest, seq, made_at, made_as)
    SELECT i, 1, 'T-' || i, '', '', '', i, 0, 'ready' FROM numbers
    """,
    "INSERT INTO worker (key, hostname, registered_at) SELECT 'plan:w-' || i, '', 0 FROM numbers WHERE i <= 1000",
    "INSERT INTO pulse (worker, last_seen) SELECT 'plan:w-' || i, 0 FROM numbers WHERE i <= 1000",
    """
    INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)
    SELECT 'plan:w-' || (i % 64), 'T-' || i, 2, i, 'plan:p', 'first', 0 FROM numbers WHERE i <= 10000
    """,
    "INSERT INTO edge (dependency, dependent) SELECT i, i + 1 FROM numbers WHERE i < 110000",
    "INSERT INTO unmet (dependency, dependent) SELECT i, i + 1 FROM numbers WHERE i > 100000 AND i < 110000",
)

BY_ID = {"work_pkey"}
HOT_ON_POSTGRES = {
    "take": {"work_ready", "work_pkey"},
    "complete": BY_ID,
    "release": BY_ID,
    "find_heads": {"work_ready"},
}
HOT_ON_SQLITE = {
    "find_heads": {"work_ready"},
    "find_next": {"work_ready"},
    "record_hand_overs": BY_ID,
    "find_completable": BY_ID,
    "complete_units": BY_ID,
    "log_completions": BY_ID,
}
SHARED_INDEXES = {
    "find_ready_lanes": {"work_ready"},
    "lock_units": BY_ID,
    "update_work": BY_ID,
    "hold_work": BY_ID,
    "lock_handed": BY_ID,
    "find_version_floor": set[str](),
    "close_edges": set[str](),
    "find_takers": set[str](),
    "deliver_again": BY_ID,
    "find_deliveries": set[str](),
    "find_holds": {"work_holder"},
    "find_overrun": {"work_run_until"},
    "find_retries": {"work_retry_at"},
    "find_silent": set[str](),
    "lock_pulses": set[str](),
    "update_pulse": set[str](),
    "beat": {"work_run_until", "work_retry_at"},
}
"""Which indexes of `work` a statement may use."""
SORTS_FEW = {"find_holds", "find_ready_lanes", "lock_units", "lock_pulses"}


def parameters_of(statement: Prepared) -> str:
    """Nothing for each parameter: a plan that fits all values does not look at them."""
    return f"({', '.join('NULL' for _ in statement.parameters)})" if statement.parameters else ""


@pytest.fixture(params=["analysed", "before statistics"])
async def postgres(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Any]:
    """A filled database, with and without statistics of it: an index must be chosen even for what seems to be empty."""
    store = await PostgresStore.open(postgres_url)
    await store.close()
    filling = await asyncpg.connect(postgres_url)
    for statement in FILL:
        insert, _, select = statement.partition("SELECT")
        await filling.execute(f"{insert} {NUMBERS.format(until=ALL)} SELECT {select}")
    if request.param == "analysed":
        await filling.execute("ANALYZE")
    await filling.close()
    settings = settings_for("plans", statement_seconds=60, fixed_plans=True, in_order=True)
    connection = await asyncpg.connect(postgres_url, server_settings=settings)
    yield connection
    await connection.close()


async def test_on_postgres(postgres: Any) -> None:
    """On PostgreSQL no hot statement scans a table, gathers a lane to sort it, or settles by the index of holders."""
    allowed = {**HOT_ON_POSTGRES, **SHARED_INDEXES}
    for name, indexes in allowed.items():
        statement = load_postgres()[name]
        await postgres.execute(f"PREPARE {name}_plan AS {statement.text}")
        rows = await postgres.fetch(f"EXPLAIN (COSTS OFF) EXECUTE {name}_plan{parameters_of(statement)}")
        plan = "\n".join(row[0] for row in rows)
        assert "Seq Scan" not in plan, f"{name}:\n{plan}"
        used = set(re.findall(r"(?:Index(?: Only)? Scan(?: Backward)? using|Bitmap Index Scan on) (work_\w+)", plan))
        assert used <= indexes, f"{name}:\n{plan}"
        if name in {"take", "find_heads"}:
            assert re.findall(r"LockRows\n\s*->  (\w+ \w+)", plan) == ["Index Scan"], f"{name}:\n{plan}"


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[apsw.Connection]:
    """A filled file."""
    store = await SqliteStore.open(tmp_path / "plans.sqlite")
    await store.close()
    connection = apsw.Connection(str(tmp_path / "plans.sqlite"))
    with connection:
        for statement in FILL:
            insert, _, select = statement.partition("SELECT")
            connection.execute(f"{insert} {NUMBERS.format(until=ALL)} SELECT {select}")
    yield connection
    connection.close()


async def test_on_sqlite(sqlite: apsw.Connection) -> None:
    """On SQLite no hot statement scans a table or sorts a lane."""
    statements = load_sqlite()
    for name, indexes in {**HOT_ON_SQLITE, **SHARED_INDEXES}.items():
        statement = statements[name]
        nothing = dict.fromkeys(statement.parameters)
        rows = sqlite.execute("EXPLAIN QUERY PLAN " + statement.text, nothing)
        plan = "\n".join(row[3] for row in rows)
        scanned = set(re.findall(r"SCAN (\w+)\b(?! USING (?:COVERING )?INDEX| VIRTUAL)", plan)) - {
            "CONSTANT",
            "wanted",
            "json_each",
        }
        assert not scanned, f"{name}:\n{plan}"
        used = set(re.findall(r"USING (?:COVERING )?INDEX (work_\w+)", plan))
        assert used <= indexes - BY_ID, f"{name}:\n{plan}"
        if name not in SORTS_FEW:
            assert "USE TEMP B-TREE FOR ORDER BY" not in plan, f"{name}:\n{plan}"
