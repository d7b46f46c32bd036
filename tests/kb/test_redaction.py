"""Secrets never reach the file: not the text, not a title, not the vocabulary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from kb import Store
from kb.model import SourceSpec

SECRET = re.compile(rb"sk-[a-z0-9]+|-----BEGIN KEY-----.*?-----END KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Found:
    start: int
    end: int
    kind: str = "token"


def find(data: bytes) -> list[Found]:
    return [Found(*match.span()) for match in SECRET.finditer(data)]


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "kb.db", redact=find) as opened:
        yield opened


def stored(tmp_path: Path) -> bytes:
    return b"".join(path.read_bytes() for path in tmp_path.glob("kb.db*"))


def test_a_secret_is_replaced_by_its_kind_and_counted(store, tmp_path):
    data = b"# Keys\n\nthe key sk-abcdef123 opens; sk-zzz does, too\n"
    added = store.add(SourceSpec("notes.md", name="notes.md"), data)
    assert added.redactions == store.source(added.source_id).redactions == 2
    assert store.text(added.source_id) == (
        b"# Keys\n\nthe key [REDACTED:token] opens; [REDACTED:token] does, too\n"
    )
    (hit,) = store.search("opens")[0].hits
    assert (hit.start_byte, hit.end_byte) == (0, len(data))
    assert b"abcdef123" not in stored(tmp_path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"# sk-abcdef123\n\ntext\n"),
        ("a.py", b"def sk_():\n    return 'sk-abcdef123'\n"),
        ("a.json", b'{"sk-abcdef123": {"name": "sk-abcdef123", "b": 2}}'),
        ("a.txt", b"sk-abcdef123 first\n"),
        ("a.csv", b"id,name\nsk-abcdef123,x\n"),
        ("a.html", b"<h1>sk-abcdef123</h1><p>text"),
        ("a.txt", "the key sk-abcdef123 opens\n".encode("utf-16")),
        ("a.bin.txt", b"\xe9 \xe9 sk-abcdef123 \xe9\n"),
    ],
)
def test_neither_title_nor_vocabulary_nor_raw_bytes_hold_it(store, tmp_path, name, data):
    assert store.add(SourceSpec(name, name=name), data).redactions >= 1
    store.checkpoint()
    assert b"abcdef123" not in stored(tmp_path)
    assert "abcdef123".encode("utf-16-le") not in stored(tmp_path)


def test_a_secret_across_chunks_is_gone_from_each(store):
    lines = b"".join(b"line %d of the key\n" % n for n in range(500))
    data = b"before\n-----BEGIN KEY-----\n" + lines + b"-----END KEY-----\nafter\n"
    added = store.add(SourceSpec("k", name="k.txt"), data)
    kept = store.text(added.source_id)
    assert b"of the key" not in kept
    assert kept.startswith(b"before\n[REDACTED:token]")
    assert kept.endswith(b"[REDACTED:token]\nafter\n")
    assert added.redactions == 1


def test_a_secret_across_the_slices_of_a_spool_is_gone_and_counted_once(store, tmp_path):
    filler = b"".join(b"line %d\n" % n for n in range(900))
    key = b"-----BEGIN KEY-----\n" + b"secretpart\n" * 300 + b"-----END KEY-----\n"
    data = filler + key + filler * 8 + key + filler
    spool = tmp_path / "spool"
    spool.write_bytes(data)
    added = store.add_spool(
        SourceSpec("run", origin="run", kind="text"), spool, head_bytes=9_000, tail_bytes=9_000
    )
    while store.index_pending(8192):
        pass
    kept = store.text(added.source_id)
    assert b"secretpart" not in kept
    assert store.source(added.source_id).redactions == 2
    assert re.sub(rb"\[REDACTED:token\]", b"", kept) == SECRET.sub(b"", data)
    assert store.search("secretpart")[0].hits == ()


def test_without_a_detector_everything_is_stored(tmp_path):
    with Store.open(tmp_path / "plain.db") as store:
        added = store.add(SourceSpec("a"), b"sk-abc")
        assert (store.text(added.source_id), added.redactions) == (b"sk-abc", 0)
