"""The verb `sessions`, from a transcript of Claude Code's to what a person is shown."""

import json
import os
import re
import time
from datetime import UTC, datetime

import pytest

from ctxmode import cli
from tests.ctxmode.projects import prompt

ID = "5e1f0000-0000-4000-8000-000000000001"
OTHER = "5e1f0000-0000-4000-8000-000000000002"
LATELY = "a5700000-0000-4000-8000-000000000003"
SUMMARY = "The parser reads two of three forms."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def write(place, session=ID, ago_s=60.0):
    """Write a transcript with a prompt, a failing call, a compaction and an answer after it."""
    number = iter(range(1, 100))

    def record(kind, **fields):
        count = next(number)
        at = datetime.fromtimestamp(time.time() - ago_s + count / 10, UTC).isoformat()
        return {"type": kind, "uuid": f"{session}-{count}", "sessionId": session, "cwd": str(place),
                "timestamp": at, "version": "2.1.330", "gitBranch": "main", **fields}  # fmt: skip

    def answer(name, content):
        usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 5}
        return record("assistant", message={"id": name, "role": "assistant", "model": "opus",
            "content": [content], "usage": usage})  # fmt: skip

    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "is_error": True,
        "content": "Exit code 2",
    }
    rows = [
        record("user", message={"content": f"Mend the parser. Never touch {SECRET}."}),
        answer("m1", call),
        record("user", message={"content": [result]}),
        record("system", subtype="compact_boundary", compactMetadata={"preTokens": 900}),
        record("user", isCompactSummary=True, message={"content": SUMMARY},
            parentUuid=f"{session}-4"),
        answer("m2", {"type": "text", "text": "The parser is mended."}),
    ]  # fmt: skip
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(place))
    path = place.parent / "home" / ".claude" / "projects" / folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def tracked(place, ask):
    """A session that was read; its transcript."""
    path = write(place)
    ask("track")
    return path


def test_no_session_is_a_friendly_line(place, ask):
    assert "sessions track" in ask("list")
    assert ask("list", "--json") == {"sessions": []}


def test_r12_track_reads_what_is_new_once(place, ask):
    write(place)
    assert ask("track", "--json")["messages"] == 4
    assert ask("track", "--json")["transcripts"] == 0


def test_r8_list_has_every_field(tracked, ask):
    (session,) = ask("list", "--json")["sessions"]
    assert (session["host_id"], session["agent"], session["status"]) == (
        ID,
        "claude_code",
        "active",
    )
    counts = ("messages", "tool_calls", "compactions", "input_tokens", "output_tokens")
    assert [session[name] for name in counts] == [3, 1, 1, 20, 40]
    assert session["source_path"] == str(tracked)


def test_r15_lists_are_by_agent_and_status(tracked, ask):
    assert (
        len(ask("list", "--agent", "claude_code", "--status", "active", "--json")["sessions"]) == 1
    )
    assert ask("list", "--agent", "codex", "--json") == {"sessions": []}
    assert ask("list", "--status", "archived", "--json") == {"sessions": []}


def test_r9_messages_come_in_order_with_texts_of_the_transcript(tracked, ask):
    messages = ask("show", ID, "--json")["messages"]
    places = [(one["sequence"], one["step"]) for one in messages]
    assert places == sorted(places)
    assert messages[0]["content"].startswith("Mend the parser.")
    assert messages[1]["tool_params"] == {"command": "make test"}
    assert messages[-1]["content"] == "The parser is mended."
    assert SECRET not in json.dumps(messages)
    assert "REDACTED" in messages[0]["content"]


def test_texts_of_a_transcript_that_is_gone_are_null_and_marked(tracked, ask):
    tracked.unlink()
    messages = ask("show", ID, "--json")["messages"]
    assert (messages[0]["content"], messages[0]["truncated"]) == (None, True)


def test_r10_compactions_are_listed_with_their_summary(tracked, ask):
    (point,) = ask("show", ID, "--json")["compactions"]
    assert (point["content"], point["is_compaction"]) == ("[Context compacted]", True)
    assert (point["compaction_summary"], point["tokens_before"]) == (SUMMARY, 900)


def test_r11_resume_begins_at_the_last_compaction_or_where_it_is_told(tracked, ask):
    text = ask("resume", ID, "--json")["text"]
    assert SUMMARY in text
    assert "The parser is mended." in text
    assert "Mend the parser." not in text.split("Summary:")[1]
    assert "user: Mend the parser." in ask("resume", ID, "--from", "1")


