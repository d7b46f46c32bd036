from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from repomap.history import list_changed, read_history
from repomap.model import MapInputError
from tests.repomap.repositories import commit_all, run_git, write_files


def test_commits_have_their_messages_times_and_paths(root):
    write_files(root, {"a.py": "1\n", "dir/b c.py": "2\n"})
    commit_all(root, "First line\n\nBody \x00".rstrip("\x00"), at=1_700_000_000)
    write_files(root, {"a.py": "3\n"})
    head = commit_all(root, "Second", at=1_700_000_100)
    found = read_history(root)
    assert found.head == head
    assert found.is_anew
    assert [(one.message.strip(), one.at, one.paths) for one in found.commits] == [
        ("Second", 1_700_000_100, ("a.py",)),
        ("First line\n\nBody", 1_700_000_000, ("a.py", "dir/b c.py")),
    ]


def test_reading_goes_on_from_a_known_commit(root):
    write_files(root, {"a.py": "1\n"})
    first = commit_all(root, "First")
    assert read_history(root, since=first).commits == ()
    write_files(root, {"a.py": "2\n"})
    commit_all(root, "Second")
    found = read_history(root, since=first)
    assert [one.message.strip() for one in found.commits] == ["Second"]
    assert not found.is_anew


def test_a_known_commit_that_was_rewritten_begins_anew(root):
    write_files(root, {"a.py": "1\n"})
    commit_all(root, "First")
    write_files(root, {"a.py": "2\n"})
    lost = commit_all(root, "Second")
    run_git(root, "commit", "-q", "--amend", "-m", "Other")
    found = read_history(root, since=lost)
    assert found.is_anew
    assert [one.message.strip() for one in found.commits] == ["Other", "First"]


def test_commits_of_many_files_are_left_out(root):
    write_files(root, {f"f{n}": "x" for n in range(31)})
    commit_all(root, "Reformat")
    assert read_history(root).commits == ()


@pytest.mark.parametrize("kind", ["none", "empty", "shallow"])
def test_a_history_that_is_not_whole_says_why(root, tmp_path, kind):
    folder = root
    if kind != "none":
        run_git(root, "init", "-q")
    if kind == "shallow":
        for text in ("1", "2"):
            write_files(root, {"a": text})
            commit_all(root, text)
        folder = tmp_path / "shallow"
        run_git(root, "clone", "-q", "--depth=1", f"file://{root}", str(folder))
    said = {
        "none": "no history: no git repository found",
        "empty": "no history: no commits yet",
        "shallow": "the history is shallow: older commits are missing",
    }
    assert read_history(folder).note == said[kind]


@pytest.mark.parametrize("revision", ["nothing", "--output=x", "", "a\0b", "HEAD~99"])
def test_an_unknown_revision_is_refused_clearly(root, revision):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    with pytest.raises(MapInputError, match="no commit"):
        list_changed(root, revision)
    assert sorted(path.name for path in root.iterdir()) == [".git", "a"]


def test_changed_paths_are_those_of_commits_of_the_tree_and_new_ones(root):
    write_files(root, {"a": "1", "b": "1", "c": "1", ".gitignore": "no\n"})
    first = commit_all(root, "First")
    write_files(root, {"a": "2"})
    commit_all(root, "Second")
    write_files(root, {"b": "2", "new": "1", "no": "1"})
    assert list_changed(root, first) == ("a", "b", "new")


def test_none_of_the_repositorys_programs_runs(root, tmp_path):
    write_files(root, {"a.txt": "1\n", ".gitattributes": "*.txt diff=x\n"})
    first = commit_all(root, "First")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {ran}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager", "pager.log"):
        run_git(root, "config", name, str(program))
    write_files(root, {"a.txt": "2\n"})
    list_changed(root, first)
    read_history(root)
    assert not ran.exists()
    # The positive control: git as it is does run one of them.
    subprocess.run(["git", "diff", first], cwd=root, capture_output=True, check=False)
    assert ran.exists()


ODD_NAMES = {
    "\nx": "1",
    "a\nb": "1",
    "\x01commit\x02": "1",
    "e" * 40: "1",
    "dir/\u00e9 \t": "1",
}


