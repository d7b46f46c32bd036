"""How much one run may change of a project, and how often that is looked at."""

BYTES_MAX = 4 << 30
CHANGES_MAX = 1_000_000
INTERVAL_S = 0.1
