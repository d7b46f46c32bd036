"""Chunking in processes of their own: a parser that hangs or dies takes no source with it."""

from __future__ import annotations

from kb.workers.pool import WORKERS, WorkerDiedError, chunk, to_markdown

__all__ = ["WORKERS", "WorkerDiedError", "chunk", "to_markdown"]
