"""A disk that is really full, or really read-only: clear errors, exit code 1, nothing half-made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOUNTED = """
mount -t tmpfs -o size=4m tmpfs "$1" || exit 77
mkdir "$1/project" "$1/data" && cd "$1/project" || exit
pages() { python="$1"; shift; "$python" -m ctxmode pages "$@" 2>&1; echo "exit $?"; }
export CONTEXT_MODE_DIR="$1/data"
%s
"""
FULL = """
pages "$2" init && echo text | pages "$2" write first - --type concept && pages "$2" push
git="git --git-dir=$("$2" -m ctxmode pages path)"
before="$($git rev-parse main)"
head -c 300000 /dev/urandom | base64 > "$1/large.md"
pages "$2" write large "$1/large.md" --type concept
cat /dev/zero > "$1/filling" 2> /dev/null
echo more | pages "$2" write second - --type concept
pages "$2" push
[ "$($git rev-parse main)" = "$before" ] && echo "branch kept"
find "$1" -name "second.md" -o -name "*.new" -o -name "tmp_*" -o -name "fast_import_crash*"
$git fsck --strict --no-dangling && echo sound
rm "$1/filling"
pages "$2" push && $git fsck --strict --no-dangling && echo sound
"""
READ_ONLY = """
pages "$2" init && echo text | pages "$2" write first - --type concept && pages "$2" push
git="git --git-dir=$("$2" -m ctxmode pages path)"
before="$($git rev-parse main)"
mount -o remount,ro "$1" || exit 77
pages "$2" read first
echo more | pages "$2" write second - --type concept
pages "$2" push
pages "$2" forget first --erase
[ "$($git rev-parse main)" = "$before" ] && echo "branch kept"
"""


def on_a_small_disk(folder: Path, script: str) -> str:
    """What a script says in a file system of 4 MB that is its alone."""
    own = ["--map-root-user"] if os.geteuid() else []
    done = subprocess.run(
        ["unshare", "--mount", *own, "sh", "-c", MOUNTED % script, "sh", str(folder),
         sys.executable],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("not applicable: no file system can be mounted here")
    return done.stdout + done.stderr


def test_a_full_disk_is_said_and_nothing_is_half_made(tmp_path: Path) -> None:
    said = on_a_small_disk(tmp_path, FULL).splitlines()
    first = said.index("  + wiki/concepts/first.md")
    second, push, *kept = said[first + 4 :: 1]
    assert "second.md cannot be opened: No space left on device" in second
    assert push == "exit 1"
    assert kept[0].startswith("context-mode: git could not commit the pages")
    assert "Free space" in " ".join(kept[:3])
    rest = kept[kept.index("exit 1") :]
    assert rest[:3] == ["exit 1", "branch kept", "sound"]
    assert rest[3].startswith("1 page pushed as ")
    assert rest[4:] == ["  + wiki/concepts/large.md", "exit 0", "sound"]


def test_a_read_only_disk_is_said_and_pages_are_read_from_it(tmp_path: Path) -> None:
    said = on_a_small_disk(tmp_path, READ_ONLY).splitlines()
    read = said.index("slug: first")
    assert said[read:].index("text") < said[read:].index("exit 0")
    told = said[read + said[read:].index("exit 0") + 1 :]
    assert [line for line in told if line.startswith("exit ")] == ["exit 1"] * 3
    assert sum("Read-only file system" in line for line in told) == 3
    assert told[-1] == "branch kept"
    assert "Traceback" not in "".join(said)
