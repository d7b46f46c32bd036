"""What was kept, read by its URI."""

import pytest

from ctxmode.errors import UsageError
from ctxmode.mcp.resources import READ_BYTES_MAX, content_of
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import open_library
from kb.model import SourceSpec


@pytest.fixture
def library(config):
    with open_library(config) as opened:
        opened.store.add(SourceSpec("out-1a2b3c4d/stdout (shell)", origin="run"), b"printed\n")
        opened.store.add(SourceSpec("out-1a2b3c4d/stderr (shell)", origin="run"), b"complained\n")
        opened.index(IndexRequest(content=b"<h1>T</h1>", source="page", kind="html"))
        opened.store.add(SourceSpec("big", kind="text"), b"0123456789" * 30_000)
        yield opened


@pytest.mark.parametrize(
    ("uri", "text", "media_type"),
    [
        ("output/out-1a2b3c4d", "printed\n[stderr]\ncomplained\n", "text/plain"),
        ("source/1", "printed\n", "text/plain"),
        ("source/3", "# T\n", "text/markdown"),
        ("source/page", "# T\n", "text/markdown"),
        ("source/4?start=3&end=7", "3456", "text/plain"),
        ("source/4?start=299998", "89", "text/plain"),
        ("source/4?start=900000&end=900001", "", "text/plain"),
    ],
)
def test_a_kept_text_is_read_exactly(library, uri, text, media_type):
    content = content_of(library, f"context-mode://{uri}")
    assert (content["text"], content["mimeType"]) == (text, media_type)


def test_a_large_one_is_cut_and_says_how_to_go_on(library):
    text = content_of(library, "context-mode://source/4")["text"]
    assert text.endswith(f"\n[37856 bytes more: context-mode://source/4?start={READ_BYTES_MAX}]")
    assert len(text) < READ_BYTES_MAX + 100


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "context-mode://output/out-nothing",
        "context-mode://output/out-1a",
        "context-mode://source/99",
        "context-mode://source/",
        "context-mode://file/1",
        "context-mode://source/4?start=x",
        "context-mode://source/4?start=-1",
        "context-mode://source/4?start=5&end=2",
        "context-mode://source/4?begin=5",
    ],
)
def test_what_is_no_resource_is_refused(library, uri):
    with pytest.raises(UsageError):
        content_of(library, uri)


def test_a_text_whose_file_is_gone_says_so(library):
    path = library.config.project / "app.py"
    library.index(IndexRequest(path="app.py"))
    text = path.read_text()
    assert content_of(library, "context-mode://source/app.py")["text"] == text
    path.unlink()
    gone = content_of(library, "context-mode://source/app.py")["text"]
    assert gone == f"{text}\n[file was deleted]"
