"""Transcripts of real hosts that a scripted model drove: six calls, of which two failed.

Each response had 1,200 tokens of input, 1,000 of them cached, and 57 of output with 13 of
reasoning; Gemini's had 7 more, of tools' prompts.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    SessionRecord,
    UsageRecord,
)

HERE = Path(__file__).parent / "driven"
ALLOWED = (ValueError, KeyError, TypeError, AttributeError, IndexError)
# Transcript, module, responses, input of each, files that the host says were changed.
DRIVEN = [
    ("codex", "codex", 6, 200, ["created"]),
    ("gemini", "gemini_cli", 7, 207, ["modified", "created"]),
    ("copilot", "copilot_cli", 7, 200, ["modified", "created"]),
    ("qwen", "qwen_code", 7, 200, ["modified", "modified"]),  # it does not say what is new
]


def lines(name):
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def parse(module, values, state=None):
    importer = importlib.import_module(f"ctxmode.hosts.{module}.transcript").IMPORTER
    state = {} if state is None else state
    return [record for value in values for record in importer.parse_line(value, state)]


def of(kind, records):
    return [record for record in records if isinstance(record, kind)]


def last_by(key, records):
    return list({getattr(one, key): one for one in records}.values())


@pytest.mark.parametrize(("name", "module", "responses", "given_tokens", "files"), DRIVEN)
def test_a_driven_session_is_read(name, module, responses, given_tokens, files):
    records = parse(module, lines(name))
    messages = last_by("key", of(MessageRecord, records))
    results = [one for one in messages if one.role == "tool_result"]
    assert [one.text for one in messages if one.is_prompt] == ["Do the steps."]
    assert [one.text for one in messages if one.role == "assistant"] == ["All steps are done."]
    calls = [one.call_id for one in messages if one.role == "tool_call"]
    assert calls == [one.call_id for one in results]
    assert [one.exit_code for one in results if one.exit_code] == [3, 1] if name == "codex" else [3]
    assert [one.failed for one in results][:4] == [False, True, False, True]
    assert [action for one in results for _, action in one.files] == files
    usage = last_by("response_id", of(UsageRecord, records))
    figures = {(one.input, one.output, one.cache_read, one.reasoning) for one in usage}
    assert (len(usage), figures) == (responses, {(given_tokens, 57, 1000, 13)})
    assert len({one.id for one in of(SessionRecord, records)}) == 1


@pytest.mark.parametrize("name", [row[:2] for row in DRIVEN])
def test_reading_in_two_parts_is_as_reading_at_once(name):
    transcript, module = name
    values, state = lines(transcript), {}
    parts = parse(module, values[:9], state)
    parts += parse(module, values[9:], json.loads(json.dumps(state)))
    assert parts == parse(module, values)


def test_a_subagent_and_a_fork_of_codex_have_their_own_lines_alone():
    for name, relation, prompts in (
        ("codex_subagent", "subagent", ["Look at notes.txt"]),
        ("codex_fork", "fork", ["Fork prompt."]),
    ):
        records = parse("codex", lines(name))
        (session,) = of(SessionRecord, records)
        asked = [one for one in of(MessageRecord, records) if one.role == "user"]
        assert (session.relation, [one.text for one in asked]) == (relation, prompts)
        assert [one.is_prompt for one in asked] == [relation == "fork"]
        assert len(of(UsageRecord, records)) == 1


def test_a_compaction_of_codex_has_its_summary_trigger_and_figures():
    records = of(CompactionRecord, parse("codex", lines("codex_parent")))
    assert len({one.key for one in records}) == 1
    assert [one.trigger for one in records if one.trigger] == ["manual"]
    assert [one.tokens_before for one in records if one.tokens_before] == [1257]
    assert [one.tokens_after for one in records if one.tokens_after] == [6091]
    assert records[0].summary.startswith('{"title"')


def test_rewinding_gemini_cuts_from_the_message_on():
    prompt = next(one["id"] for one in lines("gemini") if one.get("type") == "user")
    assert parse("gemini_cli", [*lines("gemini"), {"$rewindTo": prompt}])[-1] == CutRecord(prompt)


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.lists(st.none(), max_size=2), st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)  # fmt: skip


def mutate(value, data):
    """Put something odd in place of some field, at any depth."""
    if not isinstance(value, dict) or not value or data.draw(st.integers(0, 4)) == 0:
        return data.draw(ODD)
    name = data.draw(st.sampled_from(sorted(value)))
    return {**value, name: mutate(value[name], data)}


@pytest.mark.parametrize("name", [*[row[:2] for row in DRIVEN], ("codex_parent", "codex")])
@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_hostile_fields_raise_nothing_but_what_counts_as_a_bad_line(name, data):
    transcript, module = name
    values, state = lines(transcript), {}
    at = data.draw(st.integers(0, len(values) - 1))
    changed = mutate(values[at], data)
    for value in [*values[:at], changed if isinstance(changed, dict) else {}, *values[at + 1 :]]:
        try:
            parse(module, [value], state)
        except ALLOWED:
            continue
    json.dumps(state)
