-- Services and clients, their secrets and settings, who is logged in, and the keys that sign tokens.

CREATE TABLE service (
    id text COLLATE "C" PRIMARY KEY,
    dispatch text COLLATE "C" NOT NULL,
    methods text NOT NULL, -- JSON: by method, what differs there
    paused integer NOT NULL DEFAULT 0,
    made_at bigint NOT NULL
);

CREATE TABLE client (
    id text COLLATE "C" PRIMARY KEY,
    allow text NOT NULL, -- JSON: a list of patterns
    made_at bigint NOT NULL
);

-- Of a service, with which its workers log in, or of a client. At most two of one owner are valid at once.
CREATE TABLE secret (
    id text COLLATE "C" PRIMARY KEY,
    role text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    hash text NOT NULL,
    made_at bigint NOT NULL,
    valid_until bigint
);
CREATE INDEX secret_by_owner ON secret (role, owner);
CREATE INDEX secret_valid_until ON secret (valid_until) WHERE valid_until IS NOT NULL;

CREATE TABLE setting (
    service text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    sealed text NOT NULL,
    PRIMARY KEY (service, name)
);

-- A login; it ends with its secret. `incarnation`: of the worker that registered in it.
CREATE TABLE session (
    sid text COLLATE "C" PRIMARY KEY,
    role text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    service text COLLATE "C",
    secret text COLLATE "C" NOT NULL,
    incarnation bigint,
    made_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    ended_at bigint
);
CREATE INDEX session_by_subject ON session (service, subject);
CREATE INDEX session_expires ON session (expires_at);

CREATE TABLE refresh_token (
    hash bytea PRIMARY KEY,
    sid text COLLATE "C" NOT NULL,
    parent bytea,
    made_at bigint NOT NULL,
    used_at bigint,
    superseded integer NOT NULL DEFAULT 0
);
CREATE INDEX refresh_token_by_sid ON refresh_token (sid);
CREATE INDEX refresh_token_by_parent ON refresh_token (parent) WHERE parent IS NOT NULL;
CREATE INDEX refresh_token_used ON refresh_token (used_at) WHERE used_at IS NOT NULL;

CREATE TABLE signing_key (
    kid text COLLATE "C" PRIMARY KEY,
    sealed text NOT NULL,
    made_at bigint NOT NULL,
    current integer UNIQUE, -- 1 for the one that signs
    retired_at bigint
);
