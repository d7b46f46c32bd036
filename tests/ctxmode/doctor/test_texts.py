"""`doctor --fix-hints` is a script, `doctor --report` a text that tells nothing of its sender."""

from __future__ import annotations

import json
import subprocess

import pytest

from base.wording import Remedy, type_command
from ctxmode import cli
from ctxmode.commands import doctor
from ctxmode.commands.doctor import GIVES, install_script, remedies
from ctxmode.doctor.container_engine import EngineHealth
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth
from executor import Isolation, LanguageReport, Layer
from executor.engine.layers import REMEDIES

FINE = PartHealth(True, "fine")


def diagnosis(**changed) -> Diagnosis:
    whole = {
        "project": "/srv/ann/clients/acme",
        "languages": {
            "python": LanguageReport("python", True, "/home/ann/.venv/bin/python", "python", "3"),
            "lua": LanguageReport(
                "lua", False, reason="no lua", hint=type_command("sudo apt-get install lua5.4")
            ),
        },
        "isolation": Isolation("B", {"seccomp": Layer(True, "denylist")}),
        "fts5": FINE,
        "storage": FINE,
        "container_engine": EngineHealth(True, "tcp://ann:pw@db.acme.example:2376", "27.0"),
        "notices": ("token=ghp_0123456789abcdefghijABCDEFGHIJ012345 is old",),
    }
    return Diagnosis(**whole | changed)


def layers(names) -> Isolation:
    return Isolation("B", {name: Layer(False, "", "why", REMEDIES[name]) for name in names})


@pytest.mark.parametrize(
    ("part", "command"),
    [
        ("namespaces", "sudo sysctl user.max_user_namespaces=15000"),
        ("cgroup", "systemd-run --user --scope -p Delegate=yes context-mode serve"),
        ("landlock", ""),
    ],
)
def test_a_remedy_has_its_command_and_what_it_gives(part, command):
    found = {it["part"]: it for it in remedies(diagnosis(isolation=layers([part])))}
    assert found[part]["command"] == command
    assert found[part]["gives"] == GIVES[part]


@pytest.mark.parametrize(
    ("remedy", "command"),
    [
        (Remedy("Start it: sudo systemctl start docker, or else", "sudo true"), "sudo true"),
        (
            type_command("context-mode doctor images build web"),
            "context-mode doctor images build web",
        ),
        ("Ask whoever runs it, who types sudo true", ""),
    ],
)
def test_the_command_is_the_remedys_own(remedy, command):
    health = EngineHealth(False, remedy=remedy)
    (found,) = (
        i for i in remedies(diagnosis(container_engine=health)) if i["part"] == "containers"
    )
    assert (found["command"], found["note"]) == (command, remedy)
    assert json.loads(json.dumps(found))["note"] == remedy


def test_every_layer_says_what_it_gives():
    assert set(REMEDIES) <= set(GIVES)


def test_hints_are_a_script_that_a_shell_can_read():
    text = install_script(remedies(diagnosis(isolation=layers(REMEDIES))))
    assert "\nsudo apt-get install lua5.4\n" in text
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_where_all_works_the_script_says_so():
    whole = diagnosis(languages={}, container_engine=EngineHealth(False))
    assert install_script(remedies(whole)).startswith("# Nothing to fix")


def test_a_report_tells_nothing_of_its_sender():
    configured = {
        "project": "/srv/ann/clients/acme",
        "storage": "/home/ann/.local/share/ctxmode",
        "settings": [
            {"key": "limits.wall_s", "value": 9, "origin": "/home/ann/.config/c.toml:3"},
            {"key": "limits.cpu_s", "value": 1, "origin": "default"},
        ],
        "profiles": ["analyze"],
        "warnings": ["/srv/ann/clients/acme/.ctxmode/config.toml:1: too much"],
    }
    private = {"/srv/ann/clients/acme": "PROJECT", "/home/ann": "~", "ann": "USER"}
    text = doctor.report(diagnosis(), configured, private)
    assert not [word for word in ("ann", "acme", "ghp_0123", "pw@") if word in text]
    for told in (
        "| python | yes | 3 |  | python ~/.venv/bin/python |",
        "| limits.wall_s | 9 | ~/.config/c.toml:3 |",
        "PROJECT/.ctxmode/config.toml:1",
        "tcp://…",
        "lua: sudo apt-get install lua5.4",
        "## Isolation: tier B",
    ):
        assert told in text
    assert "limits.cpu_s" not in text


def test_a_name_within_a_word_stays():
    assert doctor.anonymous("ann runs anna's cannon", {"ann": "USER"}) == (
        "USER runs anna's cannon"
    )


def test_the_verb_prints_both_forms(config, capsys, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(config.data_dir))
    monkeypatch.setenv("HOME", str(config.home))
    project = ["--project", str(config.project)]
    cli.main(["doctor", "--report", *project])
    text = capsys.readouterr().out
    assert text.startswith("# context-mode ")
    assert str(config.project) not in text
    cli.main(["doctor", "--fix-hints", "--json", *project])
    hints = json.loads(capsys.readouterr().out)["hints"]
    assert all(set(hint) == {"part", "gives", "command", "note"} for hint in hints)


def test_two_forms_at_once_are_refused(capsys):
    assert cli.main(["doctor", "--report", "--json"]) == 2
    assert cli.main(["doctor", "--report", "--fix-hints"]) == 2
    assert "Traceback" not in capsys.readouterr().err
