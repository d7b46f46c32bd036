"""The plugin for OpenCode, run by the runtime that OpenCode is built on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode.hosts.setup.opencode import plugin_text

DRIVER = Path(__file__).with_name("opencode_driver.ts")
BUN = shutil.which("bun")
pytestmark = pytest.mark.skipif(BUN is None, reason="not applicable: bun is not installed")


@pytest.fixture
def call(tmp_path: Path):
    """Make one tool call through the plugin, in a project that denies `git push`."""
    project = tmp_path / "home" / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    rules = {"permissions": {"deny": ["Bash(git push *)"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules))
    shutil.copy(DRIVER, tmp_path)

    def made(tool: str, args: dict, command=(sys.executable, "-m", "ctxmode")) -> dict:
        (tmp_path / "context-mode.ts").write_text(plugin_text(command))
        event = {"directory": str(project), "input": {"tool": tool}, "output": {"args": args}}
        environment = {
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "CONTEXT_MODE_DIR": str(tmp_path / "data"),
        }
        done = subprocess.run(
            [BUN, "run", DRIVER.name], input=json.dumps(event).encode(), capture_output=True,
            cwd=tmp_path, env=environment, timeout=120, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

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
