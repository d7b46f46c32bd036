"""Helpers for every room, without project logic: opening, whole writes, locks, mounts, SQLite."""
