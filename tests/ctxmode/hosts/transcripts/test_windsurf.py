"""Windsurf's transcripts, as its hook writes them (R13)."""

from __future__ import annotations

import json
import os

import pytest

from ctxmode.hosts.windsurf.transcript import find_transcripts, parse_line
from memory.sessions.importers.importer import Ground
from memory.sessions.records import MessageRecord


def step(kind, **fields):
    return {"type": kind, "status": "done", kind: fields}


STEPS = [
    step("user_input", user_response="Add a greeting"),
    step("planner_response", response="I add one."),
    step("code_action", path="file:///p/index.ts", new_content="hi"),
    step("run_command", command_line="npm test", cwd="/p"),
]


def parse(steps):
    state: dict = {}
    return [one for value in steps for one in parse_line(value, state)]


def test_r13_steps_become_messages():
    found = parse(STEPS)
    assert [(one.role, one.tool, one.text) for one in found] == [
        ("user", "", "Add a greeting"),
        ("assistant", "", "I add one."),
        ("tool_call", "code_action", ""),
        ("tool_call", "run_command", ""),
    ]
    assert found[0].is_prompt
    assert found[2].files == (("/p/index.ts", "modified"),)
    assert found[2].params["path"] == "/p/index.ts"
    assert found[3].files == ()


def test_a_transcript_that_is_written_anew_has_the_same_keys():
    assert [one.key for one in parse(STEPS)][:2] == [one.key for one in parse(STEPS[:2])]
    assert all(one.replaces for one in parse(STEPS))


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, True, "\ud800"], ids=repr)
@pytest.mark.parametrize("kind", ["user_input", "planner_response", "code_action", "odd"])
def test_steps_of_any_form_are_read_or_passed_over(kind, value):
    for name in ("type", "status", kind):
        parse([{**step(kind, path="x"), name: value}])
    parse([step(kind, path=value, response=value, user_response=value)])


def write(folder, name, steps):
    (folder / name).write_text("".join(f"{json.dumps(one)}\n" for one in steps))


def test_only_conversations_that_name_a_path_of_the_project_are_found(tmp_path):
    folder = tmp_path / ".windsurf" / "transcripts"
    folder.mkdir(parents=True)
    write(folder, "ours.jsonl", STEPS)
    write(folder, "other.jsonl", [STEPS[0], step("code_action", path="/pp/x")])
    write(folder, "out.jsonl", [STEPS[0], step("code_action", path="/p/../q/x")])
    (folder / "torn.jsonl").write_text('{"type": "code_action", "code_action": {"path": "/p/')
    (folder / "link.jsonl").symlink_to(folder / "ours.jsonl")
    os.mkfifo(folder / "fifo.jsonl")
    found = list(find_transcripts(Ground(str(tmp_path), {}, "/p")))
    assert [(one.session_id, one.folder) for one in found] == [("ours", "/p")]
    everywhere = list(find_transcripts(Ground(str(tmp_path), {})))
    assert {one.session_id for one in everywhere} == {"ours", "other", "out", "torn"}
    assert all(isinstance(one, MessageRecord) for one in parse(STEPS))
