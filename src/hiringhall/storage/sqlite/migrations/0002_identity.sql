-- Services and clients, their secrets and settings, who is logged in, and the keys that sign tokens.

CREATE TABLE service (
    id TEXT PRIMARY KEY,
    dispatch TEXT NOT NULL,
    methods TEXT NOT NULL, -- JSON: by method, what differs there
    paused INTEGER NOT NULL DEFAULT 0,
    made_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE client (
    id TEXT PRIMARY KEY,
    allow TEXT NOT NULL, -- JSON: a list of patterns
    made_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Of a service, with which its workers log in, or of a client. At most two of one owner are valid at once.
CREATE TABLE secret (
    id TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    valid_until INTEGER
) WITHOUT ROWID;
CREATE INDEX secret_by_owner ON secret (role, owner);
CREATE INDEX secret_valid_until ON secret (valid_until) WHERE valid_until IS NOT NULL;

CREATE TABLE setting (
    service TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (service, name)
) WITHOUT ROWID;

-- A login; it ends with its secret. `incarnation`: of the worker that registered in it.
CREATE TABLE session (
    sid TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    subject TEXT NOT NULL,
    service TEXT,
    secret TEXT NOT NULL,
    incarnation INTEGER,
    made_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER
) WITHOUT ROWID;
CREATE INDEX session_by_subject ON session (service, subject);
CREATE INDEX session_expires ON session (expires_at);

CREATE TABLE refresh_token (
    hash BLOB PRIMARY KEY,
    sid TEXT NOT NULL,
    parent BLOB,
    made_at INTEGER NOT NULL,
    used_at INTEGER,
    superseded INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX refresh_token_by_sid ON refresh_token (sid);
CREATE INDEX refresh_token_by_parent ON refresh_token (parent) WHERE parent IS NOT NULL;
CREATE INDEX refresh_token_used ON refresh_token (used_at) WHERE used_at IS NOT NULL;

CREATE TABLE signing_key (
    kid TEXT PRIMARY KEY,
    sealed TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    current INTEGER UNIQUE, -- 1 for the one that signs
    retired_at INTEGER
) WITHOUT ROWID;
