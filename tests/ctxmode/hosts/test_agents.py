"""Hosts by all their names: of adapters, of agents, of MCP clients."""

from __future__ import annotations

import pytest

from ctxmode.hosts.registry import NAME_CHARS_MAX, find_agent, find_host, list_clients, name_agent


@pytest.mark.parametrize(
    ("client", "agent"),
    [
        ("claude-code", "claude_code"),
        ("Claude Code", "claude_code"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("qwen-cli-mcp-client-context-mode", "qwen_code"),
        ("copilot-cli", "copilot_cli"),
        ("opencode", "opencode"),
    ],
)
def test_a_client_is_the_host_whose_words_its_name_has(client, agent):
    assert find_host(client) == name_agent(client) == agent


@pytest.mark.parametrize(
    ("client", "agent"),
    [
        ("claude-ai", "claude_ai"),
        ("Visual Studio Code", "visual_studio_code"),
        ("codexes", "codexes"),
        ("zed", "zed"),
        ("", "mcp"),
        ("日本", "mcp"),
        ("../../etc\0", "etc"),
        ("x" * 5000, "x" * NAME_CHARS_MAX),
    ],
)
def test_any_other_client_is_an_agent_of_its_own_name(client, agent):
    assert not find_host(client)
    assert name_agent(client) == agent


def test_every_row_is_found_by_its_words_and_its_adapter():
    for agent, adapter, words in list_clients():
        assert find_host("-".join(words)) == agent
        assert find_agent(adapter) == agent
    assert len({agent for agent, _, _ in list_clients()}) == len(list(list_clients())) == 7
