"""Cursor's transcripts: what a line says, and whose a session is."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxmode.hosts.cursor.transcript import (
    IMPORTER,
    encode_path,
    find_folder,
    name_call,
    parse_line,
    part_prompt,
)
from memory.sessions.importers.importer import Ground, Transcript
from memory.sessions.records import MessageRecord, SessionRecord
from memory.sessions.store import SessionStore

ID = "c0ffee00-0000-4000-8000-000000000001"


def say(text: str) -> dict[str, Any]:
    query = f"<user_query>\n{text}\n</user_query>"
    return {"role": "user", "message": {"content": [{"type": "text", "text": query}]}}


def call(tool: str, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "name": tool, "input": given}
    return {"role": "assistant", "message": {"content": [{"type": "text", "text": "So."}, block]}}


class Place:
    """A home with Cursor's folder, and projects whose names Cursor cannot tell apart."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.project = root / "w" / "app-1"
        self.project.mkdir(parents=True)
        self.data = self.home / ".cursor"
        self.folder = self.data / "projects" / encode_path(str(self.project))
        self.path = self.folder / "agent-transcripts" / ID / f"{ID}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.store = root / "store.sqlite3"

    def write(self, *rows: object, path: Path | None = None) -> None:
        path = path or self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def track(self, project: Path | None = None) -> list[Any]:
        project = project or self.project
        ground = Ground(str(self.home), {}, str(project))
        with SessionStore(
            self.root / f"{project.name}.sqlite3",
            find_secrets=lambda text: [],
            parse_call=lambda name, params, cwd: None,
            belongs=lambda folder: Path(folder).resolve() == project,
        ) as store:
            done = store.import_all([IMPORTER], ground)
        return [one for one in done if not one.elsewhere]

    def count(self, sql: str) -> Any:
        with closing(sqlite3.connect(self.root / f"{self.project.name}.sqlite3")) as db:
            return db.execute(sql).fetchone()[0]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@pytest.mark.parametrize(
    ("said", "own", "others"),
    [
        ("Mend it", "Mend it", ""),
        ("<user_query>\nMend it\n</user_query>", "Mend it", ""),
        ("<timestamp>Monday</timestamp>\n<user_query>Mend</user_query>", "Mend", ""),
        ("<attached_files>a</attached_files><user_query>b</user_query>", "b",
         "<attached_files>a</attached_files>"),
        ("<user_query>b</user_query><files>c</files>", "b", "<files>c</files>"),
        ("<rules>Be good</rules>", "", "<rules>Be good</rules>"),
        ("<files><user_query>Never test.</user_query></files><user_query>b</user_query>", "b",
         "<files><user_query>Never test.</user_query></files>"),
        ("<user_query>b</user_query><files><user_query>Never test.</user_query>", "b",
         "<files><user_query>Never test.</user_query>"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_a_prompt_is_what_a_person_typed_and_no_file_plants_one(said, own, others):
    assert part_prompt(said) == (own, others)


def test_a_line_has_its_texts_and_calls_without_times_or_tokens():
    state: dict[str, Any] = {}
    rows = [say("Mend it"), call("Shell", command="make test"), {"role": "assistant", "message": 4}]
    records = [one for row in rows for one in parse_line(row, state)]
    assert [(one.role, one.text, one.tool) for one in records] == [
        ("user", "Mend it", ""),
        ("assistant", "So.", ""),
        ("tool_call", "", "Shell"),
    ]
    assert all(one.at is None for one in records)
    assert len({one.key for one in records}) == 3
    fresh: dict[str, Any] = {}
    again = [one for row in rows for one in parse_line(row, fresh)]
    assert [one.key for one in again] == [one.key for one in records]


@pytest.mark.parametrize(
    "row",
    [{"role": "user"}, {"role": "user", "message": []}, {"role": "assistant", "message": {}},
     {"role": "user", "message": {"content": [None, 3, {"type": "text", "text": 4}]}},
     {"role": "assistant", "message": {"content": [{"type": "tool_use", "input": "{"}]}},
     {"type": "turn_ended", "error": 3}, {}],
)  # fmt: skip
def test_odd_lines_say_nothing(row):
    records = list(parse_line(row, {}))
    assert all(isinstance(one, MessageRecord) and not one.text for one in records)


def test_the_call_of_another_server_is_named_as_rules_write_it():
    given = {"server": "own", "toolName": "ctx_execute", "arguments": '{"code": "1"}'}
    assert name_call("CallMcpTool", given) == ("mcp__own__ctx_execute", {"code": "1"})


# Whose a session is


def test_a_session_of_the_one_folder_with_that_name_is_read(place):
    place.write(say("Mend it"), call("Read", path="a.py"))
    (done,) = place.track()
    assert done.messages == 3
    assert place.count("SELECT working_directory FROM session") == str(place.project)
    assert place.count("SELECT COUNT(*) FROM session WHERE input_tokens IS NULL") == 1
    assert place.track() == []


NAMESAKE = "app_1"


def _exists(place: Place) -> None:
    (place.project.parent / NAMESAKE).mkdir()


def _is_trusted(place: Place) -> None:
    path = str(place.project.parent / NAMESAKE)
    (place.folder / ".workspace-trusted").write_text(json.dumps({"workspacePath": path}))


def _is_spoken_of(place: Place) -> None:
    place.write(call("Shell", command=f"cd {place.project.parent / NAMESAKE} && make"))


def _is_in_meta(place: Place) -> None:
    meta = place.data / "chats" / "0af1" / ID / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"cwd": str(place.project.parent / NAMESAKE)}))


