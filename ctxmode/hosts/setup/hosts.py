"""The hosts, one row each.

Paths begin with `~/` for a person's files; others are relative to the project.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxmode.hosts import skill
from ctxmode.hosts.adapters import cursor
from ctxmode.hosts.setup.host import (
    Command,
    Hooks,
    Host,
    Known,
    Places,
    WholeFile,
    WriteText,
    hook_program,
)

SOURCE = Path(__file__).parent.parent / "hooks" / "opencode_plugin.ts"
_COMMAND = 'const COMMAND: string[] = ["context-mode"];'
_SESSIONS = "const RECORDS_SESSIONS = true;"
_KILO = '\nexport default { id: "context-mode", server: ContextMode };\n'


def plugin_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The plugin's text; it may tell us nothing of sessions and turns."""
    own = f"const COMMAND: string[] = {json.dumps(list(command))};"
    text = SOURCE.read_text(encoding="utf-8").replace(_COMMAND, own)
    return text if records_sessions else text.replace(_SESSIONS, _SESSIONS.replace("true", "false"))


def kilo_plugin_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The same for Kilo Code, which takes a plugin by its default export."""
    text = plugin_text(command, records_sessions=records_sessions).replace(
        "`context-mode setup opencode`", "`context-mode setup kilo`"
    )
    return text.rstrip() + "\n" + _KILO


_JUDGED = "PreToolUse"
_TURNS = ("UserPromptSubmit", "Stop")


def hooks_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The file's text; it may leave out the hooks of turns."""
    hooks = [_hook(command, "rules", _JUDGED, matcher=".*")]
    if records_sessions:
        hooks += [_hook(command, "turns", trigger) for trigger in _TURNS]
    return json.dumps({"version": "v1", "hooks": hooks}, indent=2) + "\n"


def _hook(command: Sequence[str], purpose: str, trigger: str, **more: str) -> dict[str, Any]:
    """A hook. Its name tells whose it is, for the format has no comments."""
    line = shlex.join([*command, "hook", "kiro", trigger])
    return {
        "name": f"{purpose} of context-mode (written by `context-mode setup kiro`)",
        "trigger": trigger,
        **more,
        "action": {"type": "command", "command": line},
        "enabled": True,
    }


SERVER_NAME = "context-mode"
SKILL = f"skills/{skill.NAME}/SKILL.md"


def _words(command: Command) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _stdio(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **_words(command)}


def _copilot_cli(command: Command) -> dict[str, Any]:
    return {"type": "local", **_words(command), "tools": ["*"]}


def _opencode(command: Command) -> dict[str, Any]:
    return {"type": "local", "command": list(command), "enabled": True}


CALL_SECONDS = 3600
"""Seconds for which a host that sets an end waits for a call: a run takes what its limit or its
caller says, and some hosts take no more."""


def _codex(command: Command) -> dict[str, Any]:
    """Codex waits for a required server before its first turn, and does not begin without it. It
    ends a call after a minute where an entry does not say otherwise."""
    times = {"startup_timeout_sec": 30, "tool_timeout_sec": CALL_SECONDS}
    return {**_words(command), "required": True, **times}


def _with_seconds(command: Command) -> dict[str, Any]:
    """A time for requests, in seconds: without one a call ends after a minute, and Cline does not
    wait for the first while we start."""
    return {**_words(command), "timeout": CALL_SECONDS}


def _zed(command: Command) -> dict[str, Any]:
    return {"source": "custom", **_words(command), "env": {}}


def _group(line: str, tools: str) -> Mapping[str, Any]:
    """Claude Code's form, which others took over: a matcher and a list of commands."""
    return {**_match_tools(tools), "hooks": [{"type": "command", "command": line}]}


def _plain(line: str, tools: str) -> Mapping[str, Any]:
    return {**_match_tools(tools), "command": line}


def _in_skills(user: str, project: str) -> Places:
    """Where a skill lies in a host's folders of them."""
    return Places(f"{user}/{SKILL}", f"{project}/{SKILL}")


