"""What the program does beside running code: keep, search, forget, count, log."""
