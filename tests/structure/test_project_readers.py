"""Who opens a file by hand is listed; files of a project are opened by `policy.project_file`."""

from __future__ import annotations

import ast

# Each opens no file of a project whose text it shows, or asks by itself.
BY_HAND = {
    "ctxmode/config/files.py": "the user's own configuration",
    "ctxmode/hosts/cline/events.py": "what a host keeps",
    "ctxmode/hosts/cursor/transcript.py": "what a host keeps",
    "ctxmode/hosts/gemini_cli/export.py": "what a host keeps",
    "ctxmode/hosts/gemini_cli/transcript.py": "what a host keeps",
    "ctxmode/hosts/hooks/turns.py": "what a host keeps",
    "ctxmode/hosts/opencode/rows.py": "what a host keeps",
    "ctxmode/hosts/setup/target.py": "the user's own settings of a host",
    "ctxmode/hosts/windsurf/transcript.py": "what a host keeps",
    "ctxmode/operations/output_folder.py": "artifacts that the server keeps",
    "ctxmode/operations/indexing.py": "asks by itself, for the reason that it shows",
    "ctxmode/operations/packs.py": "whether a file may be replaced",
    "ctxmode/operations/tasks.py": "a file around a section, which is written back",
    "ctxmode/pipelines/cache.py": "artifacts of a run",
    "executor/project/git/host.py": "where a worktree belongs",
    "executor/project/rules/named_files.py": "commands that name files, of which none is shown",
    "executor/project/store/run_drafts.py": "drafts, of which digests are compared",
    "policy/load.py": "the user's own rules, and where a worktree belongs",
    "policy/project_file.py": "the function itself",
}
ROOMS = ("ctxmode/", "executor/", "policy/")  # which may import it; others are given what asks
OPENING = {"open_plain", "read_plain", "read_head"}


def opens_by_hand(source: str) -> bool:
    """Return whether a module imports what opens any file."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "base.plain_files"
        and OPENING & {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(source))
    )


def test_who_opens_a_file_by_hand_is_listed_with_its_reason(modules: dict[str, str]) -> None:
    found = {path for path, text in modules.items() if opens_by_hand(text)}
    assert {path for path in found if path.startswith(ROOMS)} == {*BY_HAND}
