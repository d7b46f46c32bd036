"""The agents' hosts that are driven, one row each: where each comes from, how it runs one prompt
without a person, and how it is pointed at an endpoint.

Sources: each package's own `--help`, and the pages that `ctxmode/hosts/*/row.toml` name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxmode.hosts.setup.hosts import SCOPES, Scope
from tests.hosts.script import Call, Deferral

KEY = "sk-scripted-0000000000000000"  # made up: an endpoint on loopback asks for none
PROMPT = "Do the steps."


@dataclass(frozen=True, slots=True)
class Run:
    """One run's ground: the person's home, the project, and the endpoint's address."""

    home: Path
    project: Path
    url: str


@dataclass(frozen=True, slots=True)
class OwnTools:
    """What a host calls its own tools, each made into a call from what it is about."""

    shell: Callable[[str], Call]
    read: Callable[[str], Call]
    write: Callable[[str, str], Call]
    deferral: Deferral | None = None


@dataclass(frozen=True, slots=True)
class DrivenHost:
    """One host. `name` is that of `context-mode setup --list`.

    `program` is a path below the folder in which npm installs. `files` are written into the home
    before anything is registered. `scopes` are those in which it is driven: one is enough of a host
    that is much as another. `summary_cue` is a text of its requests for a summary."""

    name: str
    package: str
    version: str
    program: str
    words: Sequence[str]
    own: OwnTools
    environment: Callable[[Run], Mapping[str, str]]
    files: Callable[[Run], Mapping[str, str]] = lambda _: {}
    scopes: Sequence[Scope] = SCOPES
    project_words: Sequence[str] = field(default=())
    summary_cue: str = ""


def _arguments(tool: str, *names: str, **more: Any) -> Callable[..., Call]:
    """What makes calls of a tool whose arguments have these names."""
    return lambda *values: Call(tool, {**dict(zip(names, values, strict=True)), **more})


_SERVER = "mcp__context-mode__"


def _search(tool: str) -> Callable[[str], Call]:
    """What makes searches for a tool of ours that is not offered at once."""
    return lambda name: Call(tool, {"query": f"select:{_SERVER}{name}", "max_results": 5})


def _claude(run: Run) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": run.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


# Stands for a person's review of the hooks, without which none is run.
_REVIEWED = "--dangerously-bypass-hook-trust"


def _patch(path: str, text: str) -> str:
    """The command by which Codex's models edit files."""
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch"
    return f"apply_patch <<'EOF'\n{patch}\nEOF\n"


def _codex_files(run: Run) -> Mapping[str, str]:
    text = f"""\
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{run.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1

[projects."{run.project}"]
trust_level = "trusted"
"""
    return {".codex/config.toml": text}


def _opencode(run: Run) -> Mapping[str, str]:
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{run.url}/v1", "apiKey": KEY},
        "models": {"scripted": model},
    }
    config = {"provider": {"scripted": provider}, "model": "scripted/scripted"}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _kilo(run: Run) -> Mapping[str, str]:
    """The same by other names: it grew out of OpenCode."""
    return {name.replace("OPENCODE", "KILO"): it for name, it in _opencode(run).items()}


def _gemini(run: Run) -> Mapping[str, str]:
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": run.url,
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


def _gemini_files(run: Run) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return {
        ".gemini/settings.json": json.dumps(settings, indent=2) + "\n",
        ".gemini/trustedFolders.json": json.dumps({str(run.project): "TRUST_FOLDER"}),
    }


def _qwen(run: Run) -> Mapping[str, str]:
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{run.url}/v1",
        "OPENAI_MODEL": "scripted",
    }


def _qwen_files(run: Run) -> Mapping[str, str]:
    del run
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return {".qwen/settings.json": json.dumps(settings, indent=2) + "\n"}


