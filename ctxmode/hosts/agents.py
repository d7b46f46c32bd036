"""The hosts whose own transcripts are read, by each name that they go by. Hooks load this."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME_CHARS_MAX = 40
NAMELESS = "mcp"
"""The agent of a client that has no name."""


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
"""What names each host in what is kept, and where hooks are set up; as an MCP client it calls
itself by a name that has all of the words."""

AGENTS: Mapping[str, str] = {adapter: agent for agent, adapter, _ in HOST_AGENTS}
"""The agent of each adapter."""


def name_agent(client: str) -> str:
    """Name the agent behind an MCP client: that of its host's transcripts, or one made of the
    client's own name."""
    return find_host(client) or "_".join(_split(client))[:NAME_CHARS_MAX] or NAMELESS


def find_host(client: str) -> str:
    """Find the agent of the host that an MCP client is; empty if no transcripts of it are read."""
    words = set(_split(client))
    return next((agent for agent, _, of in HOST_AGENTS if words.issuperset(of)), "")


def _split(client: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", client.lower())
