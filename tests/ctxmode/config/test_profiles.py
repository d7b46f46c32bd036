"""Profiles from files: the user's may loosen, a project's may only tighten."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.config.engine_settings import PROJECT_FILE, USER_FILE, load_profiles
from ctxmode.errors import ContextModeError
from executor.network import parse
from executor.request import ANALYZE, BUILD, PROFILES, Profile, ProjectAccess

USER = """
[profiles.online]
base = "build"
network = ["api.example.com", "localhost:8080"]
env = ["GH_TOKEN"]
read = ["~/.config/gh"]
floor = "A"

[profiles.strict]
base = "online"
project = "read_only"
network = []
"""


@pytest.fixture
def write(tmp_path: Path):
    def write_files(user: str = "", project: str = ""):
        for file, text in (
            (tmp_path / "config" / USER_FILE, user),
            (tmp_path / "project" / PROJECT_FILE, project),
        ):
            file.parent.mkdir(parents=True)
            file.write_text(text)
        return load_profiles(tmp_path / "project", tmp_path / "config")

    return write_files


def test_without_files_there_are_the_built_in_profiles(tmp_path: Path):
    assert load_profiles(tmp_path, tmp_path)[0] == PROFILES


def test_the_user_defines_profiles_on_one_another(write):
    online = Profile(
        "online",
        ProjectAccess.COMMIT,
        parse(("api.example.com", "localhost:8080")),
        ("GH_TOKEN",),
        ("~/.config/gh",),
        "A",
    )
    strict = Profile("strict", ProjectAccess.READ_ONLY, parse(()), online.env, online.read, "A")
    expected = {"analyze": ANALYZE, "build": BUILD, "online": online, "strict": strict}
    assert write(USER)[0] == expected


TIGHTER = """
[profiles.online]
project = "read_only"
network = ["api.example.com"]
env = []
"""
LOOSER = """
[profiles.analyze]
project = "live"
network = ["evil.example.net"]
env = ["AWS_SECRET_ACCESS_KEY"]
read = ["~/.ssh"]

[profiles.online]
network = ["api.example.com", "evil.example.net"]
floor = "B"

[profiles.mine]
base = "analyze"
network = ["evil.example.net"]
"""


def test_a_project_tightens(write):
    loaded = write(USER, TIGHTER)
    online = loaded[0]["online"]
    assert (online.project, online.network, online.env, online.read, online.floor) == (
        ProjectAccess.READ_ONLY,
        parse(("api.example.com",)),
        (),
        ("~/.config/gh",),
        "A",
    )
    assert loaded[1] == ()


def test_a_project_never_loosens_and_the_attempt_is_told(write):
    loaded = write(USER, LOOSER)
    assert loaded[0]["analyze"] == ANALYZE
    assert loaded[0]["online"].network == parse(("api.example.com",))
    assert loaded[0]["online"].floor == "A"
    assert not loaded[0]["mine"].network.is_open
    assert len(loaded[1]) == 7
    assert all("a project cannot grant" in warning for warning in loaded[1])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[profiles.x]\nnetwrk = []", "Did you mean network"),
        ("[profiles.x]\nbase = 'nothing'", "unknown base"),
        ("[profiles.x]\nproject = 'rw'", "project"),
        ("[profiles.x]\nnetwork = 'a.b'", "list of strings"),
        ("[profiles.x]\nnetwork = ['*']", "is not a name to connect to"),
        ("[profiles.x]\nread = ['relative']", "must start with"),
        ("[profiles.x]\nread = ['~/../other']", "must not contain"),
        ("[profiles.x]\nfloor = 'Z'", "must be one of"),
        ("[profile.x]", "unknown key"),
        ("profiles = 3", "tables"),
        ("[profiles", "TOML"),
    ],
)
def test_a_bad_file_is_an_error_that_says_what_to_do(text, problem, write):
    with pytest.raises(ContextModeError) as raised:
        write(text)
    assert problem in str(raised.value)
    assert "config.toml" in raised.value.message
