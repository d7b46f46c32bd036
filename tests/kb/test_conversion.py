"""What is stored of a source that is converted: exact chunks over the converted text."""

from __future__ import annotations

import pytest

from kb import Store
from kb.model import SourceSpec

PAGE = b"<html><body><h1>Guide</h1><h2>Retries</h2><p>A retry waits.</p></body></html>"
MARKDOWN = b"# Guide\n\n## Retries\n\nA retry waits.\n"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "kb.db") as opened:
        yield opened


def test_a_page_is_stored_as_markdown_and_says_so(store):
    added = store.add(
        SourceSpec("page", name="page.html", origin="file", path="/p/page.html"), PAGE
    )
    source = store.source(added.source_id)
    assert (source.kind, source.converted) == ("html", "HTML to Markdown")
    assert store.text(added.source_id) == MARKDOWN
    (hit,) = store.search("retry waits")[0].hits
    assert hit.text.encode() == MARKDOWN[hit.start_byte : hit.end_byte]
    assert (hit.kind, "Retries" in hit.title) == ("markdown", True)


def test_utf16_is_stored_as_utf8_and_found(store):
    text = "the walrus sleeps\r\nnaïvely\r\n"
    added = store.add(SourceSpec("notes", name="notes.txt"), text.encode("utf-16"))
    assert store.text(added.source_id).decode() == text
    assert store.source(added.source_id).converted == "utf-16-le with a byte order mark to UTF-8"
    assert store.search("walrus")[0].hits


def test_a_byte_order_mark_hides_neither_a_heading_nor_json(store):
    assert (
        store.add(SourceSpec("a", name="a.md"), b"\xef\xbb\xbf# Head\n\ntext\n").kind == "markdown"
    )
    assert store.search("text")[0].hits[0].title == "Head"
    assert store.add(SourceSpec("b"), b'\xef\xbb\xbf{"a": 1}').kind == "json"


@pytest.mark.parametrize("data", [PAGE, "x\n".encode("utf-16"), b"\xef\xbb\xbfx"])
def test_a_runs_output_is_kept_byte_for_byte(store, data):
    added = store.add(SourceSpec("out", origin="run"), data)
    assert store.text(added.source_id) == data
    assert store.source(added.source_id).converted is None