def _show_output(line: str, tools: str) -> Mapping[str, Any]:
    del tools
    return {"command": line, "show_output": True}


def _match_tools(tools: str) -> Mapping[str, Any]:
    return {"matcher": tools} if tools else {}


def _for_copilots(line: str, tools: str) -> Mapping[str, Any]:
    """VS Code reads `command`; Copilot CLI, which reads the same files, `bash`."""
    del tools
    return {"type": "command", "command": line, "bash": line}


_CLAUDE_TOOLS = (
    "Bash|Read|Grep|Glob|LS|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|WebFetch|mcp__.*"
)
_CODEX_TOOLS = (
    "Bash|shell|local_shell|exec_command|write_stdin|unified_exec|apply_patch|Edit|Write"
    "|view_image|mcp__.*"
)
_GEMINI_TOOLS = (
    "run_shell_command|read_file|read_many_files|glob|grep_search|search_file_content"
    "|list_directory|write_file|replace|web_fetch|mcp_.*"
)
_QWEN_TOOLS = (
    "run_shell_command|monitor|read_file|zoom_image|glob|grep_search|list_directory|write_file|edit"
    "|notebook_edit|web_fetch|mcp__.*"
)
_DROID_TOOLS = (
    "Execute|Bash|Read|Grep|Glob|LS|Edit|MultiEdit|Write|Create|ApplyPatch|FetchUrl|WebFetch"
    "|mcp__.*"
)
_CRUSH_TOOLS = "^(bash|view|grep|glob|ls|edit|multiedit|write|fetch|agentic_fetch|download|mcp_.*)$"
_COPILOT_HOOKS = Hooks(
    Places("~/.copilot/hooks/context-mode.json", ".github/hooks/context-mode.json"),
    _for_copilots,
    base={"version": 1},
)


def _plugin(user: str, project: str, text: WriteText) -> WholeFile:
    """Return a plug-in in a host's folders of them."""
    places = Places(f"{user}/context-mode.ts", f"{project}/context-mode.ts")
    return WholeFile(places, text, is_plugin=True)


def _cline_hook(event: str) -> WholeFile:
    """Return Cline's hook of an event; all but the first are for the capture of turns alone."""
    is_judged = event == "PreToolUse"
    text = hook_program("cline", event, is_for_sessions=not is_judged)
    place = Places(f"~/Documents/Cline/Hooks/{event}")
    return WholeFile(place, text, is_program=True, is_needed=is_judged)


_CODE = "~/.config/Code/User"
_MCP = ("mcpServers", SERVER_NAME)

