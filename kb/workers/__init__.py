"""Chunking in processes of their own: a parser that hangs or dies takes no source with it."""

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
