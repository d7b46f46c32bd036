"""What we keep out of the context window: detect, chunk, store, search."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.chunkers import CHUNKERS
    from kb.chunking import chunk
    from kb.chunks import CAP_BYTES, TARGET_BYTES, Chunk, ChunkedDocument
    from kb.connection import fts5_available
    from kb.directory import (
        DirectoryProgress,
        DirectoryReport,
        OnProgress,
        index_file,
        index_paths,
        index_selection,
    )
    from kb.errors import (
        StoreBusyError,
        StoreCorruptError,
        StoreError,
        StoreFullError,
        StoreQuotaError,
        StoreReadOnlyError,
        StoreUnavailableError,
        UnknownSourceError,
    )
    from kb.explaining import explain
    from kb.filters import Filters
    from kb.model import (
        Check,
        Correction,
        ExplainedHit,
        Hit,
        Indexed,
        Origin,
        Progress,
        Purged,
        QueryExpression,
        QueryResult,
        RankExplanation,
        SearchState,
        Source,
        SourceSpec,
        Stats,
    )
    from kb.store import Store
    from kb.tokens import estimate_tokens
    from kb.walking import Selection, Skipped
    from kb.watching import watch

# Each name is loaded at its first use: a search needs nothing of what cuts documents into chunks.
_MODULES = {
    name: module
    for module, names in {
        "chunks": "CAP_BYTES TARGET_BYTES Chunk ChunkedDocument",
        "chunkers": "CHUNKERS",
        "chunking": "chunk",
        "connection": "fts5_available",
        "directory": "DirectoryProgress DirectoryReport OnProgress index_file index_paths "
        "index_selection",
        "errors": "StoreBusyError StoreCorruptError StoreError StoreFullError StoreQuotaError "
        "StoreReadOnlyError "
        "StoreUnavailableError UnknownSourceError",
        "explaining": "explain",
        "filters": "Filters",
        "model": "Check Correction ExplainedHit Hit Indexed Origin Progress "
        "Purged QueryExpression QueryResult RankExplanation SearchState Source SourceSpec Stats",
        "store": "Store",
        "tokens": "estimate_tokens",
        "walking": "Selection Skipped",
        "watching": "watch",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"kb.{_MODULES[name]}"), name)


__all__ = [
    "CAP_BYTES",
    "CHUNKERS",
    "TARGET_BYTES",
    "Check",
    "Chunk",
    "ChunkedDocument",
    "Correction",
    "DirectoryProgress",
    "DirectoryReport",
    "ExplainedHit",
    "Filters",
    "Hit",
    "Indexed",
    "OnProgress",
    "Origin",
    "Progress",
    "Purged",
    "QueryExpression",
    "QueryResult",
    "RankExplanation",
    "SearchState",
    "Selection",
    "Skipped",
    "Source",
    "SourceSpec",
    "Stats",
    "Store",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreQuotaError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "UnknownSourceError",
    "chunk",
    "estimate_tokens",
    "explain",
    "fts5_available",
    "index_file",
    "index_paths",
    "index_selection",
    "watch",
]
