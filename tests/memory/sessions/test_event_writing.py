"""What a result tells of files is noted beside its call's events, each edit once."""

from __future__ import annotations

import pytest

from ctxmode.hosts.registry import find_importer
from memory.sessions.events import EVENTS_OF_CALL_MAX
from memory.sessions.importers.importer import Transcript
from memory.sessions.records import MessageRecord, SessionRecord
from tests.ctxmode.hosts.transcripts.test_driven_hosts import HERE
from tests.memory.sessions.claude_records import dump, open_store, problems_of, rows

BEGIN = SessionRecord("s", working_directory="/p")
EDIT = {"file_path": "/p/a.py"}


def call(tool, params, **more):
    return MessageRecord("c", "c", "tool_call", at=1.0, tool=tool, params=params, call_id="x",
                         **more)  # fmt: skip


def result(*files, **more):
    return MessageRecord("r", "r", "tool_result", "done", 2.0, call_id="x", files=files, **more)


def touches(store):
    found = rows(store, "SELECT path, action, count FROM file_touch ORDER BY path, action")
    return [one for one in found if one[1] != "read"]


def edits(store):
    return rows(store, "SELECT text FROM event WHERE category = 'file_edit' ORDER BY id")


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "s.sqlite3") as opened:
        yield opened


@pytest.mark.parametrize(
    ("tool", "params", "files", "expected"),
    [
        ("Write", EDIT, [("/p/a.py", "modified")], [("a.py", "modified", 1)]),
        ("Write", EDIT, [("/p/a.py", "created")], [("a.py", "created", 1)]),
        ("Edit", EDIT, [("/p/a.py", "created")], [("a.py", "created", 1)]),
        ("Edit", EDIT, [("a.py", "deleted")], [("a.py", "deleted", 1)]),
        ("delete_file", EDIT, [("/p/a.py", "created")], [("a.py", "created", 1)]),
        ("Edit", EDIT, [("/p/./a.py", "modified"), ("/p/b.py", "created")],
         [("a.py", "modified", 1), ("b.py", "created", 1)]),
        ("Bash", {"command": "make"}, [("/p/a.o", "created"), ("/home/u/b", "deleted")],
         [("a.o", "created", 1), ("~/b", "deleted", 1)]),
        ("unknown", {}, [("a", "created"), ("a", "deleted"), ("./a", "modified"), ("", "created")],
         [("a", "deleted", 1)]),
        ("Edit", EDIT, [], [("a.py", "modified", 1)]),
    ],
)  # fmt: skip
def test_r8_each_edit_is_counted_once_as_the_host_saw_it(tool, params, files, expected, store):
    store.record("own", [BEGIN, call(tool, params), result(*files)])
    assert touches(store) == expected
    assert edits(store) == [(path,) for path, _, _ in expected]
    store.record("own", [BEGIN, call(tool, params), result(*files)])  # read twice
    assert touches(store) == expected
    assert problems_of(store) == []


@pytest.mark.parametrize("how", [{"failed": True}, {"is_denied": True}, {"exit_code": 1}])
@pytest.mark.parametrize("tool", ["Bash", "unknown"])
def test_a_call_that_failed_changed_nothing(tool, how, store):
    records = [BEGIN, call(tool, {"command": "make"}), result(("/p/a.py", "created"), **how)]
    store.record("own", records)
    assert touches(store) == edits(store) == []


def test_a_result_without_its_call_is_noted_too(store):
    store.record("own", [BEGIN, result(("/p/a.py", "created"))])
    assert touches(store) == [("a.py", "created", 1)]


def test_what_was_done_before_stays_where_a_later_call_is_corrected(store):
    first = [BEGIN, call("Write", EDIT), result(("/p/a.py", "created"))]
    later = [one._replace(key=f"{one.key}2", group=f"{one.key}2", call_id="y") for one in first[1:]]
    later[1] = later[1]._replace(files=(("/p/a.py", "deleted"),))
    store.record("own", [*first, *later])
    assert touches(store) == [("a.py", "created", 1), ("a.py", "deleted", 1)]


def test_an_edit_closes_the_errors_of_its_file(store):
    failed = [call("Edit", EDIT)._replace(key="f", call_id="f"),
              result(failed=True)._replace(key="fr", call_id="f")]  # fmt: skip
    store.record("own", [BEGIN, *failed])
    state = "SELECT state FROM event WHERE category = 'error'"
    assert rows(store, state) == [("open",)]
    store.record("own", [BEGIN, call("unknown", {}), result(("/p/a.py", "modified"))])
    assert rows(store, state) == [("closed",)]


def test_a_command_keeps_its_event_beside_the_files_that_its_host_tells(store):
    told = call("Bash", {"command": "make all"}, files=(("/p/a.o", "created"),))
    store.record("own", [BEGIN, told, result(("/p/a.o", "modified"))])
    found = rows(store, "SELECT category, text FROM event ORDER BY id")
    assert found == [("command", "make all"), ("file_edit", "a.o")]
    assert touches(store) == [("a.o", "modified", 1)]


def test_what_the_host_says_of_files_takes_the_place_of_the_arguments(store):
    store.record("own", [BEGIN, call("Edit", EDIT, files=(("/p/b.py", "created"),))])
    assert touches(store) == [("b.py", "created", 1)]


def test_a_host_that_tells_of_very_many_files_evicts_nothing_of_its_call(store):
    names = [f"/p/{n}.py" for n in range(5000)]
    told = call("Bash", {"command": "make all"}, files=tuple((one, "created") for one in names))
    store.record("own", [BEGIN, told, result(*((one, "modified") for one in names))])
    assert {count for _, _, count in touches(store)} == {1}
    assert {action for _, action, _ in touches(store)} == {"modified"}
    assert len(edits(store)) == EVENTS_OF_CALL_MAX
    assert rows(store, "SELECT text FROM event WHERE category = 'command'") == [("make all",)]


def test_secrets_in_paths_are_redacted(store):
    secret = "ghp_" + "R7kQ2mZx9LpV4tWc8YbN" + "3sDf6HgJ1aKe5uTo"  # made up
    store.record("own", [BEGIN, result((f"/p/{secret}.py", "created"), ("/p/b.py", "created"))])
    (one, other) = [path for path, _, _ in touches(store)]
    assert "b.py" in (one, other)  # the positive control
    assert secret not in one + other
    assert secret not in str(edits(store))


HOSTS = {"codex": "codex", "gemini": "gemini", "qwen": "qwen_code", "copilot": "copilot_cli"}


@pytest.mark.parametrize("name", HOSTS)
def test_files_of_a_hosts_results_are_noted_however_the_reading_is_parted(name, tmp_path):
    importer = find_importer(HOSTS[name])
    data = (HERE / f"{name}.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_bytes(data)
    with open_store(tmp_path / "whole.sqlite3") as store:
        store.import_transcript(importer, Transcript(str(tmp_path / "t.jsonl")))
        whole, found = dump(store), touches(store)
    assert found
    assert {count for _, _, count in found} == {1}
    path = tmp_path / "p.jsonl"
    path.touch()
    for line in data.splitlines(keepends=True):
        with path.open("ab") as file:
            file.write(line)
        with open_store(tmp_path / "parts.sqlite3") as store:
            store.import_transcript(importer, Transcript(str(path)))
    with open_store(tmp_path / "parts.sqlite3") as store:
        assert dump(store) == whole
