"""Where a project's pages are kept, and who their author is."""

import subprocess
from dataclasses import replace

import pytest

from ctxmode.config.files import USER_FILE
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.pages import (
    find_author,
    find_repository,
    open_pages,
    translate_page_errors,
)
from memory.errors import BadInputError
from memory.pages.model import GitError


def configure(config, value):
    path = config.config_home / USER_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[pages]\nrepository = {value!r}\n")


@pytest.fixture
def plain(config, monkeypatch):
    monkeypatch.delenv("CONTEXT_MODE_PAGES_REPOSITORY", raising=False)
    return config


def test_the_repository_lies_beside_the_projects_store(plain):
    assert find_repository(plain) == plain.pages_folder
    assert plain.pages_folder.parent == plain.database.parent


def test_a_person_names_another_place_for_all_projects_or_each(plain):
    configure(plain, "/srv/pages.git")
    assert str(find_repository(plain)) == "/srv/pages.git"
    configure(plain, "~/pages/{project}.git")
    assert find_repository(plain) == plain.home / "pages" / f"{plain.project.name}.git"


def test_a_repository_in_the_project_is_refused_since_its_settings_may_start_programs(plain):
    configure(plain, str(plain.project / ".contexo" / "pages.git"))
    with pytest.raises(UsageError, match="inside the project"):
        find_repository(plain)
    link = plain.home / "link"
    link.symlink_to(plain.project)
    configure(plain, str(link / "pages.git"))
    with pytest.raises(UsageError, match="inside the project"):
        find_repository(plain)


@pytest.mark.parametrize("value", ["pages.git", "../pages.git", "./x", "~other/x"])
def test_a_place_that_is_relative_is_refused(plain, value):
    configure(plain, value)
    with pytest.raises(UsageError, match="not an absolute path"):
        find_repository(plain)


def test_a_project_cannot_say_where_pages_are_pushed(plain):
    file = plain.project / ".ctxmode" / "config.toml"
    file.parent.mkdir()
    file.write_text("[pages]\nrepository = '/srv/theirs.git'\n")
    assert find_repository(plain) == plain.pages_folder


@pytest.fixture
def git(tmp_path):
    home = tmp_path / "somebody"
    home.mkdir()
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


def test_the_author_is_whom_git_knows(plain, git):
    subprocess.run(["git", "init", "-q", str(plain.project)], env=git, check=True)
    for name, value in (("name", "Ann Ox"), ("email", "ann@example.com")):
        command = ["git", "config", "--global", f"user.{name}", value]
        subprocess.run(command, env=git, check=True)
    assert find_author(plain.project, git) == "Ann Ox <ann@example.com>"
    assert find_author(plain.project, git | {"GIT_AUTHOR_NAME": "Bo"}) == "Bo <ann@example.com>"


def test_without_one_it_is_the_name_of_the_account(plain, git, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    assert find_author(plain.project, git) == "ann"
    assert find_author(plain.project / "missing", git) == "ann"

    def refuse():
        raise KeyError("no such number")

    monkeypatch.setattr("getpass.getuser", refuse)
    assert find_author(plain.project, git).isdigit()


def test_the_variables_of_contexo_are_heard(plain):
    with open_pages(plain, author="ann", environ={"CONTEXO_DISTILL_DISABLE": "1"}) as pages:
        assert (pages.is_distill_disabled, pages.is_drift_disabled) == (True, False)
    with open_pages(plain, author="ann", environ={"CONTEXO_DRIFT_DISABLE": "1"}) as pages:
        assert (pages.is_distill_disabled, pages.is_drift_disabled) == (False, True)
    assert not plain.pages_folder.exists()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(BadInputError("a", "b"), UsageError), (GitError("a", "b"), ContextModeError)],
)
def test_errors_of_the_room_become_errors_with_a_hint(raised, expected):
    with pytest.raises(expected) as told, translate_page_errors():
        raise raised
    assert type(told.value) is expected
    assert (told.value.message, told.value.hint) == ("a", "b")


def test_namesakes_of_a_project_have_pages_of_their_own(plain, tmp_path):
    other = replace(plain, project=tmp_path / "other" / plain.project.name)
    assert find_repository(other) != find_repository(plain)
