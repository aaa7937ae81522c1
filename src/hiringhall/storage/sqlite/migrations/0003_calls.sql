-- Service calls: their lanes, contents, answers and feedback, who can take them, and what was offered to whom.

ALTER TABLE hall ADD COLUMN expired_until INTEGER NOT NULL DEFAULT 0; -- deadlines up to then have been seen to

-- Of calls (all five), and of service workers' own lanes (the service and when it was made).
ALTER TABLE lane ADD COLUMN service TEXT;
ALTER TABLE lane ADD COLUMN method TEXT;
ALTER TABLE lane ADD COLUMN dispatch TEXT;
ALTER TABLE lane ADD COLUMN requires TEXT;
ALTER TABLE lane ADD COLUMN made_at INTEGER;
CREATE INDEX lane_by_service ON lane (service) WHERE service IS NOT NULL;
CREATE INDEX lane_made ON lane (made_at) WHERE service IS NOT NULL;

-- What hardly changes of a call while it is worked on.
CREATE TABLE request (
    work INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    client TEXT NOT NULL,
    service TEXT NOT NULL,
    method TEXT NOT NULL,
    dispatch TEXT NOT NULL,
    lane INTEGER NOT NULL,
    policy TEXT NOT NULL,
    deadline_at INTEGER NOT NULL,
    parent INTEGER, -- the broadcast of which it is a child
    child_of TEXT, -- the worker for which it is, then
    made_at INTEGER NOT NULL,
    traceparent TEXT,
    feedback_count INTEGER NOT NULL DEFAULT 0, -- the highest number given
    avoid_until INTEGER -- until then whoever had it last is passed over
);
CREATE INDEX request_deadline ON request (deadline_at) WHERE parent IS NULL; -- children go with their parent
CREATE INDEX request_by_parent ON request (parent) WHERE parent IS NOT NULL;
CREATE INDEX request_by_lane ON request (lane);
CREATE INDEX request_avoid ON request (lane, avoid_until) WHERE avoid_until IS NOT NULL;

CREATE TABLE payload (
    work INTEGER PRIMARY KEY,
    params BLOB NOT NULL
);

-- The last answer to a call, or what ended it instead.
CREATE TABLE result (
    work INTEGER PRIMARY KEY,
    answer TEXT NOT NULL,
    result BLOB,
    error_text TEXT,
    worker TEXT,
    key BLOB,
    body BLOB,
    at INTEGER NOT NULL
);
CREATE INDEX result_at ON result (at);

CREATE TABLE feedback (
    work INTEGER NOT NULL,
    number INTEGER NOT NULL,
    st INTEGER NOT NULL,
    sn TEXT NOT NULL,
    ft BLOB NOT NULL,
    pr INTEGER NOT NULL,
    fc BLOB NOT NULL,
    worker TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (work, number)
) WITHOUT ROWID;
CREATE INDEX feedback_passing ON feedback (at) WHERE pr = 0;

-- Who was shown a call that belongs to the first to lock it.
CREATE TABLE offer (
    work INTEGER NOT NULL,
    worker TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    PRIMARY KEY (worker, work)
) WITHOUT ROWID;
CREATE INDEX offer_by_work ON offer (work);
CREATE INDEX offer_at ON offer (offered_at);

-- Which workers may be given what is in which lanes.
CREATE TABLE fit (
    worker TEXT NOT NULL,
    lane INTEGER NOT NULL,
    PRIMARY KEY (worker, lane)
) WITHOUT ROWID;
CREATE INDEX fit_by_lane ON fit (lane, worker);

CREATE TABLE service_worker (
    worker TEXT PRIMARY KEY,
    service TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    run_mode TEXT NOT NULL,
    capabilities TEXT NOT NULL, -- JSON
    incarnation INTEGER NOT NULL,
    leaving INTEGER NOT NULL DEFAULT 0,
    ip TEXT,
    port INTEGER,
    source TEXT,
    forwarded INTEGER NOT NULL DEFAULT 0,
    version TEXT NOT NULL DEFAULT '',
    trace INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX service_worker_by_service ON service_worker (service, worker);

-- Which methods some worker of a service ever registered.
CREATE TABLE service_method (
    service TEXT NOT NULL,
    method TEXT NOT NULL,
    PRIMARY KEY (service, method)
) WITHOUT ROWID;

-- The idempotency records of submitted calls.
CREATE TABLE submission (
    key BLOB PRIMARY KEY,
    body BLOB NOT NULL,
    work INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX submission_at ON submission (at);
CREATE INDEX submission_by_work ON submission (work);
