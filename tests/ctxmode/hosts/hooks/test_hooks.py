"""Hooks: each host's own events and answers, silence on all else, and no way past the rules."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode.config.locations import load_config
from ctxmode.hosts.hooks import run, verdicts
from ctxmode.hosts.hooks.hook_types import Refusal
from ctxmode.hosts.hooks.tool_names import begins_prompt, tool_call
from ctxmode.hosts.instructions import read_routing
from ctxmode.hosts.registry import HOSTS, find_adapter, list_events
from ctxmode.hosts.setup.target import is_registered
from ctxmode.mcp.tools import NAMES
from ctxmode.operations import audit
from ctxmode.shared_instance.client import find_storage
from policy import deadline, judging

RULES = {
    "permissions": {
        "deny": [
            "Bash(git push *)",
            "Read(./secret.txt)",
            "Read(./private/**)",
            "WebFetch(domain:evil.example)",
            "mcp__other__drop",
        ],
        "ask": ["Bash(npm publish *)"],
    }
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with rules; the home around it has none."""
    project = tmp_path / "home" / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(RULES))
    (project / "secret.txt").write_text("x")
    (project / "big.log").write_bytes(b"line\n" * 100_000)
    return project


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "CONTEXT_MODE_DIR": str(tmp_path / "data")}


@pytest.fixture
def served(tmp_path: Path):
    """A server of this user lives: it holds its lock."""
    folder = tmp_path / "data" / "state" / "servers"
    folder.mkdir(parents=True)
    descriptor = os.open(folder / "1-abcd.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


def claude(name: str, given: dict, cwd: Path, **more) -> dict:
    return {
        "session_id": "s1",
        "transcript_path": "/t.jsonl",
        "cwd": str(cwd),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": name,
        "tool_input": given,
        "tool_use_id": "toolu_1",
        **more,
    }


def tool_event(host: str, name: str, given: object, cwd: object, **more) -> dict:
    """The event of any tool of any host, with the fields of all their forms."""
    if host == "windsurf":
        return windsurf(given)
    event = claude(name, given, cwd, **more) | {"tool": name, "args": given}
    parameters = {k: v if isinstance(v, str) else json.dumps(v) for k, v in dict(given).items()}
    event |= {"preToolUse": {"toolName": name, "parameters": parameters}}
    event |= {"workspaceRoots": [str(cwd)], "hook_event_name": judged_event(host)}
    return event


def judged_event(host: str) -> str:
    return list_events(find_adapter(host), "judge")[0]


WINDSURF = {"command": "command_line", "path": "file_path", "filePath": "file_path"}


def windsurf(given: dict) -> dict:
    """Cascade's own event of what others call a tool: it has one for commands, one for files."""
    action = "pre_run_command" if "command" in given else "pre_read_code"
    info = {WINDSURF.get(key, key): value for key, value in given.items()}
    return {"agent_action_name": action, "trajectory_id": "t", "tool_info": info}


def ask(host: str, event_name: str, event: object, environ: dict[str, str]):
    text = event if isinstance(event, bytes) else json.dumps(event).encode()
    answer, log = run.respond(host, event_name, text, environ)
    log()
    return answer


# Per host: the event of a command and of a file, as its documentation has them.
def shell_event(host: str, command: str, cwd: Path) -> tuple[str, dict]:
    if host == "cursor":
        event = {
            "conversation_id": "c", "generation_id": "g", "hook_event_name": "preToolUse",
            "workspace_roots": [str(cwd)], "tool_name": "Shell",
            "tool_input": {"command": command, "working_directory": str(cwd)}, "cwd": str(cwd),
        }  # fmt: skip
        return "preToolUse", event
    if host == "vscode-copilot":
        event = {
            "timestamp": "2026-02-09T10:30:00.000Z", "cwd": str(cwd), "sessionId": "s",
            "hookEventName": "PreToolUse", "tool_name": "run_in_terminal",
            "tool_input": {"command": command, "explanation": "e"}, "tool_use_id": "t",
        }  # fmt: skip
        return "PreToolUse", event
    if host == "opencode":
        return "tool.execute.before", {
            "tool": "bash",
            "args": {"command": command},
            "cwd": str(cwd),
        }
    if host == "windsurf":
        return "pre_run_command", windsurf({"command": command, "cwd": str(cwd)})
    if host == "cline":
        event = {
            "clineVersion": "3.0.65", "hookName": "tool_call", "taskId": "t", "userId": "u",
            "workspaceRoots": [str(cwd)],
            "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": [command]}},
            "preToolUse": {
                "toolName": "run_commands", "parameters": {"commands": json.dumps([command])}
            },
        }  # fmt: skip
        return "PreToolUse", event
    hosts = ("gemini-cli", "qwen-code", "tabnine", "iflow")
    names = dict.fromkeys(hosts, "run_shell_command")
    names |= {"crush": "bash", "kiro": "shell", "droid": "Execute"}
    name = names.get(host, "Bash")
    return judged_event(host), claude(name, {"command": command}, cwd, turn_id="1", model="m")


def refusal_of(host: str, answer) -> tuple[str, str]:
    """What an answer decides, and its reason."""
    if isinstance(answer, Refusal):
        return "deny", str(answer)
    if host == "cline":
        is_held = answer["cancel"] or "overrideInput" in answer
        return "deny" if is_held else "pass", answer["errorMessage"]
    if "hookSpecificOutput" in answer:
        inner = answer["hookSpecificOutput"]
        assert inner["hookEventName"] == "PreToolUse"
        if host == "vscode-copilot":  # Copilot CLI reads the same files, and the top of the answer
            assert answer["permissionDecision"] == inner["permissionDecision"]
            assert answer["permissionDecisionReason"] == inner["permissionDecisionReason"]
        return inner["permissionDecision"], inner["permissionDecisionReason"]
    if host == "cursor":
        return answer["permission"], answer["agent_message"]
    return answer["decision"], answer["reason"]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("command", ["git push origin", "cd x && sudo sh -c 'git  push x'"])
