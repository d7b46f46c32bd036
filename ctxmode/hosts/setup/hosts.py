"""The hosts, one row each: where they read servers, hooks and rules from, and in which form.

Paths begin with `~/` for a person's files; others are relative to the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Scope = Literal["user", "project"]
Command = Sequence[str]
SERVER_NAME = "context-mode"


@dataclass(frozen=True, slots=True)
class Places:
    """One kind of file, by scope; empty where the host has none there."""

    user: str = ""
    project: str = ""

    def of(self, scope: Scope) -> str:
        return self.user if scope == "user" else self.project


@dataclass(frozen=True, slots=True)
class Hooks:
    """A file of hooks: entries by event, in a list each. `base` is what a new file must hold."""

    places: Places
    entries: Mapping[str, Callable[[str], Mapping[str, Any]]]
    base: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One row. `entry` makes the server's entry from its command.

    `rules` are files that the host always shows its model: for hosts whose hooks cannot put a
    text before a conversation. `note` is what its user has to do besides.
    """

    name: str
    title: str
    servers: Places
    key: tuple[str, ...]
    entry: Callable[[Command], Mapping[str, Any]]
    hooks: Hooks | None = None
    plugin: Places | None = None
    rules: Places | None = None
    source: str = ""
    note: str = ""


def _words(command: Command) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _stdio(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **_words(command)}


def _copilot_cli(command: Command) -> dict[str, Any]:
    return {"type": "local", **_words(command), "tools": ["*"]}


def _opencode(command: Command) -> dict[str, Any]:
    return {"type": "local", "command": list(command), "enabled": True}


def _zed(command: Command) -> dict[str, Any]:
    return {"source": "custom", **_words(command), "env": {}}


def _match(matcher: str) -> Callable[[str], Mapping[str, Any]]:
    """Claude Code's form, which others took over: a matcher and a list of commands."""
    return lambda line: {"matcher": matcher, "hooks": [{"type": "command", "command": line}]}


def _bare(line: str) -> Mapping[str, Any]:
    return {"hooks": [{"type": "command", "command": line}]}


def _command(line: str) -> Mapping[str, Any]:
    return {"command": line}


def _for_copilots(line: str) -> Mapping[str, Any]:
    """VS Code reads `command`; Copilot CLI, which reads the same files, `bash`."""
    return {"type": "command", "command": line, "bash": line}


_CLAUDE_TOOLS = (
    "Bash|Read|Grep|Glob|LS|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|WebFetch|mcp__.*"
)
_CODEX_TOOLS = "Bash|shell|apply_patch|mcp__.*"
_GEMINI_TOOLS = (
    "run_shell_command|read_file|read_many_files|glob|grep_search|search_file_content"
    "|list_directory|write_file|replace|web_fetch|mcp_.*"
)
_CODE = "~/.config/Code/User"
_MCP = ("mcpServers", SERVER_NAME)

