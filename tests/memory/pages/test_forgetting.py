"""Forgetting removes a page by a commit; erasing leaves no byte of it."""

from __future__ import annotations

import shutil

import pytest

from memory.errors import BadInputError
from memory.pages.erasing import MARKER
from memory.pages.model import GitError, PushRequest
from tests.memory.pages.test_pushing import draft, make, push, write

TEXT = "the-words-that-must-go"


def contents(pages):
    said = pages.repository.git.run("cat-file", "--batch-all-objects", "--batch")
    files = [one for one in pages.drafts.folder.rglob("*") if one.is_file()]
    files += [one for one in pages.repository.folder.rglob("*") if one.is_file()]
    return said + b"".join(one.read_bytes() for one in files)


def fill(pages):
    write(pages, "a", f"# {TEXT}\n\nx\n", tags=[TEXT], reasoning_summary=TEXT)
    write(pages, "b", "# B\n\nstays\n")
    push(pages, message=f"Tell of {TEXT}")
    write(pages, "a", f"# {TEXT}\n\ny\n")
    push(pages)
    write(pages, "b", "# B\n\nstays too\n")
    push(pages, message="Tell more of b")


def test_a_forgotten_page_stays_in_the_history(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    told = pages.forget("a", why="old", agent="x")
    assert (told.had_draft, told.is_erased, draft(pages, "a").exists()) == (True, False, False)
    assert TEXT not in pages.read("index").text
    assert len(pages.history("a")) == 3
    assert TEXT.encode() in contents(pages)
    assert push(pages).reason == "nothing"


@pytest.mark.parametrize("form", ["loose", "packed"])
def test_no_byte_of_an_erased_page_is_left(tmp_path, form):
    pages = make(tmp_path)
    fill(pages)
    if form == "packed":
        pages.repository.git.run("gc", "--quiet")
    (draft(pages, "a").parent / ".0123.new").write_text(TEXT)
    pages.repository.git.run("update-ref", "refs/context-mode/pulled", pages.repository.head())
    assert TEXT.encode() in contents(pages)
    told = pages.forget("a", is_erased=True)
    assert (told.is_erased, told.commits, bool(told.notes)) == (True, 3, True)
    assert TEXT.encode() not in contents(pages)
    assert pages.repository.read("wiki/concepts/b.md").endswith("stays too\n")
    subjects = [commit.subject for commit, _ in pages.log()]
    assert subjects[:2] == ["Erase concept/a", "Tell more of b"]
    assert subjects[2] == "Push pages, of which one was erased"
    pages.repository.git.run("fsck", "--strict", "--no-dangling")
    with pytest.raises(BadInputError):
        pages.forget("a")


def test_no_byte_of_an_erased_page_is_left_in_other_branches_tags_notes_and_logs(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    git, head = pages.repository.git, pages.repository.head()
    name = ("-c", "user.name=Ada", "-c", "user.email=a@b.c")
    git.run("branch", "older", "main~1")
    git.run("tag", "light", "main~2")
    git.run(*name, "tag", "-a", "-m", TEXT, "told", "main~1")
    git.run(*name, "tag", "-a", "-m", "of a tag", "nested", "told")
    git.run("tag", "content", "main:wiki/concepts/a.md")
    git.run(*name, "notes", "add", "-m", "a note", "main")
    git.run("-c", "core.logAllRefUpdates=true", "update-ref", "refs/heads/logged", head)
    other = pages.repository.commit(
        {"wiki/concepts/c.md": "only here\n"}, parent=head, author="B", message="C", trailers={}
    )
    git.run("update-ref", "refs/heads/side", other)
    git.run("update-ref", "refs/heads/main", head)
    pages.forget("a", is_erased=True)
    assert TEXT.encode() not in contents(pages)
    assert git.run("show", "side:wiki/concepts/c.md") == b"only here\n"
    assert git.run("show", "logged:wiki/concepts/b.md").endswith(b"stays too\n")
    for ref in ("light", "told", "nested", "older"):
        assert git.run("show", f"{ref}:wiki/concepts/b.md").endswith(b"stays\n")
    assert git.run("notes", "list")
    assert not (pages.repository.folder / MARKER).exists()
    git.run("fsck", "--strict", "--no-dangling")
    write(pages, "b", "# B\n\ngoes on\n")
    assert push(pages).reason == ""


def test_an_erasing_that_a_work_tree_stops_says_what_helps_and_is_then_finished(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    git = pages.repository.git
    git.run("worktree", "add", "--detach", str(tmp_path / "tree"), "main~1")
    with pytest.raises(GitError, match="could not be deleted") as caught:
        pages.forget("a", is_erased=True)
    assert "worktree remove --force" in caught.value.remedy
    write(pages, "b", "# B\n\nnext\n")
    with pytest.raises(GitError, match="could not be deleted"):
        push(pages)
    git.run("worktree", "remove", "--force", str(tmp_path / "tree"))
    assert push(pages).reason == ""
    assert TEXT.encode() not in contents(pages)


def test_drafts_of_other_pages_go_on_after_an_erasing(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    pages.forget("a", is_erased=True)
    write(pages, "b", "# B\n\nonce more\n")
    assert push(pages).reason == ""
    assert next(one.subject for one in pages.history("b")) == "Push b"


def test_an_erased_page_does_not_come_back_from_another_draft(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    kept = draft(pages, "a").read_text()
    pages.forget("a", is_erased=True)
    draft(pages, "a").write_text(kept)
    assert push(pages).reason == "merge_required"
    assert TEXT.encode() not in pages.repository.git.run(
        "cat-file", "--batch-all-objects", "--batch"
    )
    pages.write("a", fields={"parent_sha": ""})
    assert pages.push(PushRequest(("a",), no_distill=True)).reason == ""


def test_an_erasing_that_died_is_finished_by_the_next_push(tmp_path, monkeypatch):
    pages = make(tmp_path)
    fill(pages)

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("memory.pages.erasing.delete_unreachable", die)
        with pytest.raises(KeyboardInterrupt):
            pages.forget("a", is_erased=True)
    assert (pages.repository.folder / MARKER).exists()
    write(pages, "b", "# B\n\nnext\n")
    push(pages)
    assert TEXT.encode() not in contents(pages)


def test_c18_what_was_erased_does_not_come_back_with_a_pull_that_is_refused(tmp_path):
    pages = make(tmp_path)
    fill(pages)
    copy = tmp_path / "copy.git"
    shutil.copytree(pages.repository.folder, copy)
    pages.forget("a", is_erased=True)
    head = pages.repository.head()
    with pytest.raises(GitError, match="diverged"):
        pages.pull(str(copy))
    assert TEXT.encode() not in contents(pages)
    assert pages.repository.git.run("for-each-ref", "refs/context-mode") == b""
    assert pages.repository.head() == head
    write(pages, "b", "# B\n\ngoes on\n")
    assert push(pages).reason == ""