def test_a_denied_command_is_refused_with_rule_and_file(host, command, place, environ):
    answer = ask(host, *shell_event(host, command, place), environ)
    decision, reason = refusal_of(host, answer)
    assert decision == "deny"
    assert "Bash(git push *)" in reason
    assert "settings.json:1" in reason


@pytest.mark.parametrize("host", HOSTS)
def test_what_no_rule_restricts_is_left_to_the_host(host, place, environ):
    answer = ask(host, *shell_event(host, "git status && ls", place), environ)
    assert answer == ({} if host == "cursor" else None)


@pytest.mark.parametrize("host", HOSTS)
def test_a_rule_that_asks_asks_where_the_host_can_and_is_refused_where_it_cannot(
    host, place, environ
):
    decision, reason = refusal_of(
        host, ask(host, *shell_event(host, "npm publish --tag x", place), environ)
    )
    can = host in ("claude-code", "cursor", "vscode-copilot", "qwen-code", "droid", "codebuddy")
    assert decision == ("ask" if can else "deny")
    assert ("approval, and this host" in reason) is not can


@pytest.mark.parametrize("event_name", ["pretooluse", "PreToolUse", "PRETOOLUSE"])
def test_the_case_of_an_events_name_does_not_matter(event_name, place, environ):
    event = claude("Bash", {"command": "git push x"}, place)
    assert ask("claude-code", event_name, event, environ)


SILENT = (
    ("no-such-host", "PreToolUse", {}),
    ("claude-code", "NoSuchEvent", {}),
    ("claude-code", "", {}),
    ("claude-code", "PreToolUse", b""),
    ("claude-code", "PreToolUse", b"not json"),
    ("claude-code", "PreToolUse", b"\xff\xfe"),
    ("claude-code", "PreToolUse", []),
    ("claude-code", "PreToolUse", {}),
    ("claude-code", "PreToolUse", {"tool_name": 7, "tool_input": [], "cwd": None}),
    ("claude-code", "PreToolUse", {"tool_name": "Bash", "tool_input": {}, "cwd": "/"}),
    ("claude-code", "PreToolUse", {"tool_name": "TodoWrite", "tool_input": {}, "cwd": "/"}),
    ("codex", "PostToolUse", {"tool_name": "Bash"}),
    ("gemini-cli", "BeforeTool", {"tool_name": "run_shell_command"}),
    ("vscode-copilot", "PreToolUse", {"tool_input": "x"}),
    ("opencode", "tool.execute.before", {"tool": "bash"}),
    ("qwen-code", "PostToolUse", {"tool_name": "run_shell_command"}),
    ("cline", "PreToolUse", {"preToolUse": {"toolName": "ask_question", "parameters": {}}}),
    ("cline", "PreToolUse", {"preToolUse": "x", "tool_call": []}),
    ("crush", "PreToolUse", {"tool_name": "todos", "tool_input": {}}),
    ("windsurf", "pre_run_command", {"agent_action_name": "pre_user_prompt", "tool_info": {}}),
    ("windsurf", "pre_mcp_tool_use", {"agent_action_name": "pre_mcp_tool_use", "tool_info": {}}),
    ("kiro", "PreToolUse", {"tool_name": None}),
)


@pytest.mark.parametrize(("host", "event_name", "event"), SILENT)
def test_what_is_not_understood_gets_no_answer(host, event_name, event, environ):
    assert ask(host, event_name, event, environ) is None


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_too_deep_to_be_understood_is_refused(text, environ):
    """A model chooses its arguments: it must not get past the rules by their depth."""
    decision, reason = refusal_of("claude-code", ask("claude-code", "PreToolUse", text, environ))
    assert decision == "deny"
    assert "too deeply" in reason


def test_curl_is_redirected_only_to_a_tool_that_a_living_server_has(
    place, environ, served, monkeypatch
):
    monkeypatch.setattr(
        "ctxmode.hosts.hooks.verdicts.OWN_TOOLS", frozenset({"ctx_fetch_and_index"})
    )
    event = claude("Bash", {"command": "curl https://example.org/x"}, place)
    decision, reason = refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))
    assert decision == "deny"
    assert 'Call: ctx_fetch_and_index(url="https://example.org/x")' in reason
    subagent = {**event, "agent_id": "a1", "agent_type": "Explore"}
    advice = ask("claude-code", "PreToolUse", subagent, environ)["hookSpecificOutput"]
    assert set(advice) == {"hookEventName", "additionalContext"}


def test_without_a_server_a_redirect_is_advice(place, environ):
    event = claude("Bash", {"command": "curl https://example.org/x"}, place)
    answer = ask("claude-code", "PreToolUse", event, environ)
    assert "permissionDecision" not in answer["hookSpecificOutput"]
    assert ask("gemini-cli", *shell_event("gemini-cli", "curl https://a.b", place), environ) is None


COMING = """
import fcntl, os, sys, time
time.sleep(0.5)
os.makedirs(os.path.dirname(sys.argv[1]))
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
sys.stdin.read()
"""
CURL = {"command": "curl https://example.org/x"}
SERVER = {"mcpServers": {"context-mode": {"command": "context-mode", "args": ["serve"]}}}
OFF = {"mcpServers": {"context-mode": {"command": "context-mode", "disabled": True}}}


@pytest.fixture
def coming(tmp_path: Path):
    """A server of this user that is still starting: it takes its lock half a second later."""
    lock = tmp_path / "data" / "state" / "servers" / "1-abcd.lock"
    server = subprocess.Popen([sys.executable, "-c", COMING, str(lock)], stdin=subprocess.PIPE)
    yield
    server.communicate(timeout=60)


@pytest.mark.usefixtures("coming")
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_redirect_waits_for_a_server_that_the_host_is_starting(scope, place, environ):
    file = place / ".mcp.json" if scope == "project" else place.parent / ".claude.json"
    file.write_text(json.dumps(SERVER))
    answer = ask("claude-code", "PreToolUse", claude("Bash", CURL, place), environ)
    assert refusal_of("claude-code", answer)[0] == "deny"
    assert "ctx_fetch_and_index" in refusal_of("claude-code", answer)[1]


