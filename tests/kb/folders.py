"""Folders that are indexed by the fields of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kb.directory import DirectoryReport, OnProgress, index_selection
from kb.store import Store
from kb.walking import Selection


def index_paths(
    store: Store,
    root: Path,
    *,
    max_files: int | None = None,
    on_progress: OnProgress | None = None,
    extensions: Sequence[str] = (),
    **selection: Any,
) -> DirectoryReport:
    """Index a folder; `extensions` come with or without a dot."""
    wanted = frozenset(extension.lstrip(".").lower() for extension in extensions)
    selected = Selection(extensions=wanted, **selection)
    return index_selection(store, root, selected, max_files=max_files, on_progress=on_progress)