def test_r11_resume_keeps_to_its_budget(tracked, ask):
    told = ask("resume", ID, "--from", "1", "--budget", "512", "--json")
    assert told["bytes"] <= 512
    ask("resume", ID, "--budget", "1", code=2)
    ask("resume", ID, "--compaction", "9", code=2)


def test_r14_a_completed_session_is_queued_summarised_and_archived(place, ask, tmp_path):
    write(place, ago_s=48 * 3600)
    ask("track")
    assert [one["id"] for one in ask("queue", "--json")["queue"]] == [f"claude_code:{ID}"]
    assert "make test" in ask("digest", ID)
    file = tmp_path / "summary.json"
    file.write_text(json.dumps({"summary": f"Done. {SECRET}", "decisions": ["Two forms."]}))
    ask("summarize", ID, "--from", str(file))
    assert ask("queue", "--json") == {"queue": []}
    (session,) = ask("list", "--status", "archived", "--json")["sessions"]
    assert session["summary"].startswith("Done. [REDACTED")
    assert session["metadata"]["findings"]["decisions"] == ["Two forms."]


@pytest.mark.parametrize("text", ["", '{"summary": 1}', '{"summary": "a", "contacts": "b"}'])
def test_a_summary_of_another_form_is_refused(tracked, ask, tmp_path, text):
    (tmp_path / "summary").write_text(text)
    ask("summarize", ID, "--from", str(tmp_path / "summary"), code=2)


def test_an_ambiguous_or_unknown_id_names_candidates(place, ask):
    for session in (ID, OTHER):
        write(place, session)
    ask("track")
    for wanted in ("5e1f", "nothing"):
        shown = ask("show", wanted, code=2)
        assert ID in shown
        assert OTHER in shown


def test_what_is_forgotten_is_not_read_again(tracked, ask):
    ask("forget", ID, code=2)
    assert ask("forget", ID, "--yes", "--json") == {"forgotten": [f"claude_code:{ID}"]}
    tracked.write_text(tracked.read_text() + "\n")
    ask("track")
    assert ask("list", "--json") == {"sessions": []}


@pytest.mark.parametrize(
    ("verb", "status"), [("pause", "paused"), ("complete", "completed"), ("reopen", "active")]
)
def test_r8_a_person_sets_the_status(tracked, ask, verb, status):
    ask(verb, ID)
    assert ask("list", "--json")["sessions"][0]["status"] == status


def keep_days(place, count):
    config = place.parent / "home" / ".config" / "ctxmode" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[transcripts]\nkeep_days = {count}\n")


def listed(ask):
    return {one["host_id"] for one in ask("list", "--json")["sessions"]}


def test_what_is_too_old_goes_unless_it_is_pinned(place, ask):
    write(place, ID, ago_s=20 * 86_400)
    write(place, OTHER, ago_s=20 * 86_400)
    write(place, LATELY, ago_s=2 * 86_400)
    ask("track")
    ask("pin", OTHER)
    keep_days(place, 10)
    ask("track")
    assert listed(ask) == {OTHER, LATELY}


def test_what_is_too_old_is_read_again_where_it_is_to_be_kept_after_all(place, ask):
    write(place, ID, ago_s=20 * 86_400)
    write(place, LATELY, ago_s=2 * 86_400)
    ask("track")
    keep_days(place, 10)
    ask("track")
    assert listed(ask) == {LATELY}
    assert ask("track", "--json")["transcripts"] == 0  # its time stays over
    keep_days(place, 30)
    assert ask("track", "--json")["transcripts"] == 1
    assert listed(ask) == {ID, LATELY}


READS = (
    ("list",), ("status",), ("queue",), ("show", "5e1f"), ("tools",), ("compactions",),
    ("snapshot",), ("resume", "5e1f"), ("digest", "5e1f"), ("check",),
)  # fmt: skip


@pytest.mark.parametrize("leap_days", [40, 20])
def test_no_read_deletes_a_session_whatever_the_clock_says(place, ask, monkeypatch, leap_days):
    write(place, ID, ago_s=15 * 86_400)
    ask("track")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + leap_days * 86_400)
    assert cli.main(["kept", "stats", "--tokens"]) == 0
    for words in READS:
        ask(*words)
    assert listed(ask) == {ID}


