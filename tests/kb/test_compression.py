"""Chunks are kept compressed, and read as if they were not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kb import Store, StoreCorruptError
from kb.compression import compress, decompress
from kb.model import SourceSpec

TEXTS = ("", "x", "short\n", "words and words\n" * 40, "日本語の文章 " * 30, "\0nul\0" * 20)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_stored_is_never_larger_and_restores_exactly(text: str) -> None:
    stored = compress(text)
    assert decompress(stored) == text
    assert len(stored if isinstance(stored, bytes) else stored.encode()) <= len(text.encode())


def test_texts_stored_before_compression_are_still_found_and_read(tmp_path: Path) -> None:
    text = "An older release stored these words uncompressed.\n" * 8
    with Store.open(tmp_path / "kb.db") as store:
        source_id = store.add(SourceSpec("old"), text.encode()).source_id
    db = sqlite3.connect(tmp_path / "kb.db")
    db.create_function("chunk_text", 1, decompress)
    assert {type(body) for (body,) in db.execute("SELECT body FROM chunk")} == {bytes}
    db.execute("UPDATE chunk SET body = chunk_text(body)")
    db.commit()
    db.close()
    with Store.open(tmp_path / "kb.db") as store:
        (result,) = store.search("older release uncompressed")
        assert result.hits[0].text == text
        assert store.text(source_id).decode() == text
        assert store.check().problems == ()
        assert store.repair().problems == ()
        store.add(SourceSpec("old"), b"A new version of it.\n")
        assert store.search("uncompressed", include_superseded=True)[0].hits[0].superseded
        assert store.check().problems == ()


def test_a_damaged_text_is_told_as_a_damaged_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        source_id = store.add(SourceSpec("notes"), b"several words that repeat " * 40).source_id
        with store.access.writing() as db:
            db.execute("UPDATE chunk SET body = x'00112233'")
        with pytest.raises(StoreCorruptError, match="kb check"):
            store.text(source_id)
        with pytest.raises(StoreCorruptError, match="kb check"):
            store.search("repeat")
        assert store.check().problems
