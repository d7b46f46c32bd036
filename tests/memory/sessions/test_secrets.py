"""No secret reaches the disk by any field of any record, whatever is kept (the gate, section 3)."""

from __future__ import annotations

import json
import re

import pytest

from tests.base.secret_corpus import BASE64, POSITIVES, PRIVATE_KEYS, made
from tests.memory.sessions.claude_records import (
    Maker,
    all_bytes,
    bring_in,
    open_store,
    write,
)

TEXTS = [(secret, before + secret + after) for _, before, secret, after in POSITIVES]
TEXTS += [(made(64, BASE64, 1), key) for key in PRIVATE_KEYS]
TOKEN = "ghp_" + made(36)
TOOLS = {"TodoWrite": "content", "Task": "description", "Skill": "skill", "ExitPlanMode": "plan"}


def in_title(make, text):
    return [make.record("ai-title", aiTitle=text), make.record("summary", summary=text)]


def in_session_id(make, text):
    make = Maker(text, f"{make.prefix}s")
    return [make.prompt("hello"), make.answer("hello")]


def in_folder(make, text):
    other = Maker(f"{make.session}-other", f"{make.prefix}f")
    return [other.prompt("hello", cwd=f"/{text}"), other.prompt("hello", cwd=text)]


def in_call_names(make, text):
    return [make.call(text, text, {"a": 1}), make.result(text, text, failed=True)]


def in_params(make, text):
    given = {"file_path": f"/p/{text}", text: text, "deep": [{"x": [text]}], "todos": [text]}
    calls = [make.call(tool, tool, {**given, "command": text}) for tool in ("Bash", "Edit", "Odd")]
    calls += [make.call(tool, tool, {name: text}) for tool, name in TOOLS.items()]
    calls.append(make.call("TodoWrite", "t", {"todos": [{"content": text, "status": "pending"}]}))
    calls.append(make.call("WebFetch", "f", {"url": text, "prompt": text}))
    calls.append(make.call("Grep", "g", {"pattern": text, "path": text}))
    return calls


def in_results(make, text):
    shown = f"error:\n{text}"
    return [
        make.call("Bash", 1, {"command": "make"}),
        make.result(1, shown, failed=True),
        make.result(1, [{"type": "text", "text": shown}], toolUseResult={"stdout": shown}),
        make.result(1, text, failed=True),
        *([make.result(1, f"[{text} 1234567] x")] if re.fullmatch(r"[\w./-]+", text) else []),
    ]


def in_tasks(make, text):
    told = {"task": {"id": text, "subject": text}}
    changed = {"taskId": text, "statusChange": {"from": text, "to": text}}
    return [
        make.prompt("hello"),
        make.result(1, toolUseResult=told),
        make.result(1, toolUseResult=changed),
    ]


FIELDS = {
    "prompt": lambda make, text: [make.prompt(f"Never forget this.\n{text}")],
    "prompt's blocks": lambda make, text: [make.prompt([{"type": "text", "text": text}])],
    "hidden prompt": lambda make, text: [make.prompt(text, isMeta=True)],
    "queued": lambda make, text: [
        make.record("attachment", attachment={"type": "queued_command", "prompt": text})
    ],
    "answer": lambda make, text: [make.answer(text)],
    "thinking": lambda make, text: [make.answer({"type": "thinking", "thinking": text})],
    "title": in_title,
    "session's id": in_session_id,
    "branch": lambda make, text: [make.prompt("hello", gitBranch=text)],
    "folder": in_folder,
    "version": lambda make, text: [make.prompt("hello", version=text)],
    "uuid": lambda make, text: [make.prompt("hello", uuid=text)],
    "time": lambda make, text: [make.prompt("hello", timestamp=text)],
    "agent's id": lambda make, text: [make.prompt("hello", isSidechain=True, agentId=text)],
    "response": lambda make, text: [
        make.answer("hello", response=text, requestId=text, usage={"output_tokens": 1})
    ],
    "model": lambda make, text: [
        make.record("assistant", message={"id": "m", "model": text, "content": "a", "usage": {}})
    ],
    "names of calls": in_call_names,
    "arguments": in_params,
    "results": in_results,
    "tasks": in_tasks,
    "compaction": lambda make, text: make.compaction(text),
    "trigger": lambda make, text: [
        make.record("system", subtype="compact_boundary", compactMetadata={"trigger": text})
    ],
    "unknown": lambda make, text: [make.record(text, message=text), make.record("user", message=1)],
}