def test_a_redirect_waits_for_a_server_only_so_long(place, environ, monkeypatch):
    monkeypatch.setattr(run, "STARTING_SECONDS", 0.1)
    (place / ".mcp.json").write_text(json.dumps(SERVER))
    answer = ask("claude-code", "PreToolUse", claude("Bash", CURL, place), environ)
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


@pytest.mark.parametrize("registered", [{}, OFF, {"mcpServers": []}, "{ oops"])
def test_no_redirect_waits_for_a_server_that_the_host_does_not_start(
    registered, place, environ, monkeypatch
):
    monkeypatch.setattr(run, "STARTING_SECONDS", 3600)
    text = registered if isinstance(registered, str) else json.dumps(registered)
    (place / ".mcp.json").write_text(text)
    answer = ask("claude-code", "PreToolUse", claude("Bash", CURL, place), environ)
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


@pytest.mark.parametrize("command", ["git status", "git push x"])
def test_only_a_redirect_asks_for_a_server(command, place, environ, monkeypatch):
    def never(*_: object) -> bool:
        os._exit(1)  # of the child that judges

    monkeypatch.setattr(run, "is_callable", never)
    answer = ask("claude-code", "PreToolUse", claude("Bash", {"command": command}, place), environ)
    assert answer is None or "Bash(git push *)" in refusal_of("claude-code", answer)[1]


@pytest.mark.parametrize(
    ("adapter", "file", "text", "environment", "registered"),
    [
        ("codex", "~/.codex/config.toml", "[mcp_servers.context-mode]\ncommand = 'x'", {}, True),
        ("codex", "~/.codex/config.toml", "[mcp_servers.other]\ncommand = 'x'", {}, False),
        ("vscode-copilot", "~/.copilot/mcp-config.json", json.dumps(SERVER), {}, True),
        ("gemini-cli", "~/.gemini/extensions/context-mode/gemini-extension.json", "{}", {}, True),
        ("claude-code", "~/x", "", {"CLAUDE_PLUGIN_ROOT": "/p/context-mode/1.0"}, True),
        ("claude-code", "~/x", "", {"CLAUDE_PLUGIN_ROOT": "/p/other/1.0"}, False),
        ("opencode", "~/elsewhere/opencode/opencode.json",
         '{"mcp": {"context-mode": {"enabled": true}}}', {"XDG_CONFIG_HOME": "~/elsewhere"}, True),
    ],
)  # fmt: skip
def test_a_server_is_found_where_a_host_reads_it(  # noqa: PLR0917
    adapter, file, text, environment, registered, tmp_path
):
    path = Path(file.replace("~", str(tmp_path)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    environment = {name: value.replace("~", str(tmp_path)) for name, value in environment.items()}
    found = is_registered(adapter, str(tmp_path / "project"), str(tmp_path), environment)
    assert found is registered


TYPED = ("bash", "/bin/bash -i", "cd x && exec sh", "env A=1 zsh -l", "python3 -q", "bash -i x.sh")
UNTYPED = (
    *("bash -lc 'git status'", "bash x.sh", "ls | bash", "bash < x.sh", "bash <<'E'\nls\nE"),
    *("python3 x.py", "python3 -m pytest", "node --version", "git log -- bash", "grep sh x", "'"),
)


@pytest.mark.parametrize(
    ("command", "typed"), [*((c, True) for c in TYPED), *((c, False) for c in UNTYPED)]
)
def test_a_command_that_begins_a_prompt_is_told_from_one_that_runs_a_program(command, typed):
    assert begins_prompt(command) is typed


def test_a_prompt_is_refused_where_the_host_types_into_it_without_asking(place, environ):
    bare = claude("Bash", {"command": "/bin/bash"}, place)
    decision, reason = refusal_of("codex", ask("codex", "PreToolUse", bare, environ))
    assert decision == "deny"
    assert "bash -c" in reason
    assert ask("claude-code", "PreToolUse", bare, environ) is None


def test_a_refused_command_of_clines_command_line_becomes_one_that_does_nothing(place, environ):
    event_name, event = shell_event("cline", "git push x", place)
    answer = ask("cline", event_name, event, environ)
    assert answer["cancel"] is False
    (command,) = answer["overrideInput"]["commands"]
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (1, answer["errorMessage"])
    assert "Bash(git push *)" in answer["errorMessage"]
    read = {"id": "1", "name": "read_files", "input": {"files": [{"path": "secret.txt"}]}}
    answer = ask("cline", event_name, event | {"tool_call": read}, environ)
    assert answer["overrideInput"] == {"files": [{"path": "/dev/null/refused"}]}
    del event["tool_call"]  # as its extension asks, which would run what was refused
    answer = ask("cline", event_name, event, environ)
    assert (answer["cancel"], set(answer)) == (True, {"cancel", "errorMessage"})


def test_a_redirect_that_is_not_followed_hides_no_question(place, environ):
    event = claude("Bash", {"command": "curl https://a.b; npm publish x"}, place)
    decision, _ = refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))
    assert decision == "ask"


def test_a_huge_file_is_better_asked_than_read(place, environ, served):
    event = claude("Read", {"file_path": str(place / "big.log")}, place)
    decision, reason = refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))
    assert decision == "deny"
    assert "ctx_execute_file" in reason
    part = claude("Read", {"file_path": str(place / "big.log"), "limit": 20}, place)
    assert ask("claude-code", "PreToolUse", part, environ) is None


