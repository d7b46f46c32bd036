"""What a push may have to distil, of the tracker or a buffer; turns that others hand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmode.config.file_names import CAPTURE_OFF, name_capture_mark
from ctxmode.operations import page_buffer
from ctxmode.operations.session_store import open_session_store
from memory.errors import BadInputError
from memory.pages.model import Commit
from memory.sessions.records import MessageRecord, SessionRecord
from tests.ctxmode.projects import answer, prompt

ID = "aaaa0000-0000-4000-8000-000000000001"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
NOW = 1_764_000_000.0


@pytest.fixture
def config(user):
    """A project with a session of two turns, whose texts are kept."""
    user.track("here", ID, prompt("Mend the parser."), answer("Done."))
    config = user.config("here")
    (config.project / ".contexo").mkdir()
    mark = Path(name_capture_mark(str(config.project), str(config.data_dir)))
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    file = config.config_home / "ctxmode" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[transcripts]\nmessages = true\n")
    path, home = config.sessions_file, str(config.home)
    with open_session_store(path, str(config.project), home, keep_messages=True) as store:
        steps = [
            MessageRecord("1", "1", "user", f"Why {SECRET}?", NOW, is_prompt=True),
            MessageRecord("2", "2", "tool_call", at=NOW, tool="Bash", params={}, call_id="c"),
            MessageRecord("3", "3", "assistant", "I look.", NOW),
            MessageRecord("4", "4", "assistant", "x" * 9000, NOW),
            MessageRecord("5", "5", "user", "And now?", NOW, is_prompt=True),
            MessageRecord("6", "6", "assistant", "Now, too.", NOW),
        ]
        begin = SessionRecord("s", working_directory=str(config.project))
        store.record("codex", [begin, *steps])
    return config


def commit(buffer):
    return Commit("0" * 40, "A", NOW, "Push", buffer=buffer)


@pytest.mark.parametrize(
    ("trailers", "turns"),
    [([], [1, 2]), (["codex:s:1"], [2]), (["s:2", "codex:other:2", "codex:s:x"], [1, 2])],
)
def test_c8_turns_since_the_last_distilled_one_are_taken_from_the_tracker(config, trailers, turns):
    found = page_buffer.find_buffer(config, "s", NOW + 60, map(commit, trailers))
    assert [one.turn for one in found.turns] == turns
    assert (found.session, found.path, found.upto) == ("codex:s", None, "codex:s:2")
    if turns[0] == 1:
        first = found.turns[0]
        assert (first.user, first.tools) == ("Why [REDACTED:github-token]?", ("Bash",))
        assert len(first.assistant.encode()) == 4096


def test_c6_where_all_is_distilled_or_unknown_a_buffer_is_found(config):
    buffers = page_buffer.open_buffers(config)
    buffers.append("mine", user="Of the buffer")
    at = buffers.read("mine").at
    distilled = [commit("codex:s:2")]
    for session, commits in (("s", distilled), ("unknown", ()), ("", ())):
        found = page_buffer.find_buffer(config, session, at + 60, commits)
        assert (found.session, found.turns[0].user) == ("mine", "Of the buffer")


def test_c2_c5_a_turn_that_is_handed_in_is_kept_and_listed(config):
    told = {"session": "x", "turn": 3, "user": "Why?", "assistant": "Since.", "tools": ["Bash"]}
    data = json.dumps(told).encode()
    assert page_buffer.capture_turn(config, data, {})
    assert not page_buffer.capture_turn(config, data, {})
    assert not page_buffer.capture_turn(config, b'{"session":"y"}', {CAPTURE_OFF: "1"})
    assert [(one.session, one.turns) for one in page_buffer.open_buffers(config).status()] == [
        ("x", 1)
    ]


@pytest.mark.parametrize("data", [
    b"", b"{", b"[]", b"{}", b'{"session":[]}', b'{"session":"s","turn":-1}', b"[" * 100_000,
    b'{"session":"s","turn":true}', b'{"session":"s","user":3}', b'{"session":"s","tools":"x"}',
    b'{"session":"s","user":"' + b"x" * (4 << 20) + b'"}', b"\xff\xfe",
])  # fmt: skip
def test_bad_records_are_refused_with_what_to_give(config, data):
    with pytest.raises(BadInputError):
        page_buffer.capture_turn(config, data, {})
    assert page_buffer.open_buffers(config).status() == []