@pytest.mark.parametrize("keep_messages", [False, True], ids=["events", "messages"])
@pytest.mark.parametrize("field", FIELDS)
def test_no_secret_of_any_kind_reaches_the_disk_by(field, keep_messages, tmp_path):
    records = []
    for number, (_, text) in enumerate(TEXTS):
        make = Maker(f"s{number}", f"u{number}-")
        records += [make.prompt("hello"), *FIELDS[field](make, text)]
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", keep_messages=keep_messages) as store:
        assert bring_in(store, path).bad_lines == (len(TEXTS) if field == "unknown" else 0)
        shown = all_bytes(store)
        sessions = [row[0] for row in store.database._db.execute("SELECT id FROM session")]
        snapshots = "\n".join(store.build_snapshot(one) for one in sessions).encode()
    leaked = {s for s, _ in TEXTS if s.encode() in shown or s.encode() in snapshots}
    assert not leaked
    assert len(sessions) >= len(TEXTS)


STORED = [
    name for name in FIELDS if name not in ("uuid", "time", "thinking", "response", "unknown")
]


@pytest.mark.parametrize(
    "field", [name for name in STORED if name not in ("session's id", "agent's id")]
)
def test_without_a_finder_the_same_bytes_are_there(field, tmp_path):
    """The positive control, or the test above would find nothing in anything."""
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt("hello"), *FIELDS[field](make, TOKEN)])
    with open_store(tmp_path / "s.sqlite3", keep_messages=True, find_secrets=lambda _: ()) as store:
        bring_in(store, path)
        assert TOKEN.encode() in all_bytes(store)


PLACES = {
    "excerpt": '{"type":"user","message":"' + TOKEN + '", and no JSON',
    "excerpt's edge": "x" * 90 + " " + TOKEN + " and no JSON",
    "escaped": "{" + "".join(f"\\u{ord(c):04x}" for c in TOKEN),
    "escaped private": '{"a": "\\u003cprivate\\u003esecretword',
    "private": '{"a": "<private>secretword',
}


@pytest.mark.parametrize("place", PLACES)
def test_the_excerpt_of_a_bad_line_has_none(place, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(PLACES[place] + "\n" + json.dumps(Maker().prompt("hello")) + "\n")
    with open_store(tmp_path / "s.sqlite3") as store:
        assert bring_in(store, path).bad_lines == 1
        shown = all_bytes(store)
    assert TOKEN[4:16].encode() not in shown
    assert b"secretword" not in shown


def test_the_path_of_a_transcript_has_none(tmp_path):
    folder = tmp_path / TOKEN
    folder.mkdir()
    path = write(folder / f"{TOKEN}.jsonl", [Maker(TOKEN).prompt("hello")])
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path, TOKEN)
        shown = all_bytes(store)
    assert TOKEN.encode() not in shown


@pytest.mark.parametrize("keep_messages", [False, True])
@pytest.mark.parametrize("field", STORED)
@pytest.mark.parametrize("marks", [("<private>", "</private>"), ("<PRI\u200bVATE>", "")])
def test_what_is_private_stays_out(field, keep_messages, marks, tmp_path):
    make = Maker()
    text = f"{marks[0]}secretword{marks[1]}"
    path = write(tmp_path / "t.jsonl", [make.prompt("hello"), *FIELDS[field](make, text)])
    with open_store(tmp_path / "s.sqlite3", keep_messages=keep_messages) as store:
        bring_in(store, path)
        assert b"secretword" not in all_bytes(store)


@pytest.mark.parametrize("keep_messages", [False, True])
@pytest.mark.parametrize("length", [200, 512, 4096, 8192, 65_536])
@pytest.mark.parametrize("field", ["prompt", "answer", "arguments", "results", "compaction"])
def test_no_part_of_one_that_stands_across_a_cut_stays(field, length, keep_messages, tmp_path):
    make, records = Maker(), []
    for offset in range(-60, 20, 8):
        text = ("word " * (length // 5 + 9))[: length + offset] + f" {TOKEN} " + "word " * 4000
        records += FIELDS[field](make, text)
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", keep_messages=keep_messages) as store:
        bring_in(store, path)
        shown = all_bytes(store)
    assert not any(TOKEN[at : at + 10].encode() in shown for at in range(len(TOKEN) - 10))


@pytest.mark.parametrize("field", ["prompt", "results", "branch", "title", "names of calls"])
def test_no_unseen_character_is_kept(field, tmp_path):
    make = Maker()
    text = "a\0b\x1b[31mc\u200bd\u202ee\u2066f\ufeffg\x85h\ud800i error"
    records = [make.prompt("hello"), *FIELDS[field](make, text)]
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        bring_in(store, path)
        with store.database.reading() as db:
            texts = [str(row) for row in db.execute("SELECT text FROM event")]
            texts += [str(row) for row in db.execute("SELECT title, git_branch FROM session")]
    assert not any(mark in "".join(texts) for mark in ("\\x", "\\u", "\\ufeff", "[31m"))
