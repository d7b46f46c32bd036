"""Names that tools obey: the user's own file moves them, a project's file none."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from ctxmode.config.engine_settings import engine_settings, load_names
from ctxmode.config.files import PROJECT_FILE, USER_FILE, find_lines
from ctxmode.config.locations import Config
from ctxmode.errors import UsageError
from docs.config_schema import build_schema
from executor.project.rules.names import NAMES, ChangeVerdict

MOVES = """
[limits]
wall_s = 60
[names]
".vscode" = "held"
"docs/.idea" = "commit"
'/*.secret' = "never"
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    for folder in ("project", "config"):
        (tmp_path / folder).mkdir()
    return Config(tmp_path / "project", tmp_path, tmp_path, config_home=tmp_path / "config")


def write(folder: Path, name: Path, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_files_the_table_is_as_it_is(config):
    settings, warnings = engine_settings(config)
    assert settings.names is NAMES
    assert warnings == ()


def test_the_users_file_moves_rows(config):
    write(config.config_home, USER_FILE, MOVES)
    settings, warnings = engine_settings(config)
    assert warnings == ()
    row = settings.names.judge(".vscode/tasks.json")
    assert row
    assert row.verdict is ChangeVerdict.HELD
    assert settings.names.judge("docs/.idea/a") is None
    assert settings.names.judge("a.secret")
    assert settings.names is settings.names


def test_a_projects_file_moves_none_and_is_told_once(config):
    names = "".join(f'"{n}.x" = "commit"\n' for n in range(1000))
    path = write(config.project, PROJECT_FILE, f'[names]\n".envrc" = "commit"\n{names}')
    settings, warnings = engine_settings(config)
    assert settings.names is NAMES
    (warning,) = warnings
    assert warning.startswith(f"{path}:1: ")
    assert str(config.config_home / USER_FILE) in warning


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[names]\n".envrc" = "maybe"', 2, "never, held, commit"),
        ('[names]\n".envrc" = 3', 2, "never, held, commit"),
        ("[names]\n'.git/hooks' = 'commit'", 2, "control a repository"),
        ('[names]\n".zed" = "held"\n"src" = "commit"', 3, "no row covers it"),
        ("names = 3", 1, "table"),
        ("[names.more]\na = 1", 1, "never, held, commit"),
    ],
)
def test_what_means_nothing_is_an_error_at_its_line(config, text, line, said):
    path = write(config.config_home, USER_FILE, text)
    with pytest.raises(UsageError) as raised:
        load_names(config.project, config.config_home)
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert said in str(raised.value)


def test_quoted_keys_with_dots_and_slashes_have_lines():
    assert find_lines('[names]\n"a.b/c" = 1\n\'*.d\' = 2\n[x."y.z"]\n') == {
        ("names",): 1,
        ("names", "a.b/c"): 2,
        ("names", "*.d"): 3,
        ("x", "y.z"): 4,
    }


def test_the_schema_knows_the_table():
    jsonschema.validate({"names": {".vscode": "held"}}, build_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"names": {".vscode": "perhaps"}}, build_schema())
