"""What every room may use, and nothing else: safe opening, whole writes, locks, mounts, SQLite."""
