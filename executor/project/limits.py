"""How much one run may change of a project."""

BYTES_MAX = 4 << 30
ENTRIES_MAX = 1_000_000
