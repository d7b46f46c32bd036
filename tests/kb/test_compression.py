"""Chunks are kept compressed, and read as if they were not."""

from __future__ import annotations

import base64
import random
import sqlite3
import uuid
from pathlib import Path

import pytest

from kb import Origin, Store
from kb.compression import compress, decompress, indexed_text, is_noise, restore
from kb.eviction import STORED_SHARE, of_store
from kb.model import SourceSpec, StoreCorruptError

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
        assert store.check() == ()
        assert store.repair() == ()
        store.add(SourceSpec("old"), b"A new version of it.\n")
        assert store.search("uncompressed", include_superseded=True)[0].hits[0].superseded
        assert store.check() == ()


def test_a_damaged_text_is_told_as_a_damaged_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        source_id = store.add(SourceSpec("notes"), b"several words that repeat " * 40).source_id
        with store.access.writing() as db:
            db.execute("UPDATE chunk SET body = x'00112233'")
        with pytest.raises(StoreCorruptError, match="kept check"):
            store.text(source_id)
        with pytest.raises(StoreCorruptError, match="kept check"):
            store.search("repeat")
        assert store.check()


SIZE = 400_000
DICE = random.Random(1)
LINE = "the valve behind the boiler was closed at noon\n"
BASE64 = base64.encodebytes(DICE.randbytes(SIZE)).decode()
IDS = "".join(f"{uuid.UUID(int=DICE.getrandbits(128))}\n" for _ in range(SIZE // 37))
NOISE = {
    "bytes": DICE.randbytes(SIZE),
    "base64 in lines": BASE64.encode(),
    "base64 in one line": base64.b64encode(DICE.randbytes(SIZE)),
    "base85": base64.b85encode(DICE.randbytes(SIZE)),
    "hexadecimal": DICE.randbytes(SIZE).hex().encode(),
}
TEXT = {
    "ids": IDS,
    "a log": "".join(
        f"12:00:{n % 60:02} worker {n} took {n * 7919 % 5000} ms\n" for n in range(9999)
    ),
    "Chinese": "".join(chr(0x4E00 + DICE.randrange(2000)) for _ in range(SIZE // 3)),
    "numbers": "".join(f"{DICE.random()}\n" for _ in range(SIZE // 20)),
    "short lines": "".join(f"{n}\n" for n in range(SIZE // 6)),
}


def keep(store: Store, folder: Path, data: bytes) -> int:
    """Store the output of a run, index all of it, and return its id."""
    (folder / "spool").write_bytes(data)
    source_id = store.add_spool(SourceSpec("out", Origin.RUN), folder / "spool").source_id
    while store.settle(1 << 20):
        pass
    return source_id


@pytest.mark.parametrize("data", NOISE.values(), ids=NOISE)
def test_noise_is_stored_exactly_and_takes_no_more_than_is_counted(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "kb.sqlite3"
    with Store.open(path) as store:
        empty = of_store(path).total
        source_id = keep(store, tmp_path, data)
        assert store.text(source_id) == data
        store.checkpoint()
        assert of_store(path).total - empty < STORED_SHARE * len(data)
        assert store.check() == ()


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_whatever_is_not_noise_is_indexed_whole(text: str) -> None:
    for at in range(0, len(text), 1500):
        piece = text[at : at + 1500]
        assert indexed_text(compress(piece)) == piece


@pytest.mark.parametrize("noise", [BASE64, DICE.randbytes(2000)], ids=["base64", "bytes"])
def test_words_within_noise_are_found_by_search_and_its_text_stays_whole(
    tmp_path: Path, noise: str | bytes
) -> None:
    around = noise.encode() if isinstance(noise, str) else noise
    data = around[:700] + b"\n" + LINE.encode() + around[700:1400] + b"\n"
    with Store.open(tmp_path / "kb.sqlite3") as store:
        source_id = keep(store, tmp_path, data)
        (result,) = store.search("valve boiler")
        assert LINE in result.hits[0].text
        assert store.text(source_id) == data
        for look_at_it_again in (store.check, store.repair, store.check):
            assert look_at_it_again() == ()
        assert store.search("valve boiler")[0].hits


def test_bytes_that_are_not_utf_8_are_stored_once(tmp_path: Path) -> None:
    data = "Überall größere Hütten mit Gärten.\n".encode("latin-1") * 30
    text = data.decode("utf-8", "replace")
    stored = compress(text, data)
    assert (decompress(stored), restore(stored), is_noise(stored)) == (text, data, False)
    with Store.open(tmp_path / "kb.sqlite3") as store:
        source_id = keep(store, tmp_path, data)
        with store.access.writing() as db:  # as earlier releases stored it
            db.execute("UPDATE chunk SET body = chunk_text(body), raw = ?", (data,))
        assert store.text(source_id) == data
        assert store.check() == ()
