"""The folders with a user's own files for agents' hosts, and the variables that move them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module
    from collections.abc import Mapping

# A place below the home, the variable that moves it, and the suffix of the variable's value. Of
# several that fit, the first holds. From the hosts' programs or documents.
MOVED = (
    ("~/.claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"),
    ("~/.claude", "CLAUDE_CONFIG_DIR", ""),
    ("~/.codex", "CODEX_HOME", ""),
    ("~/.copilot", "COPILOT_HOME", ""),
    ("~/.gemini", "GEMINI_CLI_HOME", ".gemini"),
    ("~/.qwen", "QWEN_HOME", ""),
    ("~/.cline/data/settings/cline_mcp_settings.json", "CLINE_MCP_SETTINGS_PATH", ""),
    ("~/.cline/data/sessions", "CLINE_SESSION_DATA_DIR", ""),
    ("~/.cline/data", "CLINE_DATA_DIR", ""),
    ("~/.cline", "CLINE_DIR", ""),
    ("~/.config/crush", "CRUSH_GLOBAL_CONFIG", ""),
    ("~/.config", "XDG_CONFIG_HOME", ""),
)


def find_place(place: str, home: str, environ: Mapping[str, str]) -> str:
    """Find the path of a host's file or folder, written from `~/`. A variable counts if its value
    is an absolute path."""
    for prefix, variable, below in MOVED:
        value = environ.get(variable, "").strip()
        if os.path.isabs(value) and (place == prefix or place.startswith(f"{prefix}/")):
            rest = place[len(prefix) + 1 :]
            return os.path.join(value, *filter(None, (below, rest)))
    return os.path.join(home, place.removeprefix("~/"))