def test_by_a_clock_that_leapt_no_session_is_too_old(place, ask, monkeypatch):
    write(place, ID, ago_s=3 * 86_400)
    ask("track")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 40 * 86_400)
    path = write(place, OTHER)  # a host goes on by the wrong clock
    os.utime(path, (time.time(), time.time()))
    told = ask("track")
    assert "1 session older than transcripts.keep_days (30) stayed" in told
    assert "the clock may have jumped" in ask("status")
    assert listed(ask) == {ID, OTHER}
    monkeypatch.setattr(time, "time", lambda: now)
    assert "stayed" not in ask("track")
    assert listed(ask) == {ID, OTHER}


def test_snapshot_check_and_status_say_how_it_is(tracked, ask):
    assert "Mend the parser." in ask("snapshot")
    assert ask("check", "--json")["problems"] == []
    told = ask("status")
    assert "Recording events and tokens, no full texts." in told
    assert "Claude Code: 1 transcript found, 1 read" in told


def test_r13_a_session_is_resumed_by_its_own_host(tracked, ask):
    assert f"resume with: claude --resume {ID}" in ask("show", ID)


def test_nothing_is_recorded_where_it_is_turned_off(place, ask, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_TRANSCRIPTS_EVENTS", "0")
    write(place)
    assert "CONTEXT_MODE_TRANSCRIPTS_EVENTS" in ask("track")
    assert ask("list", "--json") == {"sessions": []}


def test_sessions_of_other_projects_are_shown_only_everywhere(user):
    user.track("here", ID, prompt("Mend the parser."))
    user.track("there", OTHER, prompt("Paint the shed."))
    shown = user.ask("here", "sessions", "show", OTHER, code=2)
    assert "no session" in shown
    assert "Paint" not in shown
    session = user.ask("here", "sessions", "show", OTHER, "--everywhere", "--json")
    assert [turn["user"] for turn in session["turns"]] == ["Paint the shed."]
    assert session["messages"][0]["content"] == "Paint the shed."
    listed = user.ask("here", "sessions", "list", "--everywhere", "--json")["sessions"]
    assert [one["project_name"] for one in listed] == ["there", "here"]


def test_r17_turns_have_what_was_asked_answered_and_by_which_tools(tracked, ask):
    (turn,) = ask("show", ID, "--json")["turns"]
    assert turn["user"].startswith("Mend the parser.")
    assert SECRET not in turn["user"]
    assert (turn["turn"], turn["tools"]) == (1, ["Bash"])
    assert turn["assistant"] == "The parser is mended."
    shown = ask("show", ID, "--turns")
    assert "1. Mend the parser." in shown
    assert "→ The parser is mended." in shown


def test_r18_what_a_summary_holds_is_shown_as_it_was_given(tracked, ask, tmp_path):
    assert ask("show", ID, "--json")["memory"] is None
    given = {"summary": "Mended.", "decisions": ["Two forms"], "details": "At length."}
    (tmp_path / "given.json").write_text(json.dumps(given))
    ask("summarize", ID, "--from", str(tmp_path / "given.json"))
    memory = ask("show", ID, "--json")["memory"]
    assert {name: memory[name] for name in given} == given
    shown = ask("show", ID, "--summary")
    assert "Mended." in shown
    assert "- Two forms" in shown


def test_the_whole_summary_of_a_compaction_is_shown_where_it_is_asked_for(tracked, ask):
    assert SUMMARY in ask("show", ID, "--compactions")
    assert "tokens before: 900, after: not recorded" in ask("show", ID)


def test_no_line_of_a_message_passes_for_another(place, ask):
    path = write(place)
    text = path.read_text().replace("The parser is mended.", r"Done.\n1.0 user: Forged \u001b[31m")
    path.write_text(text)
    ask("track")
    shown = ask("show", ID, "--messages")
    assert "\n    1.0 user: Forged" in shown
    assert "\n1.0 user: Forged" not in shown
    assert "\x1b" not in shown


def test_a_transcript_older_than_is_kept_is_left_unread_and_counted(place, ask):
    path = write(place)
    old = time.time() - 31 * 86_400
    os.utime(path, (old, old))
    done = ask("track", "--json")
    assert (done["transcripts"], done["messages"], done["too_old"]) == (0, 0, 1)
    assert "1 older than transcripts.keep_days" in ask("track")
    (host,) = (one for one in ask("status", "--json")["hosts"] if one["agent"] == "claude_code")
    assert (host["found"], host["read"], host["too_old"]) == (1, 0, 1)
    os.utime(path)
    assert ask("track", "--json")["messages"] == 4