HOSTS = (
    Host(
        "claude-code", "Claude Code", Places("~/.claude.json", ".mcp.json"), _MCP, _stdio,
        Hooks(
            Places("~/.claude/settings.json", ".claude/settings.json"),
            {"PreToolUse": _match(_CLAUDE_TOOLS), "SessionStart": _bare},
        ),
        source="code.claude.com/docs: mcp, hooks",
    ),
    Host(
        "codex", "Codex", Places("~/.codex/config.toml", ".codex/config.toml"),
        ("mcp_servers", SERVER_NAME), _words,
        Hooks(
            Places("~/.codex/hooks.json", ".codex/hooks.json"),
            {"PreToolUse": _match(_CODEX_TOOLS), "SessionStart": _bare},
        ),
        source="developers.openai.com/codex: mcp, hooks",
        note="Codex passes over hooks until you have reviewed them: type /hooks in it.",
    ),
    Host(
        "gemini-cli", "Gemini CLI", Places("~/.gemini/settings.json", ".gemini/settings.json"),
        _MCP, _words,
        Hooks(
            Places("~/.gemini/settings.json", ".gemini/settings.json"),
            {"BeforeTool": _match(_GEMINI_TOOLS), "SessionStart": _bare},
        ),
        source="geminicli.com/docs: mcp-server, hooks",
    ),
    Host(
        "cursor", "Cursor", Places("~/.cursor/mcp.json", ".cursor/mcp.json"), _MCP, _words,
        Hooks(
            Places("~/.cursor/hooks.json", ".cursor/hooks.json"),
            {"preToolUse": _command, "sessionStart": _command},
            base={"version": 1},
        ),
        source="cursor.com/docs: mcp, hooks",
    ),
    Host(
        "vscode-copilot", "VS Code Copilot", Places(f"{_CODE}/mcp.json", ".vscode/mcp.json"),
        ("servers", SERVER_NAME), _stdio,
        Hooks(
            Places("~/.copilot/hooks/context-mode.json", ".github/hooks/context-mode.json"),
            {"PreToolUse": _for_copilots, "SessionStart": _for_copilots},
            base={"version": 1},
        ),
        source="code.visualstudio.com/docs/copilot: mcp servers, hooks; "
        "docs.github.com/copilot/reference: Copilot CLI hooks",
    ),
    Host(
        "opencode", "OpenCode", Places("~/.config/opencode/opencode.json", "opencode.json"),
        ("mcp", SERVER_NAME), _opencode,
        plugin=Places(
            "~/.config/opencode/plugins/context-mode.ts", ".opencode/plugins/context-mode.ts"
        ),
        rules=Places("~/.config/opencode/AGENTS.md", "AGENTS.md"),
        source="opencode.ai/docs: mcp-servers, plugins, rules",
    ),
    Host(
        "zed", "Zed", Places("~/.config/zed/settings.json", ".zed/settings.json"),
        ("context_servers", SERVER_NAME), _zed, rules=Places("", "AGENTS.md"),
        source="zed.dev/docs/ai: mcp, rules",
    ),
    Host(
        "windsurf", "Windsurf", Places("~/.codeium/windsurf/mcp_config.json"), _MCP, _words,
        rules=Places("~/.codeium/windsurf/memories/global_rules.md", "AGENTS.md"),
        source="docs.windsurf.com: mcp, memories and rules",
    ),
    Host(
        "jetbrains", "JetBrains Junie", Places("~/.junie/mcp/mcp.json", ".junie/mcp/mcp.json"),
        _MCP, _words, rules=Places("", ".junie/guidelines.md"),
        source="jetbrains.com/help/junie: mcp, guidelines",
    ),
    Host(
        "kiro", "Kiro", Places("~/.kiro/settings/mcp.json", ".kiro/settings/mcp.json"), _MCP,
        _words, rules=Places("~/.kiro/steering/context-mode.md", ".kiro/steering/context-mode.md"),
        source="kiro.dev/docs: mcp, steering",
    ),
    Host(
        "qwen-code", "Qwen Code", Places("~/.qwen/settings.json", ".qwen/settings.json"), _MCP,
        _words, rules=Places("~/.qwen/QWEN.md", "QWEN.md"),
        source="qwenlm.github.io/qwen-code-docs: mcp, memory",
    ),
    Host(
        "cline", "Cline",
        Places(f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        _MCP, _words,
        rules=Places("~/Documents/Cline/Rules/context-mode.md", ".clinerules/context-mode.md"),
        source="docs.cline.bot: mcp, cline rules",
    ),
    Host(
        "roo-code", "Roo Code",
        Places(
            f"{_CODE}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ".roo/mcp.json",
        ),
        _MCP, _words, rules=Places("~/.roo/rules/context-mode.md", ".roo/rules/context-mode.md"),
        source="docs.roocode.com: mcp, custom instructions",
    ),
    Host(
        "copilot-cli", "Copilot CLI", Places("~/.copilot/mcp-config.json"), _MCP, _copilot_cli,
        rules=Places("~/.copilot/copilot-instructions.md", "AGENTS.md"),
        source="docs.github.com/copilot: copilot-cli",
    ),
    Host(
        "crush", "Crush", Places("~/.config/crush/crush.json", "crush.json"),
        ("mcp", SERVER_NAME), _stdio, rules=Places("", "AGENTS.md"),
        source="github.com/charmbracelet/crush: README",
    ),
)  # fmt: skip
BY_NAME = {host.name: host for host in HOSTS}
