"""Hosts whose transcripts are read, with all their names. Hooks load this."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME_CHARS_MAX = 40
NAMELESS = "mcp"
"""The agent of a client without a name."""


HOST_AGENTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # Claude Desktop, which calls itself claude-ai, writes no transcript.
    ("claude_code", "claude-code", ("claude", "code")),
    ("codex", "codex", ("codex",)),
    ("gemini", "gemini-cli", ("gemini",)),
    ("qwen_code", "qwen-code", ("qwen",)),
    ("copilot_cli", "vscode-copilot", ("copilot",)),
    ("opencode", "opencode", ("opencode",)),
    ("cursor", "cursor", ("cursor",)),
)
"""Each host's name in stores, its name for hooks, and the words in its MCP client's name."""

AGENTS: Mapping[str, str] = {adapter: agent for agent, adapter, _ in HOST_AGENTS}
"""The agent of each adapter."""


def name_agent(client: str) -> str:
    """Return the agent of an MCP client: that of its host's transcripts, or one from its name."""
    return find_host(client) or "_".join(_split(client))[:NAME_CHARS_MAX] or NAMELESS


def find_host(client: str) -> str:
    """Return the agent of an MCP client's host; empty if its transcripts are not read."""
    words = set(_split(client))
    return next((agent for agent, _, of in HOST_AGENTS if words.issuperset(of)), "")


def _split(client: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", client.lower())
