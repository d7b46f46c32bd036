"""The variables that move the files of agents' hosts."""

from __future__ import annotations

import pytest

from base.host_homes import MOVED, find_place


@pytest.mark.parametrize(
    ("place", "environ", "expected"),
    [
        ("~/.claude/settings.json", {}, "/home/u/.claude/settings.json"),
        ("~/.claude/settings.json", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/settings.json"),
        ("~/.claude", {"CLAUDE_CONFIG_DIR": "/c"}, "/c"),
        ("~/.claude.json", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("~/.claude-other/x", {"CLAUDE_CONFIG_DIR": "/c"}, "/home/u/.claude-other/x"),
        ("~/.codex/hooks.json", {"CODEX_HOME": "/c"}, "/c/hooks.json"),
        ("~/.codex/hooks.json", {"CLAUDE_CONFIG_DIR": "/c"}, "/home/u/.codex/hooks.json"),
        ("~/.gemini/settings.json", {"GEMINI_CLI_HOME": "/c"}, "/c/.gemini/settings.json"),
        ("~/.copilot/mcp-config.json", {"COPILOT_HOME": "/c/"}, "/c/mcp-config.json"),
        ("~/.qwen/settings.json", {"QWEN_HOME": " /c "}, "/c/settings.json"),
        ("~/.cline/data/x", {"CLINE_DIR": "/c"}, "/c/data/x"),
        ("~/.cline/data/x", {"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"}, "/d/x"),
        ("~/.config/crush/crush.json", {"CRUSH_GLOBAL_CONFIG": "/c"}, "/c/crush.json"),
        ("~/.config/crush/crush.json", {"XDG_CONFIG_HOME": "/c"}, "/c/crush/crush.json"),
        ("~/.codex/hooks.json", {"CODEX_HOME": "relative"}, "/home/u/.codex/hooks.json"),
        ("~/.codex/hooks.json", {"CODEX_HOME": ""}, "/home/u/.codex/hooks.json"),
    ],
)
def test_a_variable_moves_the_files_of_its_host_alone(
    place: str, environ: dict[str, str], expected: str
) -> None:
    assert find_place(place, "/home/u", environ) == expected


def test_of_two_variables_for_a_place_the_one_for_less_of_it_comes_first() -> None:
    prefixes = [prefix for prefix, _, _ in MOVED]
    for index, prefix in enumerate(prefixes):
        assert not any(prefix.startswith(f"{before}/") for before in prefixes[:index])
