-- Service calls: their lanes, contents, answers and feedback, who can take them, and what was offered to whom.

ALTER TABLE hall ADD COLUMN expired_until bigint NOT NULL DEFAULT 0; -- deadlines up to then have been seen to

-- Of calls (all five), and of service workers' own lanes (the service and when it was made).
ALTER TABLE lane ADD COLUMN service text COLLATE "C";
ALTER TABLE lane ADD COLUMN method text COLLATE "C";
ALTER TABLE lane ADD COLUMN dispatch text COLLATE "C";
ALTER TABLE lane ADD COLUMN requires text COLLATE "C";
ALTER TABLE lane ADD COLUMN made_at bigint;
CREATE INDEX lane_by_service ON lane (service) WHERE service IS NOT NULL;
CREATE INDEX lane_made ON lane (made_at) WHERE service IS NOT NULL;

-- What hardly changes of a call while it is worked on.
CREATE TABLE request (
    work bigint PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    client text COLLATE "C" NOT NULL,
    service text COLLATE "C" NOT NULL,
    method text COLLATE "C" NOT NULL,
    dispatch text COLLATE "C" NOT NULL,
    lane bigint NOT NULL,
    policy text COLLATE "C" NOT NULL,
    deadline_at bigint NOT NULL,
    parent bigint, -- the broadcast of which it is a child
    child_of text COLLATE "C", -- the worker for which it is, then
    made_at bigint NOT NULL,
    traceparent text COLLATE "C",
    feedback_count bigint NOT NULL DEFAULT 0, -- the highest number given
    avoid_until bigint -- until then whoever had it last is passed over
);
CREATE INDEX request_deadline ON request (deadline_at) WHERE parent IS NULL; -- children go with their parent
CREATE INDEX request_by_parent ON request (parent) WHERE parent IS NOT NULL;
CREATE INDEX request_by_lane ON request (lane);
CREATE INDEX request_avoid ON request (lane, avoid_until) WHERE avoid_until IS NOT NULL;

CREATE TABLE payload (
    work bigint PRIMARY KEY,
    params bytea NOT NULL
);
ALTER TABLE payload ALTER COLUMN params SET STORAGE EXTERNAL; -- compressing costs more than it saves

-- The last answer to a call, or what ended it instead.
CREATE TABLE result (
    work bigint PRIMARY KEY,
    answer text COLLATE "C" NOT NULL,
    result bytea,
    error_text text COLLATE "C",
    worker text COLLATE "C",
    key bytea,
    body bytea,
    at bigint NOT NULL
);
ALTER TABLE result ALTER COLUMN result SET STORAGE EXTERNAL;
CREATE INDEX result_at ON result (at);

CREATE TABLE feedback (
    work bigint NOT NULL,
    number bigint NOT NULL,
    st bigint NOT NULL,
    sn text COLLATE "C" NOT NULL,
    ft bytea NOT NULL,
    pr integer NOT NULL,
    fc bytea NOT NULL,
    worker text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (work, number)
);
CREATE INDEX feedback_passing ON feedback (at) WHERE pr = 0;

-- Who was shown a call that belongs to the first to lock it.
CREATE TABLE offer (
    work bigint NOT NULL,
    worker text COLLATE "C" NOT NULL,
    offered_at bigint NOT NULL,
    PRIMARY KEY (worker, work)
);
CREATE INDEX offer_by_work ON offer (work);
CREATE INDEX offer_at ON offer (offered_at);

-- Which workers may be given what is in which lanes.
CREATE TABLE fit (
    worker text COLLATE "C" NOT NULL,
    lane bigint NOT NULL,
    PRIMARY KEY (worker, lane)
);
CREATE INDEX fit_by_lane ON fit (lane, worker);

CREATE TABLE service_worker (
    worker text COLLATE "C" PRIMARY KEY,
    service text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    run_mode text COLLATE "C" NOT NULL,
    capabilities text COLLATE "C" NOT NULL, -- JSON
    incarnation bigint NOT NULL,
    leaving integer NOT NULL DEFAULT 0,
    ip text COLLATE "C",
    port bigint,
    source text COLLATE "C",
    forwarded integer NOT NULL DEFAULT 0,
    version text COLLATE "C" NOT NULL DEFAULT '',
    trace integer NOT NULL DEFAULT 0
);
CREATE INDEX service_worker_by_service ON service_worker (service, worker);

-- Which methods some worker of a service ever registered.
CREATE TABLE service_method (
    service text COLLATE "C" NOT NULL,
    method text COLLATE "C" NOT NULL,
    PRIMARY KEY (service, method)
);

-- The idempotency records of submitted calls.
CREATE TABLE submission (
    key bytea PRIMARY KEY,
    body bytea NOT NULL,
    work bigint NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX submission_at ON submission (at);
CREATE INDEX submission_by_work ON submission (work);
