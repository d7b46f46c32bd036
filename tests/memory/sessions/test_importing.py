"""What is in a transcript counts once and whole, however it is read, cut, replaced or broken."""

from __future__ import annotations

import json
import os
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxmode.hosts.claude_code.transcript import IMPORTER
from memory.errors import MemoryRoomError
from memory.sessions import full_text, importing, line_reader, maintenance, sources
from memory.sessions.importers.importer import Transcript
from memory.sessions.reading import read_sources
from memory.sessions.sources import DRIFT, needs_reading
from tests.memory.sessions.claude_records import (
    SESSION,
    Maker,
    bring_in,
    dump,
    events_of,
    open_store,
    problems_of,
    rows,
    write,
)


def long_session(turns=12):
    """A session with all that there is: calls, failures, tasks, a sidechain, compactions."""
    make, records = Maker(), []
    for turn in range(turns):
        records.append(make.prompt(f"Always keep file {turn} small."))
        usage = {"input_tokens": 10, "output_tokens": turn + 1, "cache_read_input_tokens": 5}
        records.append(make.answer("I look.", response=f"m{turn}", requestId="r", usage=usage))
        read = make.call("Read", f"r{turn}", {"file_path": f"/p/{turn}.py"}, response=f"m{turn}")
        records += [read, make.result(f"r{turn}")]
        records += make.run(turn, f"make {turn % 4}", "error: no", failed=turn % 3 == 0)
        write_call = make.call(
            "Write", f"w{turn}", {"file_path": f"/p/{turn % 5}.txt", "content": ""}
        )
        records += [write_call, make.result(f"w{turn}", failed=turn % 4 == 0)]
        task = {"task": {"id": str(turn), "subject": f"Task {turn}"}}
        records.append(make.result(f"t{turn}", toolUseResult=task))
        change = {"taskId": str(turn - 1), "statusChange": {"to": "completed"}}
        records.append(make.result(f"c{turn}", toolUseResult=change))
        side = {"isSidechain": True, "agentId": "a1"}
        records += [make.prompt(f"Look {turn}", **side), make.answer(f"Seen {turn}", **side)]
        records.append(make.record("ai-title", aiTitle=f"Title {turn}"))
        if turn % 5 == 4:
            records += make.compaction(f"Summary {turn}")
    return records


def read_in_one_go(tmp_path, path, name="whole", **options):
    with open_store(tmp_path / f"{name}.sqlite3", **options) as store:
        bring_in(store, path)
        assert problems_of(store) == []
        return dump(store)


@pytest.mark.parametrize("keep_messages", [False, True])
@pytest.mark.parametrize("batch", [1, 700, 5000])
def test_r9_killed_between_any_two_transactions_the_rows_are_the_same(
    batch, keep_messages, tmp_path, monkeypatch
):
    path = write(tmp_path / "t.jsonl", long_session())
    whole = read_in_one_go(tmp_path, path, keep_messages=keep_messages)
    monkeypatch.setattr(importing, "BATCH_BYTES", batch)
    for _ in range(500):
        with open_store(tmp_path / "parts.sqlite3", keep_messages=keep_messages) as store:
            done = bring_in(store, path, deadline=0.0)  # one transaction; then the process is gone
            assert problems_of(store) == []
            if not done.behind:
                break
            assert needs_reading(store.database, Transcript(str(path), SESSION))
    with open_store(tmp_path / "parts.sqlite3") as store:
        parts = dump(store)
    assert done.behind == 0
    assert {name: parts[name] for name in whole} == whole


def test_a_transaction_that_is_killed_leaves_nothing(tmp_path, monkeypatch):
    path = write(tmp_path / "t.jsonl", long_session())
    whole = read_in_one_go(tmp_path, path)
    monkeypatch.setattr(importing, "BATCH_BYTES", 3000)
    saved = importing._Reading._save
    calls = []

    def fails_at_times(self, *given):
        calls.append(given)
        if len(calls) % 2:
            raise KeyboardInterrupt
        return saved(self, *given)

    monkeypatch.setattr(importing._Reading, "_save", fails_at_times)
    with open_store(tmp_path / "parts.sqlite3") as store:
        for _ in range(500):
            try:
                if not bring_in(store, path, deadline=0.0).behind:
                    break
            except KeyboardInterrupt:
                continue
        assert dump(store) == whole


