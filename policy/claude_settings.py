"""The `permissions` of one of Claude Code's settings files, each entry with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from policy.model import Decision, RuleFileError
from policy.strict_json import strict_json
from policy.wordlist import word_set

RULES_MAX = 2_000  # of one file
_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
_FOLDERS = word_set(
    """additionalDirectories blockReadsOutsideWorkingDirectories
    blockWritesOutsideWorkingDirectories"""
)
_OTHERS = word_set(
    "defaultMode denyInsteadOfPrompting disableBypassPermissionsMode disableAutoMode"
)


def read_settings(text: str, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a settings file holds, and of that its permissions.

    Raises:
        RuleFileError: it is not JSON, or these are no objects.
    """
    try:
        document = strict_json(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise RuleFileError(path, line, f"not valid JSON: {error}", "Correct the syntax") from None
    if not isinstance(document, dict):
        raise RuleFileError(path, 1, "not a JSON object", 'Write {"permissions": {...}}')
    permissions = document.get("permissions", {})
    if not isinstance(permissions, dict):
        line = text.count("\n", 0, max(text.find('"permissions"'), 0)) + 1
        raise RuleFileError(path, line, "permissions is not an object", "Write it as {...}")
    return document, permissions


def entries_of(
    permissions: dict[str, Any], text: str, path: str
) -> Iterator[tuple[str, Decision, int]]:
    count = 0
    for key, decision in _LISTS.items():
        at, line = _seek(text, f'"{key}"', 0, 1)
        entries: Any = permissions.get(key, [])
        if not isinstance(entries, list):
            raise RuleFileError(path, line, f"permissions.{key} is not a list", "Write it as [...]")
        count += len(entries)
        if count > RULES_MAX:
            raise RuleFileError(
                path, line, f"it has over {RULES_MAX:,} rules", "Leave out what others cover"
            )
        for entry in entries:
            if not isinstance(entry, str) or not entry.strip():
                raise RuleFileError(path, line, f"{entry!r} is not a rule", "Write it as a text")
            at, line = _seek(text, json.dumps(entry, ensure_ascii=False), at, line)
            yield entry, decision, line


def warnings_of(permissions: dict[str, Any]) -> Iterator[str]:
    """What a person may expect of a key, and does not get here."""
    for key, value in permissions.items():
        if key in _FOLDERS and value:
            yield f"{key} is Claude Code's own: here profiles say what is shown and written"
        elif key == "defaultMode" and value not in ("default", "manual", "dontAsk"):
            yield f"defaultMode {value!r:.40} is Claude Code's own and changes nothing here"
        elif key not in {*_LISTS, *_FOLDERS, *_OTHERS}:
            yield f"permissions has no key {key!r:.40}; what it holds is not in force"


def _seek(text: str, literal: str, at: int, line: int) -> tuple[int, int]:
    """Where a literal stands next, and on which line. Where there is none, as when it is escaped,
    it is the place of the one before."""
    found = max(text.find(literal, at), at)
    return found, line + text.count("\n", at, found)
