"""Where the project and the storage are."""

from pathlib import Path

import pytest

from ctxmode.config.locations import (
    Config,
    find_project,
    load_config,
    prepare_storage,
    require_project,
)
from ctxmode.errors import ContextModeError, UsageError


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def load(home: Path, project: str | None = None, cwd: Path | None = None, **environ: str) -> Config:
    return load_config(project, environ={"HOME": str(home), **environ}, cwd=cwd or home)


def test_the_project_is_the_nearest_marked_folder_above(home):
    deep = home / "work" / "src" / "deep"
    deep.mkdir(parents=True)
    (home / "work" / ".git").mkdir()
    assert load(home, cwd=deep).project == home / "work"


def test_a_marked_home_folder_is_no_project(home):
    (home / ".git").mkdir()
    (home / "notes").mkdir()
    assert find_project(f"{home}/notes", str(home)) == f"{home}/notes"


def test_an_argument_outranks_the_environment_and_that_outranks_the_folder(home):
    for name in ("a", "b", "c"):
        (home / name).mkdir()
    here, told = home / "c", str(home / "b")
    assert load(home, str(home / "a"), here, CONTEXT_MODE_PROJECT_DIR=told).project == home / "a"
    assert load(home, None, here, CONTEXT_MODE_PROJECT_DIR=told).project == home / "b"
    assert load(home, None, here).project == home / "c"


def test_a_project_is_known_by_its_real_path(home):
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    assert load(home, str(home / "link")) == load(home, str(home / "real"))


@pytest.mark.parametrize("project", ["missing", "file", "nul\0byte"])
def test_a_project_that_is_no_folder_is_refused_with_a_hint(home, project):
    (home / "file").touch()
    with pytest.raises(UsageError) as caught:
        load(home, project)
    assert caught.value.hint


def test_storage_moves_where_the_environment_says(home, tmp_path):
    assert load(home, CONTEXT_MODE_DIR=str(tmp_path / "kept")).data_dir == tmp_path / "kept"


@pytest.mark.parametrize("place", ["", "relative", "./here"])
def test_a_relative_storage_place_is_refused(home, place):
    with pytest.raises(UsageError, match="absolute"):
        load(home, CONTEXT_MODE_DIR=place)


def test_projects_of_one_name_have_databases_of_their_own(home, tmp_path):
    one = Config(Path("/a/app"), home, tmp_path)
    other = Config(Path("/b/app"), home, tmp_path)
    assert one.database != other.database
    assert one.database.name.startswith("app-")


@pytest.mark.parametrize("name", ["/", "/x/ü…", "/x/a b\nc", "/x/" + "n" * 200])
def test_any_project_name_gives_a_plain_file_name(home, tmp_path, name):
    database = Config(Path(name), home, tmp_path).database.name
    assert database.isascii()
    assert "/" not in database
    assert len(database) < 80


def test_storage_is_for_its_owner_alone(home, tmp_path):
    config = Config(home, home, tmp_path / "kept")
    prepare_storage(config)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "kept").glob(".writable*")) == []


def test_storage_that_cannot_be_made_is_an_error_that_names_the_way_out(home, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ContextModeError) as caught:
        prepare_storage(Config(home, home, tmp_path / "file" / "below"))
    assert "CONTEXT_MODE_DIR" in caught.value.hint


@pytest.mark.parametrize("is_given", [False, True])
def test_a_folder_of_the_whole_system_is_no_project(home, tmp_path, is_given):
    (home / "work").mkdir()
    refused = {}
    for folder in (Path("/"), home.parent, home, home / "work"):
        try:
            require_project(Config(folder, home, tmp_path, project_is_given=is_given))
        except UsageError as error:
            refused[folder] = error.hint
    expected = {Path("/")} if is_given else {Path("/"), home.parent}
    assert set(refused) == expected
    assert all("--project DIR" in hint for hint in refused.values())
