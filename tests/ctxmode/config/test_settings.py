"""Settings come from files and variables, in order; a project's file only ever tightens."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import jsonschema
import pytest

from ctxmode.commands import config as command
from ctxmode.config import files
from ctxmode.config.files import find_lines
from ctxmode.config.settings import BY_KEY, SETTINGS, load_settings
from ctxmode.errors import UsageError
from docs.config_schema import build_schema
from executor.model import Limits
from executor.settings import Settings
from kb.tokens import DEAREST, FAMILIES


@pytest.fixture
def places(tmp_path: Path):
    """Write the user's and the project's file, then load."""
    user = tmp_path / "config" / files.USER_FILE
    project = tmp_path / "project" / files.PROJECT_FILE

    def load(user_text: str = "", project_text: str = "", **environ: str):
        for path, text in ((user, user_text), (project, project_text)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return load_settings(tmp_path / "project", tmp_path / "config", environ)

    load.user, load.project = user, project
    return load


def test_without_files_all_are_defaults(tmp_path: Path):
    configured = load_settings(tmp_path, tmp_path, {})
    assert configured.limits == Limits()
    assert set(configured.origins.values()) == {"default"}


def test_a_later_place_outweighs_an_earlier_one_and_is_named(places):
    user = "[limits]\nwall_s = 100\nmemory_bytes = '1G'\nprocesses = 9\n"
    configured = places(user, "[limits]\nwall_s = 50\n", CONTEXT_MODE_LIMITS_PROCESSES="7")
    limits = configured.limits
    assert (limits.wall_s, limits.memory_bytes, limits.processes) == (50, 1024**3, 7)
    assert configured.origins["limits.wall_s"] == f"{places.project}:2"
    assert configured.origins["limits.memory_bytes"] == f"{places.user}:3"
    assert configured.origins["limits.processes"] == "CONTEXT_MODE_LIMITS_PROCESSES"


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\nwall_s = 9999",
        "[prewarm]\nbytes = '64G'",
        "[sandbox]\nisolation = 'container'",
        "[sandbox]\nruntime = 'runc'",
        "[run]\nconcurrency = 1000",
    ],
)
def test_a_project_cannot_loosen(places, text):
    configured = places("", text)
    assert set(configured.origins.values()) == {"default"}
    assert str(places.project) + ":2" in configured.warnings[0]
    assert str(places.user) in configured.warnings[0]


def test_a_project_cannot_turn_on_what_the_user_turned_off(places):
    configured = places("[prewarm]\nenabled = false", "[prewarm]\nenabled = true")
    assert configured.values["prewarm.enabled"] is False
    assert len(configured.warnings) == 1


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[limit]\nwall_s = 1", 1, "limits"),
        ("[limits]\nwal_s = 1", 2, "wall_s"),
        ("\n\n[limits]\nmemory = 1", 4, "memory_bytes"),
        ("[limits]\nwall_s = 'soon'", 2, "not a positive number"),
        ("[limits]\nwall_s = -1", 2, "not a positive number"),
        ("[limits]\nwall_s = nan", 2, "not a positive number"),
        ("[limits]\nwall_s = true", 2, "not a number"),
        ("[sandbox]\nisolation = 'none'", 2, "auto, container"),
        ("[prewarm]\nenabled = 'perhaps'", 2, "neither true nor false"),
        ("limits = 3", 1, "table"),
        ("[limits]\nwall_s == 3", 2, "TOML"),
    ],
)
@pytest.mark.parametrize("of", ["user", "project"])
def test_what_means_nothing_is_an_error_at_its_line(places, text, line, said, of):
    with pytest.raises(UsageError) as raised:
        places(**{f"{of}_text": text})
    assert str(raised.value).startswith(f"{getattr(places, of)}:{line}: ")
    assert said in str(raised.value)


def test_a_variable_that_means_nothing_is_an_error_with_its_name(places):
    with pytest.raises(UsageError, match="CONTEXT_MODE_LIMITS_WALL_S"):
        places(CONTEXT_MODE_LIMITS_WALL_S="soon")


def test_lines_are_found_for_tables_dotted_and_quoted_keys():
    text = '[a."b"]\n# c = 1\nc = 1\n\n[[d]]\ne.f = 2\n[d.g]\nh = 1\n[[d]]\ne.f = [\n  [1],\n]\n'
    assert find_lines(text) == {
        ("a", "b"): 1,
        ("a", "b", "c"): 3,
        ("d",): 5,
        ("d", "#1"): 5,
        ("d", "#1", "e", "f"): 6,
        ("d", "#1", "g"): 7,
        ("d", "#1", "g", "h"): 8,
        ("d", "#2"): 9,
        ("d", "#2", "e", "f"): 10,
    }


def test_the_shipped_schema_is_the_programs_own():
    shipped = Path(command.__file__).parent.parent / "config.schema.json"
    assert json.loads(shipped.read_text()) == build_schema()


@pytest.mark.parametrize("for_project", [False, True])
def test_a_new_file_holds_every_setting_that_it_may_and_loads(tmp_path: Path, for_project):
    path = tmp_path / "config.toml"
    command.write_template(path, for_project=for_project)
    text = path.read_text()
    wanted = [s for s in SETTINGS if not for_project or s.project_may != "not change"]
    assert all(f"# {s.path[1]} = " in text for s in wanted)
    assert tomllib.loads(text) == {table: {} for table in {s.path[0] for s in wanted}}
    uncommented = text.replace("\n# ", "\n")
    lines = uncommented.splitlines()[2:]
    jsonschema.validate(tomllib.loads("\n".join(lines)), build_schema())
    with pytest.raises(UsageError, match="exists"):
        command.write_template(path, for_project=for_project)


def test_every_setting_has_a_variable_of_its_own():
    assert len({s.variable for s in SETTINGS}) == len(SETTINGS) == len(BY_KEY)


def test_a_variable_that_sets_nothing_is_told_with_what_was_meant(places):
    configured = places(CONTEXT_MODE_LIMITS_WAL_S="5", CONTEXT_MODE_DIR="/x")
    (warning,) = configured.warnings
    assert warning.startswith("CONTEXT_MODE_LIMITS_WAL_S sets nothing. Did you mean CONTEXT_MODE_")
    assert "LIMITS_WALL_S?" in warning
    assert configured.limits == Limits()


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "pipe"])
def test_a_projects_file_neither_fills_the_memory_nor_holds_up_the_server(places, target):
    places()
    places.project.unlink()
    if target == "pipe":
        os.mkfifo(places.project)
    else:
        places.project.symlink_to(target)
    with pytest.raises(UsageError, match="cannot read"):
        load_settings(places.project.parent.parent, places.user.parent.parent, {})


def test_the_table_has_the_defaults_and_the_families_of_the_rooms():
    executor = Settings()
    defaults = {
        "output.inline_bytes": executor.inline_bytes,
        "prewarm.enabled": executor.prewarm,
        "prewarm.bytes": executor.prewarm_bytes,
        "sessions.count": executor.sessions.count,
        "sessions.idle_s": executor.sessions.idle_s,
        "sessions.life_s": executor.sessions.life_s,
        "sandbox.isolation": executor.isolation,
        "sandbox.runtime": executor.runtime,
        "tokens.family": DEAREST,
    }
    assert {key: BY_KEY[key].default for key in defaults} == defaults
    assert BY_KEY["tokens.family"].choices == tuple(FAMILIES)