def _copilot(run: Run) -> Mapping[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{run.url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
    }


def _cline(run: Run) -> Mapping[str, str]:
    del run
    return {"CLINE_NO_AUTO_UPDATE": "1"}


def _cline_files(run: Run) -> Mapping[str, str]:
    settings = {
        "provider": "openai-compatible",
        "apiKey": KEY,
        "model": "scripted",
        "baseUrl": f"{run.url}/v1",
    }
    providers = {
        "version": 1,
        "lastUsedProvider": "openai-compatible",
        "modes": {},
        "providers": {
            "openai-compatible": {
                "settings": settings,
                "updatedAt": "2026-01-01T00:00:00.000Z",
                "tokenSource": "manual",
            }
        },
    }
    return {".cline/data/settings/providers.json": json.dumps(providers, indent=2) + "\n"}


_OPENCODE_TOOLS = OwnTools(
    _arguments("bash", "command", description="a step"),
    _arguments("read", "filePath"),
    _arguments("write", "filePath", "content"),
)
HOSTS = (
    DrivenHost(
        "claude-code", "@anthropic-ai/claude-code", "2.1.330", "claude",
        ("-p", PROMPT, "--allowedTools", "mcp__context-mode", "Bash", "Read", "Write", "Edit"),
        OwnTools(
            _arguments("Bash", "command"),
            _arguments("Read", "file_path"),
            _arguments("Write", "file_path", "content"),
            Deferral(_search("ToolSearch")),
        ),
        _claude,
        # Stands for a person's approval of the project's server.
        project_words=("--settings", '{"enabledMcpjsonServers": ["context-mode"]}'),
    ),
    DrivenHost(
        "codex", "@openai/codex", "0.169.0", "codex",
        ("exec", "--dangerously-bypass-approvals-and-sandbox", _REVIEWED, PROMPT),
        OwnTools(
            _arguments("exec_command", "cmd"),
            lambda path: Call("exec_command", {"cmd": f"cat {path}"}),
            lambda path, text: Call("exec_command", {"cmd": _patch(path, text)}),
        ),
        lambda _: {"SCRIPTED_KEY": KEY},
        _codex_files,
    ),
    DrivenHost(
        "opencode", "opencode-ai", "1.18.33", "opencode", ("run", "--auto", PROMPT),
        _OPENCODE_TOOLS,
        _opencode,
    ),
    DrivenHost(
        "kilo", "@kilocode/cli", "7.7.7", "kilo", ("run", "--auto", PROMPT),
        _OPENCODE_TOOLS,
        _kilo,
        scopes=("project",),
    ),
    DrivenHost(
        "gemini-cli", "@google/gemini-cli", "0.61.0", "gemini",
        ("--yolo", "--model", "gemini-2.5-flash", "--prompt", PROMPT),
        OwnTools(
            _arguments("run_shell_command", "command"),
            _arguments("read_file", "file_path"),
            _arguments("write_file", "file_path", "content"),
        ),
        _gemini,
        _gemini_files,
    ),
    DrivenHost(
        "qwen-code", "@qwen-code/qwen-code", "0.24.4", "qwen", ("--yolo", "--prompt", PROMPT),
        OwnTools(
            _arguments("run_shell_command", "command", is_background=False),
            _arguments("read_file", "file_path"),
            _arguments("write_file", "file_path", "content"),
            Deferral(
                _search("tool_search"),
                lambda call: Call(
                    "tool_call", {"name": f"{_SERVER}{call.tool}", "arguments": call.arguments}
                ),
            ),
        ),
        _qwen,
        _qwen_files,
    ),
    DrivenHost(
        "copilot-cli", "@github/copilot", "1.0.102", "copilot",
        ("--trust-folder", "--allow-all-tools", "--no-auto-update", "--prompt", PROMPT),
        OwnTools(
            _arguments("bash", "command", description="a step"),
            _arguments("view", "path"),
            _arguments("create", "path", "file_text"),
        ),
        _copilot,
    ),
    DrivenHost(
        "cline", "cline", "3.0.65", "cline", ("--json", PROMPT),
        OwnTools(
            lambda command: Call("run_commands", {"commands": [command]}),
            lambda path: Call("read_files", {"files": [{"path": path}]}),
            _arguments("editor", "path", "new_text"),
        ),
        _cline,
        _cline_files,
    ),
)  # fmt: skip
BY_NAME = {host.name: host for host in HOSTS}
