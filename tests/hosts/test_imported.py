"""What is read of a real host's session is what the endpoint sent: `./run-tests -m hosts`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOT_APPLICABLE
from tests.hosts.catalog import BY_NAME, DrivenHost
from tests.hosts.driver import Ground, drive, lay_ground, set_up, write_files
from tests.hosts.installing import NotInstalledError, install_host
from tests.hosts.script import Call, ToolUse

RUN_SECONDS = 120.0
SECONDS = 60
KEEP_MESSAGES = "[transcripts]\nmessages = true\n"
AGENTS: Mapping[str, str] = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini-cli": "gemini",
    "qwen-code": "qwen_code",
    "opencode": "opencode",
    "copilot-cli": "copilot_cli",
}


def _sessions(ground: Ground, *words: str) -> Any:
    """What a verb of `context-mode sessions` prints, from its JSON where it is asked for."""
    done = subprocess.run(
        ["context-mode", "sessions", *words],
        cwd=ground.project,
        env=ground.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"sessions {' '.join(words)}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout) if "--json" in words else done.stdout


def _steps(host: DrivenHost, ground: Ground) -> Sequence[Call]:
    own = host.own
    return [
        own.shell("echo command-1"),
        own.read(str(ground.project / "part.txt")),
        own.write(str(ground.project / "made.txt"), "Made."),
        own.shell("cat no-such-file"),
    ]


@pytest.mark.parametrize(
    "host", [BY_NAME[name] for name in AGENTS], ids=[f"{name}-user" for name in AGENTS]
)
def test_what_is_imported_is_what_was_sent(host: DrivenHost, cache: Path, tmp_path: Path) -> None:
    try:
        program, node = install_host(host, cache)
    except NotInstalledError as error:
        pytest.skip(f"{NOT_APPLICABLE}{error}")
    ground = lay_ground(tmp_path, program, node, {"part.txt": b"The only part.\n"})
    write_files(ground.home, {".config/ctxmode/config.toml": KEEP_MESSAGES})
    ended = drive(
        host,
        ground,
        _steps(host, ground),
        seconds=RUN_SECONDS,
        register=lambda: set_up(ground, host.name, "user"),
    )
    sent = [one.sent for one in ended.transcript.exchanges if one.kind == "turn"]
    calls = [one.answer.tool.full_name for one in sent if isinstance(one.answer, ToolUse)]
    assert len(calls) >= 4, ended.describe()

    _sessions(ground, "track")
    (session,) = _sessions(ground, "list", "--json")["sessions"]
    assert session["agent"] == AGENTS[host.name]
    assert session["tool_calls"] == len(calls)
    assert session["compactions"] == 0
    # No token is counted twice: what was read from a cache is no part of the input.
    assert session["input_tokens"] == sum(one.usage.uncached for one in sent)
    assert session["cache_read_tokens"] == sum(one.usage.cached for one in sent)
    assert session["output_tokens"] == sum(one.usage.output for one in sent)

    messages = _sessions(ground, "show", session["id"], "--json")["messages"]
    order = [(one["sequence"], one["step"]) for one in messages]
    assert order == sorted(set(order))
    by_role = {
        role: [one for one in messages if one["role"] == role]
        for role in ("user", "assistant", "tool_call", "tool_result")
    }
    assert [one["tool_name"] for one in by_role["tool_call"]] == calls
    said = [one["content"] for one in by_role["assistant"] if one["content"]]
    assert said == [one.answer for one in sent if isinstance(one.answer, str)]
    results = [one["content"] or "" for one in by_role["tool_result"]]
    assert len(results) == len(calls)
    for text in ("command-1", "The only part.", "no-such-file"):
        assert any(text in one for one in results), f"{text} is in no result"
    assert any("Do the steps." in (one["content"] or "") for one in by_role["user"])
