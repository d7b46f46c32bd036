"""What a source has, section by section."""

from __future__ import annotations

import pytest

from kb import Store
from kb.model import SourceSpec
from kb.reading import Section, contents


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "kb.db") as opened:
        yield opened


def test_sections_come_in_order_and_cover_the_source(store):
    text = "".join(f"# Part {n}\n\n{'Some words of it. ' * 150}\n\n" for n in range(3)).encode()
    added = store.add(SourceSpec("book.md", name="book.md"), text)
    found = contents(store, added.source_id)
    assert [section.title for section in found] == ["Part 0", "Part 1", "Part 2"]
    assert found[0] == Section("Part 0", 1, 4, len(text) // 3)
    assert sum(section.bytes for section in found) == len(text)
    assert [section.start_line for section in found] == [1, 5, 9]


def test_an_empty_source_has_none(store):
    assert contents(store, store.add(SourceSpec("empty"), b"").source_id) == []
