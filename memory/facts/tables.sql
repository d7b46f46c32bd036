-- `uid` is what people see: "mem-" and 8 characters of base32. A row is never changed, only erased.
CREATE TABLE fact (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]',
    bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL
);
CREATE INDEX fact_text ON fact (sha256);

CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    branch TEXT NOT NULL,
    path TEXT NOT NULL,
    fact_id INTEGER REFERENCES fact (id),   -- NULL: nothing stands there any more
    operation TEXT NOT NULL,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL DEFAULT '',
    category TEXT NOT NULL,
    why TEXT NOT NULL DEFAULT '',
    confidence REAL NOT NULL,
    source TEXT NOT NULL DEFAULT '',
    expires_at REAL,
    supersedes INTEGER,                     -- the fact that stood there, or was replaced
    pinned INTEGER NOT NULL DEFAULT 0,
    scope TEXT NOT NULL
);
CREATE INDEX change_path ON change (branch, path, seq);
CREATE INDEX change_fact ON change (fact_id);
CREATE TABLE branch (
    name TEXT PRIMARY KEY,
    parent TEXT,                            -- NULL: main
    fork_seq INTEGER NOT NULL DEFAULT 0,    -- the parent's changes up to this one are seen
    state TEXT NOT NULL DEFAULT 'open',     -- open, merged, dropped
    created_at REAL NOT NULL,
    agent TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
INSERT INTO branch (name, parent, created_at) VALUES ('main', NULL, 0);

CREATE TABLE live (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    fact_id INTEGER NOT NULL REFERENCES fact (id),
    seq INTEGER NOT NULL UNIQUE,
    pinned INTEGER NOT NULL,
    scope TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    expires_at REAL
);
CREATE INDEX live_fact ON live (fact_id);
CREATE INDEX live_pinned ON live (path) WHERE pinned;
CREATE INDEX live_expiry ON live (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE mark (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO mark VALUES ('live_bytes', 0), ('live_facts', 0);
