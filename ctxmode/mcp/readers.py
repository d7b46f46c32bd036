"""Which clients are given an answer's text alone, and which its data, too.

The protocol's structured content says the same as the text. Some agents' hosts show their model
both, some only the data as JSON: each costs more than the text. A client that is no known host may
be a program that reads the data.
"""

from __future__ import annotations

import re

_NAMES = frozenset(
    (
        "amp",
        "claude",
        "cline",
        "codex",
        "copilot",
        "crush",
        "cursor",
        "droid",
        "gemini",
        "goose",
        "jetbrains",
        "junie",
        "kiro",
        "opencode",
        "qwen",
        "roo",
        "vscode",
        "windsurf",
        "zed",
    )
)
"""Words in the names by which agents' hosts call themselves (`clientInfo.name`)."""


def reads_text_only(client: str) -> bool:
    """Tell whether a client of that name shows its model what it is given, so that once is enough.
    Its tools then have no output schema, which would promise the data."""
    words = re.split(r"[^a-z0-9]+", client.lower().replace("visual studio code", "vscode"))
    return not _NAMES.isdisjoint(words)
