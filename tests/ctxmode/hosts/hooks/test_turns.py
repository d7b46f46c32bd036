"""Turns of hosts go into the project's buffer: rows C1 to C5, by payloads as hosts send them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxmode.config.file_names import name_capture_mark
from ctxmode.hosts.hooks import run, turns
from ctxmode.hosts.registry import HOSTS as ADAPTERS
from ctxmode.hosts.registry import find_adapter
from ctxmode.hosts.setup.hosts import BY_NAME as HOST_ROWS_BY_NAME
from ctxmode.hosts.setup.hosts import HOSTS as HOST_ROWS
from memory.pages.buffer_files import TurnRecord
from memory.pages.buffers import Buffers

PAGE = Path(__file__).parents[4] / "docs" / "agents.md"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


class Place:
    """A project in which turns are captured, and what its hooks are given."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.below = self.project / "a" / "b"
        self.below.mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / ".contexo").mkdir()
        (root / "home").mkdir()
        self.environ = {"HOME": str(root / "home"), "CONTEXT_MODE_DIR": str(root / "data")}
        self.mark = Path(name_capture_mark(str(self.project.resolve()), str(root / "data")))
        self.mark.parent.mkdir(parents=True)
        self.mark.touch()

    def ring(self, host: str, event: str, **told: Any) -> Any:
        told = {"session_id": "s", "cwd": str(self.below), **told}
        answer, log = run.respond(host, event, json.dumps(told).encode(), self.environ)
        log()
        return answer

    def start(self, event: str, **told: Any) -> subprocess.Popen[bytes]:
        told = {"session_id": "s", "cwd": str(self.below), **told}
        process = subprocess.Popen(
            [sys.executable, "-m", "ctxmode", "hook", "claude-code", event],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **self.environ},
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode())
        process.stdin.close()
        process.stdin = None
        return process

    @property
    def pending(self) -> Path:
        return self.project / ".contexo" / "raw" / "sessions" / "_pending"

    def turns(self, session: str = "s") -> tuple[TurnRecord, ...]:
        read = Buffers(self.project / ".contexo").read(session)
        return read.turns if read else ()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


_PROMPT = {"prompt": "Why?"}
_LAST = {"last_assistant_message": "Since.", "stop_hook_active": False}
_CASCADE = {"trajectory_id": "s", "session_id": ""}
_TASK = {"taskId": "s", "session_id": "", "agent_id": "a", "parent_agent_id": None}
_TYPED = '<user_input mode="act">Why?</user_input>'
HOSTS = {
    "claude-code": [("UserPromptSubmit", {**_PROMPT, "prompt_id": "p"}),
                    ("Stop", {**_LAST, "prompt_id": "p"})],
    "codex": [("UserPromptSubmit", {**_PROMPT, "turn_id": "t"}),
              ("Stop", {**_LAST, "turn_id": "t"})],
    "gemini-cli": [("BeforeAgent", _PROMPT),
                   ("AfterAgent", {"prompt": "<hook_context>Ours</hook_context>\n\nWhy?",
                                   "prompt_response": "Since."})],
    "qwen-code": [("UserPromptSubmit", {**_PROMPT, "prompt_id": "q##0"}),
                  ("UserPromptSubmit", {"prompt": "", "prompt_id": "q##0"}),
                  ("Stop", {**_LAST, "prompt_id": "q##0"})],
    "cursor": [("beforeSubmitPrompt", {**_PROMPT, "conversation_id": "s", "generation_id": "g"}),
               ("afterAgentResponse", {"text": "I look.", "conversation_id": "s",
                                       "generation_id": "g"}),
               ("afterAgentResponse", {"text": "Since.", "conversation_id": "s",
                                       "generation_id": "g"}),
               ("stop", {"status": "completed", "conversation_id": "s", "generation_id": "g"})],
    "vscode-copilot": [("UserPromptSubmit", _PROMPT), ("Stop", {"stop_reason": "end_turn"})],
    "codebuddy": [("UserPromptSubmit", _PROMPT), ("Stop", _LAST)],
    "droid": [("UserPromptSubmit", _PROMPT), ("Stop", _LAST)],
    "qoder": [("UserPromptSubmit", _PROMPT), ("Stop", _LAST)],
    "tabnine": [("BeforeAgent", _PROMPT), ("AfterAgent", {**_PROMPT, "prompt_response": "Since."})],
    "windsurf": [("pre_user_prompt", {**_CASCADE, "tool_info": {"user_prompt": "Why?"}}),
                 ("post_cascade_response", {**_CASCADE, "tool_info": {"response": "Since."}})],
    "opencode": [("session.idle", {**_PROMPT, "prompt_id": "m", "tools": ["bash"],
                                   "last_assistant_message": "Since."})],
    "cline": [("UserPromptSubmit", {**_TASK, "userPromptSubmit": {"prompt": _TYPED}}),
              ("TaskComplete", {**_TASK, "taskComplete": {"taskMetadata": {"result": "Since."}}})],
    "kiro": [("UserPromptSubmit", _PROMPT), ("Stop", {"assistant_response": "Since."})],
}  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("times", [1, 2])  # as where hooks are registered twice
def test_c1_c4_a_hosts_turn_is_one_record(place, host, times):
    for event, told in HOSTS[host]:
        for _ in range(times):
            assert not place.ring(host, event, **told)
    (turn,) = place.turns()
    answer = "" if host == "vscode-copilot" else "Since."
    assert (turn.turn, turn.user, turn.assistant) == (1, "Why?", answer)


