"""What compiling made is kept whole, shared safely, and bounded."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from executor.compile.compiler import CompiledStore

ONE = ({"/tmp/.program": b"\x7fELF\n\x00", "/tmp/.classes/A$1.class": b""}, b"a warning\n")


@pytest.fixture
def store(tmp_path: Path) -> CompiledStore:
    return CompiledStore(tmp_path / "compiled", bytes_max=10_000)


def test_what_was_stored_is_loaded(store):
    store.store("a" * 64, ONE)
    assert store.load("a" * 64) == ONE


def test_what_was_not_stored_is_none(store):
    assert store.load("b" * 64) is None


def test_only_its_owner_may_enter(store, tmp_path: Path):
    store.store("a" * 64, ONE)
    assert stat.S_IMODE((tmp_path / "compiled").stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"nonsense", None], ids=repr)
def test_a_damaged_entry_is_none_and_goes(store, tmp_path: Path, damage):
    store.store("a" * 64, ONE)
    path = tmp_path / "compiled" / ("a" * 64)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?" if damage is None else damage)
    assert store.load("a" * 64) is None
    assert not path.exists()


def test_the_least_recently_used_goes_first(store, tmp_path: Path):
    for number, name in enumerate("abcd"):
        store.store(name, ({"/tmp/.program": bytes(2000)}, b""))
        os.utime(tmp_path / "compiled" / name, (number, number))
    assert store.load("a") is not None  # used again
    store.store("e", ({"/tmp/.program": bytes(2500)}, b""))
    left = {path.name for path in (tmp_path / "compiled").iterdir()}
    assert {"a", "e"} <= left
    assert "b" not in left
    assert sum(path.stat().st_size for path in (tmp_path / "compiled").iterdir()) <= 10_000


def test_what_would_crowd_out_all_else_is_not_kept(store):
    store.store("a", ({"/tmp/.program": bytes(9_000)}, b""))
    assert store.load("a") is None


def test_several_servers_may_store_the_same_at_once(tmp_path: Path):
    folder = tmp_path / "compiled"

    def use(_: int) -> bool:
        own = CompiledStore(folder)
        own.store("a", ONE)
        return own.load("a") == ONE

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(64)))
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_a_full_or_forbidden_disk_only_keeps_nothing(tmp_path: Path):
    (tmp_path / "compiled").write_text("a file in the way")
    store = CompiledStore(tmp_path / "compiled")
    store.store("a", ONE)
    assert store.load("a") is None