def test_many_events_are_the_same_however_they_are_read(tmp_path, monkeypatch):
    """R3: eviction does not depend on where a transaction ends."""
    make, chance, records = Maker(), random.Random(3), []
    for n in range(900):
        records.append(make.prompt(f"Never use number {n}."))
        records += make.run(
            n, f"make {chance.randrange(40)}", "error", failed=chance.random() < 0.5
        )
    path = write(tmp_path / "t.jsonl", records)
    whole = read_in_one_go(tmp_path, path)
    monkeypatch.setattr(importing, "BATCH_BYTES", 20_000)
    parts = read_in_one_go(tmp_path, path, "parts")
    assert len(whole["event"]) == 1000
    assert parts["event"] == whole["event"]


def test_the_same_bytes_again_change_nothing(tmp_path):
    path = write(tmp_path / "t.jsonl", long_session())
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        before = dump(store)
        assert not needs_reading(store.database, Transcript(str(path), SESSION))
        assert bring_in(store, path).messages == 0
        with store.database.writing() as db:
            db.execute("UPDATE source SET offset = 0, inode = 0")  # as after a rotation
        assert bring_in(store, path).messages == 0
        assert dump(store) == before


def rotate(path, records):
    path.rename(path.with_suffix(".old"))
    write(path, records)


def rewrite(path, records):
    write(path, records)


def truncate(path, records):
    os.truncate(path, 0)
    write(path, records)


def same_size(path, records):
    """Another file of as many bytes, in the same inode."""
    size = path.stat().st_size
    write(path, records)
    with path.open("a") as file:
        file.write(" " * max(size - path.stat().st_size - 1, 0) + "\n")


@pytest.mark.parametrize("change", [rotate, rewrite, truncate, same_size])
def test_another_file_under_the_name_is_read_from_its_beginning(change, tmp_path):
    make = Maker()
    first = [make.prompt("Never use the first file."), make.answer("filler " * 300)]
    second = [make.prompt("Never use the second file.")]
    path = write(tmp_path / "t.jsonl", first)
    with open_store(tmp_path / "s.sqlite3") as store:
        assert bring_in(store, path).messages == 2
        change(path, second)
        assert needs_reading(store.database, Transcript(str(path), SESSION))
        assert bring_in(store, path).messages == 1
        texts = [event.text for event in events_of(store) if event.category == "rejected"]
        assert texts == ["Never use the first file.", "Never use the second file."]
        assert problems_of(store) == []


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_whole_last_line_needs_no_end(ending, tmp_path):
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt("Do it")])
    with path.open("ab") as file:
        file.write(json.dumps(make.prompt("Never do it again")).encode())
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path)
        assert (done.messages, done.bad_lines, done.behind) == (2, 0, 0)
        assert not needs_reading(store.database, Transcript(str(path), SESSION))
        with path.open("ab") as file:
            file.write(
                ending + json.dumps(make.prompt("Go on")).encode() + b"\n" if ending else b""
            )
        assert bring_in(store, path).messages == bool(ending)
        assert problems_of(store) == []


@pytest.mark.parametrize("cut", [1, 40, -2, -3])
def test_a_torn_last_line_waits_until_it_is_complete(cut, tmp_path):
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt("Do it")])
    line = json.dumps(make.prompt("Never do it again 日本"), ensure_ascii=False).encode() + b"\n"
    with path.open("ab") as file:
        file.write(line[:cut])
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path)
        assert (done.messages, done.bad_lines) == (1, 0)
        with path.open("ab") as file:
            file.write(line[cut:])
        assert needs_reading(store.database, Transcript(str(path), SESSION))
        done = bring_in(store, path)
        assert (done.messages, done.bad_lines) == (1, 0)
        assert problems_of(store) == []


