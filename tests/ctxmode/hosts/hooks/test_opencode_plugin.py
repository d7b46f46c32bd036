"""The plugin for OpenCode, run by the runtime that OpenCode is built on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxmode.config.file_names import name_capture_mark
from ctxmode.hosts.setup.hosts import BY_NAME
from memory.pages.buffers import Buffers
from tests.needs import needs

DRIVER = Path(__file__).with_name("opencode_driver.ts")
BUN = shutil.which("bun")
write_plugin = BY_NAME["opencode"].plugins[0].text
OURS = (sys.executable, "-m", "ctxmode")
pytestmark = needs("bun")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project that denies `git push`, in which turns are captured."""
    project = tmp_path / "home" / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    rules = {"permissions": {"deny": ["Bash(git push *)"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules))
    (project / ".contexo").mkdir()
    mark = Path(name_capture_mark(str(project.resolve()), str(tmp_path / "data")))
    mark.parent.mkdir(parents=True)
    mark.touch()
    return project


@pytest.fixture
def play(tmp_path: Path, project: Path):
    """Call the plugin in the project."""
    shutil.copy(DRIVER, tmp_path)

    def played(text: str, **event: Any) -> dict[str, Any]:
        (tmp_path / "context-mode.ts").write_text(text)
        environment = {
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "CONTEXT_MODE_DIR": str(tmp_path / "data"),
            "CONTEXT_MODE_INSTANCE_SHARED": "off",
        }
        done = subprocess.run(
            [BUN, "run", DRIVER.name],
            input=json.dumps({"directory": str(project), **event}).encode(),
            capture_output=True, cwd=tmp_path, env=environment, timeout=120, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    return played


@pytest.fixture
def call(play):
    """Make one tool call through the plugin."""

    def made(tool: str, args: dict, command=OURS) -> dict:
        return play(write_plugin(command), input={"tool": tool}, output={"args": args})

    return made


def test_a_denied_command_is_thrown_out_with_the_rule(call):
    said = call("bash", {"command": "git push origin"})
    assert said["passed"] is False
    assert "Bash(git push *)" in said["message"]


def test_what_no_rule_restricts_passes_unchanged(call):
    args = {"command": "git status; echo \"$HOME\" 'a b'"}
    assert call("bash", args) == {"passed": True, "args": args}


def test_nothing_of_an_event_becomes_a_command(call, tmp_path: Path):
    made = tmp_path / "made"
    assert call("bash", {"command": f"'; touch {made}; $(touch {made})"})["passed"] in (True, False)
    assert not made.exists()


def test_a_program_that_is_gone_stops_no_work(call):
    assert call("bash", {"command": "ls"}, command=("/no/such/program",))["passed"] is True


def ask(session: str, key: str, *texts: str, **more: object) -> list[Any]:
    parts = [{"type": "text", "text": text, **more} for text in texts]
    return ["chat.message", {"sessionID": session}, {"message": {"id": key}, "parts": parts}]


def say(kind: str, session: str, **told: object) -> list[Any]:
    return ["event", {"event": {"type": kind, "properties": {"sessionID": session, **told}}}]


def answer(session: str, text: str, message: str = "a", end: int = 1) -> list[Any]:
    part = {"type": "text", "text": text, "sessionID": session, "messageID": message}
    return say("message.part.updated", session, part={**part, "time": {"start": 1, "end": end}})


def use(session: str, tool: str) -> list[Any]:
    args = {"command": "ls", "filePath": "a"}
    return ["tool.execute.before", {"tool": tool, "sessionID": session}, {"args": args}]


IDLE = "session.idle"
SUMMARY = say("message.updated", "s", info={"id": "m2", "role": "assistant", "summary": True})
CHILD = say("session.created", "c", info={"id": "c", "parentID": "s"})
LONG = "é" * 200_000


@pytest.mark.parametrize(("calls", "turns"), [
    ([ask("s", "m", "Why?"), use("s", "bash"), use("s", "read"), use("s", "bash"),
      answer("s", "I look."), answer("s", "Since."), say(IDLE, "s"), say(IDLE, "s")],
     [("Why?", "Since.", ("bash", "read"))]),
    ([ask("s", "m", "Why?"), answer("s", "Since."), say(IDLE, "s"),
      ask("s", "n", "Why?"), answer("s", "Since."), say(IDLE, "s")],
     [("Why?", "Since.", ()), ("Why?", "Since.", ())]),
    ([ask("s", "m", "One"), answer("s", "I see."), ask("s", "n", "two"), answer("s", "Both."),
      say(IDLE, "s")], [("One\ntwo", "Both.", ())]),
    ([CHILD, ask("s", "m", "Why?"), ask("c", "m", "Look."), use("c", "grep"), answer("c", "Found."),
      say(IDLE, "c"), answer("s", "Since."), say(IDLE, "s")], [("Why?", "Since.", ())]),
    ([ask("s", "m", "Why?"), answer("s", "Since."), SUMMARY, answer("s", "So far: …", "m2"),
      say(IDLE, "s")], [("Why?", "Since.", ())]),
    ([ask("s", "m", "Why?"), answer("s", "Si", end=0), say(IDLE, "s")], [("Why?", "", ())]),
    ([ask("s", "m", "Go on.", synthetic=True), answer("s", "More."), say(IDLE, "s")], []),
    ([answer("s", "Since."), say(IDLE, "s"), say(IDLE, ""), ["event", {"event": {"type": "x"}}]],
     []),
    ([ask("s", "m", LONG), answer("s", LONG), say(IDLE, "s")],
     [("é" * 1022 + "…", "é" * 2046 + "…", ())]),
], ids=["tools", "same words", "queued", "subagent", "summary", "cut off", "synthetic", "no prompt",
        "long"])  # fmt: skip
def test_a_turn_is_told_once_the_session_is_idle(play, project, calls, turns):
    assert play(write_plugin(OURS), calls=calls)["passed"]
    read = Buffers(project / ".contexo").read("s")
    found = read.turns if read else ()
    assert [(one.user, one.assistant, one.tools) for one in found] == turns


def test_a_plugin_without_sessions_tells_no_turn(play, project):
    calls = [ask("s", "m", "Why?"), answer("s", "Since."), say(IDLE, "s")]
    assert play(write_plugin(OURS, records_sessions=False), calls=calls)["passed"]
    assert Buffers(project / ".contexo").read("s") is None
