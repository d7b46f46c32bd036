"""The repository of pages: one commit a push, read back exactly, never a half (C12)."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from memory.errors import BadInputError, MemoryRoomError, StoreUnavailableError
from memory.pages import git as git_room
from memory.pages.model import GitError, MovedError
from memory.pages.repository import BRANCH, PACKS_MAX, Repository, name_content

NOW = 1.7e9


def make(tmp_path, **options):
    made = Repository(tmp_path / "p.pages.git", environ={}, clock=lambda: NOW, **options)
    made.init()
    return made


def commit(repository, files, *, parent=None, author="Ada", message="m", **trailers):
    return repository.commit(
        files,
        parent=repository.head() if parent is None else parent,
        author=author,
        message=message,
        trailers=trailers,
    )


def plain_git(repository, *arguments):
    done = subprocess.run(
        ["git", f"--git-dir={repository.folder}", *arguments], capture_output=True, check=True
    )
    return done.stdout.decode()


def test_a_new_repository_is_empty_and_made_once(tmp_path):
    repository = Repository(tmp_path / "p.pages.git", environ={})
    assert (repository.exists, repository.head(), repository.history()) == (False, "", [])
    assert (repository.read("a.md"), repository.list_paths()) == (None, [])
    assert (repository.init(), repository.init()) == (True, False)
    assert (repository.exists, repository.head(), repository.list_paths()) == (True, "", [])
    assert repository.folder.stat().st_mode & 0o077 == 0


def test_c12_a_push_is_one_commit_with_its_author_and_trailers(tmp_path):
    repository = make(tmp_path)
    sha = commit(
        repository,
        {"wiki/concepts/a.md": "one\n", "index.md": "i\n"},
        author="Ada L <ada@example.org>",
        message="Tell of a\n\nMore.",
        Agent="claude-code",
        Session="s1",
        Buffer="s1@4",
    )
    assert plain_git(repository, "rev-list", "--count", "main").strip() == "1"
    said = plain_git(repository, "log", "-1", "--format=%an|%ae|%cn|%(trailers:unfold)")
    assert said.startswith("Ada L|ada@example.org|context-mode|Agent: claude-code\nSession: s1\n")
    [read] = repository.history()
    assert (read.sha, read.author, read.at, read.subject) == (sha, "Ada L", NOW, "Tell of a")
    assert (read.agent, read.session, read.buffer) == ("claude-code", "s1", "s1@4")
    assert repository.changed_paths([sha]) == {sha: ("index.md", "wiki/concepts/a.md")}


@pytest.mark.parametrize(
    "text",
    ["", "x", "x\n", "\r\n a\r\n", "data 3\nabc\ndone\n", "ü\u200d\u2028\U0001f600\t", "\x1b[1m\0"],
)
def test_a_text_is_read_back_as_it_was(tmp_path, text):
    repository = make(tmp_path)
    commit(repository, {"a.md": text, "b.md": "other"})
    assert repository.read_each([("a.md", ""), ("none.md", ""), ("b.md", BRANCH)]) == [
        text,
        None,
        "other",
    ]


def test_versions_come_oldest_first_and_skip_a_deletion(tmp_path):
    repository = make(tmp_path)
    shas = [commit(repository, {"a.md": text}) for text in ("one", None, "three")][:1]
    commit(repository, {"b.md": "else"})
    assert [text for _, text in repository.versions("a.md")] == ["one", "three"]
    assert len(repository.history("a.md")) == 3
    assert len(repository.history("a.md", 2)) == 2
    assert repository.read("a.md", shas[0]) == "one"
    last = repository.last_commit("a.md")
    assert last is not None
    assert last.sha != repository.head()


def test_a_branch_that_moved_is_refused(tmp_path):
    repository = make(tmp_path)
    first = commit(repository, {"a.md": "1"})
    second = commit(repository, {"a.md": "2"})
    for parent in ("", first):
        with pytest.raises(MovedError):
            commit(repository, {"a.md": "lost"}, parent=parent)
    assert (repository.head(), repository.read("a.md")) == (second, "2")


def test_git_itself_refuses_when_the_branch_moves_at_the_last_moment(tmp_path, monkeypatch):
    repository = make(tmp_path)
    first = commit(repository, {"a.md": "1"})
    second = commit(repository, {"a.md": "2"})
    monkeypatch.setattr(Repository, "head", lambda _: first)
    with pytest.raises(MovedError):
        commit(repository, {"a.md": "lost"}, parent=first)
    assert plain_git(repository, "rev-parse", "main").strip() == second


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a.md",
        "../a.md",
        "a/../b.md",
        "a//b",
        ".git/config",
        "a/.GIT/x",
        "a\nb",
        "a\0",
        "\ud800",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, path):
    repository = make(tmp_path)
    with pytest.raises(BadInputError):
        commit(repository, {path: "x"})
    assert repository.head() == ""
    assert repository.read(path) is None


@pytest.mark.parametrize(
    "path", ['a "b".md', "a\\b.md", "ü ï.md", "-x", ":(glob)*", "a b/*?[x].md"]
)
def test_odd_characters_of_a_path_stand_for_themselves(tmp_path, path):
    repository = make(tmp_path)
    commit(repository, {path: "x", "plain.md": "y"})
    commit(repository, {"plain.md": "z"})
    assert repository.read(path) == "x"
    assert repository.list_paths() == sorted([path, "plain.md"])
    assert len(repository.history(path)) == 1
    commit(repository, {path: None})
    assert repository.list_paths() == ["plain.md"]


@pytest.mark.parametrize(
    "value",
    [
        "x\nBuffer: stolen",
        "x\r\nAgent: root",
        "a\0b",
        "\ud800",
        "x\n\nfrom 0\ndeleteall",
        "<a> <b>",
    ],
)
def test_what_is_given_adds_no_line_to_a_commit(tmp_path, value):
    repository = make(tmp_path)
    commit(repository, {"keep.md": "k"})
    commit(repository, {"a.md": "x"}, author=value, message="s", Agent=value, Session=value)
    [made, _] = repository.history()
    assert made.buffer == ""
    assert "\n" not in made.agent + made.session + made.author
    assert repository.list_paths() == ["a.md", "keep.md"]
    assert plain_git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_a_message_that_ends_like_trailers_sets_none(tmp_path):
    repository = make(tmp_path)
    commit(repository, {"a.md": "x"}, message="Subject\n\nBuffer: stolen\nSession: other")
    commit(repository, {"a.md": "y"}, message="Buffer: stolen")
    assert [(one.buffer, one.session) for one in repository.history()] == [("", ""), ("", "")]


@pytest.mark.parametrize("name", ["nope", "--all", "main:a.md", "a b", "\0", "x" * 999, "0" * 40])
def test_an_unknown_commit_is_told(tmp_path, name):
    repository = make(tmp_path)
    sha = commit(repository, {"a.md": "x"})
    assert repository.resolve(sha[:8]) == repository.resolve("") == sha
    with pytest.raises(BadInputError):
        repository.resolve(name)
    assert repository.read("a.md", name) is None


def test_a_user_s_configuration_and_hooks_are_not_used(tmp_path, monkeypatch):
    home, ran = tmp_path / "home", tmp_path / "ran"
    home.mkdir()
    hook = f"#!/bin/sh\ntouch {ran}\n"
    (home / ".gitconfig").write_text(
        f"[core]\nhooksPath = {home}/hooks\n[commit]\ngpgSign = true\n"
        f"[init]\ntemplateDir = {home}/t\n"
    )
    for folder in (home / "hooks", home / "t" / "hooks"):
        folder.mkdir(parents=True)
        for name in ("reference-transaction", "post-update", "pre-commit"):
            (folder / name).write_text(hook)
            (folder / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    environ = {**os.environ, "HOME": str(home), "GIT_DIR": str(tmp_path / "elsewhere")}
    repository = Repository(tmp_path / "p.pages.git", environ=environ)
    repository.init()
    commit(repository, {"a.md": "x"})
    assert not ran.exists()
    assert not (tmp_path / "elsewhere").exists()
    plain_git(repository, "update-ref", "refs/heads/other", "main")
    assert ran.exists()  # the hook works where the user's configuration holds


def test_without_git_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(git_room, "GIT_PATH", str(tmp_path))
    with pytest.raises(GitError) as told:
        make(tmp_path)
    assert "git was not found" in told.value.message
    assert "Install git" in told.value.remedy


def test_a_git_that_hangs_is_ended_with_what_it_started(tmp_path, monkeypatch):
    child = tmp_path / "child"
    script = tmp_path / "git"
    script.write_text(f"#!/bin/sh\n/bin/sleep 600 &\necho $! > {child}\nwait\n")
    script.chmod(0o755)
    monkeypatch.setattr(git_room, "find_git", lambda: str(script))
    with pytest.raises(GitError, match="longer than"):
        git_room.Git(tmp_path, {}, seconds_max=0.5).run("log")
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    for _ in range(1000):  # it was killed, and may still have to be told by a busy machine
        if not state.exists() or state.read_text().split()[2] in "ZX":
            return
        time.sleep(0.01)
    pytest.fail("it still runs")


def test_output_and_input_without_end_are_bounded(tmp_path, monkeypatch):
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nexec /bin/cat /dev/zero\n")
    script.chmod(0o755)
    monkeypatch.setattr(git_room, "find_git", lambda: str(script))
    with pytest.raises(GitError, match="more than"):
        git_room.Git(tmp_path, {}).run("log", given=b"x" * (1 << 20), bytes_max=1 << 20)


def test_a_lock_that_is_held_is_told_in_time(tmp_path):
    repository = make(tmp_path)
    waiting = Repository(repository.folder, environ={}, lock_wait_s=0.05)
    with repository.lock(), pytest.raises(StoreUnavailableError), waiting.lock():
        pass


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").write_text("1")
    with pytest.raises(MemoryRoomError):
        Repository(tmp_path / "x", environ={}).init()
    assert [one.name for one in (tmp_path / "x").iterdir()] == ["mine"]


def test_a_large_text_goes_in_and_out(tmp_path):
    repository = make(tmp_path)
    text = "é" * (1 << 19)
    commit(repository, {"a.md": text})
    assert repository.read("a.md") == text
    with pytest.raises(BadInputError):
        commit(repository, {"a.md": text + "x"})


def test_many_single_objects_are_packed(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.pages.repository.LOOSE_FILES_MAX", -1)
    repository = make(tmp_path)
    commit(repository, {"a.md": "x"})
    (repository.folder / "objects" / "17").mkdir(exist_ok=True)
    repository.tidy()
    assert list((repository.folder / "objects" / "pack").glob("*.pack"))
    assert repository.read("a.md") == "x"


def test_contents_are_named_as_git_does(tmp_path):
    repository = make(tmp_path)
    files = {"a.md": "", "b.md": "ü\r\n\0x", "c.md": "x" * 100_000}
    sha = commit(repository, files)
    named = repository.list_entries()
    assert named == {path: name_content(text, sha) for path, text in files.items()}


def test_many_commits_are_packed_together_when_they_are_too_many(tmp_path):
    repository = make(tmp_path)
    first = commit(repository, {"a.md": "0"})
    for number in range(PACKS_MAX):
        repository.tidy()
        commit(repository, {"a.md": str(number + 1)})
    packs = repository.folder / "objects/pack"
    assert len([*packs.glob("*.pack")]) == PACKS_MAX + 1
    head = repository.head()
    repository.tidy()
    assert len([*packs.glob("*.pack")]) == 1
    assert (repository.head(), repository.read("a.md", first)) == (head, "0")
    newest = commit(repository, {"a.md": "last"})  # git packed the name of the branch, too
    assert repository.head() == newest
    assert repository.read("a.md") == "last"