GOOD = json.dumps(Maker(prefix="g").prompt("Do it")).encode()
BAD_LINES = {
    "no JSON": b'{"type": ',
    "words": b"hello",
    "NULs": b"\0" * 2000,
    "NULs in it": GOOD[:20] + b"\0" + GOOD[20:],
    "not UTF-8": b'{"type": "user", "a": "\xff\xfe"}',
    "nested": b"[" * 200_000 + b"]" * 200_000,
    "nested objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a huge number": b'{"type": "user", "n": ' + b"9" * 5000 + b"}",
    "too long": b'"' + b"x" * 9000 + b'"',
    "no message": json.dumps(Maker(prefix="n").record("user")).encode(),
    "a number as message": json.dumps(Maker(prefix="n").record("user", message=5)).encode(),
}
PASSED_LINES = {
    "empty": b"",
    "blank": b"  \t ",
    "a list": b"[1]",
    "a number": b"17",
    "null": b"null",
    "a text": b'"a"',
    "an unknown type": b'{"type": "new-thing"}',
    "a type that is a list": b'{"type": ["user"]}',
}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("what", [*BAD_LINES, *PASSED_LINES])
def test_a_line_that_is_none_is_counted_and_reading_goes_on(what, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(line_reader, "LINE_BYTES_MAX", 8000)
    real = line_reader.read_lines
    is_long = what == "too long"
    if is_long:
        monkeypatch.setattr(
            importing, "read_lines", lambda f, o, e, **more: real(f, o, e, 8000, **more)
        )
    path = tmp_path / "t.jsonl"
    line = BAD_LINES.get(what, PASSED_LINES.get(what))
    after = json.dumps(Maker(prefix="z").prompt("Thank you")).encode()
    path.write_bytes(b"".join(one + ending for one in (GOOD, line, after, line)))
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path)
        assert done.bad_lines == (2 if what in BAD_LINES else 0)
        assert [event.text for event in events_of(store)] == ["Do it", "Thank you"]
        with store.database.reading() as db:
            (source,) = read_sources(db)
        assert source.bad_lines == done.bad_lines
        assert source.read == path.stat().st_size
        excerpts = rows(store, "SELECT excerpt, bytes FROM import_error")
        assert all(len(text) <= sources.EXCERPT_BYTES for text, _ in excerpts)


def test_a_mark_of_the_bytes_order_is_none_of_the_first_line(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD + b"\n")
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path)
        assert (done.messages, done.bad_lines) == (1, 0)


def test_a_line_over_64_mib_is_skipped_whole(tmp_path):
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(GOOD + b"\n")
        file.truncate(
            len(GOOD) + 1 + line_reader.LINE_BYTES_MAX + (3 << 20)
        )  # a hole: no room is taken
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(Maker(prefix="z").prompt("Thank you")).encode() + b"\n")
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path)
        assert (done.messages, done.bad_lines, done.behind) == (2, 1, 0)
        assert rows(store, "SELECT reason FROM import_error") == [("the line is too long",)]


def test_lines_are_the_same_wherever_blocks_end(tmp_path, monkeypatch):
    path = tmp_path / "t"
    data = b"\n".join(b"x" * n for n in range(60)) + b"\ntorn"
    path.write_bytes(data)
    for block in (1, 2, 7, 64, 4096):
        monkeypatch.setattr(line_reader, "BLOCK_BYTES", block)
        with path.open("rb") as file:
            lines = list(line_reader.read_lines(file, 0, len(data), 40))
            assert [data for _, _, data in lines] == [
                b"x" * n if n <= 40 else None for n in range(60)
            ]
            assert [start for start, _, _ in lines][1:] == [end for _, end, _ in lines][:-1]
            starts = {start for start, _, _ in lines} | {lines[-1][1]}
            for at in range(0, len(data) - 5, 11):
                assert line_reader.find_line_start(file, at) == min(s for s in starts if s >= at)


def test_links_and_other_files_are_not_read_and_do_not_hang(tmp_path):
    real = write(tmp_path / "real.jsonl", [Maker().prompt("Do it")])
    (tmp_path / "link.jsonl").symlink_to(real)
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with open_store(tmp_path / "s.sqlite3") as store:
        for name in ("link", "fifo", "folder", "missing"):
            done = bring_in(store, tmp_path / f"{name}.jsonl")
            assert done.problem
            assert done.messages == 0
        assert rows(store, "SELECT COUNT(*) FROM session") == [(0,)]


def test_a_transcript_that_another_process_reads_is_left_to_it(tmp_path):
    path = write(tmp_path / "t.jsonl", [Maker().prompt("Do it")])
    with open_store(tmp_path / "s.sqlite3") as store, line_reader.open_transcript(str(path)):
        assert bring_in(store, path).is_held


