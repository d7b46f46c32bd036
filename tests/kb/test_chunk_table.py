"""The table of chunks in docs/ is what the chunkers make of its samples today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_in_the_docs_is_true():
    spec = importlib.util.spec_from_file_location("chunk_table", DOCS / "chunk_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (DOCS / "chunks.md").read_text()
    assert written == module.table(), "write it anew: python docs/chunk_table.py"
