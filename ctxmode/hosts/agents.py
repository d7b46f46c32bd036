"""The hosts whose own transcripts are read, by each name that they go by. Hooks load this."""

from __future__ import annotations

import re
from collections.abc import Mapping

from base.named_tuples import NamedTuple

NAME_CHARS_MAX = 40
NAMELESS = "mcp"
"""The agent of a client that has no name."""


class HostAgent(NamedTuple):
    """One host. `agent` names it in what is kept, `adapter` where hooks are set up; as an MCP
    client it calls itself by a name that has all of `words`."""

    agent: str
    adapter: str
    words: tuple[str, ...]


HOST_AGENTS = (
    # Claude Desktop, which calls itself claude-ai, writes no transcript.
    HostAgent("claude_code", "claude-code", ("claude", "code")),
    HostAgent("codex", "codex", ("codex",)),
    HostAgent("gemini", "gemini-cli", ("gemini",)),
    HostAgent("qwen_code", "qwen-code", ("qwen",)),
    HostAgent("copilot_cli", "vscode-copilot", ("copilot",)),
    HostAgent("opencode", "opencode", ("opencode",)),
    HostAgent("cursor", "cursor", ("cursor",)),
)
AGENTS: Mapping[str, str] = {host.adapter: host.agent for host in HOST_AGENTS}
"""The agent of each adapter."""


def name_agent(client: str) -> str:
    """Name the agent behind an MCP client: that of its host's transcripts, or one made of the
    client's own name."""
    host = find_host(client)
    if host is not None:
        return host.agent
    return "_".join(_split(client))[:NAME_CHARS_MAX] or NAMELESS


def find_host(client: str) -> HostAgent | None:
    """Find the host that an MCP client is, if its transcripts are read."""
    words = set(_split(client))
    return next((host for host in HOST_AGENTS if words.issuperset(host.words)), None)


def _split(client: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", client.lower())