def test_a_file_of_a_mebibyte_without_a_message_is_told(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"type": "new-thing", "text": "' + "x" * 1000 + '"}\n')
    with open_store(tmp_path / "s.sqlite3") as store:
        assert not bring_in(store, path).problem
        with path.open("a") as file:
            file.write(path.read_text() * 1100)
        assert bring_in(store, path).problem == DRIFT
        with store.database.reading() as db:
            assert read_sources(db)[0].problem == DRIFT
        write(path, [Maker().prompt("Do it")], "a")
        assert not bring_in(store, path).problem  # one message, and it is none


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_mebibyte_of_what_is_known_is_no_drift(is_forgotten, tmp_path):
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt("word " * 1000) for _ in range(300)])
    copy = tmp_path / "u.jsonl"
    copy.write_bytes(path.read_bytes())
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        if is_forgotten:
            with store.database.writing() as db:
                maintenance.forget(db, [f"claude_code:{SESSION}"])
        done = bring_in(store, copy)
        assert (done.messages, done.problem) == (0, "")


def test_a_session_of_another_project_is_left_alone(tmp_path):
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt("Secretly", cwd="/other")])
    with open_store(tmp_path / "s.sqlite3", belongs=lambda folder: folder == "/p") as store:
        assert bring_in(store, path).elsewhere
        assert rows(store, "SELECT COUNT(*) FROM message") == [(0,)]
        write(path, [make.prompt("Again", cwd="/other")], "a")
        assert not needs_reading(store.database, Transcript(str(path), SESSION))


@pytest.mark.parametrize("batch", [1, 8 << 20])
def test_a_session_stays_the_projects_where_its_agent_goes_elsewhere(batch, tmp_path, monkeypatch):
    """The defect of judging every folder of a session: one `cd` ended its recording."""
    monkeypatch.setattr(importing, "BATCH_BYTES", batch)
    make = Maker()
    side = {"isSidechain": True, "agentId": "a", "cwd": "/elsewhere"}
    records = [
        make.prompt("Begin"),
        make.prompt("Go on", cwd="/elsewhere"),
        make.answer("Looking", **side),
        make.prompt("End", cwd="/p"),
    ]
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3", belongs=lambda folder: folder == "/p") as store:
        for _ in records:
            done = bring_in(store, path, deadline=0.0)
            assert not done.elsewhere
        assert [event.text for event in events_of(store)] == ["Begin", "Go on", "End"]
        assert rows(store, "SELECT working_directory FROM session WHERE parent_id = ''") == [
            ("/p",)
        ]


def test_a_subagent_of_another_projects_session_is_left_alone(tmp_path):
    """Its folder's name may be the same, since Claude Code writes `-` for `/`."""
    side = {"isSidechain": True, "agentId": "a", "cwd": "/other"}
    path = write(tmp_path / "agent-a.jsonl", [Maker().prompt("Secretly", **side)])
    with open_store(tmp_path / "s.sqlite3", belongs=lambda folder: folder == "/p") as store:
        assert bring_in(store, path, "").elsewhere
        assert rows(store, "SELECT COUNT(*) FROM session") == [(0,)]


@pytest.mark.parametrize("folder", ["\0", "a\0b", "relative", "\ud800", "/" + "x" * 100_000, "~"])
def test_a_folder_that_cannot_be_one_is_another_projects(folder, tmp_path):
    from ctxmode.operations.session_store import belongs_to

    path = write(tmp_path / "t.jsonl", [Maker().prompt("Do it", cwd=folder)])
    with open_store(tmp_path / "s.sqlite3", belongs=belongs_to(str(tmp_path), "/home/u")) as store:
        assert bring_in(store, path).elsewhere


@pytest.mark.parametrize("times", [[None] * 3, ["no time"] * 3, [{}, [], {}], ["0001-01-01"] * 3])
def test_a_transcript_without_times_has_those_of_its_file(times, tmp_path):
    make = Maker()
    path = write(tmp_path / "t.jsonl", [make.prompt(f"a {t}", timestamp=t) for t in times[:2]])
    os.utime(path, (1000, 1000))
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, path)
        if times[0] != "0001-01-01":
            assert rows(store, "SELECT started_at, last_at FROM session") == [(1000, 1000)]
            write(path, [make.prompt("b", timestamp=times[2])], "a")
            os.utime(path, (2000, 2000))
            bring_in(store, path)
            assert rows(store, "SELECT started_at, last_at FROM session") == [(1000, 2000)]


HOSTILE_IDS = ["a\nb", "x" * (1 << 20), "../../etc", "é", "\0", "' OR 1", "\ud800", "a" * 129, "  "]


