"""`sessions status` and `sessions track`: what is recorded, by whose word, and of which project."""

from __future__ import annotations

import json
import re

import pytest

from ctxmode import cli
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.plan import plan, write
from ctxmode.hosts.setup.target import Target

ID = "5e1f0000-0000-4000-8000-00000000000{}"


@pytest.fixture
def place(place):
    """Two projects, and a home without settings; the folder of all three."""
    (place.parent / "other" / ".git").mkdir(parents=True)
    return place.parent


def write_session(project, number, home):
    """Write a transcript of Claude Code in a project."""
    session = ID.format(number)
    row = {"type": "user", "uuid": f"u{number}", "sessionId": session, "cwd": str(project),
           "timestamp": "2026-11-20T00:00:00Z",
           "message": {"content": f"Task {number}"}}  # fmt: skip
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{session}.jsonl").write_text(json.dumps(row) + "\n")


def configure(place, text, *, for_project=False):
    path = place / "project" / ".ctxmode" if for_project else place / "home" / ".config" / "ctxmode"
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.toml").write_text(text)
    return path / "config.toml"


def test_status_says_what_is_on_by_whose_word_and_how_to_change_it(place, ask):
    told = ask("status")
    assert "events (requests, decisions" in told
    assert "on, by default; turn off: [transcripts] events = false in" in told
    assert "off, by default; turn on: [transcripts] messages = true in" in told
    assert "store: empty; sessions are kept 30 days" in told


def test_status_names_the_file_that_turned_something_on_or_off(place, ask):
    user = configure(place, "[transcripts]\nmessages = true\n")
    assert f"on, by {user}" in ask("status")
    theirs = configure(place, "[transcripts]\nevents = false\n", for_project=True)
    told = ask("status", "--json")
    switches = {one["name"]: one for one in told["switches"]}
    assert (switches["events"]["on"], switches["events"]["by"]) == (False, str(theirs))
    assert not switches["messages"]["on"]


def test_r12_a_host_that_is_turned_off_is_not_read_and_status_says_by_whom(place, ask):
    write_session(place / "project", 1, place / "home")
    user = configure(place, "[transcripts.sources.claude_code]\nenabled = false\n")
    assert ask("track", "--json")["transcripts"] == 0
    assert f"off by {user}:1" in ask("status")
    user.unlink()
    assert ask("track", "--json")["transcripts"] == 1


def test_r12_a_chosen_folder_and_pattern_are_what_is_read(place, ask):
    write_session(place / "project", 1, place / "home" / "mine")
    path = "path = '~/mine/.claude/projects'"
    configure(place, f"[transcripts.sources.claude_code]\n{path}\npattern = '*9.jsonl'\n")
    assert ask("track", "--json")["transcripts"] == 0
    configure(place, f"[transcripts.sources.claude_code]\n{path}\n")
    assert ask("track", "--json")["transcripts"] == 1
    assert "in ~/mine/.claude/projects" in ask("status")


def test_an_unknown_host_in_a_file_is_an_error_with_the_nearest(place, ask):
    configure(place, "[transcripts.sources.claud_code]\nenabled = false\n")
    assert "claude_code" in ask("track", code=2)


def test_config_show_lists_what_is_chosen_and_warns_of_a_projects_folder(place, ask, capsys):
    configure(place, "[transcripts.sources.codex]\nenabled = false\n")
    configure(place, "[transcripts.sources.gemini]\npath = '/etc'\n", for_project=True)
    assert cli.main(["doctor", "config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["sources"][0]["agent"], shown["sources"][0]["enabled"]) == ("codex", False)
    assert any("transcripts.sources.gemini" in one for one in shown["warnings"])
    assert cli.main(["doctor", "config", "show"]) == 0
    assert "transcripts.sources.codex.enabled" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("records_sessions", "said"),
    [(None, "no hooks registered"), (True, "hooks registered"), (False, "no hooks registered")],
)
def test_status_says_whether_a_hosts_hooks_are_registered(place, ask, records_sessions, said):
    write_session(place / "project", 1, place / "home")
    if records_sessions is not None:
        target = Target("user", place / "home", place / "project", ("context-mode",),
                        records_sessions=records_sessions)  # fmt: skip
        write(plan(BY_NAME["claude-code"], target))
    assert re.search(rf"Claude Code: 1 transcript found, 0 read, {said}", ask("status"))


def test_hooks_registered_in_part_are_told(place, ask):
    target = Target("user", place / "home", place / "project", ("context-mode",))
    write(plan(BY_NAME["cursor"], target))
    hooks = place / "home" / ".cursor" / "hooks.json"
    assert "Cursor: 0 transcripts found, 0 read, hooks registered\n" in ask("status")
    hooks.write_text(hooks.read_text().replace("hook cursor stop", "other"))
    assert "some hooks registered (add the others: `context-mode setup cursor`)" in ask("status")


def test_without_everywhere_nothing_of_another_project_is_read(place, ask):
    for number, name in enumerate(("project", "other")):
        write_session(place / name, number, place / "home")
    assert ask("track", "--json")["messages"] == 1
    assert [one["title"] for one in ask("list", "--everywhere", "--json")["sessions"]] == ["Task 0"]


def test_everywhere_reads_each_session_into_its_own_projects_store(place, ask):
    for number, name in enumerate(("project", "other")):
        write_session(place / name, number, place / "home")
    assert ask("track", "--everywhere", "--json")["messages"] == 2
    assert [one["title"] for one in ask("list", "--json")["sessions"]] == ["Task 0"]
    assert len(ask("list", "--everywhere", "--json")["sessions"]) == 2
    assert ask("track", "--everywhere", "--json")["transcripts"] == 0


def test_everywhere_leaves_out_a_project_whose_file_says_so(place, ask):
    for number, name in enumerate(("project", "other")):
        write_session(place / name, number, place / "home")
    theirs = place / "other" / ".ctxmode" / "config.toml"
    theirs.parent.mkdir()
    theirs.write_text("[transcripts]\nevents = false\n")
    assert ask("track", "--everywhere", "--json")["messages"] == 1
