"""Sessions as resources: their messages in order, in parts, without secrets (R9, R11)."""

from __future__ import annotations

import json
import threading

import pytest

from ctxmode.config.files import PROJECT_FILE
from ctxmode.errors import ContextModeError
from ctxmode.hosts.claude_code.transcript import IMPORTER
from ctxmode.mcp import resources
from ctxmode.mcp.protocol import ProtocolError
from ctxmode.mcp.resources import (
    READ_BYTES_MAX,
    SESSIONS_MAX,
    content_of,
    list_sessions,
    list_templates,
)
from ctxmode.operations.library import open_library
from ctxmode.operations.sessions import find_ground, open_sessions
from tests.ctxmode.mcp.session_desk import Desk, Transcript

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def desk(config, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CONTEXT_MODE_TRANSCRIPTS_EVENTS"):
        monkeypatch.delenv(name, raising=False)
    with open_library(config) as library:
        yield Desk(library)


@pytest.fixture
def read(desk):
    """Reads a resource's text."""

    def read(rest, holder=""):
        content = content_of(desk.library, f"context-mode://session/{rest}", holder=holder)
        assert content["mimeType"] == "text/plain"
        return content["text"]

    return read


def tell(desk, *texts):
    """Keep a session of Claude Code's in which a person says each of these, and is answered."""
    transcript = Transcript(desk.config.home, desk.config.project, "5e1f0000")
    for text in texts:
        transcript.say(text)
        transcript.answer(f"Done: {text}")
    with open_sessions(desk.config, create=True) as store:
        store.import_all([IMPORTER], find_ground(desk.config))
    return transcript


def test_r9_messages_come_in_order_with_their_roles(desk, read):
    tell(desk, "Mend the parser.", "Write the manual.")
    assert read("claude_code:5e1f0000").splitlines() == [
        "[1.0] user: Mend the parser.",
        "[2.0] assistant: Done: Mend the parser.",
        "[3.0] user: Write the manual.",
        "[4.0] assistant: Done: Write the manual.",
    ]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [1, 2, 3, 4]),
        ("?start=2", [2, 3, 4]),
        ("?end=2", [1, 2]),
        ("?start=2&end=3", [2, 3]),
        ("?start=3&end=3", [3]),
        ("?start=0&end=900", [1, 2, 3, 4]),
        ("?start=9", []),
    ],
)
def test_a_range_is_in_sequence_numbers_and_both_ends_are_in_it(desk, read, query, numbers):
    tell(desk, "Mend the parser.", "Write the manual.")
    lines = read(f"5e1f{query}").splitlines()
    assert [int(line[1 : line.index(".")]) for line in lines] == numbers


def test_a_long_one_is_read_to_its_end_by_its_last_lines(desk, read):
    tell(desk, *(f"Part {number}. " + "ü" * 30_000 for number in range(12)))
    text, seen = read("5e1f0000?end=22"), []
    for _ in range(20):
        assert len(text.encode()) < READ_BYTES_MAX + 200
        body, _, more = text.rpartition("\n[")
        seen += [line for line in (body if " more: " in more else text).splitlines() if line]
        if " more: " not in more:
            break
        uri = more.partition(" more: ")[2].removesuffix("]")
        text = content_of(desk.library, uri)["text"]
    assert [int(line[1 : line.index(".")]) for line in seen] == list(range(1, 23))


def test_a_compaction_is_shown_with_its_summary(desk, read):
    desk.keep("one", compacted="The parser reads two of three forms.")
    assert "system: [Context compacted]\nThe parser reads two of three forms." in read("one")


def test_texts_that_are_gone_are_marked(desk, read):
    tell(desk, "Mend the parser.").path.unlink()
    assert "(16 bytes, not stored)" in read("5e1f0000")


def test_no_secret_leaves_by_a_message_or_a_name(desk, read):
    tell(desk, f"Use {SECRET} for it.\x1b[2J\u202e")
    assert SECRET in (tell(desk).path.read_text())
    text = read("5e1f0000")
    assert "[REDACTED:" in text
    shown = text + json.dumps(list_sessions(desk.config, ""), ensure_ascii=False)
    assert SECRET not in shown
    assert not set(shown) & set("\x1b\u202e")


@pytest.mark.parametrize(
    "rest",
    ["nothing", "5e1f", "", "one?start=x", "one?start=-1", "one?start=3&end=2", "one?from=1",
     "%00", "%ff", "one?start=" + "9" * 5000, "one/two"],
)  # fmt: skip
def test_what_is_no_session_or_no_range_is_refused(desk, rest):
    for name in ("one", "5e1f-one", "5e1f-two"):
        desk.keep(name)
    with pytest.raises(ContextModeError):
        content_of(desk.library, f"context-mode://session/{rest}")


def test_an_address_that_is_none_is_refused(desk):
    with pytest.raises(ContextModeError, match="invalid resource"):
        content_of(desk.library, "context-mode://[session/one")


def test_where_nothing_is_kept_it_says_so(desk):
    with pytest.raises(ContextModeError, match="no sessions are stored yet"):
        content_of(desk.library, "context-mode://session/one")
    assert list_sessions(desk.config, "") == []


def test_where_sessions_are_off_none_is_listed_or_read(desk, read):
    desk.keep("one")
    assert len(list_sessions(desk.config, "")) == 1
    file = desk.config.project / PROJECT_FILE
    file.parent.mkdir()
    file.write_text("[transcripts]\nevents = false\n")
    assert list_sessions(desk.config, "") == []
    with pytest.raises(ContextModeError, match="turns recording off"):
        read("one")


def test_the_latest_are_listed_and_each_can_be_read(desk):
    for number in range(SESSIONS_MAX + 3):
        desk.keep(f"s{number}", ago_s=100 - number, ask=f"Mend part {number}.")
    listed = list_sessions(desk.config, "")
    assert len(listed) == SESSIONS_MAX
    assert listed[0]["name"] == f"Mend part {SESSIONS_MAX + 2}."
    for one in listed:
        assert content_of(desk.library, one["uri"])["uri"] == one["uri"]


def test_the_holder_of_a_token_is_shown_their_own_and_the_projects(desk, read):
    shared = desk.keep("shared")
    own = desk.keep("own", agent="zed", owner="token:ada")
    other = desk.keep("other", agent="zed", owner="token:bob")
    listed = [one["uri"].rpartition("/")[2] for one in list_sessions(desk.config, "ada")]
    assert set(listed) == {shared, own}
    assert read("own", holder="ada")
    with pytest.raises(ContextModeError):
        read(other, holder="ada")
    assert read(other)


def test_sessions_have_a_template():
    (template,) = (
        one["uriTemplate"]
        for one in list_templates()["resourceTemplates"]
        if one["name"] == "session"
    )
    assert template == "context-mode://session/{id}{?start,end}"


async def test_a_reading_that_takes_too_long_is_given_up_in_words(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(resources, "READ_S_MAX", 0.01)
    try:
        with pytest.raises(ProtocolError, match="took longer than"):
            await resources.read_in_time(released.wait)
    finally:
        released.set()
    monkeypatch.setattr(resources, "READ_S_MAX", 60.0)
    assert await resources.read_in_time(lambda: 5) == 5
