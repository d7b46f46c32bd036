"""The map of a stranger's repository: broken, hostile, or far too much."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from repomap import scanning, workers
from repomap.model import REASONS, MapError
from repomap.scanning import ScanRequest, scan, walk_files
from repomap.store import MapStore, read_files, read_symbols
from tests.repomap.repositories import (
    APP,
    commit_all,
    hide_nothing,
    is_secret_name,
    run_git,
    scan_folder,
    write_files,
)

KIB = 1024


def refuse(path: str) -> Literal["", "secret_name"]:
    return "secret_name" if is_secret_name(path) else ""


def count_commits(store: MapStore) -> int:
    count: int = store.db.execute("SELECT count(*) FROM git_commit").fetchone()[0]
    return count


def replace_git(root: Path, content: str) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(content)


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def remove_tree(root: Path) -> None:
    tree = run_git(root, "rev-parse", "HEAD^{tree}").strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()


def lead_elsewhere(root: Path) -> None:
    other = write_files(root.parent / "other", {"z.py": "x = 1\n"})
    commit_all(other, "Of another project")
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(other / ".git")


NOT_FOUND = "no history: git finds no repository at .git"
BROKEN: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "sound": (lambda _: None, "", 1),
    "no git": (
        lambda root: shutil.rmtree(root / ".git"),
        "no history: no git repository found",
        0,
    ),
    "no commit": (
        lambda root: (shutil.rmtree(root / ".git"), run_git(root, "init", "-q")),
        "no history: no commits yet",
        0,
    ),
    "a file that says nothing": (lambda root: replace_git(root, ""), "invalid gitfile format", 0),
    "a file that leads nowhere": (lambda root: replace_git(root, "gitdir: /no/x\n"), NOT_FOUND, 0),
    "a file that leads to itself": (lambda root: replace_git(root, "gitdir: .git"), NOT_FOUND, 0),
    "an empty folder": (lambda root: empty_folder(root / ".git"), NOT_FOUND, 0),
    "another's repository": (lead_elsewhere, "", 1),
    "HEAD is garbage": (lambda root: (root / ".git/HEAD").write_text("?\n"), NOT_FOUND, 0),
    "no objects": (
        lambda root: empty_folder(root / ".git/objects"),
        "to list missing objects: git fsck",
        0,
    ),
    "a tree is missing": (remove_tree, "unable to read tree", 0),
    "settings that are none": (
        lambda root: (root / ".git/config").write_text("[core\n"),
        "bad config line 1",
        0,
    ),
    "a later form": (
        lambda root: run_git(root, "config", "core.repositoryformatversion", "99"),
        "git repo version",
        0,
    ),
    "said to be bare": (lambda root: run_git(root, "config", "core.bare", "true"), "", 1),
    "a tree elsewhere": (
        lambda root: run_git(root, "config", "core.worktree", "/elsewhere"),
        "",
        1,
    ),
    "a damaged index": (lambda root: (root / ".git/index").write_bytes(b"?" * 99), "", 1),
    "objects borrowed from nowhere": (
        lambda root: (root / ".git/objects/info/alternates").write_text("/no/objects\n"),
        "",
        1,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_whatever_git_has_the_files_are_mapped_and_a_note_says_what_is_missing(store, root, name):
    change, note, commits = BROKEN[name]
    write_files(root, APP)
    commit_all(root, "Begin")
    change(root)
    for _ in range(2):  # the second time from what is known
        report = scan_folder(store, root)
        assert sorted(read_files(store.db)) == sorted(APP)
        assert len(report.notes) == bool(note)
        assert all(note in one for one in report.notes)
        assert count_commits(store) == commits


def test_a_shallow_clone_says_so_and_its_last_commit_made_nothing(store, root, tmp_path):
    for name in ("a", "b", "c"):
        write_files(root, {f"{name}.py": "x = 1\n"})
        commit_all(root, f"Add {name}")
    run_git(tmp_path, "clone", "-q", "--depth", "2", f"file://{root}", "clone")
    report = scan_folder(store, tmp_path / "clone")
    assert report.notes == ("the history is shallow: older commits are missing",)
    rows = store.db.execute("SELECT path, words FROM commit_file JOIN git_commit USING (sha)")
    assert [(path, words.strip()) for path, words in rows] == [("c.py", "Add c")]
    assert scan_folder(store, tmp_path / "clone").notes == report.notes
    run_git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    assert scan_folder(store, tmp_path / "clone").notes == ()
    assert count_commits(store) == 3


def test_submodules_and_further_repositories_are_folders_without_their_git(store, root, tmp_path):
    part = write_files(tmp_path / "part", {"lib.py": "def lib():\n    pass\n"})
    commit_all(part, "Begin a part")
    write_files(root, {"a.py": "x = 1\n"})
    commit_all(root, "Begin")
    for name in ("full", "dirty", "empty"):
        run_git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), name)
    run_git(root, "commit", "-q", "-m", "Add parts")
    run_git(root, "submodule", "deinit", "-q", "-f", "empty")
    write_files(root / "dirty", {"lib.py": "def changed():\n    pass\n", "new.py": "y = 1\n"})
    commit_all(write_files(root / "nested", {"n.py": "z = 1\n"}), "Begin within")
    report = scan_folder(store, root)
    assert sorted(read_files(store.db)) == [
        ".gitmodules",
        "a.py",
        "dirty/lib.py",
        "dirty/new.py",
        "full/lib.py",
        "nested/n.py",
    ]
    assert dict(report.left_out) == dict.fromkeys(
        [".git", "dirty/.git", "full/.git", "nested/.git"], "excluded"
    )
    assert count_commits(store) == 2


def test_a_further_working_tree_has_the_history_and_its_git_is_no_text(store, root, tmp_path):
    write_files(root, APP)
    commit_all(root, "Begin")
    run_git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert scan_folder(store, tmp_path / "tree").notes == ()
    assert sorted(read_files(store.db)) == sorted(APP)
    assert count_commits(store) == 1


@pytest.mark.parametrize(("kind", "why"), [("missing", "No such file"), ("a file", "Not a dir")])
def test_a_folder_that_cannot_be_listed_leaves_the_map_as_it_was(store, root, kind, why):
    write_files(root, APP)
    scan_folder(store, root)
    shutil.rmtree(root)
    if kind == "a file":
        root.write_text("x")
    with pytest.raises(MapError, match=why) as raised:
        scan_folder(store, root)
    assert "--project" in raised.value.remedy
    assert len(read_files(store.db)) == len(APP)


def test_an_empty_folder_has_an_empty_map(store, root):
    assert scan_folder(store, root).files == 0


def test_any_name_is_kept_apart_and_what_is_no_text_is_left_out(store, root):
    names = ["a\nb.py", "t\t.py", "x" * 255, "\x1b[31m.py", " .py", "README", "readme", "\\xff.py"]
    write_files(root, {name: f"n = {at}\n" for at, name in enumerate(names)})
    for raw in (b"\xff.py", b"d\xfe/x.py"):
        path = os.fsencode(root) + b"/" + raw
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"n = 0\n")
    commit_all(root, "Add names")
    left = dict(scan_folder(store, root).left_out)
    assert sorted(read_files(store.db)) == sorted(names)
    assert left == {".git": "excluded", "\\xff.py": "encoding", "d\\xfe": "encoding"}
    changed = {path for (path,) in store.db.execute("SELECT path FROM commit_file")}
    assert changed == set(names)


def test_folders_too_deep_for_a_path_are_left_out(store, root):
    write_files(root, {"a.py": "x = 1\n"})
    at = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    assert [reason for _, reason in scan_folder(store, root).left_out] == ["permission"]
    assert list(read_files(store.db)) == ["a.py"]


def test_what_is_no_plain_file_is_left_out_and_never_opened(store, root, monkeypatch):
    write_files(root, APP)
    kinds = {"up": "link", "loop": "link", "gone": "link", "sock.py": "special"}
    for name, target in (("up", ".."), ("loop", "loop"), ("gone", "nowhere")):
        (root / name).symlink_to(target)
    for name in ("fifo.py", "package.json", "go.mod", "src/.gitignore"):
        os.mkfifo(root / name)
        kinds[name] = "special"
    monkeypatch.chdir(root)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("sock.py")
    if os.geteuid() == 0:
        os.mknod(root / "dev.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        kinds["dev.py"] = "special"
    report = scan_folder(store, root)
    assert dict(report.left_out) == kinds
    assert sorted(read_files(store.db)) == sorted(APP)


UNREADABLE = """
import sys
from pathlib import Path
from repomap.store import MapStore
from tests.repomap.repositories import scan_folder
store = MapStore(Path(sys.argv[1]))
for path, reason in scan_folder(store, Path(sys.argv[2])).left_out:
    print(path, reason)