@pytest.mark.parametrize("session", HOSTILE_IDS, ids=range(len(HOSTILE_IDS)))
def test_a_hostile_id_is_kept_as_its_digest(session, tmp_path):
    make = Maker(session)
    path = write(tmp_path / "t.jsonl", [make.prompt("Do it"), make.answer("a")])
    with open_store(tmp_path / "s.sqlite3") as store:
        assert bring_in(store, path, "").messages == 2
        write(path, [{**make.prompt("More"), "sessionId": None}], "a")
        assert bring_in(store, path, "").messages == 1
        ((found, messages),) = rows(store, "SELECT id, messages FROM session")
        assert messages == 3
        assert len(found) < 150
        assert found.isascii()
        assert problems_of(store) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(
        [SESSION, "user", "text", "tool_use", "tool_result", "\0", "\ud800", 1 << 70]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIXTURES = long_session(5)


def paths_of(value, before=()):
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from paths_of(item, (*before, key))
        else:
            yield (*before, key)


def replaced(record, path, value):
    copy = json.loads(json.dumps(record))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if path:
        at[path[-1]] = value
        return copy
    return value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_a_field_reading_goes_on(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutated")
    records = []
    for _ in range(data.draw(st.integers(1, 6))):
        record = data.draw(st.sampled_from(FIXTURES))
        for _ in range(data.draw(st.integers(1, 3))):
            if isinstance(record, dict):
                path = data.draw(st.sampled_from(sorted(paths_of(record), key=repr)))
                record = replaced(record, path, data.draw(VALUES))
        records.append(record)
    end = Maker("end", "end").prompt("Thank you")
    path = write(folder / "t.jsonl", [*records, end])
    with open_store(folder / "s.sqlite3", keep_messages=True) as store:
        done = bring_in(store, path)
        assert done.behind == 0
        assert done.bad_lines <= len(records)
        assert "Thank you" in [event.text for event in events_of(store, "end")]
        assert problems_of(store) == []
        for (session,) in rows(store, "SELECT id FROM session"):
            assert len(store.build_snapshot(session).encode()) <= 2048
    for file in folder.iterdir():
        file.unlink()


@pytest.mark.parametrize(
    "field", sorted({p for r in FIXTURES for p in paths_of(r)}, key=repr), ids=repr
)
def test_wrong_types_in_each_field_cost_at_most_their_line(field, tmp_path):
    odd = [None, True, -1, 1.5, float("nan"), "", [], {}, [[]], [{}], [None], {"a": 1}, 1 << 70]
    make, records = Maker(prefix="w"), []
    for number, value in enumerate(odd):
        for record in FIXTURES[:20]:
            try:
                changed = replaced(record, field, value)
            except (KeyError, IndexError, TypeError):
                continue
            if isinstance(changed, dict) and field != ("uuid",):
                changed["uuid"] = f"{number}-{record['uuid']}"
            records.append(changed)
    path = write(tmp_path / "t.jsonl", [*records, make.prompt("Thank you")])
    with open_store(tmp_path / "s.sqlite3", keep_messages=True) as store:
        done = bring_in(store, path)
        assert done.behind == 0
        assert "Thank you" in [event.text for event in events_of(store)]
        assert problems_of(store) == []


def test_records_without_an_id_are_all_kept(tmp_path):
    """The defect of an empty key: the second was taken for a copy of the first."""
    make = Maker()
    records = [{**make.prompt(f"Say {n}"), "uuid": None} for n in range(5)]
    records += [{**make.answer(f"Said {n}"), "uuid": 7} for n in range(5)]
    path = write(tmp_path / "t.jsonl", records)
    with open_store(tmp_path / "s.sqlite3") as store:
        assert bring_in(store, path).messages == 10
        assert rows(store, "SELECT relation FROM session") == [("",)]


def test_the_first_record_that_is_broken_still_says_whose_the_rest_is(tmp_path):
    side = {"isSidechain": True, "agentId": "a"}
    make = Maker()
    records = [make.record("user", message=5, **side), make.answer("Seen", **side)]
    path = write(tmp_path / "agent-a.jsonl", records)
    with open_store(tmp_path / "s.sqlite3") as store:
        done = bring_in(store, path, "")
        assert (done.messages, done.bad_lines) == (1, 1)
        assert rows(store, "SELECT host_id FROM session") == [(f"{SESSION}/a",)]


def test_import_all_comes_back_to_what_a_deadline_left(tmp_path, monkeypatch):
    from memory.sessions.importers.importer import Ground

    folder = tmp_path / ".claude/projects/-p"
    folder.mkdir(parents=True)
    path = write(folder / f"{SESSION}.jsonl", long_session())
    monkeypatch.setattr(importing, "BATCH_BYTES", 2000)
    ground = Ground(str(tmp_path), {}, "/p")
    with open_store(tmp_path / "s.sqlite3") as store:
        ends = time.monotonic() + 60
        bring_in(store, path, deadline=0.0)
        assert store.count_unread(Transcript(str(path), SESSION)) > 0
        while store.count_unread(Transcript(str(path), SESSION)) and time.monotonic() < ends:
            assert store.import_all([IMPORTER], ground)
        assert store.import_all([IMPORTER], ground) == []


def test_a_store_that_cannot_be_written_is_told_in_words(tmp_path):
    path = write(tmp_path / "t.jsonl", [Maker().prompt("Do it")])
    with (
        open_store(tmp_path / "s.sqlite3") as holder,
        open_store(tmp_path / "s.sqlite3", wait_s=0.01) as store,
        holder.database.writing(),
        pytest.raises(MemoryRoomError),
    ):
        bring_in(store, path)


@pytest.mark.parametrize("tail_bytes", [1 << 30, 30_000, 3000])
def test_the_events_of_a_tail_are_the_last_ones(tail_bytes, tmp_path):
    path = write(tmp_path / "t.jsonl", long_session())
    found = Transcript(str(path), SESSION)
    with open_store(tmp_path / "s.sqlite3") as store:
        events = full_text.read_tail_events(
            store._importing, IMPORTER, found, tail_bytes, f"claude_code:{SESSION}"
        )
        bring_in(store, path)
        whole = events_of(store)
    texts = [event.text for event in whole if event.category == "constraint"]
    seen = [event.text for event in events if event.category == "constraint"]
    assert seen == texts if tail_bytes > path.stat().st_size else seen[-1] == texts[-1]


@pytest.mark.parametrize("parted", [False, True])
def test_a_prompt_that_was_taken_back_is_gone_with_all_after_it(parted, tmp_path):
    make = Maker()
    records = [
        make.prompt("Start"),
        make.answer("Yes"),
        (wrong := make.prompt("Always use tabs.", parentUuid="u2")),
        *make.run(1, "make tabs"),
        make.prompt("More tabs", parentUuid="u5"),
    ]
    after = [make.prompt("Always use spaces.", parentUuid="u2"), *make.run(2, "make spaces")]
    with open_store(tmp_path / "s.sqlite3") as store:
        path = write(tmp_path / "t.jsonl", records if parted else records + after)
        bring_in(store, path)
        if parted:
            assert "Always use tabs." in [event.text for event in events_of(store)]
            write(path, after, "a")
            bring_in(store, path)
        texts = [event.text for event in events_of(store)]
        assert "Always use spaces." in texts
        assert "make spaces" in texts
        assert "Always use tabs." not in texts
        assert "make tabs" not in texts
        assert wrong["uuid"] == "u3"
        assert rows(store, "SELECT messages, tool_calls, turn FROM session") == [(4, 1, 2)]
        assert problems_of(store) == []


def test_prompts_that_follow_each_other_all_stay(tmp_path):
    make = Maker()
    records = [make.prompt("One", parentUuid=None), make.prompt("Two", parentUuid=None)]
    records += [make.prompt("Three", parentUuid="u2"), make.prompt("Four", parentUuid="u3")]
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, write(tmp_path / "t.jsonl", records))
        prompts = [event.text for event in events_of(store) if event.category == "prompt"]
        assert prompts == ["One", "Two", "Three", "Four"]


@pytest.mark.parametrize(("own", "title"), [({}, "Say hello"), ({"sessionId": SESSION}, "Theirs")])
def test_a_title_counts_where_it_says_whose_it_is(own, title, tmp_path):
    records = [Maker().prompt("Say hello"), {"type": "summary", "summary": "Theirs", **own}]
    with open_store(tmp_path / "s.sqlite3") as store:
        bring_in(store, write(tmp_path / "t.jsonl", records))
        assert rows(store, "SELECT title FROM session") == [(title,)]
