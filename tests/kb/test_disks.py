"""A disk that is really full, or really read-only: clear errors, and what was kept is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOUNTED = """
mount -t tmpfs -o size=3m tmpfs "$1" || exit 77
"$2" -c "$3" "$1" || exit
if [ -n "$4" ]; then
    mount -o remount,ro "$1" || exit 77
    "$2" -c "$4" "$1"
fi
"""
FILLED = """
import sys
from pathlib import Path
import kb.model
with kb.Store.open(Path(sys.argv[1]) / "kb.db") as store:
    store.add(kb.SourceSpec("before"), b"apples are kept")
    acknowledged = []
    try:
        for n in range(500):
            text = f"pears number{n} ".encode() * 3000
            acknowledged.append((store.add(kb.SourceSpec(f"large {n}"), text).source_id, text))
    except kb.model.StoreFullError as error:
        print("full:", "disk is full" in str(error))
    print("found:", len(store.search("apples")[0].hits))
    print("kept:", all(store.text(source) == text for source, text in acknowledged))
with kb.Store.open(Path(sys.argv[1]) / "kb.db") as store:
    print("sound:", not store.check(), store.notices)
    print("found again:", len(store.search("apples")[0].hits))
"""
KEPT = """
import sys
from pathlib import Path
import kb
with kb.Store.open(Path(sys.argv[1]) / "kb.db") as store:
    store.add(kb.SourceSpec("before"), b"apples are kept")
"""
READ = """
import sys
from pathlib import Path
import kb
with kb.Store.open(Path(sys.argv[1]) / "kb.db") as store:
    print("told:", "read-only" in store.notices[0])
    print("found:", len(store.search("apples")[0].hits))
    try:
        store.add(kb.SourceSpec("after"), b"pears")
    except kb.model.StoreReadOnlyError as error:
        print("refused:", "make it writable" in str(error))
"""


def on_a_small_disk(folder: Path, program: str, when_read_only: str = "") -> list[str]:
    """What the programs print, in a file system of 3 MB that is theirs alone."""
    own = ["--map-root-user"] if os.geteuid() else []
    done = subprocess.run(
        ["unshare", "--mount", *own, "sh", "-c", MOUNTED, "sh", str(folder), sys.executable,
         program, when_read_only],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("not applicable: no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_full_disk_is_said_so_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, FILLED) == [
        "full: True",
        "found: 1",
        "kept: True",
        "sound: True ()",
        "found again: 1",
    ]


def test_a_store_on_a_read_only_disk_is_searched_but_not_written(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, KEPT, READ) == ["told: True", "found: 1", "refused: True"]