PATCH = "*** Begin Patch\n*** Update File: secret.txt\n@@\n-x\n*** End Patch"
PATCH_ABOVE = PATCH.replace("secret.txt", "../secret.txt")
# Tools of files, pages and servers, under the names that hosts give them.
OTHER_TOOLS = (
    ("claude-code", "Read", {"file_path": "secret.txt"}),
    ("claude-code", "Edit", {"file_path": "./docs/../secret.txt", "old_string": "x"}),
    ("claude-code", "Write", {"file_path": "{cwd}/secret.txt", "content": "x"}),
    ("claude-code", "WebFetch", {"url": "https://EVIL.example./x", "prompt": "p"}),
    ("claude-code", "WebFetch", {"url": "http://169.254.169.254/latest", "prompt": "p"}),
    ("claude-code", "mcp__other__drop", {"table": "t"}),
    ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Update File: secret.txt\n@@\n-x"}),
    ("codex", "shell", {"command": ["bash", "-lc", "git push x"]}),
    ("codex", "exec_command", {"cmd": "git push x", "tty": True}),
    ("codex", "write_stdin", {"session_id": 1, "chars": "git push x\n"}),
    ("codex", "unified_exec", {"input": ["x"], "command": "git push x"}),
    ("codex", "view_image", {"path": "{cwd}/secret.txt"}),
    ("codex", "Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}),
    ("codex", "Bash", {"command": f"cd docs && apply_patch <<'EOF'\n{PATCH_ABOVE}\nEOF"}),
    ("codex", "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}),
    ("qwen-code", "run_shell_command", {"command": "git push x", "is_background": False}),
    ("qwen-code", "monitor", {"command": "git push x"}),
    ("qwen-code", "read_file", {"file_path": "{cwd}/secret.txt"}),
    ("qwen-code", "edit", {"file_path": "{cwd}/secret.txt", "old_string": "x"}),
    ("qwen-code", "web_fetch", {"url": "https://evil.example/", "prompt": "p"}),
    ("cline", "run_commands", {"commands": ["ls", "git push x"]}),
    ("cline", "run_commands", {"commands": [{"command": "git", "args": ["push", "x"]}]}),
    ("cline", "run_commands", {"command": "git", "args": ["push", "x"]}),
    ("cline", "execute_command", {"command": "git push x", "requires_approval": "false"}),
    ("cline", "read_files", {"files": [{"path": "a"}, {"path": "{cwd}/secret.txt"}]}),
    ("cline", "read_files", {"file_paths": ["{cwd}/secret.txt"]}),
    ("cline", "editor", {"path": "{cwd}/secret.txt", "new_text": "x"}),
    ("cline", "apply_patch", {"input": PATCH}),
    ("cline", "write_to_file", {"path": "secret.txt", "content": "x"}),
    ("cline", "fetch_web_content", {"requests": [{"url": "https://evil.example/", "prompt": "p"}]}),
    ("cline", "other__drop", {"table": "t"}),
    ("cline", "use_mcp_tool", {"server_name": "other", "tool_name": "drop", "arguments": {"t": 1}}),
    ("droid", "Execute", {"command": "git push x", "timeout": 60}),
    ("droid", "Create", {"file_path": "secret.txt", "content": "x"}),
    ("droid", "ApplyPatch", {"input": PATCH}),
    ("droid", "FetchUrl", {"url": "https://evil.example/"}),
    ("kiro", "fs_read", {"operations": [{"mode": "Line", "path": "{cwd}/secret.txt"}]}),
    ("kiro", "fs_write", {"command": "create", "path": "{cwd}/secret.txt", "file_text": "x"}),
    ("kiro", "execute_bash", {"command": "git push x"}),
    ("kiro", "@other/drop", {"table": "t"}),
    ("tabnine", "write_file", {"file_path": "secret.txt", "content": "x"}),
    ("iflow", "run_shell_command", {"command": "git push x"}),
    ("iflow", "multi_edit", {"file_path": "{cwd}/secret.txt", "edits": []}),
    ("iflow", "mcp__other__drop", {"table": "t"}),
    ("crush", "mcp_other_drop", {"table": "t"}),
    ("opencode", "other_drop", {"table": "t"}),
    ("vscode-copilot", "other-drop", {"table": "t"}),
    ("crush", "bash", {"command": "git push x"}),
    ("crush", "view", {"file_path": "secret.txt"}),
    ("crush", "multiedit", {"file_path": "{cwd}/secret.txt", "edits": []}),
    ("crush", "fetch", {"url": "https://evil.example/", "format": "text"}),
    ("crush", "download", {"url": "https://evil.example/", "file_path": "x"}),
    ("gemini-cli", "read_file", {"absolute_path": "{cwd}/secret.txt"}),
    ("gemini-cli", "read_many_files", {"paths": ["a", "secret.txt"]}),
    ("gemini-cli", "write_file", {"file_path": "secret.txt", "content": "x"}),
    ("gemini-cli", "web_fetch", {"prompt": "sum up https://evil.example/a, please"}),
    ("vscode-copilot", "read_file", {"filePath": "{cwd}/secret.txt", "startLine": 1}),
    ("vscode-copilot", "replace_string_in_file", {"filePath": "{cwd}/secret.txt"}),
    ("vscode-copilot", "editFiles", {"files": ["{cwd}/secret.txt"]}),
    ("vscode-copilot", "view", {"path": "{cwd}/secret.txt"}),
    ("vscode-copilot", "create", {"path": "{cwd}/secret.txt", "file_text": "x"}),
    ("vscode-copilot", "bash", {"command": "git push x", "description": "d"}),
    ("vscode-copilot", "web_fetch", {"url": "https://evil.example/"}),
    ("vscode-copilot", "fetch_webpage", {"urls": ["https://evil.example"], "query": "q"}),
    ("cursor", "Read", {"file_path": "{cwd}/secret.txt"}),
    ("opencode", "read", {"filePath": "{cwd}/secret.txt"}),
    ("opencode", "patch", {"patchText": "*** Begin Patch\n*** Delete File: secret.txt\n"}),
)


@pytest.mark.parametrize(("host", "name", "given"), OTHER_TOOLS)
def test_rules_hold_for_the_tools_of_files_pages_and_servers(host, name, given, place, environ):
    given = json.loads(json.dumps(given).replace("{cwd}", str(place)))
    event = tool_event(host, name, given, place)
    decision, _ = refusal_of(host, ask(host, judged_event(host), event, environ))
    assert decision == "deny"


def test_geminis_tools_of_servers_are_judged_by_what_its_event_says_of_them(place, environ):
    event = tool_event("gemini-cli", "mcp_other_drop", {"table": "t"}, place)
    event["mcp_context"] = {"server_name": "other", "tool_name": "drop", "command": "x"}
    assert refusal_of("gemini-cli", ask("gemini-cli", "BeforeTool", event, environ))[0] == "deny"


@pytest.mark.parametrize(
    ("host", "name"), [("vscode-copilot", "git-hub-list-issues"), ("opencode", "git_hub_list")]
)
def test_a_servers_tool_that_no_rule_names_passes(host, name, place, environ):
    event = tool_event(host, name, {"table": "t"}, place)
    assert ask(host, judged_event(host), event, environ) is None


@pytest.mark.parametrize(
    ("action", "info"),
    [
        ("pre_read_code", {"file_path": "{cwd}/secret.txt"}),
        ("pre_write_code", {"file_path": "{cwd}/secret.txt", "edits": []}),
        (
            "pre_mcp_tool_use",
            {"mcp_server_name": "other", "mcp_tool_name": "drop", "mcp_tool_arguments": {}},
        ),
    ],
)
def test_cascades_events_of_files_and_servers_are_judged(action, info, place, environ):
    info = json.loads(json.dumps(info).replace("{cwd}", str(place)))
    event = {"agent_action_name": action, "tool_info": info}
    environ = {**environ, "CONTEXT_MODE_PROJECT_DIR": str(place)}
    assert refusal_of("windsurf", ask("windsurf", action, event, environ))[0] == "deny"


@pytest.mark.parametrize(
    "command",
    [
        f"cat > notes <<'EOF'\n{PATCH}\nEOF",
        f"cd docs && apply_patch <<'EOF'\n{PATCH}\nEOF",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: other.txt\n+x\n*** End Patch\nEOF",
    ],
)
def test_a_patch_that_edits_nothing_denied_passes(command, place, environ):
    event = claude("Bash", {"command": command}, place)
    assert ask("codex", "PreToolUse", event, environ) is None


def test_each_edit_of_a_patch_within_a_command_is_logged(place, environ):
    command = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    ask("codex", "PreToolUse", claude("Bash", {"command": command}, place), environ)
    entries = list(audit.read_entries(Path(environ["CONTEXT_MODE_DIR"]) / "logs"))
    assert [entry["language"] for entry in entries] == ["command", "edit"]
    assert entries[1]["decision"] == "deny"


# Searches of every host, of what rules deny to read and of what they don't.
DENIED_SEARCHES = (
    ("Grep", {"pattern": "x", "path": "secret.txt"}),
    ("Grep", {"pattern": "x", "path": "{cwd}/private"}),
    ("Grep", {"pattern": "x", "path": "src/../private/"}),
    ("Grep", {"pattern": "x", "path": "private/deep/file"}),
    ("Grep", {"pattern": "x", "path": "to-private"}),
    ("Glob", {"pattern": "to-private/*.txt"}),
    ("Glob", {"pattern": "*.txt", "path": "to-private"}),
    ("Grep", {"pattern": "x", "glob": "secret.txt"}),
    ("Grep", {"pattern": "x", "glob": "*.{md,txt}"}),
    ("Grep", {"pattern": "x", "glob": "**/secret.*", "path": None}),
    ("Grep", {"pattern": "x", "glob": ["*.py", "private/**"]}),
    ("Glob", {"pattern": "private/**"}),
    ("Glob", {"pattern": "private/**/*"}),
    ("Glob", {"pattern": "{cwd}/private/*.txt"}),
    ("Glob", {"pattern": "*", "path": "private"}),
    ("Glob", {"pattern": "[st]ecret.txt"}),
    ("Glob", {"pattern": "{a,{private,b}}/x"}),
    ("LS", {"path": "./private"}),
    ("NotebookRead", {"notebook_path": "private/a.ipynb"}),
    ("LS", {"path": "to-private", "ignore": None}),
    ("list_directory", {"dir_path": "private"}),
    ("glob", {"pattern": "secret.???"}),
    ("grep_search", {"query": "x", "includePattern": "private/**"}),
    ("search_file_content", {"pattern": "x", "include": "secret.txt"}),
    ("file_search", {"query": "**/secret.txt"}),
)
PASSED_SEARCHES = (
    ("Grep", {"pattern": "secret.txt", "path": "src"}),
    ("Grep", {"pattern": "x", "path": "src"}),
    ("Grep", {"pattern": "x", "path": "{cwd}", "glob": "**/*.py"}),
    ("Glob", {"pattern": "**/*.py"}),
    ("Glob", {"pattern": "**/*"}),
    ("Glob", {"pattern": "src/**"}),
    ("LS", {"path": "{cwd}"}),
    ("LS", {}),
    ("list_dir", {"path": None}),
)


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "windsurf"])  # tells of none
@pytest.mark.parametrize(
    ("name", "given", "is_denied"),
    [
        *((name, given, True) for name, given in DENIED_SEARCHES),
        *((name, given, False) for name, given in PASSED_SEARCHES),
    ],
)
def test_rules_hold_for_searches(  # noqa: PLR0917
    host, name, given, is_denied, place, environ
):
    (place / "private").mkdir()
    (place / "to-private").symlink_to("private")
    given = json.loads(json.dumps(given).replace("{cwd}", str(place)))
    event = tool_event(host, name, given, place)
    answer = ask(host, judged_event(host), event, environ)
    if is_denied:
        assert refusal_of(host, answer)[0] == "deny"
    else:
        assert answer == ({} if host == "cursor" else None)