HOSTS = (
    Host(
        "claude-code", "Claude Code", Places("~/.claude.json", ".mcp.json"), _MCP, _stdio,
        Hooks(
            Places("~/.claude/settings.json", ".claude/settings.json"),
            _group, _CLAUDE_TOOLS,
        ),
        skill=_in_skills("~/.claude", ".claude"),
        source="code.claude.com/docs: mcp, hooks, skills",
        note="A project's server is started once you have approved it: Claude Code asks.",
        known=Known("2026-11-23", "2.1.330"),
    ),
    Host(
        "codex", "Codex", Places("~/.codex/config.toml", ".codex/config.toml"),
        ("mcp_servers", SERVER_NAME), _codex,
        Hooks(
            Places("~/.codex/hooks.json", ".codex/hooks.json"),
            _group, _CODEX_TOOLS,
        ),
        source="developers.openai.com/codex: mcp, hooks",
        known=Known("2026-11-23", "0.169.0"),
    ),
    Host(
        "gemini-cli", "Gemini CLI", Places("~/.gemini/settings.json", ".gemini/settings.json"),
        _MCP, _words,
        Hooks(
            Places("~/.gemini/settings.json", ".gemini/settings.json"),
            _group, _GEMINI_TOOLS,
        ),
        skill=_in_skills("~/.gemini", ".gemini"),
        extension="~/.gemini/extensions/context-mode/gemini-extension.json",
        source="geminicli.com/docs: mcp-server, hooks",
        known=Known("2026-11-23", "0.61.0"),
        note="A project's servers and hooks count once you have trusted its folder in Gemini CLI.",
    ),
    Host(
        "cursor", "Cursor", Places("~/.cursor/mcp.json", ".cursor/mcp.json"), _MCP, _words,
        Hooks(
            Places("~/.cursor/hooks.json", ".cursor/hooks.json"),
            _plain, base={"version": 1}, left_out=cursor.OLDER,
        ),
        source="cursor.com/docs: mcp, hooks",
    ),
    Host(
        "vscode-copilot", "VS Code Copilot", Places(f"{_CODE}/mcp.json", ".vscode/mcp.json"),
        ("servers", SERVER_NAME), _stdio,
        _COPILOT_HOOKS,
        source="code.visualstudio.com/docs/copilot: mcp servers, hooks; "
        "docs.github.com/copilot/reference: Copilot CLI hooks",
    ),
    Host(
        "opencode", "OpenCode", Places("~/.config/opencode/opencode.json", "opencode.json"),
        ("mcp", SERVER_NAME), _opencode,
        plugins=(_plugin("~/.config/opencode/plugins", ".opencode/plugins", plugin_text),),
        rules=Places("~/.config/opencode/AGENTS.md", "AGENTS.md"),
        source="opencode.ai/docs: mcp-servers, plugins, rules",
        known=Known("2026-11-23", "1.18.33"),
    ),
    Host(
        "zed", "Zed", Places("~/.config/zed/settings.json", ".zed/settings.json"),
        ("context_servers", SERVER_NAME), _zed, rules=Places("", "AGENTS.md"),
        source="zed.dev/docs/ai: mcp, rules",
    ),
    Host(
        "windsurf", "Windsurf", Places("~/.codeium/windsurf/mcp_config.json"), _MCP, _words,
        Hooks(Places("~/.codeium/windsurf/hooks.json"), _show_output),
        rules=Places("~/.codeium/windsurf/memories/global_rules.md", "AGENTS.md"),
        source="docs.windsurf.com: mcp, cascade hooks, memories and rules",
    ),
    Host(
        "jetbrains", "JetBrains Junie", Places("~/.junie/mcp/mcp.json", ".junie/mcp/mcp.json"),
        _MCP, _words, rules=Places("", ".junie/guidelines.md"),
        source="jetbrains.com/help/junie: mcp, guidelines",
    ),
    Host(
        "kiro", "Kiro", Places("~/.kiro/settings/mcp.json", ".kiro/settings/mcp.json"), _MCP,
        _words, rules=Places("~/.kiro/steering/context-mode.md", ".kiro/steering/context-mode.md"),
        plugins=(WholeFile(Places("", ".kiro/hooks/context-mode.json"), hooks_text),),
        source="kiro.dev/docs: mcp, steering, cli/v3/hooks",
    ),
    Host(
        "qwen-code", "Qwen Code", Places("~/.qwen/settings.json", ".qwen/settings.json"), _MCP,
        _words,
        Hooks(Places("~/.qwen/settings.json", ".qwen/settings.json"), _group, _QWEN_TOOLS),
        skill=_in_skills("~/.qwen", ".qwen"),
        extension="~/.qwen/extensions/context-mode/qwen-extension.json",
        source="package @qwen-code/qwen-code 0.24.4: docs/features/mcp.md, hooks.md",
        known=Known("2026-11-23", "0.24.4"),
    ),
    Host(
        "cline", "Cline", Places("~/.cline/data/settings/cline_mcp_settings.json"),
        _MCP, _with_seconds, outdated={"timeout": 60},
        plugins=tuple(map(_cline_hook, ("PreToolUse", "UserPromptSubmit", "TaskComplete"))),
        rules=Places("~/Documents/Cline/Rules/context-mode.md"),
        source="repository cline/cline: sdk/packages/shared/src/storage/paths.ts, "
        ".clinerules/hooks/README.md (command line 3.0, extension 4.1)",
        known=Known("2026-11-23", "3.0.65"),
        note="In Cline's extension, a call that is refused ends the run.",
    ),
    Host(
        "droid", "Factory Droid", Places("~/.factory/mcp.json", ".factory/mcp.json"), _MCP, _stdio,
        Hooks(
            Places("~/.factory/settings.json", ".factory/settings.json"), _group, _DROID_TOOLS
        ),
        source="docs.factory.ai: mcp, reference/hooks-reference",
        note="Droid passes over the hooks of settings.json where a hooks.json lies beside it.",
    ),
    Host(
        "qoder", "Qoder CLI", Places("~/.qoder.json", ".mcp.json"), _MCP, _words,
        Hooks(Places("~/.qoder/settings.json", ".qoder/settings.json"), _group, _CLAUDE_TOOLS),
        source="docs.qoder.com: cli/using-cli, cli/hooks-reference",
    ),
    Host(
        "codebuddy", "CodeBuddy Code", Places("~/.codebuddy.json", ".mcp.json"), _MCP, _stdio,
        Hooks(
            Places("~/.codebuddy/settings.json", ".codebuddy/settings.json"),
            _group, _CLAUDE_TOOLS,
        ),
        source="codebuddy.ai/docs/cli: mcp, hooks",
        note="CodeBuddy passes over hooks until you have reviewed them: type /hooks in it.",
    ),
    Host(
        "tabnine", "Tabnine CLI",
        Places("~/.tabnine/agent/settings.json", ".tabnine/agent/settings.json"), _MCP, _words,
        Hooks(
            Places("~/.tabnine/agent/settings.json", ".tabnine/agent/settings.json"),
            _group, _GEMINI_TOOLS,
        ),
        source="docs.tabnine.com: mcp-server-config, tabnine-cli/features/hooks/configuration",
        note="A project's settings count once you have trusted its folder in Tabnine CLI.",
    ),
    Host(
        "kilo", "Kilo Code", Places("~/.config/kilo/kilo.json", "kilo.json"),
        ("mcp", SERVER_NAME), _opencode,
        plugins=(_plugin("~/.config/kilo/plugin", ".kilo/plugin", kilo_plugin_text),),
        rules=Places("", "AGENTS.md"), spoken="opencode", known=Known("2026-11-25", "7.7.7"),
        source="kilo.ai/docs: mcp, automate/extending/plugins",
    ),
    Host(
        "roo-code", "Roo Code",
        Places(
            f"{_CODE}/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ".roo/mcp.json",
        ),
        _MCP, _with_seconds,
        rules=Places("~/.roo/rules/context-mode.md", ".roo/rules/context-mode.md"),
        source="docs.roocode.com: mcp, custom instructions",
    ),
    Host(
        "copilot-cli", "Copilot CLI", Places("~/.copilot/mcp-config.json", ".github/mcp.json"),
        _MCP, _copilot_cli, _COPILOT_HOOKS, spoken="vscode-copilot",
        source="docs.github.com/copilot: add MCP servers, hooks reference",
        known=Known("2026-11-23", "1.0.102"),
        note="A project's servers and hooks count once you have trusted its folder; with\n"
        "`copilot -p` its servers also need GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP=true.",
    ),
    Host(
        "crush", "Crush", Places("~/.config/crush/crush.json", "crush.json"),
        ("mcp", SERVER_NAME), _stdio,
        Hooks(Places("~/.config/crush/crush.json", "crush.json"), _plain, _CRUSH_TOOLS),
        rules=Places("~/.config/crush/CRUSH.md", "AGENTS.md"),
        source="repository charmbracelet/crush: README, docs/hooks/README.md",
    ),
)  # fmt: skip
BY_NAME = {host.name: host for host in HOSTS}
