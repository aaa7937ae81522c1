-- The hall itself, lanes, units of work, plans and their tasks, workers, and the audit log.

CREATE TABLE hall (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    heard_since INTEGER NOT NULL,
    pulse_at INTEGER NOT NULL,
    next_work INTEGER NOT NULL
);
INSERT INTO hall VALUES (1, 0, 0, 1);

CREATE TABLE lane (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: rows of a deleted plan stay for a while
    key TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE plan (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    lane INTEGER NOT NULL UNIQUE REFERENCES lane (id),
    applied_at INTEGER NOT NULL,
    traceparent TEXT,
    finished_at INTEGER
) WITHOUT ROWID;
CREATE INDEX plan_applied ON plan (applied_at);

-- Lanes of deleted plans, whose rows are still to be deleted in small portions.
CREATE TABLE doomed (lane INTEGER PRIMARY KEY);

-- Narrow and hot: what changes while work is done. What never changes stands in `task`.
CREATE TABLE work (
    id INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    waiting_on INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    handed_version INTEGER NOT NULL DEFAULT 0,
    started INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    last_holder TEXT,
    handed_at INTEGER,
    run_until INTEGER,
    retry_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    abandoned INTEGER NOT NULL DEFAULT 0,
    cause TEXT NOT NULL DEFAULT 'first',
    cancelling INTEGER NOT NULL DEFAULT 0 -- its holder was told to stop: it is not handed on any more
);
CREATE INDEX work_ready ON work (lane, priority, seq) WHERE state = {ready};
CREATE INDEX work_holder ON work (holder) WHERE holder IS NOT NULL;
CREATE INDEX work_run_until ON work (run_until) WHERE run_until IS NOT NULL;
CREATE INDEX work_retry_at ON work (retry_at) WHERE retry_at IS NOT NULL;

CREATE TABLE task (
    work INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    policy TEXT NOT NULL,
    detail TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    made_as TEXT NOT NULL, -- its first state
    UNIQUE (lane, task_id)
);
CREATE INDEX task_by_seq ON task (lane, seq, work);
CREATE INDEX task_by_id ON task (task_id);

-- Every dependency, and those of them that are still open.
CREATE TABLE edge (
    dependency INTEGER NOT NULL,
    dependent INTEGER NOT NULL,
    PRIMARY KEY (dependency, dependent)
) WITHOUT ROWID;
CREATE INDEX edge_by_dependent ON edge (dependent);
CREATE TABLE unmet (
    dependency INTEGER NOT NULL,
    dependent INTEGER NOT NULL,
    PRIMARY KEY (dependency, dependent)
) WITHOUT ROWID;
CREATE INDEX unmet_by_dependent ON unmet (dependent);

CREATE TABLE hand_over (
    worker TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    work INTEGER NOT NULL,
    lane_key TEXT NOT NULL,
    cause TEXT NOT NULL,
    at INTEGER NOT NULL,
    key BLOB,
    deliveries INTEGER NOT NULL DEFAULT 1,
    gone_at INTEGER,
    PRIMARY KEY (name, worker, version)
) WITHOUT ROWID;
CREATE INDEX hand_over_gone ON hand_over (gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX hand_over_by_work ON hand_over (work);
CREATE INDEX hand_over_by_key ON hand_over (key) WHERE key IS NOT NULL;

-- The idempotency records of complete, fail and release.
CREATE TABLE answer (
    work INTEGER NOT NULL,
    worker TEXT NOT NULL,
    version INTEGER NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (work, worker, version)
) WITHOUT ROWID;

CREATE TABLE event (
    work INTEGER NOT NULL,
    version INTEGER NOT NULL,
    move TEXT NOT NULL,
    state TEXT NOT NULL,
    worker TEXT,
    cause TEXT,
    reason TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (work, version)
) WITHOUT ROWID;

CREATE TABLE tally (
    lane INTEGER NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL
);
CREATE INDEX tally_by_lane ON tally (lane, state);

CREATE TABLE worker (
    key TEXT PRIMARY KEY,
    hostname TEXT NOT NULL,
    token_hash BLOB,
    quiet INTEGER NOT NULL DEFAULT 0,
    terminate INTEGER NOT NULL DEFAULT 0,
    registered_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX worker_by_token ON worker (token_hash) WHERE token_hash IS NOT NULL;

CREATE TABLE pulse (
    worker TEXT PRIMARY KEY,
    last_seen INTEGER NOT NULL,
    last_beat INTEGER,
    gaps TEXT NOT NULL DEFAULT '',
    offline INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX pulse_silent ON pulse (last_seen) WHERE offline = 0;
CREATE INDEX pulse_offline ON pulse (last_seen) WHERE offline = 1;

CREATE TABLE directive (
    worker TEXT NOT NULL,
    target TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (worker, target)
) WITHOUT ROWID;