@pytest.mark.parametrize("tool", ["Read", "Edit"])
@pytest.mark.parametrize(
    ("path", "is_denied"),
    [
        *(("to-secret", True), ("to-private/x", True), ("to-deep/x", True), ("to-link/x", True)),
        *(("to-deep/../x", True), ("./src/../to-deep/../x", True), ("secret.txt", True)),
        *(
            ("private/to-src/main.py", True),
            ("to-src/main.py", False),
            ("to-src/../main.py", False),
        ),
    ],
)
def test_a_link_is_judged_by_its_name_and_by_what_it_leads_to(  # noqa: PLR0917
    tool, path, is_denied, place, environ, served
):
    for folder in ("private/deep", "src"):
        (place / folder).mkdir(parents=True)
    links = {"to-secret": "secret.txt", "to-private": "private", "to-deep": "private/deep"}
    links |= {"to-link": "to-private", "to-src": "src", "private/to-src": "../src"}
    for name, target in links.items():
        (place / name).symlink_to(target)
    answer = ask("claude-code", "PreToolUse", claude(tool, {"file_path": path}, place), environ)
    assert (answer is not None) is is_denied


def test_a_search_of_what_holds_a_denied_file_is_redirected_and_else_passed_over(
    place, environ, served
):
    rules = {"permissions": {"deny": ["Read(./config/secret.txt)"]}}
    (place / ".claude" / "settings.json").write_text(json.dumps(rules))

    def answer(**given):
        event = claude("Grep", {"pattern": "x"} | given, place)
        return ask("claude-code", "PreToolUse", event, environ)

    assert answer(path="config") is answer() is None
    (place / "config").mkdir()
    (place / "config" / "secret.txt").write_text("x")
    for found in (answer(path="config"), answer(), answer(path=".")):
        decision, reason = refusal_of("claude-code", found)
        assert decision == "deny"
        assert "code=\"grep -rnE -e 'x' /" in reason
    assert answer(path="src") is answer(glob="*.py") is None


