"""What doctor says of pages."""

from pathlib import Path

from ctxmode.commands.doctor import remedies
from ctxmode.config.file_names import name_capture_mark
from ctxmode.doctor import diagnosis
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth, check_pages
from ctxmode.render.health import doctor_text, pages_lines
from executor import Isolation
from memory.pages import git
from memory.pages.model import GitError

FINE = PartHealth(True, "fine")


def diagnose(health):
    return Diagnosis("/p", {}, Isolation("A"), FINE, FINE, pages=health)


def begin(config):
    (config.project / ".contexo").mkdir()
    config.pages_folder.mkdir(parents=True)
    (config.pages_folder / "HEAD").write_text("ref: refs/heads/main\n")
    Path(name_capture_mark(str(config.project), str(config.data_dir))).touch()


def test_pages_that_are_not_begun_say_how_to_begin(config):
    health = check_pages(config, {})
    assert (health["git"], health["is_begun"]) == (git.find_git(), False)
    assert not health["captures"]
    assert f"pages: {health['git']}, not set up (context-mode pages init)" in doctor_text(
        diagnose(health)
    )


def test_capture_is_told_on_or_off(config):
    begin(config)
    assert "set up, turns are captured" in pages_lines(check_pages(config, {}))[0]
    off = check_pages(config, {"CONTEXO_CAPTURE_DISABLE": "1"})
    assert (off["is_begun"], off["captures"]) == (True, False)
    assert "turns are not captured" in pages_lines(off)[0]


def test_drafts_of_a_clone_without_a_repository_are_not_begun(config):
    (config.project / ".contexo").mkdir()
    assert not check_pages(config, {})["is_begun"]


def test_where_there_is_no_git_that_is_told_with_what_helps(config, monkeypatch):
    def find_none():
        raise GitError("there is no git here", "install git")

    monkeypatch.setattr(diagnosis, "find_git", find_none)
    health = check_pages(config, {})
    assert pages_lines(health)[0] == "pages: not available: there is no git here"
    assert [(one["part"], one["note"]) for one in remedies(diagnose(health))] == [
        ("pages", "install git")
    ]
    assert diagnose(health).to_json()["pages"]["git"] == ""
    assert diagnose(health).critical == diagnose(None).critical


def test_a_setting_that_names_no_place_is_told(config, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_PAGES_REPOSITORY", "not/absolute")
    (config.project / ".contexo").mkdir()
    assert "not an absolute path" in pages_lines(check_pages(config, {}))[0]