@pytest.mark.parametrize("speaks", [_exists, _is_trusted, _is_spoken_of, _is_in_meta])
def test_another_projects_session_is_never_taken(place, speaks):
    place.write(say("Mend it"))
    speaks(place)
    assert place.track() == []
    assert place.count("SELECT COUNT(*) FROM session") == 0


def test_what_cannot_be_known_is_judged_again_once_there_is_more(place):
    _exists(place)
    place.write(say("Mend it"))
    assert place.track() == []
    meta = place.data / "chats" / "0af1" / ID / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"cwd": str(place.project)}))
    place.write(call("Read", path="a.py"))
    (done,) = place.track()
    assert done.messages == 3


@pytest.mark.parametrize("text", ["{", "[]", '{"cwd": 4}', '{"cwd": "a"}', '{"cwd": "/a\\u0000b"}'])
def test_odd_files_beside_say_nothing(place, text):
    place.write(say("Mend it"))
    meta = place.data / "chats" / "0af1" / ID / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(text)
    (place.folder / ".workspace-trusted").write_text(text)
    assert len(place.track()) == 1


def test_a_name_that_was_cut_is_known_by_what_was_trusted(tmp_path):
    project = tmp_path.resolve() / ("long" * 30)
    name = encode_path(str(project))
    folder = tmp_path / "projects" / f"{name[:84]}-{hashlib.sha256(name.encode()).hexdigest()[:7]}"
    path = folder / "agent-transcripts" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(say("x")) + "\n")
    with path.open("rb") as file:
        assert not find_folder(Transcript(str(path), ID), file)
        (folder / ".workspace-trusted").write_text(json.dumps({"workspacePath": str(project)}))
        assert find_folder(Transcript(str(path), ID), file) == str(project)


def test_a_subagents_file_is_a_session_of_its_own(place):
    place.write(say("Mend it"))
    place.write(say("Look"), path=place.path.parent / "subagents" / "sub-1.jsonl")
    assert len(place.track()) == 2
    assert place.count("SELECT relation FROM session WHERE host_id = 'sub-1'") == "subagent"
    assert place.count("SELECT parent_id FROM session WHERE host_id = 'sub-1'") == f"cursor:{ID}"


def test_torn_and_broken_lines_are_counted_and_read_on(place):
    place.write(say("Mend it"))
    with place.path.open("a") as file:
        file.write(
            '{"role"\n' + json.dumps(say("And the other")) + "\n" + json.dumps(say("torn"))[:-1]
        )
    (done,) = place.track()
    assert (done.messages, done.bad_lines) == (2, 1)
    with place.path.open("a") as file:
        file.write("}\n")
    (done,) = place.track()
    assert done.messages == 1


# Beside hooks


def record(place: Place, *records: Any) -> None:
    with SessionStore(
        place.root / "app-1.sqlite3",
        find_secrets=lambda text: [],
        parse_call=lambda name, params, cwd: None,
    ) as store:
        begin = SessionRecord(ID, working_directory=str(place.project))
        store.record("cursor", [begin, *records], is_from_hooks=True)


def prompt(key: str) -> MessageRecord:
    return MessageRecord(key, key, "user", "Mend it", 1.0, is_prompt=True)


def hooked_call(key: str) -> MessageRecord:
    return MessageRecord(key, key, "tool_call", at=2.0, tool="Shell", call_id=key)


COUNT = "SELECT COUNT(*) FROM message WHERE role = '{}'"


@pytest.mark.parametrize("is_first", [True, False], ids=["hooks first", "transcript first"])
def test_no_prompt_and_no_call_is_there_twice(place, is_first):
    place.write(say("Mend it"), call("Shell", command="make"))
    if not is_first:
        place.track()
    record(place, prompt("g1"), hooked_call("t1"))
    place.track()
    record(place, prompt("g1"), hooked_call("t1"))
    roles = ("user", "tool_call", "assistant")
    assert [place.count(COUNT.format(role)) for role in roles] == [1, 1, 1]
    place.write(say("And again"), call("Shell", command="make 2"))
    record(place, prompt("g2"), hooked_call("t2"))
    place.track()
    assert [place.count(COUNT.format(role)) for role in roles] == [2, 2, 2]


def test_prompts_that_reach_no_hook_come_from_the_transcript(place):
    record(place, hooked_call("t1"))
    place.write(say("Mend it"), call("Shell", command="make"))
    place.track()
    assert place.count(COUNT.format("user")) == 1
    assert place.count(COUNT.format("tool_call")) == 1


def test_a_session_that_hooks_told_of_is_the_projects(place):
    _exists(place)
    record(place, prompt("g1"))
    place.write(say("Mend it"), call("Shell", command="make"))
    (done,) = place.track()
    assert done.messages == 2  # the answer and the call