store.close()
"""


def test_what_a_user_may_not_read_is_left_out(root, tmp_path):
    write_files(root, {"a.py": "x = 1\n", "closed.py": "y = 1\n", "folder/b.py": "z = 1\n"})
    for name in ("closed.py", "folder"):
        (root / name).chmod(0)
    as_user = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    done = subprocess.run(
        [*(as_user if os.geteuid() == 0 else []), sys.executable, "-c", UNREADABLE,
         str(tmp_path / "map.sqlite3"), str(root)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    (root / "folder").chmod(0o700)
    assert done.stdout.splitlines() == ["closed.py permission", "folder permission"]


def test_what_changes_between_the_list_and_its_reading_is_left_to_the_next_scan(store, root):
    names = ["gone.py", "grown.py", "fifo.py", "linked.py", "folder/in.py", "new.py", "z/last.py"]
    write_files(root, dict.fromkeys(names, "x = 1\n"))
    write_files(root.parent, {"out/in.py": "secret = 1\n"})

    def change(path: str) -> bool:
        if path == "z/last.py":
            for name in ("gone.py", "fifo.py", "linked.py"):
                (root / name).unlink()
            (root / "grown.py").write_bytes(b"y = 1\n" * 100_000)
            os.mkfifo(root / "fifo.py")
            (root / "linked.py").symlink_to(root.parent / "out/in.py")
            shutil.rmtree(root / "folder")
            (root / "folder").symlink_to(root.parent / "out")
            (root / "new.py").write_text("def other():\n    pass\n")
        return False

    report = scan(store, ScanRequest(root, change, hide_nothing))
    assert {path for path, reason in report.left_out if reason == "vanished"} == {*names[:5]}
    assert sorted(read_files(store.db)) == ["new.py", "z/last.py"]
    left = dict(scan_folder(store, root).left_out)
    assert left == {
        "grown.py": "too_large", "fifo.py": "special", "linked.py": "link", "folder": "link"
    }  # fmt: skip
    assert [one.name for one in read_symbols(store.db, read_files(store.db)["new.py"].id)] == [
        "other"
    ]


def make_texts() -> dict[str, tuple[str, bytes, str]]:
    half = 512 * KIB
    many = "".join(f"def f{n}(): 0\n" for n in range(100_000)).encode()
    return {
        "one token": ("a.py", b"a" * half, "generated"),
        "tokens of 16 KiB": ("a.py", (b"aB" * 8000 + b"\n") * 32, ""),
        "nested in one line": ("a.py", b"(" * 200_000, "generated"),
        "nested over lines": ("a.js", b"[{(\n" * 100_000, ""),
        "nested comparisons": ("a.java", b"a<\n" * 30_000, ""),
        "a hundred thousand definitions": ("a.py", many, "too_large"),
        "as many as fit": ("a.py", many[: half // 16 * 16], ""),
        "half of a surrogate": ("a.py", b"\xff\xfe\x00\xd8\x41\x00", ""),
        "a minified bundle": ("a.min.js", b"var a=function(){return 1};" * 2000, "generated"),
        "one of 30 MB": ("a.sql", b"insert into t values (1);\n" * 1_200_000, "too_large"),
    }


TEXTS = make_texts()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_program_costs_seconds_and_itself_alone(store, root, name):
    path, data, reason = TEXTS[name]
    write_files(root, {path: data, "b.py": "def good():\n    pass\n"})
    began = time.monotonic()
    left = dict(scan_folder(store, root).left_out)
    assert left == ({path: reason} if reason else {})
    assert not reason or reason in REASONS
    good = read_files(store.db)["b.py"]
    assert [one.name for one in read_symbols(store.db, good.id)] == ["good"]
    assert time.monotonic() - began < 20


def test_times_to_come_are_read_again_but_not_parsed_again(store, root, monkeypatch):
    write_files(root, APP)
    scan_folder(store, root)
    for name in APP:
        os.utime(root / name, (4e9, 4e9))

    def parse(*_: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(workers, "describe", parse)
    assert scan_folder(store, root).read == len(APP)


def test_a_clock_that_was_put_back_makes_no_time_sure(store, root):
    write_files(root, {"a.py": "x = 1\n"})
    scan_folder(store, root)
    store.db.execute("UPDATE mark SET value = '9' || value WHERE name = 'started_ns'")
    before = (root / "a.py").stat()
    (root / "a.py").write_text("y = 1\n")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scan_folder(store, root).read == 1


def test_folders_without_a_file_that_is_meant_are_left_in_time_too(root):
    write_files(root, {".gitignore": "*.x\n", **{f"{n}.x": "x" for n in range(5)}})
    with pytest.raises(TimeoutError):
        walk_files(root, refuse=refuse, until=time.monotonic() - 1)


def test_no_more_than_five_maps_are_listed(store, root):
    write_files(root, {f"f{n:02}.py": "x = 1\n" for n in range(20)})
    report = scan_folder(store, root, files=3)
    assert report.notes[-1] == "more than 12 files exceed the limit map.files"
    assert list(read_files(store.db)) == ["f00.py", "f01.py", "f02.py"]


def test_a_hundred_thousand_files_are_listed_in_time(root):
    for folder in range(400):
        write_files(root, {f"d{folder // 20}/e{folder}/m{n}.py": "x = 1\n" for n in range(250)})
    began = time.process_time()
    entries, left_out, is_whole = walk_files(root, refuse=refuse)
    assert (len(entries), len(left_out), is_whole) == (20_000, 80_000, True)
    assert time.process_time() - began < 30


def test_a_scan_whose_time_is_over_is_gone_on_with_by_the_next(store, root, monkeypatch):
    write_files(root, {f"f{n}.py": f"def f{n}():\n    pass\n" for n in range(40)})
    with monkeypatch.context() as patch:
        patch.setattr(scanning, "BATCH", 8)
        patch.setattr(scanning, "_read", lambda *_: "late")
        assert "40 files are not read yet" in scan_folder(store, root).notes[-1]
    assert scan_folder(store, root).files == 40
