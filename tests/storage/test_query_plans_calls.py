"""With 100 000 calls of which most are ready, what is done about calls goes by index, on both databases."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from hiringhall.storage.postgres.connection import settings_for
from hiringhall.storage.postgres.prepared import load as load_postgres
from hiringhall.storage.postgres.store import PostgresStore
from hiringhall.storage.sqlite.connection import load as load_sqlite
from hiringhall.storage.sqlite.store import SqliteStore
from tests.storage.test_query_plans import NUMBERS, parameters_of

ALL = 100_000
FILL = (
    "INSERT INTO service (id, dispatch, methods, made_at) SELECT 'math', 'exclusive', '{}', 0 FROM numbers WHERE i = 1",
    """
    INSERT INTO lane (id, key, service, method, dispatch, requires, made_at)
    SELECT i, 'call:' || i, 'math', 'm' || i, 'exclusive', '', 0 FROM numbers WHERE i <= 500
    """,
    """
    INSERT INTO work (id, lane, state, priority, seq, waiting_on, version, handed_version, holder, handed_at, run_until)
    SELECT i, 1 + i / 90000, CASE WHEN i <= 10000 THEN 'held' WHEN i <= 20000 THEN 'done' ELSE 'ready' END, 0, i, 0,
        2, 2, CASE WHEN i <= 10000 THEN 'service:math/' || (i % 64) END, 0, CASE WHEN i <= 10000 THEN i END
    FROM numbers
    """,
    """
    INSERT INTO request (work, request_id, client, service, method, dispatch, lane, policy, deadline_at, parent,
        child_of, made_at, avoid_until)
    SELECT i, 'r-' || i, 'web', 'math', 'm1', 'exclusive', 1 + i / 90000, '', i, CASE WHEN i % 100 = 0 THEN i / 100 END,
        CASE WHEN i % 100 = 0 THEN 'service:math/1' END, 0, CASE WHEN i % 50 = 0 THEN i END
    FROM numbers
    """,
    "INSERT INTO payload (work, params) SELECT i, {bytes} FROM numbers",
    "INSERT INTO result (work, answer, at) SELECT i, 'success', i FROM numbers WHERE i > 10000 AND i <= 20000",
    """
    INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)
    SELECT 'service:math/' || (i % 64), 'r-' || i, 2, i, 'call:1', 'first', 0 FROM numbers WHERE i <= 20000
    """,
    "INSERT INTO worker (key, hostname, registered_at) SELECT 'service:math/' || i, '', 0 FROM numbers WHERE i <= 1000",
    "INSERT INTO pulse (worker, last_seen) SELECT 'service:math/' || i, 0 FROM numbers WHERE i <= 1000",
    """
    INSERT INTO service_worker (worker, service, worker_id, run_mode, capabilities, incarnation)
    SELECT 'service:math/' || i, 'math', CAST(i AS text), 'eager', '{}', 1 FROM numbers WHERE i <= 1000
    """,
    "INSERT INTO fit (worker, lane) SELECT 'service:math/' || (1 + i / 100), 1 + i % 100 FROM numbers WHERE i < 100000",
    """
    INSERT INTO offer (work, worker, offered_at)
    SELECT i, 'service:math/' || (i % 64), i FROM numbers WHERE i > 50000 AND i <= 60000
    """,
    """
    INSERT INTO feedback (work, number, st, sn, ft, pr, fc, worker, at)
    SELECT i / 10, i % 10, 1, '', {bytes}, i % 2, {bytes}, '', i FROM numbers
    """,
    """
    INSERT INTO submission (key, body, work, request_id, at)
    SELECT {key}, {bytes}, i, '', i FROM numbers WHERE i < 10000
    """,
    """
    INSERT INTO session (sid, role, subject, service, secret, made_at, expires_at)
    SELECT 's' || i, 'worker', CAST(i AS text), 'math', '', 0, 0 FROM numbers WHERE i < 10000
    """,
)
STATEMENTS = (
    "find_standing", "find_fits", "count_live", "find_live_fits", "find_service_workers", "count_load",
    "find_call_heads", "find_race_heads", "find_payloads", "upsert_offer", "delete_offers_of", "delete_offers_to",
    "lock_calls", "lock_units", "find_results", "upsert_result", "find_parts", "find_children", "avoid_worker",
    "find_fit", "find_terms", "find_call_lanes", "lock_services", "count_queues", "count_call_lanes",
    "find_submission", "find_family",
    "find_overdue", "find_told", "count_feedback", "find_feedback", "find_old_calls", "find_unused_lanes",
    "find_requests", "find_news", "find_ready_lanes", "find_ready_keys", "find_own_children",
    "find_lost",
    "delete_passing_feedback", "delete_stale_offers", "delete_submissions", "delete_feedback_of",
    "delete_submissions_of", "delete_hand_overs_of",  "find_lazy_workers", "find_service_views",
    "find_lanes_of_workers", "find_lanes_of_service", "find_incarnation", "bind_session", "pause_lanes",
    "find_open_calls", "beat",
)  # fmt: skip
HOT_ON_POSTGRES = ("submit", "drain", "respond")
WALKED = {"result_at", "lane_made", "pulse_offline", "pulse_silent", "work_run_until", "work_retry_at", "work_ready"}
"""Indexes that are walked from one end, or that hold few rows."""
BIG = {"work", "request", "payload", "result", "hand_over", "fit", "offer", "feedback", "submission", "session"}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All nodes of a plan."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


@pytest.fixture(params=["analysed", "before statistics"])
async def postgres(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Any]:
    """A filled database, with and without statistics of it."""
    store = await PostgresStore.open(postgres_url)
    await store.close()
    filling = await asyncpg.connect(postgres_url)
    for statement in FILL:
        insert, _, select = statement.partition("SELECT")
        words = select.replace("{bytes}", "CAST('1' AS bytea)").replace("{key}", "CAST(CAST(i AS text) AS bytea)")
        await filling.execute(f"{insert} {NUMBERS.format(until=ALL)} SELECT {words}")
    if request.param == "analysed":
        await filling.execute("ANALYZE")
    await filling.close()
    settings = settings_for("plans", statement_seconds=60, fixed_plans=True, in_order=True)
    connection = await asyncpg.connect(postgres_url, server_settings=settings)
    yield connection
    await connection.close()


async def test_on_postgres(postgres: Any) -> None:
    """On PostgreSQL what is done about calls neither scans a table nor walks through a whole index."""
    wrong = []
    for name in (*STATEMENTS, *HOT_ON_POSTGRES):
        statement = load_postgres()[name]
        await postgres.execute(f"PREPARE {name}_plan AS {statement.text}")
        text = await postgres.fetchval(
            f"EXPLAIN (COSTS OFF, FORMAT JSON) EXECUTE {name}_plan{parameters_of(statement)}"
        )
        for node in nodes(json.loads(text)[0]["Plan"]):
            if node.get("Relation Name") not in BIG or node.get("Index Name") in WALKED:
                continue
            if node["Node Type"] == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node):
                wrong.append(f"{name} walks {node.get('Index Name', node['Relation Name'])}")
    assert not wrong


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[apsw.Connection]:
    """A filled file."""
    store = await SqliteStore.open(tmp_path / "plans.sqlite")
    await store.close()
    connection = apsw.Connection(str(tmp_path / "plans.sqlite"))
    with connection:
        for statement in FILL:
            insert, _, select = statement.partition("SELECT")
            words = select.replace("{bytes}", "x'31'").replace("{key}", "CAST(i AS BLOB)")
            connection.execute(f"{insert} {NUMBERS.format(until=ALL)} SELECT {words}")
    yield connection
    connection.close()


async def test_on_sqlite(sqlite: apsw.Connection) -> None:
    """On SQLite what is done about calls scans no table, nor sorts a lane."""
    wrong = []
    tables = {"w": "work", "r": "request", "y": "payload", "a": "result", "h": "hand_over", "f": "fit", "o": "offer"}
    for name in STATEMENTS:
        statement = load_sqlite()[name]
        rows = sqlite.execute("EXPLAIN QUERY PLAN " + statement.text, dict.fromkeys(statement.parameters))
        plan = "\n".join(row[3] for row in rows)
        for table, index in re.findall(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", plan):
            if tables.get(table, table) in BIG and index not in WALKED:
                wrong.append(f"{name} walks {index or table}")
        if name in {"find_call_heads", "find_race_heads"} and "USE TEMP B-TREE FOR ORDER BY" in plan:
            wrong.append(f"{name} sorts")
    assert not wrong
