"""R12: what a person chooses for each host's transcripts, and what a project may."""

from __future__ import annotations

import pytest

from ctxmode.config import files
from ctxmode.config.transcripts import load_recording
from ctxmode.errors import UsageError
from ctxmode.hosts.registry import list_agents
from ctxmode.operations.session_sources import find_source, is_chosen
from memory.sessions.importers.importer import Ground


@pytest.fixture
def places(tmp_path):
    """Write the user's and the project's file, then load."""
    user = tmp_path / "config" / files.USER_FILE
    project = tmp_path / "project" / files.PROJECT_FILE

    def load(user_text="", project_text="", **environ):
        for path, text in ((user, user_text), (project, project_text)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return load_recording(str(tmp_path / "project"), str(tmp_path / "config"), environ)

    load.user, load.project = user, project
    return load


def table(agent="codex", **values):
    lines = (f"{key} = {str(value).lower()}" for key, value in values.items())
    return f"[transcripts.sources.{agent}]\n" + "\n".join(lines)


def test_r12_without_a_choice_every_host_is_read(places):
    recording = places()
    assert all(recording.choice(agent).enabled for agent in list_agents())
    assert recording.events
    assert not recording.messages


def test_r12_the_users_file_chooses_and_is_named(places):
    recording = places(table(enabled=False) + "\n" + table("gemini", path="'~/g'", pattern="'*'"))
    assert recording.choice("codex").off_by == f"{places.user}:1"
    gemini = recording.choice("gemini")
    assert (gemini.enabled, gemini.path, gemini.pattern) == (True, "~/g", "*")


def test_r12_a_project_may_only_turn_off(places):
    user = table(enabled=False)
    theirs = table(enabled=True, path="'/etc'", pattern="'*'") + "\n" + table(
        "gemini", enabled=False, path="'/etc'"
    )  # fmt: skip
    recording = places(user, theirs)
    assert not recording.choice("codex").enabled
    assert not recording.choice("codex").path
    gemini = recording.choice("gemini")
    assert (gemini.enabled, gemini.path) == (False, "")
    assert gemini.off_by == f"{places.project}:5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (table("codexx", enabled=True), "codex"),
        (table(enable=True), "enabled"),
        (table(enabled="'yes'"), "true or false"),
        (table(path="'relative'"), "a folder"),
        (table(path="3"), "a folder"),
        (table(pattern="'a/b'"), "names of files"),
        (table(pattern="''"), "names of files"),
        ("[transcripts]\nsources = 3", "must be a table"),
        ("[transcripts.sources]\ncodex = 3", "must be a table"),
    ],
)
def test_r12_what_is_unknown_or_odd_is_an_error_that_says_what_is_meant(places, text, said):
    with pytest.raises(UsageError) as caught:
        places(text)
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert str(places.user) in caught.value.message


@pytest.mark.parametrize(
    ("value", "events"), [("0", False), ("false", False), ("1", True), ("odd", True)]
)
def test_a_variable_outweighs_files(places, value, events):
    recording = places(CONTEXT_MODE_TRANSCRIPTS_EVENTS=value)
    assert recording.events is events
    assert bool(recording.off_by) is not events


def test_r12_a_path_takes_the_place_of_the_hosts_folder_and_a_pattern_filters(places, tmp_path):
    recording = places(table("copilot_cli", path="'~/mine'", pattern="'event*'"))
    importer = find_source("copilot_cli", recording, str(tmp_path))
    ground = Ground(str(tmp_path), {}, "/w/p")
    assert importer is not None
    assert list(importer.roots(ground)) == [str(tmp_path / "mine")]
    for root in ("mine", ".copilot/session-state"):
        path = tmp_path / root / "s1" / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("{}\n")
    assert [one.path for one in importer.find(ground)] == [str(tmp_path / "mine/s1/events.jsonl")]
    choice = recording.choice("copilot_cli")
    assert not is_chosen(str(tmp_path / "other/events.jsonl"), choice, str(tmp_path))
    assert not is_chosen(str(tmp_path / "mine/other.jsonl"), choice, str(tmp_path))


@pytest.mark.parametrize("agent", list_agents())
def test_r12_every_host_looks_in_a_chosen_folder(agent, places, tmp_path):
    importer = find_source(agent, places(table(agent, path="'/elsewhere'")), str(tmp_path))
    assert importer is not None
    assert list(importer.roots(Ground(str(tmp_path), {}, "/w/p"))) == ["/elsewhere"]