def test_no_name_and_no_message_is_taken_for_something_else(root):
    write_files(root, ODD_NAMES)
    text = f"\x01commit\x02\n\n{'f' * 40}\n1\n\n\x01"
    commit_all(root, text)
    run_git(root, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    write_files(root, {"last": "1"})
    commit_all(root, "Last")
    last, first = read_history(root).commits
    assert (last.message.strip(), last.paths) == ("Last", ("last",))
    assert first.message.strip() == text
    assert first.paths == tuple(sorted(ODD_NAMES))


def test_a_name_that_is_no_text_is_skipped(root):
    (root / "a").write_text("1")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_text("1")
    head = commit_all(root, "First")
    assert [one.paths for one in read_history(root).commits] == [("a",)]
    Path(os.fsdecode(os.fsencode(root) + b"/\xfe")).write_text("1")
    (root / "a").write_text("2")
    assert list_changed(root, head) == ("a",)


def test_a_long_message_is_cut(root):
    write_files(root, {"a": "1"})
    commit_all(root, "\u00e9" * 9000)
    assert [len(one.message) for one in read_history(root).commits] == [4096]


def test_a_time_that_no_clock_shows_is_none(root):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    text = run_git(root, "cat-file", "commit", "HEAD").replace(" 1700000000 ", f" {2**63} ")
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"],
        cwd=root,
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    run_git(root, "reset", "-q", "--soft", made.stdout.decode().strip())
    assert [one.at for one in read_history(root).commits] == [0]


def test_of_a_folder_in_the_tree_paths_are_told_from_it(root):
    write_files(root, {"sub/a": "1", "b": "1"})
    first = commit_all(root, "Both")
    for text in "234":
        write_files(root, {"b": text})
        commit_all(root, f"Only b {text}")
    found = read_history(root / "sub", limit=2)
    assert [(one.message.strip(), one.paths) for one in found.commits] == [("Both", ("a",))]
    write_files(root, {"sub/new": "1", "c": "1"})
    assert list_changed(root / "sub", first) == ("new",)


def test_no_more_commits_than_asked_for_and_no_merges_are_read(root):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    run_git(root, "checkout", "-q", "-b", "side")
    write_files(root, {"b": "1"})
    commit_all(root, "Side", at=1_700_000_010)
    run_git(root, "checkout", "-q", "main")
    write_files(root, {"c": "1"})
    commit_all(root, "Main", at=1_700_000_020)
    run_git(root, "merge", "-q", "--no-ff", "-m", "Merge", "side", at=1_700_000_030)
    found = read_history(root)
    assert [one.message.strip() for one in found.commits] == ["Main", "Side", "First"]
    found = read_history(root, limit=2)
    assert [one.message.strip() for one in found.commits] == ["Main", "Side"]


@pytest.mark.parametrize("since", ["-x", "main", "f" * 40, "--help", "", "\udc80"])
def test_a_known_commit_that_is_none_begins_anew(root, since):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    found = read_history(root, since=since)
    assert found.is_anew
    assert len(found.commits) == 1


def test_a_removed_file_has_changed_and_a_repository_within_has_not(root):
    write_files(root, {"a": "1", "b": "1"})
    first = commit_all(root, "First")
    (root / "a").unlink()
    write_files(root, {"inner/x": "1"})
    commit_all(root / "inner", "Inner")
    assert list_changed(root, first) == ("a",)


def test_settings_of_the_repository_change_nothing_of_what_is_read(root):
    write_files(root, {"a": "1", "b": "1"})
    first = commit_all(root, "First")
    write_files(root, {"b": "2", "sub/c": "1"})
    commit_all(root, "Second")
    before = read_history(root), list_changed(root, first)
    (root / "order").write_text("b\na\n")
    for name, value in (
        ("log.showRoot", "false"),
        ("log.follow", "true"),
        ("diff.orderFile", "order"),
        ("diff.noprefix", "true"),
        ("diff.ignoreSubmodules", "none"),
        ("core.excludesFile", "order"),
        ("i18n.logOutputEncoding", "UTF-16"),
        ("format.pretty", "oneline"),
        ("color.ui", "always"),
        ("log.showSignature", "true"),
        ("log.decorate", "full"),
        ("core.quotePath", "true"),
    ):
        run_git(root, "config", name, value)
    (root / "order").unlink()
    os.mkfifo(root / "order")  # whoever opens it waits
    assert (read_history(root), list_changed(root, first)) == before
