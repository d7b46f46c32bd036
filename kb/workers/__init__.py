"""Chunking in separate processes: a parser that hangs or dies loses no source."""

from __future__ import annotations

from kb.workers.processes import (
    WORKERS,
    Text,
    WorkerDiedError,
    WorkerPool,
    chunk_all,
    to_markdown,
)

__all__ = ["WORKERS", "Text", "WorkerDiedError", "WorkerPool", "chunk_all", "to_markdown"]
