"""What `doctor` makes of what it finds."""

import pytest

from ctxmode.commands.doctor import show_diagnosis
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth, check_fts5, check_storage
from ctxmode.render.health import doctor_text
from executor import Isolation, LanguageReport, Layer

SHELL = LanguageReport("shell", True, "/usr/bin/x", "x", "1.2", 5.04)
PYTHON = LanguageReport("python", True, "/usr/bin/p", "p", None, 9.0)
BROKEN = LanguageReport("lua", False, reason="found no x", hint="apt-get install x")
TRACED = LanguageReport(
    "java", False, reason="/j: it failed\nat Main.main\nat Launcher.run", hint="install j"
)
FINE = PartHealth(True, "fine")
LAYERS = {
    "seccomp": Layer(True, "denylist"),
    "cgroup": Layer(False, "", "no group", "delegate one"),
}


def diagnosis(**changed) -> Diagnosis:
    whole = {
        "project": "/p",
        "languages": {"shell": SHELL, "python": PYTHON, "lua": BROKEN},
        "isolation": Isolation("A", LAYERS),
        "fts5": FINE,
        "storage": FINE,
    }
    return Diagnosis(**whole | changed)


@pytest.mark.parametrize(
    ("changed", "critical"),
    [
        ({}, ()),
        ({"isolation": Isolation("none")}, ("isolation",)),
        ({"languages": {"shell": SHELL, "python": BROKEN}}, ("language python",)),
        ({"languages": {}}, ("language shell", "language python")),
        ({"fts5": PartHealth(False, "")}, ("fts5",)),
        ({"storage": PartHealth(False, "")}, ("storage",)),
        ({"opening": PartHealth(False, "")}, ("opening",)),
    ],
)
def test_only_what_must_work_is_critical(changed, critical):
    assert diagnosis(**changed).critical == critical


def test_the_json_form_has_the_documented_shape():
    data = diagnosis().to_json()
    assert data["critical"] == []
    assert data["languages"]["lua"] == {
        "name": "lua",
        "runnable": False,
        "path": None,
        "version": None,
        "start_ms": None,
        "toolchain": None,
        "reason": "found no x",
        "hint": "apt-get install x",
    }
    assert data["isolation"]["tier"] == "A"
    assert set(data["isolation"]["layers"]["cgroup"]) >= {"active", "reason", "remedy"}


def test_the_table_shows_reasons_and_collects_the_remedies(capsys):
    show_diagnosis(diagnosis(storage=PartHealth(False, "/d", "read-only", "Make it writable.")))
    shown = capsys.readouterr().out
    for words in (
        "found no x",
        "lua: apt-get install x",
        "cgroup: delegate one",
        "Make it writable.",
    ):
        assert words in shown
    assert "Critical parts that do not work: storage." in shown
    assert "\x1b" not in shown


def test_a_stack_trace_of_a_toolchain_is_shown_only_when_asked_for(capsys):
    traced = diagnosis(languages={"java": TRACED})
    show_diagnosis(traced)
    brief = capsys.readouterr().out
    assert "/j: it failed …" in brief
    show_diagnosis(traced, verbose=True)
    assert "Launcher.run" in capsys.readouterr().out
    plain = doctor_text(traced)
    assert "java: not runnable: /j: it failed …. install j" in plain.splitlines()
    assert "Main.main" not in brief + plain
    assert traced.to_json()["languages"]["java"]["reason"] == TRACED.reason


def test_the_plain_form_has_a_line_a_fact():
    lines = doctor_text(diagnosis()).splitlines()
    assert "shell: x 1.2, starts in 5 ms" in lines
    assert "lua: not runnable: found no x. apt-get install x" in lines
    assert "cgroup: off: no group" in lines


def test_full_text_search_is_proven():
    assert check_fts5().ok


def test_storage_is_proven_by_writing(config):
    assert check_storage(config).ok
    config.data_dir.rename(config.data_dir.with_name("moved"))
    config.data_dir.write_text("a file in its place")
    broken = check_storage(config)
    assert not broken.ok
    assert "CONTEXT_MODE_DIR" in broken.remedy