def test_where_no_server_lives_a_search_of_all_is_advised_and_one_of_its_folder_denied(
    place, environ
):
    rules = {"permissions": {"deny": ["Read(./config/secret.txt)"]}}
    (place / ".claude" / "settings.json").write_text(json.dumps(rules))
    (place / "config").mkdir()
    (place / "config" / "secret.txt").write_text("x")
    event = claude("Grep", {"pattern": "x", "path": "config"}, place)
    assert refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))[0] == "deny"
    found = ask("claude-code", "PreToolUse", claude("Grep", {"pattern": "x"}, place), environ)
    assert "The sandbox hides" in json.dumps(found)
    assert "permissionDecision" not in found["hookSpecificOutput"]


ODD = {
    "no folder": {"cwd": ...},
    "null for a folder": {"cwd": None, "workspace_roots": None},
    "a number for a folder": {"cwd": 7, "workspace_roots": 7},
    "a list for a folder": {"cwd": [], "workspace_roots": []},
    "a folder that is none": {"cwd": "a\0b", "workspace_roots": "/"},
    "fields that nobody knows": {"x": {"y": [None]}, "permission_mode": None, "session_id": 7},
    "null for an agent": {"agent_id": None, "agent_type": None, "transcript_path": None},
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("name", "given"), [("Read", {"file_path": "secret.txt"}), ("Bash", {"command": "git push x"})]
)
def test_an_event_of_an_odd_form_is_judged_all_the_same(  # noqa: PLR0917
    host, odd, name, given, place, environ, monkeypatch
):
    monkeypatch.chdir(place)
    event = tool_event(host, name, given, place) | ODD[odd]
    event = {key: value for key, value in event.items() if value is not ...}
    answer = ask(host, judged_event(host), event, environ)
    assert refusal_of(host, answer)[0] == "deny"


