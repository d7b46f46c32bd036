"""A pull takes over what continues the commits here, and nothing else (C18)."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.pages.history import list_log
from memory.pages.model import GitError
from memory.pages.repository import Repository
from memory.pages.store import pull
from tests.memory.pages import test_pushing as pushing


def make(folder):
    repository = Repository(folder, environ={}, clock=lambda: 1.7e9)
    repository.init()
    return repository


def commit(repository, files, message="m"):
    head = repository.head()
    return repository.commit(files, parent=head, author="Ada", message=message, trailers={})


def test_c18_a_pull_fast_forwards_and_tells_what_changed(tmp_path):
    here, there = make(tmp_path / "here.git"), make(tmp_path / "there.git")
    first = commit(there, {"a.md": "1", "b.md": "1"})
    done = pull(here, str(there.folder))
    assert done == ("", first, ("a.md", "b.md"))
    second = commit(there, {"a.md": "2", "b.md": None})
    done = pull(here, str(there.folder))
    assert done == (first, second, ("a.md", "b.md"))
    assert here.read("a.md") == "2"
    assert pull(here, str(there.folder))[2] == ()
    own = commit(here, {"c.md": "mine"})
    assert pull(here, str(there.folder))[1] == own


def test_c18_a_pull_of_other_commits_changes_nothing(tmp_path):
    here, there = make(tmp_path / "here.git"), make(tmp_path / "there.git")
    mine = commit(here, {"a.md": "mine"})
    commit(there, {"a.md": "theirs"}, "other")
    with pytest.raises(GitError, match="diverged"):
        pull(here, str(there.folder))
    assert here.head() == mine


def test_c18_a_pull_refreshes_drafts_that_were_not_edited_and_leaves_those_that_were(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    here, there = pushing.make(tmp_path / "one"), pushing.make(tmp_path / "two")
    slugs = ("kept", "edited", "gone", "gone-edited")
    paths = {slug: f"wiki/concepts/{slug}.md" for slug in slugs}
    for slug in slugs:
        pushing.write(here, slug, "# T\n\nfirst\n")
    pushing.push(here)
    there.pull(str(here.repository.folder))
    assert there.drafts.list_paths() == []  # a pull makes no drafts
    for slug in ("kept", "edited"):
        pushing.write(there, slug, "# T\n\ntheirs\n", parent_sha=there.repository.head())
    pushing.push(there)
    for slug in ("gone", "gone-edited"):
        there.forget(slug)
    for slug in ("edited", "gone-edited"):
        file = pushing.draft(here, slug)
        file.write_text(file.read_text().replace("first", "mine"))
    mine = {slug: pushing.draft(here, slug).read_text() for slug in ("edited", "gone-edited")}
    told = here.pull(str(there.repository.folder))
    assert set(told.drafts) == {paths["kept"], paths["gone"]}
    assert set(told.diverged) == {paths["edited"], paths["gone-edited"]}
    assert pushing.draft(here, "kept").read_text().endswith("theirs\n")
    assert not pushing.draft(here, "gone").exists()
    assert {slug: pushing.draft(here, slug).read_text() for slug in mine} == mine
    pushing.write(here, "kept", "# T\n\ngoes on\n")
    assert pushing.push(here, "kept").reason == ""


@pytest.mark.parametrize("remote", ["", "a\nb", "\0", "\ud800", "x" * 9999])
def test_a_remote_that_is_none_is_refused(tmp_path, remote):
    with pytest.raises(BadInputError):
        pull(make(tmp_path / "here.git"), remote)


def test_a_remote_that_is_missing_is_told_with_the_command_that_adds_it(tmp_path):
    with pytest.raises(GitError) as caught:
        pull(make(tmp_path / "here.git"))
    assert "remote add origin URL" in caught.value.remedy


def test_a_remote_runs_no_command(tmp_path):
    here, ran = make(tmp_path / "here.git"), tmp_path / "ran"
    for remote in (f"ext::touch {ran}", f"--upload-pack=touch {ran}", "nowhere"):
        with pytest.raises(GitError):
            pull(here, remote)
    assert not ran.exists()


def test_c18_history_and_log_tell_who_changed_what(tmp_path):
    repository = make(tmp_path / "p.git")
    for number in range(3):
        commit(repository, {"a.md": str(number), f"n{number}.md": "x"}, f"Step {number}")
    assert [one.subject for one in repository.history("a.md", 2)] == ["Step 2", "Step 1"]
    told = [(one.subject, one.author, paths) for one, paths in list_log(repository)]
    assert told == [(f"Step {n}", "Ada", ("a.md", f"n{n}.md")) for n in (2, 1, 0)]
