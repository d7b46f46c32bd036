-- One statement for each table, in the order of STEPS in usage.py.

CREATE TABLE usage (
    day INTEGER NOT NULL,
    tool TEXT NOT NULL,
    calls INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    produced INTEGER NOT NULL,
    returned INTEGER NOT NULL,
    PRIMARY KEY (day, tool)
);

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    language TEXT NOT NULL,
    toolchain TEXT,
    profile TEXT NOT NULL,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    phase TEXT NOT NULL,
    decision TEXT,
    wall_s REAL NOT NULL,
    cpu_s REAL NOT NULL,
    peak_memory_bytes INTEGER,
    peak_processes INTEGER,
    stdout_bytes INTEGER NOT NULL,
    stderr_bytes INTEGER NOT NULL,
    changed_files INTEGER NOT NULL,
    not_committed INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    session TEXT,
    output_id TEXT
);

CREATE TABLE refusal (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    by TEXT NOT NULL,
    certainty TEXT NOT NULL,
    count INTEGER NOT NULL,
    remedy TEXT NOT NULL
);