@pytest.mark.parametrize(
    ("host", "variable"),
    [
        ("claude-code", "CLAUDE_PROJECT_DIR"),
        ("gemini-cli", "GEMINI_CWD"),
        ("gemini-cli", "GEMINI_PROJECT_DIR"),
        ("cursor", "CURSOR_PROJECT_DIR"),
    ],
)
def test_a_folder_that_the_event_lacks_is_the_one_that_the_host_tells_its_hooks(  # noqa: PLR0917
    host, variable, place, environ, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    event = {"tool_name": "Read", "tool_input": {"file_path": "secret.txt"}}
    event["hook_event_name"] = judged_event(host)
    told = ask(host, judged_event(host), event, {**environ, variable: str(place)})
    assert refusal_of(host, told)[0] == "deny"
    assert not ask(host, judged_event(host), event, environ)


@pytest.mark.parametrize(
    "number", ["1e400", "-1", "-1e400", "9" * 5000, '"x"', "NaN", "null", "{}"]
)
def test_an_absurd_number_changes_no_ruling(number, place, environ, served):
    def read(name: str, number: str):
        event = json.dumps(claude("Read", {"file_path": name, "limit": "NUMBER"}, place))
        text = event.replace('"NUMBER"', number).encode()
        return ask("claude-code", "PreToolUse", text, environ)

    assert "secret.txt" in refusal_of("claude-code", read("secret.txt", number))[1]
    assert "ctx_execute_file" in refusal_of("claude-code", read("big.log", number))[1]
    assert read("big.log", "20") is None


@pytest.mark.parametrize("text", ["\ud800", chr(0xDC80), "x\udfff/y", "\0"])
def test_text_that_is_no_unicode_is_judged_as_any(text, place, environ):
    def asked(name, given, **more):
        answer = ask("claude-code", "PreToolUse", claude(name, given, place, **more), environ)
        return refusal_of("claude-code", answer) if answer else ("pass", "")

    assert asked("Bash", {"command": f"git push {text}"})[0] == "deny"
    assert asked("Bash", {"command": f"cat {text} secret.txt"})[0] == "deny"
    for command in (f"cat {text}", f"echo '{text}' > {text}", f"{text}"):
        kind, said = asked("Bash", {"command": command})
        assert "defect" not in said
        assert kind == "pass" or "\0" in text
    for name, given in (
        ("Read", {"file_path": f"a{text}"}),
        ("Edit", {"file_path": f"/{text}/b"}),
        ("Grep", {"pattern": text, "path": text}),
        ("WebFetch", {"url": f"https://example.org/{text}"}),
        (f"mcp__a__{text}", {"x": text}),
    ):
        assert "defect" not in asked(name, given)[1]


@pytest.fixture
def short_deadlines(monkeypatch):
    monkeypatch.setattr(deadline, "WALL_SECONDS", 2.0)
    monkeypatch.setattr(run, "HOOK_SECONDS", 0.2)


def _loop_in_c(*_: object) -> None:
    sum(itertools.repeat(0))


def _stop(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _end(*_: object) -> None:
    os._exit(0)


@pytest.mark.usefixtures("short_deadlines")
@pytest.mark.parametrize("held_up", [_loop_in_c, _stop, _end])
def test_a_call_that_cannot_be_judged_in_time_is_refused(held_up, place, environ, monkeypatch):
    monkeypatch.setattr(judging, "analyse", held_up)
    answer = ask("claude-code", "PreToolUse", claude("Bash", {"command": "ls"}, place), environ)
    kind, said = refusal_of("claude-code", answer)
    assert (kind, "too large to be understood" in said) == ("deny", True)
    (entry,) = audit.read_entries(Path(environ["CONTEXT_MODE_DIR"]) / "logs")
    assert entry["decision"] == "deny"


@pytest.mark.usefixtures("short_deadlines")
def test_rules_that_cannot_be_read_in_time_allow_nothing(place, environ, monkeypatch):
    monkeypatch.setattr(verdicts, "load_rules", _loop_in_c)
    answer = ask("claude-code", "PreToolUse", claude("Bash", {"command": "ls"}, place), environ)
    kind, said = refusal_of("claude-code", answer)
    assert (kind, "cannot be read in time" in said) == ("deny", True)


def test_a_defect_refuses_by_the_rules_and_is_told(place, environ, monkeypatch, tmp_path):
    def fail(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(judging, "analyse", fail)
    answer = ask("claude-code", "PreToolUse", claude("Bash", {"command": "ls"}, place), environ)
    kind, said = refusal_of("claude-code", answer)
    assert (kind, "a defect of this program: KeyError: 'x'" in said) == ("deny", True)


@pytest.mark.parametrize("given", [None, [], "x", 7])
def test_a_tool_is_judged_by_its_name_where_its_arguments_are_none(given, place, environ):
    event = claude("mcp__other__drop", given, place)
    assert refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))[0] == "deny"


def test_bytes_that_are_no_text_hide_no_command(place, environ):
    event = json.dumps(claude("Bash", {"command": "git push x", "description": "NONE"}, place))
    text = b"\xef\xbb\xbf" + event.encode().replace(b"NONE", b"\xff\xfe")
    assert refusal_of("claude-code", ask("claude-code", "PreToolUse", text, environ))[0] == "deny"


@pytest.mark.parametrize(
    ("event_name", "fields"),
    [
        ("beforeShellExecution", {"command": "git push x"}),
        ("beforeReadFile", {"file_path": "secret.txt", "content": "x", "attachments": []}),
        ("preToolUse", {"tool_name": "Shell", "tool_input": '{"command": "git push x"}'}),
    ],
)
def test_cursors_other_events_and_spellings_are_understood(event_name, fields, place, environ):
    event = {"hook_event_name": event_name, "workspace_roots": [str(place)], "cwd": "", **fields}
    assert ask("cursor", event_name, event, environ)["permission"] == "deny"


def test_a_broken_rule_file_denies_everything_but_mending_it(place, environ):
    broken = place / ".claude" / "settings.json"
    broken.write_text("{ oops")
    denied = ask("claude-code", "PreToolUse", claude("Bash", {"command": "ls"}, place), environ)
    decision, reason = refusal_of("claude-code", denied)
    assert decision == "deny"
    assert "settings.json:1" in reason
    mending = claude("Edit", {"file_path": str(broken)}, place)
    assert ask("claude-code", "PreToolUse", mending, environ) is None


@pytest.mark.parametrize(
    "host", [host for host in HOSTS if list_events(find_adapter(host), "open")]
)
def test_a_conversation_begins_with_the_routing_text(host, environ):
    answer = ask(host, list_events(find_adapter(host), "open")[0], {"source": "startup"}, environ)
    if not isinstance(answer, str):
        found = answer.get("hookSpecificOutput", {}).get("additionalContext")
        answer = answer.get("additional_context") or found
    assert answer == read_routing()


BELLS = [
    (host, event)
    for host in HOSTS
    for event, purpose in find_adapter(host).EVENTS.items()
    if purpose not in ("judge", "open")
]


@pytest.mark.parametrize(("host", "event_name"), BELLS)
@pytest.mark.parametrize("event", [{"session_id": "s", "prompt": "git push x"}, b"", b"not json"])
def test_events_for_the_record_of_sessions_change_nothing(host, event_name, event, environ):
    assert ask(host, event_name, event, environ) == ({} if host == "cursor" else None)


@pytest.mark.parametrize(
    ("host", "purposes"),
    [
        ("claude-code", "answered asked compact end"),
        ("codex", "answered asked compact end"),
        ("gemini-cli", "answered end prompt"),
        ("qwen-code", "answered asked compact end"),
        ("vscode-copilot", "answered compact end prompt"),
        ("opencode", "answered compact prompt"),
        ("cline", "answered asked"),
        ("kiro", "answered asked"),
        ("cursor", "act act answered compact end prompt turn"),
    ],
)
def test_sessions_get_the_events_that_they_need(host, purposes):
    found = [its for its in find_adapter(host).EVENTS.values() if its not in ("judge", "open")]
    assert " ".join(sorted(found)) == purposes


def test_the_routing_text_is_short_and_names_tools_that_exist():
    assert len(read_routing().encode()) <= 1536
    assert set(re.findall(r"ctx_\w+", read_routing())) <= set(NAMES)


def test_a_script_of_the_project_counts_as_what_it_does(place, environ):
    (place / "deploy.sh").write_text("#!/bin/sh\ngit push origin\n")
    event = claude("Bash", {"command": "./deploy.sh"}, place)
    decision, _ = refusal_of("claude-code", ask("claude-code", "PreToolUse", event, environ))
    assert decision == "deny"


def test_a_persons_rules_are_found_where_variables_put_them(place, environ, tmp_path):
    (tmp_path / "claude").mkdir()
    rules = {"permissions": {"deny": ["Bash(docker *)"]}}
    (tmp_path / "claude" / "settings.json").write_text(json.dumps(rules))
    (tmp_path / "config" / "ctxmode").mkdir(parents=True)
    own = '[[rule]]\ndecision = "deny"\ncommands = ["helm *"]\n'
    (tmp_path / "config" / "ctxmode" / "policy.toml").write_text(own)
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "XDG_CONFIG_HOME": f"{tmp_path}/config"}
    for command in ("docker ps", "helm list"):
        event = claude("Bash", {"command": command}, place)
        assert ask("claude-code", "PreToolUse", event, environ) is None
        assert ask("claude-code", "PreToolUse", event, environ | moved)