def test_c4_an_answer_that_is_not_told_is_read_from_the_transcript(place, tmp_path):
    path = tmp_path / "events.jsonl"
    rows = [
        {"type": "session.start", "data": {"sessionId": "s"}},
        {"type": "user.message", "data": {"content": "x" * 300_000}},
        {"type": "user.message", "data": {"content": "Before"}},
        {"type": "assistant.message", "data": {"content": "Old", "messageId": "m1"}},
        {"type": "user.message", "data": {"content": "Why?"}},
        {"type": "assistant.message", "data": {"content": "Since.", "messageId": "m2"}},
    ]
    path.write_text("".join(json.dumps({"id": str(n), **row}) + "\n" for n, row in enumerate(rows)))
    place.ring("vscode-copilot", "UserPromptSubmit", prompt="Why?")
    place.ring("vscode-copilot", "Stop", transcript_path=str(path))
    assert [(one.user, one.assistant) for one in place.turns()] == [("Why?", "Since.")]


@pytest.mark.parametrize(("late", "answer"), [("Since.", "Since."), ("", "")])
def test_c4_an_answer_that_comes_late_into_the_transcript_is_waited_for_a_while(
    place, tmp_path, monkeypatch, late, answer
):
    path = tmp_path / "events.jsonl"
    rows = [
        {"type": "session.start", "data": {"sessionId": "s"}, "id": "a"},
        {"type": "user.message", "data": {"content": "Why?"}, "id": "b"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    waited: list[float] = []

    def pass_time(seconds: float) -> None:
        waited.append(seconds)
        row = {"type": "assistant.message", "data": {"content": late, "messageId": "m"}}
        with path.open("a") as file:
            file.write(json.dumps({**row, "id": f"{len(waited)}"}) + "\n")

    clock = SimpleNamespace(sleep=pass_time, monotonic=lambda: sum(waited))
    monkeypatch.setattr(turns, "time", clock)
    place.ring("vscode-copilot", "UserPromptSubmit", prompt="Why?")
    place.ring("vscode-copilot", "Stop", transcript_path=str(path))
    assert [(one.user, one.assistant) for one in place.turns()] == [("Why?", answer)]
    assert sum(waited) <= turns.ANSWER_WAIT_S + turns.ANSWER_POLL_S


def _events(*rows: dict[str, Any]) -> str:
    begun = {"type": "session.start", "data": {"sessionId": "s"}}
    return "".join(json.dumps({**row, "id": str(n)}) + "\n" for n, row in enumerate((begun, *rows)))


def _said(text: str, at: str = "") -> dict[str, Any]:
    row = {"type": "assistant.message", "data": {"content": text, "messageId": text}}
    return {**row, "timestamp": at} if at else row


_ASKED = {"type": "user.message", "data": {"content": "Why?"}}
_CALL = {"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}
_LOOKED = {"type": "assistant.message", "data": {"content": "I look.", "toolRequests": [_CALL]}}
_LONG_AGO, _LATER = "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("first", "then", "answer"),
    [
        (None, (_ASKED, _said("Since.")), "Since."),
        ((_ASKED, _said("Old.", _LONG_AGO)), (_ASKED, _said("Since.", _LATER)), "Since."),
        ((_ASKED, _said("Old.", _LONG_AGO)), (_ASKED,), ""),
        ((_ASKED, _LOOKED), (_ASKED, _LOOKED, _said("Since.")), "Since."),
        ((_ASKED, _LOOKED), (_ASKED, _LOOKED), "I look."),
    ],
    ids=["the file", "the turn", "neither", "what follows a tool", "nothing follows a tool"],
)  # fmt: skip
def test_c4_what_a_transcript_has_of_before_is_no_answer(  # noqa: PLR0917 - two are fixtures
    place, tmp_path, monkeypatch, first, then, answer
):
    path = tmp_path / "events.jsonl"
    if first is not None:
        path.write_text(_events(*first))
    waited: list[float] = []

    def pass_time(seconds: float) -> None:
        waited.append(seconds)
        path.write_text(_events(*then))

    clock = SimpleNamespace(sleep=pass_time, monotonic=lambda: sum(waited))
    monkeypatch.setattr(turns, "time", clock)
    place.ring("vscode-copilot", "UserPromptSubmit", prompt="Why?")
    place.ring("vscode-copilot", "Stop", transcript_path=str(path))
    assert [(one.user, one.assistant) for one in place.turns()] == [("Why?", answer)]
    assert waited


RUN = {**_TASK, "sessionContext": {"rootSessionId": "1_a"}, "turn": {"outputText": "Since."}}
RECORD = {"messages": [
    {"role": "user", "content": [{"type": "text", "text": "<user_input>Before</user_input>"}]},
    {"role": "user", "content": [{"type": "text", "text": _TYPED}]},
    {"role": "assistant", "content": [{"type": "tool_use", "name": "run_commands"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": []}]},
    {"role": "user", "content": [{"type": "text", "text": "<hook_context>Ours</hook_context>"}]},
]}  # fmt: skip


@pytest.mark.parametrize("variable", ["", "CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR"])
def test_c4_a_prompt_that_cline_does_not_tell_is_read_from_its_record(place, tmp_path, variable):
    moved = {"CLINE_SESSION_DATA_DIR": "", "CLINE_DATA_DIR": "sessions"}
    below = moved.get(variable, "data/sessions")
    base = tmp_path / "moved" if variable else Path(place.environ["HOME"], ".cline")
    folder = base / below / "1_a"
    folder.mkdir(parents=True)
    (folder / "1_a.messages.json").write_text(json.dumps(RECORD))
    if variable:
        place.environ[variable] = str(base)
    used = {"name": "run_commands", "input": {"commands": ["ls"]}}
    told = {**RUN, "workspaceRoots": [str(place.below)], "cwd": ""}
    place.ring("cline", "PreToolUse", **told, tool_call=used)
    place.ring("cline", "TaskComplete", **told)
    (turn,) = place.turns()
    assert (turn.user, turn.assistant, turn.tools) == ("Why?", "Since.", ("run_commands",))


@pytest.mark.parametrize("record", [
    b"", b"[]", b"{", b"null", b"[" * 100_000, b'{"messages": 3}', b'{"messages": [3, {}, null]}',
    b'{"messages": [{"role": "user", "content": [3, {"text": 3}]}]}',
    b'{"messages": [{"role": "user", "content": {"text": "x"}}]}', b"\xff\x00", None,
], ids=repr)  # fmt: skip
def test_c5_an_odd_record_of_cline_leaves_the_answer(place, record):
    folder = Path(place.environ["HOME"], ".cline/data/sessions/1_a")
    folder.mkdir(parents=True)
    if record is None:
        os.mkfifo(folder / "1_a.messages.json")
    else:
        (folder / "1_a.messages.json").write_bytes(record)
    assert place.ring("cline", "TaskComplete", **RUN) is None
    assert [(one.user, one.assistant) for one in place.turns()] == [("", "Since.")]


@pytest.mark.parametrize("session", ["../1_a", "", None, 3, "a/b", "\0", "\ud800", "x" * 5000])
def test_c5_only_a_name_leads_to_a_record_of_cline(place, session):
    home = Path(place.environ["HOME"])
    (home / ".cline/data/1_a").mkdir(parents=True)
    (home / ".cline/data/sessions").mkdir()
    (home / ".cline/data/1_a/1_a.messages.json").write_text(json.dumps(RECORD))
    place.ring("cline", "TaskComplete", **{**RUN, "sessionContext": {"rootSessionId": session}})
    assert [(one.user, one.assistant) for one in place.turns()] == [("", "Since.")]


def test_c5_cline_names_the_parent_of_a_subagent(place):
    place.ring("cline", "TaskComplete", **{**RUN, "parent_agent_id": "a0"})
    assert place.turns() == ()


@pytest.mark.parametrize("key", ["m1", "m2"])
def test_c4_the_same_words_again_are_a_turn_of_their_own_by_the_hosts_name_of_it(place, key):
    told = {"prompt": "Go on.", "last_assistant_message": "Done."}
    place.ring("opencode", "session.idle", **told, prompt_id="m1")
    place.ring("opencode", "session.idle", **told, prompt_id=key)
    assert len(place.turns()) == len({"m1", key})


def test_c4_tools_that_a_hook_sees_are_named(place):
    place.ring("claude-code", "UserPromptSubmit", prompt="Why?")
    for command in ("ls", "git push --force"):  # the second is refused or asked about
        place.ring("claude-code", "PreToolUse", tool_name="Bash", tool_input={"command": command})
    place.ring("claude-code", "PreToolUse", tool_name="Read", tool_input={"file_path": "x"})
    place.ring("claude-code", "Stop", last_assistant_message="Since.")
    assert place.turns()[0].tools == ("Bash", "Read")


@pytest.mark.parametrize("why", ["no folder", "a clone", "disabled", "a file", "a FIFO", "a link"])
def test_c5_nothing_is_captured_where_nobody_asked_for_it(place, why, tmp_path):
    drafts = place.project / ".contexo"
    if why == "disabled":
        place.environ["CONTEXO_CAPTURE_DISABLE"] = "1"
    elif why == "a clone":  # its folder of drafts came with it; nobody ran `pages init` here
        place.mark.unlink()
    else:
        drafts.rmdir()
    if why == "a file":
        drafts.write_text("mine")
    elif why == "a FIFO":
        os.mkfifo(drafts)
    elif why == "a link":
        (tmp_path / "elsewhere").mkdir()
        drafts.symlink_to(tmp_path / "elsewhere")
    for event, told in HOSTS["claude-code"]:
        assert place.ring("claude-code", event, **told) is None
    assert place.turns() == ()
    assert not list(tmp_path.glob("**/_pending"))


@pytest.mark.parametrize("told", [
    {"prompt": 3}, {"prompt": ["x"]}, {"session_id": {}}, {"session_id": "../x\0"},
    {"last_assistant_message": {"a": 1}}, {"last_assistant_message": "\ud800"},
    {"transcript_path": "/dev/zero"}, {"transcript_path": "../x"}, {"tools": {"a": 1}},
])  # fmt: skip
def test_c5_odd_events_are_answered_with_nothing(place, told):
    for event in ("UserPromptSubmit", "Stop"):
        assert place.ring("claude-code", event, **told) is None
    assert not (place.project.parent / "x.jsonl").exists()


def test_c5_a_subagents_turn_is_none(place):
    place.ring("claude-code", "Stop", last_assistant_message="Part.", agent_id="a1")
    assert place.turns() == ()


def test_c3_no_secret_is_in_any_file_of_the_buffers(place):
    place.ring("claude-code", "UserPromptSubmit", prompt=f"Use {SECRET}", prompt_id=SECRET)
    place.ring("claude-code", "PreToolUse", tool_name=f"mcp {SECRET}", tool_input={})
    noted = [path.read_text() for path in place.pending.iterdir()]
    place.ring("claude-code", "Stop", last_assistant_message=f"I used {SECRET}", prompt_id=SECRET)
    kept = [*noted, *(path.read_text() for path in place.pending.iterdir())]
    assert "[REDACTED" in "".join(kept)  # something was written
    assert not any(SECRET in text for text in kept)


def test_c5_eight_hooks_at_once_lose_none(place):
    hooks = [
        place.start("Stop", last_assistant_message=f"Answer {n}", prompt_id=f"p{n}")
        for n in range(8)
    ]
    for hook in hooks:
        out, err = hook.communicate(timeout=60)
        assert (hook.returncode, out, err) == (0, b"", b"")
    told = sorted(one.assistant for one in place.turns())
    assert told == [f"Answer {n}" for n in range(8)]
    assert sorted(one.turn for one in place.turns()) == list(range(1, 9))


def _read_rows() -> dict[str, tuple[str, str, str]]:
    """What the page tells of each host: what is asked, what is answered, how it is known."""
    section = PAGE.read_text().partition("\n## Turns\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:5] for line in section.splitlines() if line.startswith("| `")]
    return {
        name.strip(" `"): (asked, answered, known.strip())
        for names, asked, answered, known in rows
        for name in names.split(",")
    }


def test_the_page_tells_by_which_events_turns_are_captured():
    rows = _read_rows()
    captured = dict[str, tuple[list[str], list[str], str]]()
    for host in HOST_ROWS:
        events = find_adapter(host.adapter).EVENTS if host.adapter in ADAPTERS else {}
        if "answered" in events.values():
            asked = [n for n, purpose in events.items() if purpose in ("asked", "prompt")]
            answered = [n for n, purpose in events.items() if purpose == "answered"]
            captured[host.name] = (
                asked,
                answered,
                "run" if host.known.get("version") else "documents",
            )
    assert set(rows) == set(captured)
    for name, (asked, answered, known) in captured.items():
        told = rows[name]
        assert told[2] == known, name
        assert [one for one in answered if f"`{one}`" in told[1]] == answered, name
        if HOST_ROWS_BY_NAME[name].adapter != "opencode":  # its plug-in tells both at once
            assert [one for one in asked if f"`{one}`" in told[0]] == asked, name
