CREATE TABLE run(
        sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, front TEXT NOT NULL,
        owner TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN ('accepted', 'sent', 'done')),
        order_sha256 BLOB NOT NULL, order_bytes BLOB, not_after REAL NOT NULL,
        accepted_s REAL NOT NULL, sent_s REAL, done_s REAL,
        ticket TEXT, lost INTEGER NOT NULL DEFAULT 0, outcome BLOB
    ) STRICT

CREATE INDEX run_sent ON run(owner, sent_s) WHERE sent_s IS NOT NULL

CREATE INDEX run_left ON run(front, sequence) WHERE state <> 'done'

CREATE INDEX run_done ON run(done_s) WHERE state = 'done'

CREATE TABLE queue(owner TEXT PRIMARY KEY, waiting INTEGER NOT NULL CHECK(waiting >= 0))
        STRICT, WITHOUT ROWID

CREATE TRIGGER run_waits AFTER INSERT ON run WHEN new.state = 'accepted' BEGIN
        INSERT INTO queue VALUES(new.owner, 1)
            ON CONFLICT DO UPDATE SET waiting = waiting + 1;
    END

CREATE TRIGGER run_moves AFTER UPDATE OF state ON run
        WHEN (old.state = 'accepted') <> (new.state = 'accepted') BEGIN
        UPDATE queue SET waiting = waiting + iif(new.state = 'accepted', 1, -1)
            WHERE owner = new.owner;
    END

CREATE TABLE spent(
        owner TEXT NOT NULL, day INTEGER NOT NULL, cpu_s REAL NOT NULL, PRIMARY KEY(owner, day)
    ) STRICT, WITHOUT ROWID

CREATE TABLE dropped(owner TEXT PRIMARY KEY, outcomes INTEGER NOT NULL)
        STRICT, WITHOUT ROWID