def test_every_verdict_is_logged_under_its_host_with_secrets_masked(place, environ):
    event = claude("Bash", {"command": "git push x --password=hun2ter"}, place)
    ask("claude-code", "PreToolUse", event, environ)
    (found,) = audit.read_entries(Path(environ["CONTEXT_MODE_DIR"]) / "logs")
    assert found["surface"] == "hook:claude-code"
    assert found["decision"] == "deny"
    assert found["excerpt"] == "git push x --password=[REDACTED:password]"
    assert found["project"] == str(place)


def test_storage_is_where_the_program_itself_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONTEXT_MODE_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert Path(find_storage(os.environ)) == load_config(environ=os.environ, cwd=tmp_path).data_dir
    for name in ("XDG_DATA_HOME", "CONTEXT_MODE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
        assert (
            Path(find_storage(os.environ)) == load_config(environ=os.environ, cwd=tmp_path).data_dir
        )


def test_words_of_a_command_are_joined_so_that_they_stay_words():
    call = tool_call("shell", {"command": ["rm", "a b; git push"]}, "/")
    assert call.values == ("rm 'a b; git push'",)


COMMAND = (sys.executable, "-m", "ctxmode", "hook")


def hook(*arguments: str, stdin: bytes, environ: dict[str, str]):
    environment = {**os.environ, **environ}
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, env=environment, timeout=120,
        check=False,
    )  # fmt: skip


def test_the_process_answers_in_json_and_exits_with_zero(place, environ):
    event = json.dumps(claude("Bash", {"command": "git push x"}, place)).encode()
    done = hook("claude-code", "PreToolUse", stdin=event, environ=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_process_refuses_by_its_exit_code_where_the_host_reads_no_json(place, environ):
    event_name, event = shell_event("windsurf", "git push x", place)
    done = hook("windsurf", event_name, stdin=json.dumps(event).encode(), environ=environ)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Bash(git push *)" in done.stderr
    event["tool_info"]["command_line"] = "git status"
    done = hook("windsurf", event_name, stdin=json.dumps(event).encode(), environ=environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event_name", ["Stop", "PreToolUse"])
def test_the_process_is_silent_on_an_event_that_it_does_not_understand(event_name, environ):
    done = hook("claude-code", event_name, stdin=b"{", environ=environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), b"missing HOST"),
        (("x",), b"unknown host 'x'"),
        (("cluade-code", "PreToolUse"), b"unknown host 'cluade-code'"),
        (("--no-such", "option"), b"unknown host '--no-such'"),
        (("claude-code",), b"missing EVENT after claude-code"),
    ],
)
def test_a_hook_that_is_registered_wrongly_says_so_and_refuses_nothing(arguments, problem, environ):
    done = hook(*arguments, stdin=b"{", environ=environ)
    assert (done.returncode, done.stdout) == (1, b"")  # by 2, hosts would refuse the call
    assert problem in done.stderr
    assert b"Hosts: claude-code, " in done.stderr


def test_a_defect_denies_and_names_its_log(place, environ, monkeypatch, capsys):
    from ctxmode.commands import hook as command

    monkeypatch.setenv("CONTEXT_MODE_DIR", environ["CONTEXT_MODE_DIR"])
    monkeypatch.setattr(run, "respond", lambda *_: 1 / 0)
    command._answer("claude-code", "PreToolUse", b"{}")
    answer = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert "defect" in answer["permissionDecisionReason"]


def test_a_hook_loads_nothing_heavy(place, environ):
    event = json.dumps(claude("Bash", {"command": "git status"}, place))
    code = (
        "import sys, io; sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[1].encode()))\n"
        "before = set(sys.modules)\n"
        "from ctxmode.cli import main; main(['hook', 'claude-code', 'PreToolUse'])\n"
        "heavy = {'trio', 'mcp', 'anyio', 'rich', 'argparse', 'pydantic', 'platformdirs', 'kb',\n"
        "         'executor', 'runtimes', 'sqlite3', 'hashlib', 'difflib', 'inspect',\n"
        "         'dataclasses', 'pathlib', 'ipaddress', 'urllib', 'shlex', 'subprocess'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, event], capture_output=True, text=True, check=True,
        env={**os.environ, **environ}, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("words", ["x" * 5000, "é\x1b[2J" * 900, '"' * 3000])
def test_a_refusal_has_at_most_600_bytes(host, words, place, environ):
    event_name, event = shell_event(host, f"git push '{words}'", place)
    _, reason = refusal_of(host, ask(host, event_name, event, environ))
    assert "git push" in reason
    assert len(reason.encode()) <= 600
    assert "\x1b" not in reason
