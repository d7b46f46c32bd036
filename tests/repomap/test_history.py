from __future__ import annotations

import subprocess

import pytest

from repomap.errors import MapInputError
from repomap.history import list_changed, read_history, resolve_revision
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
        "none": "no history: there is no repository",
        "empty": "no history: there is no commit yet",
        "shallow": "the history is shallow: older commits are not here",
    }
    assert read_history(folder).note == said[kind]


@pytest.mark.parametrize("revision", ["nothing", "--output=x", "", "a\0b", "HEAD~99"])
def test_an_unknown_revision_is_refused_clearly(root, revision):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    with pytest.raises(MapInputError, match="names no commit here"):
        resolve_revision(root, revision)
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
