"""The file of a map where it cannot be written, is damaged, locked, shared, or its scan killed;
and histories that are too much for it."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from base.stores import sqlite_files
from repomap import history
from repomap import store as stores
from repomap.model import MapError
from repomap.store import MapStore
from tests.repomap.repositories import APP, commit_all, run_git, scan_folder, write_files
from tests.repomap.test_scanning import dump

SCAN = """
import sys
from pathlib import Path
from repomap.model import MapError
from repomap.store import MapStore
from tests.repomap.repositories import scan_folder
try:
    store = MapStore(Path(sys.argv[1]))
    print(scan_folder(store, Path(sys.argv[2])).files)
    store.close()
except MapError as error:
    print(f"{error.message}|{error.remedy}")
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
SMALL_DISK = """
mount -t tmpfs -o size=$5 tmpfs "$1" || exit 77
if [ -n "$6" ]; then "$2" -c "$3" "$1/map.sqlite3" "$4"; mount -o "remount,$6" "$1" || exit 77; fi
"$2" -c "$3" "$1/map.sqlite3" "$4"
"""


def start_scan(path: Path, root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCAN, str(path), str(root)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def scan_on_disk(folder: Path, root: Path, size: str, then: str = "") -> list[str]:
    """What scans say whose map is in a file system of so many bytes."""
    folder.mkdir()
    own = ["--map-root-user"] if os.geteuid() else []
    done = subprocess.run(
        ["unshare", "--mount", *own, "sh", "-c", SMALL_DISK, "sh", str(folder), sys.executable,
         SCAN, str(root), size, then],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("not applicable: no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def dump_anew(folder: Path, root: Path) -> list[tuple[object, ...]]:
    """All of a map that is made at once."""
    anew = MapStore(folder / "anew.sqlite3")
    scan_folder(anew, root)
    found = dump(anew)
    anew.close()
    return found


@pytest.mark.parametrize("size", ["64k", "300k", "900k"])
def test_a_full_disk_is_said_so_with_what_to_do(root, tmp_path, size):
    rng = random.Random(1)
    words = "\n".join(f"w{rng.randrange(10**9)}" for _ in range(20_000))
    write_files(root, {f"f{n}.txt": words[n * 9 :] for n in range(20)})
    (said,) = scan_on_disk(tmp_path / "disk", root, size)
    message, remedy = said.split("|")
    assert "map.sqlite3" in message
    assert "disk" in remedy or "room" in remedy
    assert "delete" not in remedy


def test_a_folder_that_is_only_read_is_said_so(root, tmp_path):
    write_files(root, APP)
    first, said = scan_on_disk(tmp_path / "disk", root, "8m", "ro")
    assert first == str(len(APP))
    assert "Make its folder writable" in said


def test_a_map_that_another_process_holds_is_waited_for_and_said_so(root, tmp_path, monkeypatch):
    write_files(root, APP)
    path = tmp_path / "map.sqlite3"
    store = MapStore(path)
    store.db.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(MapError, match="locked") as raised:
        scan_folder(store, root)
    assert "Try again later" in raised.value.remedy
    other.execute("ROLLBACK")
    other.close()
    monkeypatch.setattr(stores, "LOCK_S", 0.1)
    with store.hold(), pytest.raises(MapError, match="another process has been scanning"):
        scan_folder(store, root)
    assert scan_folder(store, root).files == len(APP)
    store.close()


def damage_page(path: Path, rng: random.Random, content: Callable[[int], bytes]) -> None:
    data = bytearray(path.read_bytes())
    at = rng.randrange(1, len(data) // 4096) * 4096
    data[at : at + 4096] = content(4096)
    path.write_bytes(data)


def flip_bytes(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(20):
        data[rng.randrange(100, len(data))] = rng.randrange(256)
    path.write_bytes(data)


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


DAMAGES: dict[str, Callable[[Path, random.Random], object]] = {
    "empty": lambda path, _: path.write_bytes(b""),
    "no database": lambda path, _: path.write_bytes(b"?" * 9000),
    "cut": lambda path, rng: os.truncate(path, rng.randrange(path.stat().st_size)),
    "a page of noise": lambda path, rng: damage_page(path, rng, rng.randbytes),
    "a page of zeros": lambda path, rng: damage_page(path, rng, bytes),
    "changed bytes": flip_bytes,
    "an earlier form": lambda path, _: run_sql(path, "PRAGMA user_version = 1"),
    "a later form": lambda path, _: run_sql(path, "PRAGMA user_version = 99"),
    "tables without a form": lambda path, _: run_sql(path, "PRAGMA user_version = 0"),
    "a table is missing": lambda path, _: run_sql(path, "DROP TABLE symbol"),
    "words that cannot be unpacked": lambda path, _: run_sql(
        path, "UPDATE indexed SET words = x''"
    ),
    "names that are no JSON": lambda path, _: run_sql(path, "UPDATE import SET names = '['"),
    "a time that is none": lambda path, _: run_sql(path, "UPDATE mark SET value = '²'"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_map_that_is_damaged_or_of_another_form_is_made_anew(root, tmp_path, name):
    files = {f"m{n}.py": f'"""Doc {n}."""\nimport m{n + 1}\n' for n in range(60)}
    write_files(root, {**APP, **files})
    commit_all(root, "Begin")
    path = tmp_path / "map.sqlite3"
    store = MapStore(path)
    scan_folder(store, root)
    store.close()
    sound = path.read_bytes()
    for at in range(6):
        path.write_bytes(sound)
        DAMAGES[name](path, random.Random(at))
        write_files(root, {f"m{n}.py": f"import m{n + 2}\nat = {at}\n" for n in range(50)})
        store = MapStore(path)
        assert scan_folder(store, root).files == len(APP) + 60
        store.close()


def test_a_map_that_is_made_again_says_so(root, tmp_path):
    write_files(root, APP)
    path = tmp_path / "map.sqlite3"
    for name in ("no database", "names that are no JSON", None):
        store = MapStore(path)
        scan_folder(store, root)
        store.close()
        if name:
            DAMAGES[name](path, random.Random(0))
        write_files(root, {"app.py": f"import sys\nname = {name!r}\n"})
        store = MapStore(path)
        told = "\n".join(scan_folder(store, root).notes)
        assert ("the map was rebuilt" in told) == bool(name)
        store.close()


def test_a_form_that_another_process_renewed_meanwhile_is_kept(tmp_path, root, monkeypatch):
    write_files(root, APP)
    path = tmp_path / "map.sqlite3"
    MapStore(path).close()
    run_sql(path, "PRAGMA user_version = 1")
    hold = MapStore.hold

    def be_slower(self: MapStore):
        monkeypatch.setattr(MapStore, "hold", hold)
        other = MapStore(path)
        scan_folder(other, root)
        other.close()
        return hold(self)

    monkeypatch.setattr(MapStore, "hold", be_slower)
    store = MapStore(path)
    assert store.db.execute("SELECT count(*) FROM file").fetchone() == (len(APP),)
    store.close()


def test_two_scans_at_once_make_one_map(root, tmp_path):
    write_files(root, {f"p{n}/m{n}.py": f"import m{n - 1}\n" * 9 for n in range(120)})
    commit_all(root, "Begin")
    path = tmp_path / "map.sqlite3"
    both = [start_scan(path, root) for _ in range(2)]
    assert [one.communicate(timeout=120)[0] for one in both] == ["120\n"] * 2
    store = MapStore(path)
    assert dump(store) == dump_anew(tmp_path, root)
    store.close()


def test_a_scan_that_is_killed_at_any_time_is_made_up_for(root, tmp_path):
    rng = random.Random(7)
    path = tmp_path / "map.sqlite3"
    write_files(root, {f"p{n}/m{n}.py": f"import m{n - 1}\n" * 9 for n in range(400)})
    commit_all(root, "Begin")
    killed = rounds = 0
    while killed < 20:
        rounds += 1  # each leaves something to commit, a scan that ended in time, too
        process = start_scan(path, root)
        time.sleep(rng.uniform(0.05, 1.0))
        killed += process.poll() is None
        process.kill()
        process.communicate()
        changed = range(killed, 400, 7)
        write_files(root, {f"p{n}/m{n}.py": f"import m{n - 2}\nat = {rounds}\n" for n in changed})
        (root / f"p{killed}/m{killed}.py").unlink(missing_ok=True)
        commit_all(root, f"Change {killed}")
    store = MapStore(path)
    scan_folder(store, root)
    assert dump(store) == dump_anew(tmp_path, root)
    assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


Commits = Iterable[tuple[bytes, Sequence[str]]]


def import_commits(root: Path, commits: Commits) -> None:
    """Make many commits at once: of each the message, and the files that it changes."""
    lines = []
    for number, (message, paths) in enumerate(commits):
        at = 1_700_000_000 + number
        lines.append(b"commit refs/heads/main\ncommitter A <a> %d +0000\n" % at)
        lines.append(b"data %d\n%s\n" % (len(message), message))
        for path in paths:
            data = b"at = %d\n" % number
            lines.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    run_git(root, "init", "-q")
    done = subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=root, input=b"".join(lines), check=False
    )
    assert done.returncode == 0
    run_git(root, "symbolic-ref", "HEAD", "refs/heads/main")
    run_git(root, "reset", "-q", "--hard")


def test_of_commits_that_say_too_much_the_latest_are_read(store, root, monkeypatch):
    monkeypatch.setattr("repomap.git.OUTPUT_BYTES_MAX", 100_000)
    import_commits(root, ((b"word%d " % n * 1000, ["a.py"]) for n in range(300)))
    note = "only the last 3 commits were read: the history is too large"
    found = history.read_history(root, limit=300)
    assert (len(found.commits), found.fewer) == (3, note)
    monkeypatch.setattr(history, "read_history", partial(history.read_history, limit=300))
    for _ in range(2):  # what is known already has the same note
        assert scan_folder(store, root).notes == (note,)


def test_a_message_is_shared_by_its_files_and_of_a_file_the_latest_count(store, root):
    long = b"word " * 2000
    files = [f"f{n}.py" for n in range(30)]
    import_commits(root, [(b"Begin", ["a.py"]), (long, files), *[(long, ["a.py"])] * 70])
    found = history.read_history(root)
    assert {len(one.message) for one in found.commits} == {5, 4096, 32 * 1024 // 30}
    scan_folder(store, root)
    rows = store.db.execute("SELECT length(words) FROM indexed WHERE field = 'history'")
    assert max(length for (length,) in rows) < history.HISTORY_CHARS
    asked = "SELECT count(*) FROM words_history WHERE words_history MATCH ?"
    assert store.db.execute(asked, ("word",)).fetchone() == (31,)
    assert store.db.execute(asked, ("begin",)).fetchone() == (0,)


def test_three_thousand_commits_of_thirty_files_are_read_in_time(store, root):
    files = [[f"d{n % 50}/f{at}.py" for at in range(30)] for n in range(3000)]
    import_commits(root, ((b"word%d " % n * 500, paths) for n, paths in enumerate(files)))
    began = time.monotonic()
    assert scan_folder(store, root).files == 1500
    assert time.monotonic() - began < 120
    assert store.db.execute("SELECT count(*) FROM git_commit").fetchone() == (3000,)


def test_sqlite_quotes_a_damaged_file_in_bytes_that_are_no_text(root, tmp_path, monkeypatch):
    path = tmp_path / "map.sqlite3"
    connect = sqlite_files.connect

    def quote(*given: object, **fields: object) -> object:
        monkeypatch.setattr(sqlite_files, "connect", connect)
        return b"\x9d".decode()

    monkeypatch.setattr(sqlite_files, "connect", quote)
    write_files(root, APP)
    store = MapStore(path)
    assert scan_folder(store, root).files == len(APP)
    store.close()
