"""What `doctor` says of the programs that lock and fetch packages."""

from __future__ import annotations

import json
import os

import pytest

from base.wording import command_of
from ctxmode.commands.doctor import install_script, remedies, report, show_diagnosis
from ctxmode.doctor.diagnosis import check_clients
from ctxmode.render.health import packages_lines
from executor import LanguageReport
from runtimes.packages.registry import ECOSYSTEMS
from runtimes.packages.tools import UV
from tests.ctxmode.doctor.test_diagnosis import diagnosis

LANGUAGES = sorted({name for row in ECOSYSTEMS for name in row.languages})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is all of PATH; nothing is beside the interpreter either."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MIX_ARCHIVES", str(tmp_path))
    return tmp_path


def install(folder, *names):
    """Programs that nothing may start: they are no programs at all."""
    for name in names:
        (folder / name).write_bytes(b"\0")
        os.chmod(folder / name, 0o755)


def languages(folder, *lacking):
    """Reports of all languages that have packages, of which some do not run."""
    path = str(folder / "toolchain")
    return {name: LanguageReport(name, name not in lacking, path) for name in LANGUAGES}


def by_name(found):
    return {health.ecosystem: health for health in found}


def test_every_ecosystem_says_where_its_clients_are(folder):
    rows = [tool.name for row in ECOSYSTEMS for tool in (*row.tools, *row.beside)]
    install(folder, *rows)
    (folder / "hex-2.0.0").mkdir()
    found = check_clients(languages(folder), "A")
    assert [health.ecosystem for health in found] == [row.name for row in ECOSYSTEMS]
    assert all(health.ok for health in found), found
    assert by_name(found)["python"].clients == {"uv": str(folder / "uv")}
    assert by_name(found)["rust"].clients == {"cargo": str(folder / "cargo")}
    assert by_name(found)["ruby"].clients == {}


@pytest.mark.parametrize(
    ("ecosystem", "lacking", "reason", "remedy"),
    [
        ("python", (), "uv is not installed", "pip install 'ctxmode[packages]', or put uv on PATH"),
        ("javascript", (), "node is not installed", "install nodejs"),
        ("rust", (), "cargo is not installed", "install cargo, by the same way as rustc"),
        ("rust", ("rust",), "rust does not run here", ""),
        (
            "javascript",
            ("javascript", "typescript"),
            "javascript and typescript do not run here",
            "",
        ),
        ("ruby", (), "", ""),
    ],
)
def test_what_is_missing_is_said_with_how_to_get_it(folder, ecosystem, lacking, reason, remedy):
    health = by_name(check_clients(languages(folder, *lacking), "A"))[ecosystem]
    assert (health.ok, health.reason, health.remedy) == (not reason, reason, remedy)


def test_in_images_only_what_they_are_shown_of_this_machine_is_looked_for(folder):
    install(folder, "uv", "npm", "cargo")
    found = by_name(check_clients(languages(folder), "C"))
    assert (found["python"].ok, found["javascript"].ok, found["rust"].ok) == (True, True, False)
    assert found["rust"].reason == "cargo is not in its image"
    assert set(found["javascript"].clients) == {"npm"}


@pytest.mark.parametrize("tier", ["B", "none"])
def test_tiers_without_packages_say_so(folder, tier):
    ruby = by_name(check_clients(languages(folder), tier))["ruby"]
    assert (ruby.ok, ruby.reason) == (False, "packages need tier A or C")


def test_languages_that_were_not_proven_have_no_ecosystems(folder):
    assert check_clients({}, "A") == ()


def test_all_forms_of_the_report_tell_it(folder, capsys):
    install(folder, "cargo")
    whole = diagnosis(packages=check_clients(languages(folder), "A"))
    packages = json.loads(json.dumps(whole.to_json()))["packages"]
    assert packages["rust"]["ok"]
    assert packages["python"]["clients"] == {"uv": None}
    lines = "\n".join(packages_lines(whole.packages))
    assert "rust by cargo" in lines
    assert "ruby by its toolchain" in lines
    assert f"no packages of python: uv is not installed. To fix it: {UV.hint}" in lines
    configured = {"settings": [], "profiles": [], "warnings": []}
    assert "| python | no | uv is not installed |" in report(whole, configured, {})
    assert f"\n{command_of(UV.hint)}\n" in install_script(remedies(whole))
    show_diagnosis(whole)
    assert "uv is not installed" in capsys.readouterr().out
