"""What a person saves of Gemini: chats, older sessions, Takeout's activity (R13)."""

from __future__ import annotations

import json
import time

import pytest

from ctxmode.hosts.gemini_cli.export import (
    HTML_CHARS_MAX,
    IMPORTER,
    parse_activity,
    parse_chat,
    strip_html,
)
from memory.sessions.importers.whole_json import RefusedError
from memory.sessions.records import MessageRecord, SessionRecord

CHAT = [
    {"role": "user", "parts": [{"text": "<session_context>\nToday is Monday.\n"}]},
    {"role": "model", "parts": [{"text": "Got it."}]},
    {"role": "user", "parts": [{"text": "List the files."}]},
    {
        "role": "model",
        "parts": [
            {"text": "I should look.", "thought": True},
            {"functionCall": {"id": "f1", "name": "list_directory", "args": {"path": "/p"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "f1",
                    "name": "list_directory",
                    "response": {"output": "a.py"},
                }
            }
        ],
    },
    {"role": "model", "parts": [{"text": "There is a.py."}]},
]


def read(path):
    state: dict = {}
    return list(IMPORTER.read_file(str(path), state)), state.get("bad", 0)


@pytest.mark.parametrize("wrap", [lambda chat: chat, lambda chat: {"history": chat}])
def test_r13_a_saved_chat_is_read(tmp_path, wrap):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(wrap(CHAT), indent=1))
    session, *found = read(path)[0]
    assert isinstance(session, SessionRecord)
    assert IMPORTER.agent == "gemini"
    assert [(one.role, one.text) for one in found] == [
        ("system", "<session_context>\nToday is Monday.\n"),
        ("assistant", "Got it."),
        ("user", "List the files."),
        ("assistant", ""),
        ("tool_call", ""),
        ("tool_result", "a.py"),
        ("assistant", "There is a.py."),
    ]
    assert [one.is_prompt for one in found].index(True) == 2
    assert found[4].group == found[3].group  # steps of one response
    assert (found[4].call_id, found[5].call_id) == ("f1", "f1")


def test_a_later_save_of_the_same_chat_is_the_same_session():
    first, later = list(parse_chat(CHAT[:3])), list(parse_chat(CHAT))
    assert first[0] == later[0]
    assert later[: len(first)] == first
    assert next(parse_chat(CHAT[2:])) != first[0]


def test_a_session_of_an_older_release_is_read(tmp_path):
    value = {
        "sessionId": "s1",
        "projectHash": "0",
        "startTime": "2025-12-01T10:00:00Z",
        "messages": [
            {"id": "1", "type": "user", "content": "Hello"},
            {"id": "2", "type": "gemini", "content": "Hi", "tokens": {"input": 3, "output": 2}},
        ],
    }
    path = tmp_path / "session.json"
    path.write_text(json.dumps(value))
    records = read(path)[0]
    assert records[0].id == "s1"
    assert [one.text for one in records if isinstance(one, MessageRecord)] == ["Hello", "Hi"]


def activity(title, at="2026-05-01T08:00:00Z", answer="<p>Yes.</p>", header="Gemini Apps", **more):
    items = {"safeHtmlItem": [{"html": answer}]} if answer else {}
    return {"header": header, "title": title, "time": at, "products": [header], **items, **more}


TITLES = [
    (activity("Prompted why?"), ("why?", "Yes.")),
    (activity("Asked Gemini: why?"), ("why?", "Yes.")),
    (activity("Prompted why?  Attached 2 files."), ("why?", "Yes.")),
    (activity("Prompted why?", answer=""), ("why?", "")),
    (activity("Warum?"), ("Warum?", "Yes.")),
    (activity("Warum?", answer=""), None),
    (activity("Gave feedback: good"), None),
    (activity("Prompted why?", header="Search"), None),
    (activity("", answer="x"), None),
]


@pytest.mark.parametrize(("value", "expected"), TITLES)
def test_only_prompts_to_gemini_are_taken_of_an_activity(value, expected):
    found = parse_activity(value)
    assert (found and found[1:]) == expected


def test_an_activity_is_parted_by_silence_and_stands_in_order(tmp_path):
    rows = [
        activity("Prompted third", "2026-05-01T12:00:00Z"),
        activity("Prompted second", "2026-05-01T08:20:00Z"),
        activity("Searched for x", "2026-05-01T08:10:00Z", header="Search"),
        activity("Prompted first", "2026-05-01T08:00:00Z"),
    ]
    path = tmp_path / "MyActivity.json"
    path.write_text(json.dumps(rows))
    records, bad = read(path)
    told = [one.id if isinstance(one, SessionRecord) else one.text for one in records]
    assert [one for one in told if one in ("first", "second", "third")] == [
        "first",
        "second",
        "third",
    ]
    assert sum(isinstance(one, SessionRecord) for one in records) == 2
    assert bad == 1
    path.write_text(json.dumps(rows[1:]))
    assert read(path)[0][0] == records[0]  # what came later changes no id


@pytest.mark.parametrize("text", ["[]", "[1]", "{}", '{"history": 1}', '[{"title": "x"}]'])
def test_what_is_none_of_these_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(RefusedError):
        read(path)


PAGES = [
    ("<p>Hi <b>you</b> &amp; me</p><ul><li>one<li>two</ul>", "Hi you & me\none\ntwo"),
    ("a<script>alert('<p>x</p>')</script>b<style>p{}</style>", "ab"),
    ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ("&lt;script&gt;", "<script>"),
    ("<script>never closed", ""),
    ("<!-- hidden -->shown", "shown"),
]


@pytest.mark.parametrize(("page", "expected"), PAGES)
def test_of_a_page_the_words_are_left(page, expected):
    assert strip_html(page) == expected


@pytest.mark.parametrize("part", ["<", "<!--", "<a ", "<p>", "</", "&", "<script>", "&#"])
def test_a_page_takes_a_time_that_grows_with_its_size_alone(part):
    begin = time.process_time()
    strip_html(part * HTML_CHARS_MAX)
    assert time.process_time() - begin < 20


HOSTILE = [None, 1, "x", [], {}, [None], {"a": {}}, "\ud800", 10**30, True]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_fields_of_any_type_are_read_or_passed_over(value):
    for name in ("role", "parts"):
        list(parse_chat([{**CHAT[2], name: value}, *CHAT]))
    for name in ("text", "functionCall", "functionResponse", "inlineData", "thought"):
        list(parse_chat([{"role": "user", "parts": [{name: value}]}]))
    for name in ("header", "title", "time", "products", "safeHtmlItem"):
        parse_activity(activity("Prompted x") | {name: value})
