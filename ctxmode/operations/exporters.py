"""The files in which agents' hosts find a pack, a row a host."""

from __future__ import annotations

from collections.abc import Mapping

from repomap.reading import MARK, RULES_HEAD

RULES_SUFFIX = ".mdc"
EXPORTERS: Mapping[str, tuple[str, str]] = {
    "claude": (
        "CLAUDE_CONTEXT.md",
        "Claude Code reads it where CLAUDE.md has the line `@{path}`.",
    ),
    "codex": (
        "CODEX_CONTEXT.md",
        "Codex reads it where AGENTS.md says: Read `{path}` before you begin.",
    ),
    "cursor": (
        "CURSOR_CONTEXT.md",
        "Cursor reads it where a message has `@{path}`; as a rules file, "
        "`-o .cursor/rules/context.mdc`, in every conversation.",
    ),
    "aider": (
        "AIDER_CONTEXT.md",
        "aider reads it when it is started with `aider --read {path}`.",
    ),
}
"""By host: the file's name, and how it is loaded; {path} is seen from the project."""


def make_head(file_name: str) -> str:
    """Return what a file begins with: the mark, behind the frontmatter that a rules file needs."""
    return RULES_HEAD if file_name.endswith(RULES_SUFFIX) else MARK


def write_usage(usage: str) -> str:
    """Say for whom a file is, and how it is loaded."""
    return (
        f"{usage} Prefer these files to a search for others; open a "
        "file where a part of it is missing. `context-mode pack` wrote it, and replaces it."
    )
