"""What the user's file sets of packages, and what no project's file may."""

from __future__ import annotations

import pytest

from ctxmode.config.engine_settings import load_packages
from ctxmode.config.files import PROJECT_FILE, USER_FILE
from ctxmode.errors import UsageError
from executor.model import GIB
from executor.packages.model import PackageSettings, Registry

FULL = """
[packages]
allow = ["python", "rust"]
cooldown_days = 0
bytes = "1G"
layer_bytes = 1000

[packages.python]
registry = "https://packages.example.com/simple"
hosts = ["files.example.com"]
private = true
ca = "CA"
"""


@pytest.fixture
def load(tmp_path):
    """Load what a text in the user's file, and one in the project's, set."""

    def load_texts(user: str = "", project: str = ""):
        for path, text in (
            (tmp_path / "home" / USER_FILE, user),
            (tmp_path / "project" / PROJECT_FILE, project),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return load_packages((tmp_path / "project").resolve(), tmp_path / "home")

    return load_texts


def test_without_a_word_nothing_is_allowed(load):
    assert load()[0] == PackageSettings()
    assert load()[0].allow == frozenset()


def test_all_keys_are_read(load, tmp_path):
    (tmp_path / "ca.pem").write_text("CERTIFICATE")
    settings = load(FULL.replace('"CA"', f'"{tmp_path / "ca.pem"}"'))[0]
    host = ("files.example.com",)
    registry = Registry("https://packages.example.com/simple", host, True, "CERTIFICATE")
    assert settings == PackageSettings(
        frozenset({"python", "rust"}), 0, GIB, 1000, {"python": registry}
    )


def test_a_project_sets_none_of_it(load):
    found = load(project='[packages]\nallow = ["python"]\n')
    assert found[0] == PackageSettings()
    assert "a project cannot set packages" in found[1][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("packages = 1", "packages must be a table"),
        ('[packages]\nallow = ["pyhton"]', "unknown key"),
        ('[packages]\nallow = "python"', "list of texts"),
        ("[packages]\ncooldown_days = -1", "invalid value"),
        ("[packages]\ncooldown_days = true", "invalid value"),
        ('[packages]\nbytes = "much"', "packages.bytes"),
        ("[packages]\ncooldown = 1", "unknown key"),
        ("[packages]\npython = 1", "packages.python must be a table"),
        ("[packages.python]\nregister = 1", "unknown key"),
        ("[packages.python]\nregistry = 1", "must be a text"),
        ('[packages.python]\nprivate = "yes"', "neither true nor false"),
        ('[packages.python]\nregistry = "packages.example.com"', "is not an address"),
        ('[packages.python]\nregistry = "http://packages.example.com"', "use https"),
        ('[packages.python]\nregistry = "https://u:p@packages.example.com"', "password"),
        ('[packages.python]\nregistry = "http://localhost:8080"', "private = true"),
        ('[packages.python]\nregistry = "http://localhost"\nprivate = true', "give its port"),
        ('[packages.python]\nregistry = "https://10.0.0.1/simple"', "not a name"),
        ("[packages.python]\nregistry = \"https://a.example/'x'\"", "quotes"),
        ('[packages.python]\nhosts = ["*"]', "not a name"),
        ('[packages.python]\nca = "/nonexistent/ca.pem"', "cannot read"),
    ],
)
def test_what_means_nothing_is_told_with_its_line(load, text, words):
    with pytest.raises(UsageError, match=words) as raised:
        load(text)
    assert "config.toml:" in str(raised.value)
