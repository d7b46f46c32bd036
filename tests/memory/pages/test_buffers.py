"""Buffers of turns: their shape (C2), bounds (C3), silence and safety (C5), archive (C8)."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from base.secrets import find_secrets
from memory.pages import buffer_files as module
from memory.pages.buffers import Buffers, name_buffer
from tests.base.secret_corpus import made

NOW = 1_764_000_000.0
HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".contexo"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def buffers(drafts: Path) -> Buffers:
    return Buffers(drafts, find_secrets=find_secrets, clock=lambda: NOW)


def pending(drafts: Path) -> Path:
    return drafts / "raw" / "sessions" / "_pending"


def lines(drafts: Path, name: str = "s") -> list[dict]:
    text = (pending(drafts) / f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def touch(drafts: Path, name: str, at: float) -> None:
    os.utime(pending(drafts) / f"{name}.jsonl", (at, at))


def test_c2_a_turn_is_a_line_with_contexos_names_and_nothing_empty(drafts, buffers):
    assert buffers.append("s", user="Why?", assistant="Since.", tools=["Bash", "Read", "Bash"])
    assert buffers.append("s", assistant="Done.")
    first, second = lines(drafts)
    assert list(first) == ["ts", "turn", "user", "assistant", "tools"]
    assert (first["turn"], first["tools"], first["ts"][-1]) == (1, ["Bash", "Read"], "Z")
    assert set(second) == {"ts", "turn", "assistant"}
    assert not buffers.append("s", turn=9)


@pytest.mark.parametrize("letter", ["a", "ä", "語", "🎉", "a b"])
def test_c3_texts_are_cut_at_a_character_with_the_mark_in_the_bound(drafts, buffers, letter):
    buffers.append("s", user=letter * 5000, assistant=letter * 9000)
    (turn,) = lines(drafts)
    for text, bound in ((turn["user"], 2048), (turn["assistant"], 4096)):
        assert bound - 12 <= len(text.encode()) <= bound
        assert (letter * 9000).startswith(text.removesuffix("…").rstrip())
        assert text.endswith("…")


def test_c3_text_of_exactly_the_bound_is_whole(drafts, buffers):
    buffers.append("s", user="u" * 2048, assistant="a" * 4096)
    assert [lines(drafts)[0][name] for name in ("user", "assistant")] == ["u" * 2048, "a" * 4096]


@pytest.mark.parametrize(
    ("count", "dropped"), [(499, 0), (500, 0), (501, 100), (600, 100), (601, 200), (1000, 500)]
)
def test_c3_the_turn_beyond_the_bound_drops_the_oldest_hundred(drafts, count, dropped):
    buffers = Buffers(drafts)
    buffers.append("s", turn=1, user="Question 1")
    with (pending(drafts) / "s.jsonl").open("ab") as file:  # as if one by one
        file.writelines(b'{"turn":%d,"user":"Question %d"}\n' % (n, n) for n in range(2, 499))
    for number in range(499, count + 1):
        assert buffers.append("s", turn=number, user=f"Question {number}")
    told = lines(drafts)
    mark = {"truncated": {"dropped": dropped, "reason": "buffer_cap"}}
    assert (told[0] == mark) is bool(dropped)
    assert [one["turn"] for one in told if "turn" in one] == list(range(dropped + 1, count + 1))
    read = buffers.read("s")
    assert read is not None
    assert (len(read.turns), read.dropped, read.upto) == (count - dropped, dropped, f"s:{count}")


def test_c3_a_secret_is_redacted_before_it_is_cut(drafts, buffers):
    token = "ghp_" + made(36)
    buffers.note_prompt("s", f"Use {token}")
    buffers.append("s", assistant="x" * 4080 + " " + token, tools=[f"t {token}"])
    files = [path.read_text() for path in pending(drafts).iterdir()]
    assert "[REDACTED" in "".join(files)
    assert not any(token[:12] in text for text in files)
    Buffers(drafts).append("control", assistant=f"Use {token}")
    assert token in lines(drafts, "control")[0]["assistant"]


def test_c4_a_noted_prompt_goes_with_the_turn_whose_end_follows(drafts, buffers):
    buffers.note_prompt("s", "First?")
    buffers.note_prompt("other", "Not this")
    buffers.append("s", assistant="Yes.")
    buffers.append("s", assistant="And more.")
    assert [one.get("user") for one in lines(drafts)] == ["First?", None]


def test_c5_a_number_seen_before_is_not_written_again(drafts, buffers):
    assert buffers.append("s", turn=3, user="Three")
    assert not buffers.append("s", turn=3, user="Three again")
    assert buffers.append("s", turn=2, user="Two, late")
    assert [one["turn"] for one in lines(drafts)] == [3, 2]


def test_c5_a_hook_that_is_registered_twice_tells_it_once(drafts, buffers):
    for _ in range(2):
        buffers.note_prompt("s", "Go on")
        for _ in range(2):
            buffers.append("s", assistant="Done.")
    assert [(one["turn"], one["user"]) for one in lines(drafts)] == [(1, "Go on"), (2, "Go on")]


def test_c5_eight_at_once_lose_none(drafts):
    def add(number: int) -> bool:
        return Buffers(drafts).append("s", turn=number, user=f"Question {number}")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(add, range(1, 81)))
    assert sorted(one["turn"] for one in lines(drafts)) == list(range(1, 81))


@pytest.mark.parametrize(
    "damage",
    [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"turn":true}', b'{"turn":-1}', b'{"turn":1e3}',
     b'{"truncated":{"dropped":[]}}', b'{"truncated":7}', b"\0", b'{"turn":' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_c5_a_damaged_line_costs_itself_alone(drafts, buffers, damage):
    buffers.append("s", turn=1, user="One")
    path = pending(drafts) / "s.jsonl"
    path.write_bytes(path.read_bytes() + damage + b"\n" + damage)  # the last one is torn
    buffers.append("s", turn=2, user="Two")
    read = buffers.read("s")
    assert read is not None
    assert [(one.turn, one.user) for one in read.turns] == [(1, "One"), (2, "Two")]


def test_c5_values_of_other_kinds_are_empty(drafts, buffers):
    buffers.append("s", user="One")
    with (pending(drafts) / "s.jsonl").open("ab") as file:
        file.write(b'{"turn":2,"user":["x"],"assistant":"\\ud800a","tools":{"a":1},"ts":4}\n')
    read = buffers.read("s")
    assert read is not None
    assert read.turns[1] == (2, "", "", "a", ())


@pytest.mark.parametrize("session", ["../x", "a/b", "", "é", "x" * 129, "a\0b", "\ud800", "a\n"])
def test_c5_an_id_that_cannot_be_a_name_is_hashed(drafts, buffers, session):
    buffers.append(session, user="One")
    (file,) = pending(drafts).glob("*.jsonl")
    assert file.name == f"{name_buffer(session)}.jsonl"
    assert file.name.startswith("sha-")
    assert buffers.read(session) is not None


@pytest.mark.parametrize("session", ["a", "..", ".lock", "x" * 128, "A-b_c.1"])
def test_c5_a_plain_id_is_the_name(drafts, buffers, session):
    buffers.append(session, user="One")
    assert (pending(drafts) / f"{session}.jsonl").is_file()


@pytest.mark.parametrize("part", [".contexo", "raw", "raw/sessions", "raw/sessions/_pending"])
def test_c5_nothing_is_written_through_a_linked_folder(tmp_path, part):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = project / ".contexo" if part == ".contexo" else project / ".contexo" / part
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    buffers = Buffers(project / ".contexo")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        buffers.append("s", user="One")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        buffers.note_prompt("s", "One")
    assert list(elsewhere.iterdir()) == []
    assert (buffers.read("s"), buffers.find("s", NOW), buffers.status()) == (None, None, [])


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_c5_a_link_or_fifo_in_place_of_a_buffer_is_refused(drafts, buffers, make):
    buffers.append("other", user="One")
    make(pending(drafts) / "s.jsonl")
    with pytest.raises(OSError, match=r"not a regular file|symbolic links"):
        buffers.append("s", user="One")
    assert buffers.read("s") is None
    assert [one.session for one in buffers.status()] == ["other"]


def test_c5_what_is_thirty_days_old_goes_with_a_new_buffer(drafts, buffers):
    for name, age in (("old", 31 * DAY), ("young", 29 * DAY)):
        buffers.append(name, user="One")
        touch(drafts, name, NOW - age)
    buffers.append("new", user="One")
    assert {path.stem for path in pending(drafts).glob("*.jsonl")} == {"young", "new"}
    touch(drafts, "young", NOW - 31 * DAY)
    touch(drafts, "new", NOW - 2 * DAY)
    buffers.append("newer", user="One")
    assert {path.stem for path in pending(drafts).glob("*.jsonl")} == {"new", "newer"}


def test_c5_none_goes_by_a_clock_that_leapt(drafts, buffers):
    for number, age in enumerate((31 * DAY, 32 * DAY, 0.5 * DAY)):
        buffers.append(f"s{number}", user="One")
        touch(drafts, f"s{number}", NOW - age)
    buffers.append("new", user="One")
    assert len(list(pending(drafts).glob("*.jsonl"))) == 4


def test_c5_status_lists_the_newest_first_with_turns_and_age(drafts, buffers):
    for name, count, age in (("a", 1, 50.0), ("b", 3, 20.0), ("c", 2, 90.0)):
        for number in range(count):
            buffers.append(name, turn=number + 1, user="Why?")
        touch(drafts, name, NOW - age)
    told = [(one.session, one.turns, one.age_s) for one in buffers.status()]
    assert told == [("b", 3, 20.0), ("a", 1, 50.0), ("c", 2, 90.0)]


def test_c6_the_sessions_own_buffer_comes_first_then_the_newest_fresh_one(drafts, buffers):
    for name, age in (("own", 5 * HOUR), ("newest", HOUR), ("old", 7 * HOUR)):
        buffers.append(name, user=name)
        touch(drafts, name, NOW - age)

    def found(session: str) -> str | None:
        buffer = buffers.find(session, NOW)
        return buffer and buffer.session

    assert [found(one) for one in ("own", "old", "unknown", "")] == ["own", *["newest"] * 3]
    (pending(drafts) / "newest.jsonl").write_bytes(b"damaged\n")
    touch(drafts, "newest", NOW)
    assert found("") == "own"
    touch(drafts, "own", NOW - 6 * HOUR)
    assert found("own") is None


def test_c5_a_buffer_that_cannot_be_read_hides_no_other(drafts, buffers, monkeypatch):
    for name, at in (("bad", NOW), ("good", NOW - HOUR)):
        buffers.append(name, user="One")
        touch(drafts, name, at)
    opened = module.open_plain

    def refuse(path: str, **options: bool) -> object:
        if path.endswith("/bad.jsonl"):
            raise PermissionError(path)
        return opened(path, **options)

    monkeypatch.setattr(module, "open_plain", refuse)
    assert [(one.session, one.turns) for one in buffers.status()] == [("bad", 0), ("good", 1)]
    found = buffers.find("", NOW)
    assert found is not None
    assert found.session == "good"


def test_c8_what_was_distilled_is_archived_and_later_turns_stay(drafts, buffers):
    buffers.append("s", user="One")
    buffers.append("s", user="Two")
    distilled = buffers.read("s")
    assert distilled is not None
    buffers.append("s", user="Three")
    for _ in range(2):  # again, as after a crash
        buffers.archive(distilled)
    assert [one["user"] for one in lines(drafts)] == ["Three"]
    archived = (pending(drafts) / "_archive" / "s.2.jsonl").read_text().splitlines()
    assert [json.loads(one)["user"] for one in archived] == ["One", "Two"]
    left = buffers.read("s")
    assert left is not None
    buffers.archive(left)
    assert buffers.read("s") is None
    buffers.append("s", user="Four")
    assert lines(drafts)[0]["turn"] == 4
    assert not buffers.append("s", turn=2, user="Two, again")


@pytest.mark.parametrize(
    ("upto", "left"),
    [("agent:s:1", 0), ("s:2", 0), ("s:1", 1), ("s:0", 2), ("other:9", 2), ("", 2), ("s:x", 2),
     ("../s:2", 2), ("s:" + "9" * 5000, 2)],
)  # fmt: skip
def test_c8_a_trailer_says_what_to_archive(drafts, buffers, upto, left):
    buffers.append("s", user="One")
    buffers.append("s", user="Two")
    buffers.archive_upto(upto)
    read = buffers.read("s")
    assert (len(read.turns) if read else 0) == left


def test_c5_git_ignores_buffers_and_a_link_is_left_alone(tmp_path, drafts, buffers):
    buffers.append("a", user="One")
    assert (pending(drafts) / ".gitignore").read_text() == "*\n"
    (pending(drafts) / ".gitignore").unlink()
    other = tmp_path / "other"
    other.write_text("mine")
    (pending(drafts) / ".gitignore").symlink_to(other)
    assert buffers.append("a", user="Two")
    assert other.read_text() == "mine"
