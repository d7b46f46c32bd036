"""Export and import again: the same session, and no secret (R9, R10, R16)."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxmode.hosts.registry import find_importer
from memory.sessions.exporting import build_export, write_export, write_summary, write_transcript
from memory.sessions.importers.importer import Transcript
from memory.sessions.importers.own import IMPORTER
from memory.sessions.maintenance import Summary, set_status
from memory.sessions.reading import find_session, list_sessions, read_compactions, read_token_counts
from memory.sessions.records import CompactionRecord, MessageRecord, SessionRecord, UsageRecord
from tests.memory.sessions.claude_records import (
    Maker,
    bring_in,
    open_store,
    problems_of,
    rows,
    write,
)
from tests.memory.sessions.test_secrets import FIELDS, TEXTS

# What is of the place that a session is kept at, and not of the session.
OF_PLACE = ("source_path",)


def export(store, session_id, path):
    with store.database.reading() as db:
        session = find_session(db, session_id)
    messages = store.read_full_messages(find_importer, session)
    with store.database.reading() as db:
        made = build_export(db, session, messages)
    path.write_bytes(b"".join(write_export(*made)))
    return json.loads(path.read_text())


def import_again(store, path, agent="claude_code"):
    found = Transcript(str(path), form="own")
    return store.import_transcript(IMPORTER._replace(agent=agent), found)


def told(value):
    session = {name: one for name, one in value["session"].items() if name not in OF_PLACE}
    return {**value, "session": session}


@contextmanager
def other_store(tmp_path, name, **options):
    with open_store(tmp_path / f"{name}.sqlite3", keep_messages=True, **options) as store:
        yield store


def records(maker):
    return [
        maker.prompt("Mend the parser. Never touch the lexer."),
        maker.answer("I look.", usage={"input_tokens": 10, "output_tokens": 5}),
        *maker.run(1, "make test", "error: 2", failed=True),
        maker.call("Edit", 2, {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}),
        maker.result(2),
        maker.call("Write", 3, {"file_path": "/p/b.py", "content": "x"}),
        maker.result(3, "Permission to use Write has been denied.", failed=True),
        *maker.compaction("So far so good."),
        maker.prompt("Go on."),
        maker.answer("x" * 70_000, usage={"input_tokens": 1, "output_tokens": 9}),
        *maker.run(4, "make", "y" * 9000),
    ]


@pytest.mark.parametrize("keep_messages", [True, False], ids=["messages", "events"])
def test_r16_an_exported_session_is_the_same_where_it_is_imported(tmp_path, keep_messages):
    path = write(tmp_path / "t.jsonl", records(Maker()))
    with open_store(tmp_path / "a.sqlite3", keep_messages=keep_messages) as store:
        bring_in(store, path)
        session_id = f"claude_code:{Maker().session}"
        store.save_summary(session_id, Summary("Done.", decisions=("Two forms.", "x" * 500)))
        first = export(store, session_id, tmp_path / "a.json")
        assert import_again(store, tmp_path / "a.json").messages == 0  # they have their keys
        assert told(export(store, session_id, tmp_path / "a2.json")) == told(first)
    with other_store(tmp_path, "b") as store:
        import_again(store, tmp_path / "a.json")
        assert told(export(store, session_id, tmp_path / "b.json")) == told(first)
        assert problems_of(store) == []
    assert first["session"]["files"]["modified"] == ["a.py"]
    assert first["session"]["metadata"]["findings"]["decisions"][1] == "x" * 500
    assert [one["truncated"] for one in first["messages"]].count(True) == 2


def test_r9_r10_messages_have_every_field_in_order(tmp_path):
    path = write(tmp_path / "t.jsonl", records(Maker()))
    with open_store(tmp_path / "a.sqlite3") as store:
        bring_in(store, path)
        made = export(store, Maker().session, tmp_path / "a.json")
    messages = made["messages"]
    places = [(one["sequence"], one["step"]) for one in messages]
    assert places == sorted(places)
    assert places[0] == (1, 0)
    point = next(one for one in messages if one["is_compaction"])
    assert (point["content"], point["compaction_summary"], point["tokens_before"]) == (
        "[Context compacted]",
        "So far so good.",
        1000,
    )
    call = next(one for one in messages if one["role"] == "tool_call")
    assert (call["tool_name"], call["tool_params"]) == ("Bash", {"command": "make test"})
    result = next(one for one in messages if one["role"] == "tool_result")
    assert (result["content"], result["is_error"], result["call"]) == (
        "error: 2",
        True,
        call["call"],
    )
    assert sum(one["output_tokens"] or 0 for one in messages) == 14
    assert (made["format"], made["version"]) == ("context-mode-session", 1)


def test_without_texts_and_transcript_each_message_says_that_it_is_cut(tmp_path):
    path = write(tmp_path / "t.jsonl", records(Maker()))
    with open_store(tmp_path / "a.sqlite3") as store:
        bring_in(store, path)
        path.unlink()
        made = export(store, Maker().session, tmp_path / "a.json")
    said = [one for one in made["messages"] if not one["is_compaction"]]
    assert all(one["truncated"] and one["content"] is None for one in said)
    with other_store(tmp_path, "b") as store:
        import_again(store, tmp_path / "a.json")
        again = export(store, Maker().session, tmp_path / "b.json")["messages"]
    assert [one["truncated"] for one in again] == [one["truncated"] for one in made["messages"]]


def test_r8_what_a_person_set_comes_along_and_replaces_no_newer_word(tmp_path):
    path = write(tmp_path / "t.jsonl", records(Maker()))
    session_id = f"claude_code:{Maker().session}"
    with open_store(tmp_path / "a.sqlite3") as store:
        bring_in(store, path)
        with store.database.writing() as db:
            set_status(db, session_id, "paused")
        export(store, session_id, tmp_path / "paused.json")
        store.save_summary(session_id, Summary("Older."))
        export(store, session_id, tmp_path / "older.json")
    with other_store(tmp_path, "b") as store:
        import_again(store, tmp_path / "paused.json")
        assert rows(store, "SELECT status FROM session") == [("paused",)]
        store.save_summary(session_id, Summary("Newer."))
        import_again(store, tmp_path / "older.json")
        assert rows(store, "SELECT status, summary FROM session") == [("archived", "Newer.")]


TEXT = st.text(max_size=40)
COUNTS = st.one_of(st.none(), st.integers(0, 10**6))
MESSAGES = st.builds(
    lambda role, text, tool, failed, images, group: (role, text, tool, failed, images, group),
    st.sampled_from(["user", "assistant", "system", "tool_call", "tool_result"]),
    TEXT,
    st.sampled_from(["Bash", "Edit", "Read", "odd"]),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 5),
)


def build(drawn, tokens, at):
    yield SessionRecord("s", title="A title", working_directory="/p", started_at=at)
    for number, (role, text, tool, failed, images, group) in enumerate(drawn):
        is_call, is_tool = role == "tool_call", role.startswith("tool")
        key = f"k{number}"
        yield MessageRecord(
            key,
            f"g{group}" if role in ("assistant", "tool_call") else key,
            role,
            "" if is_call else text,
            None if number % 3 == 0 else at + number,
            is_prompt=role == "user" and number % 2 == 0,
            tool=tool if is_tool else "",
            params={"command": text, "file_path": f"/p/{number % 4}.py"} if is_call else None,
            call_id=f"c{number // 2}" if is_tool else "",
            failed=failed and role == "tool_result",
            model="m" if role == "assistant" else "",
            images=images,
        )
        if number % 5 == 4:
            yield CompactionRecord(f"k{number}", at + number, "auto", text, 900, 90)
    for number, counts in enumerate(tokens):
        yield UsageRecord(f"r{number}", "m", at, *counts, f"g{number}")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(MESSAGES, max_size=20),
    st.lists(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), max_size=4),
    st.floats(1e9, 1.8e9),
)
def test_r16_any_session_comes_back_with_the_same_counts_and_tokens(
    tmp_path_factory, drawn, tokens, at
):
    tmp_path = tmp_path_factory.mktemp("round")
    with other_store(tmp_path, "a") as store:
        store.record("bot", list(build(drawn, tokens, at)), now=at + 100)
        first = export(store, "bot:s", tmp_path / "a.json")
        with store.database.reading() as db:
            counted = read_token_counts(db)
    with other_store(tmp_path, "b") as store:
        import_again(store, tmp_path / "a.json", "bot")
        again = export(store, "bot:s", tmp_path / "b.json")
        assert problems_of(store) == []
        with store.database.reading() as db:
            assert read_token_counts(db) == counted
    kept = ("messages", "tool_calls", "input_tokens", "output_tokens", "compactions", "turns")
    assert [again["session"][name] for name in kept] == [first["session"][name] for name in kept]
    assert again["usage"] == first["usage"]
    shown = ("sequence", "step", "role", "content", "tool_name", "tool_params", "is_error", "call")
    shown += (
        "at",
        "model",
        "images",
        "truncated",
        "key",
        "group",
        "tokens_before",
        "output_tokens",
    )
    assert [[one[name] for name in shown] for one in again["messages"]] == [
        [one[name] for name in shown] for one in first["messages"]
    ]


EXPORTED_MAX = 8  # sessions; for each, the whole transcript is read anew


@pytest.mark.parametrize("keep_messages", [False, True], ids=["events", "messages"])
@pytest.mark.parametrize("field", FIELDS)
def test_no_secret_of_any_field_of_a_transcript_is_in_an_export(field, keep_messages, tmp_path):
    written = []
    for number, (_, text) in enumerate(TEXTS):
        make = Maker(f"s{number % EXPORTED_MAX}", f"u{number}-")
        written += [make.prompt("hello"), *FIELDS[field](make, text)]
    path = write(tmp_path / "t.jsonl", written)
    with open_store(tmp_path / "s.sqlite3", keep_messages=keep_messages) as store:
        bring_in(store, path)
        shown = export_all(store)
    assert not {secret for secret, _ in TEXTS if secret in shown}


def export_all(store):
    """All that is exported of all sessions: JSON as it is meant, and Markdown."""
    parts = []
    with store.database.reading() as db:
        sessions = list_sessions(db, limit=None)
    for session in sessions[:EXPORTED_MAX]:
        messages = store.read_full_messages(find_importer, session)
        with store.database.reading() as db:
            made = b"".join(write_export(*build_export(db, session, messages)))
            parts.append(repr(json.loads(made)))
            parts.append(write_summary(session, read_compactions(db, session.id)))
        parts += write_transcript(session, messages)
    return "\n".join(parts).replace("\\\\", "\\").replace("\\", "")


OWN_FIELDS = {
    "session": ["id", "title", "agent_version", "working_directory", "git_branch", "end_reason",
                "summary", "parent_id", "source_path", "status_by_hand"],
    "message": ["content", "tool_name", "model", "subagent", "skill", "compaction_summary", "id",
                "compaction_trigger", "call_id", "key", "group", "error"],
}  # fmt: skip


@pytest.mark.parametrize("of", ["session", "message"])
def test_no_secret_of_any_field_of_an_import_is_stored_or_exported(of, tmp_path):
    shown = ""
    with other_store(tmp_path, "s") as store:
        for number, (_, text) in enumerate(TEXTS):
            session = {"id": f"s{number}", "metadata": {"a": text, "findings": {
                "details": text, "decisions": [text]}}, "files": {"modified": [text]}}  # fmt: skip
            base = {"role": "user", "content": "hello"}
            messages = [base]
            for name in OWN_FIELDS[of]:
                if of == "session":
                    session[name] = text
                else:
                    roles = ("user", "assistant", "tool_call", "tool_result")
                    messages += [{**base, "role": role, name: text} for role in roles]
                    messages.append({**base, name: text, "is_compaction": True})
            messages.append({"role": "tool_call", "tool_name": "x", "tool_params": {"k": [text]}})
            value = {"format": "context-mode-session", "version": 1, "session": session,
                     "usage": [{"model": text, "input": 1}], "messages": messages}  # fmt: skip
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(value))
            assert import_again(store, path, "bot").problem == ""
        shown = export_all(store)
        dumped = repr(list(store.database._db.iterdump()))
    assert not {secret for secret, _ in TEXTS if secret in shown or secret in dumped}


HOSTILE_TEXT = (
    "```\n# heading\n<script>alert(1)</script>\n[x](javascript:1) ![i](http://e.org/i) ````"
)


def test_hostile_texts_do_nothing_in_markdown(tmp_path):
    made = [
        MessageRecord("a", "a", "user", HOSTILE_TEXT, is_prompt=True),
        MessageRecord("b", "b", "tool_call", tool="<b>`x`", params={"a": HOSTILE_TEXT}),
        CompactionRecord("c", summary=HOSTILE_TEXT),
    ]
    with other_store(tmp_path, "s") as store:
        store.record("bot", [SessionRecord("s", title="<img src=x> # [a](b) www.e.org"), *made])
        store.save_summary("bot:s", Summary(HOSTILE_TEXT, decisions=(HOSTILE_TEXT,)))
        with store.database.reading() as db:
            session, points = find_session(db, "s"), read_compactions(db, "bot:s")
        messages = store.read_full_messages(find_importer, session)
    for text in (write_summary(session, points), "".join(write_transcript(session, messages))):
        outside, mark = [], ""
        for line in text.splitlines():
            ticks = line[: len(line) - len(line.lstrip("`"))]
            if mark and line == mark:
                mark = ""
            elif not mark and len(ticks) >= 3:
                mark = ticks
            elif not mark:
                outside.append(line)
        assert not mark
        shown = "\n".join(outside)
        for raw in ("<", "](", "://", "www."):
            assert raw not in shown.replace("\\<", "").replace("\\]", "").replace("\\://", "")
