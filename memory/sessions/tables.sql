-- Times are seconds since the epoch. Texts of messages and snapshots are deflated. Keys are digests,
-- so that nothing that a transcript names a record by is kept.

-- A transcript, and how far it is read. `path_key` is the digest of its path.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    path_key BLOB NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    path TEXT NOT NULL,
    device INTEGER NOT NULL DEFAULT 0,
    inode INTEGER NOT NULL DEFAULT 0,
    head_bytes INTEGER NOT NULL DEFAULT 0,
    head_sha256 BLOB,
    size INTEGER NOT NULL DEFAULT 0,
    mtime_ns INTEGER NOT NULL DEFAULT 0,
    offset INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    bad_lines INTEGER NOT NULL DEFAULT 0,
    elsewhere INTEGER NOT NULL DEFAULT 0,   -- its sessions are of another project
    problem TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT '{}',
    seen_at REAL NOT NULL
);

-- `sequence`, `turn` and `position` are the last numbers given out to messages, turns and events.
CREATE TABLE session (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    host_id TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    parent_id TEXT NOT NULL DEFAULT '',
    relation TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '',
    agent_version TEXT NOT NULL DEFAULT '',
    source_path TEXT NOT NULL DEFAULT '',
    working_directory TEXT NOT NULL DEFAULT '',
    project_name TEXT NOT NULL DEFAULT '',
    git_branch TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT '',        -- as a person set it; empty is by the times
    messages INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER,
    output_tokens INTEGER,
    compactions INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL DEFAULT '{}',
    started_at REAL,
    last_at REAL,
    ended_at REAL,
    end_reason TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,               -- when a person imported it; 0: found by itself
    updated_at REAL NOT NULL
);
CREATE INDEX session_activity ON session (last_at);
CREATE INDEX session_parent ON session (parent_id) WHERE parent_id <> '';

CREATE TABLE message (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    source_key BLOB NOT NULL,
    group_key BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    at REAL,
    content BLOB,                           -- NULL: not kept
    content_bytes INTEGER NOT NULL DEFAULT 0,
    is_cut INTEGER NOT NULL DEFAULT 0,
    tool_name TEXT,
    tool_params BLOB,
    call_key BLOB,
    exit_code INTEGER,
    is_error INTEGER NOT NULL DEFAULT 0,
    subagent TEXT,
    skill TEXT,
    model TEXT,
    images INTEGER NOT NULL DEFAULT 0,
    thinking_bytes INTEGER NOT NULL DEFAULT 0,
    output_id TEXT,
    is_compaction INTEGER NOT NULL DEFAULT 0,
    compaction_summary BLOB,
    compaction_trigger TEXT,
    tokens_before INTEGER,
    tokens_after INTEGER,
    UNIQUE (session_id, source_key),
    UNIQUE (session_id, sequence, step)
);
CREATE INDEX message_key ON message (source_key);
CREATE INDEX message_group ON message (session_id, group_key);
CREATE INDEX message_call ON message (session_id, call_key) WHERE call_key IS NOT NULL;
CREATE INDEX message_compaction ON message (session_id) WHERE is_compaction;

-- Tokens by response, as OpenTelemetry's gen_ai.usage names them; NULL is not recorded.
CREATE TABLE usage (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    response_key BLOB NOT NULL,
    group_key BLOB,                         -- of the message that it is the cost of
    model TEXT NOT NULL DEFAULT '',
    at REAL,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    reasoning INTEGER,
    PRIMARY KEY (session_id, response_key)
) WITHOUT ROWID;
CREATE INDEX usage_response ON usage (response_key);
CREATE INDEX usage_group ON usage (session_id, group_key);

CREATE TABLE file_touch (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    action TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_at REAL,
    last_at REAL,
    PRIMARY KEY (session_id, path, action)
) WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    at REAL,
    category TEXT NOT NULL,
    priority INTEGER NOT NULL,
    text TEXT NOT NULL,
    target TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT '',
    key BLOB NOT NULL,
    UNIQUE (session_id, key)
);
CREATE INDEX event_order ON event (session_id, priority, id);
CREATE INDEX event_open ON event (session_id, target) WHERE state = 'open';
CREATE TABLE turn (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at REAL,
    changed INTEGER NOT NULL DEFAULT 1,     -- since it was last indexed for search
    PRIMARY KEY (session_id, number)
) WITHOUT ROWID;
CREATE INDEX turn_changed ON turn (session_id) WHERE changed;

-- `tombstone` holds digests of what was forgotten, so that it is never imported again.
CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    at REAL NOT NULL,
    trigger TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    text BLOB NOT NULL,
    compactions INTEGER NOT NULL,           -- of the session until then
    delivered_at REAL
);
CREATE INDEX snapshot_session ON snapshot (session_id);
CREATE TABLE import_error (
    source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    offset INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    reason TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    PRIMARY KEY (source_id, offset)
) WITHOUT ROWID;
CREATE TABLE tombstone (session_key BLOB PRIMARY KEY) WITHOUT ROWID;
