"""The `permissions` of one of Claude Code's settings files, each entry with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from policy.model import Decision, RuleFileError
from policy.strict_json import strict_json
from policy.wordlist import word_set

RULES_MAX = 2_000  # of one file
_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
# What settles how often Claude Code itself asks and where its own tools reach: nothing here.
_SILENT = word_set(
    "defaultMode denyInsteadOfPrompting disableBypassPermissionsMode disableAutoMode"
)
_LEFT_OUT = {
    "additionalDirectories": "folders beside the project are shown by a profile's `read`",
    "blockReadsOutsideWorkingDirectories": "a profile's `read` says what is shown",
    "blockWritesOutsideWorkingDirectories": "a profile says what may be written",
}
_MODES_OF_USE = word_set("default manual dontAsk")
_MODES = word_set("acceptEdits plan auto bypassPermissions")


class Entry(NamedTuple):
    """A rule as it stands in a list of the file."""

    text: str
    decision: Decision
    line: int


class Settings(NamedTuple):
    """What a file says. `mode` is its `defaultMode`, empty where it has none.

    `asks_nobody` is `denyInsteadOfPrompting`, `managed_only` is
    `allowManagedPermissionRulesOnly`.
    """

    entries: tuple[Entry, ...]
    mode: str
    asks_nobody: bool
    managed_only: bool
    warnings: tuple[str, ...]


def read_settings(text: str, path: str) -> Settings:
    """What a settings file says of permissions.

    Raises:
        RuleFileError: it is not JSON, or its lists are not lists of rules.
    """
    document = _document(text, path)
    permissions = document.get("permissions", {})
    if not isinstance(permissions, dict):
        line = text.count("\n", 0, max(text.find('"permissions"'), 0)) + 1
        raise RuleFileError(path, line, "permissions is not an object", "Write it as {...}")
    mode = permissions.get("defaultMode", "")
    return Settings(
        tuple(_entries(permissions, text, path)),
        mode if isinstance(mode, str) else "",
        permissions.get("denyInsteadOfPrompting") is True,
        document.get("allowManagedPermissionRulesOnly") is True,
        tuple(_warnings(permissions)),
    )


def _entries(permissions: dict[str, Any], text: str, path: str) -> Iterator[Entry]:
    count = 0
    for key, decision in _LISTS.items():
        place = _Place(text)
        line = place.go_to(f'"{key}"')
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
            line = place.go_to(json.dumps(entry, ensure_ascii=False))
            yield Entry(entry, decision, line)


def _warnings(permissions: dict[str, Any]) -> Iterator[str]:
    """What a person may expect of a key, and does not get here."""
    for key, value in permissions.items():
        if key in _LEFT_OUT and value:
            yield f"{key} is Claude Code's own and changes nothing here: {_LEFT_OUT[key]}"
        elif key == "defaultMode" and str(value) in _MODES:
            yield f"defaultMode {value} is Claude Code's own and changes nothing here"
        elif key == "defaultMode" and str(value) not in _MODES_OF_USE:
            yield f"there is no defaultMode {value!r:.40}"
        elif key not in {*_LISTS, *_LEFT_OUT, *_SILENT}:
            yield f"permissions has no key {key!r:.40}; what it holds is not in force"


def _document(text: str, path: str) -> dict[str, Any]:
    try:
        document = strict_json(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise RuleFileError(path, line, f"not valid JSON: {error}", "Correct the syntax") from None
    if not isinstance(document, dict):
        raise RuleFileError(path, 1, "not a JSON object", 'Write {"permissions": {...}}')
    return document


class _Place:
    """Goes through a text from one literal to the next, and knows the line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def go_to(self, literal: str) -> int:
        """The line of the next one; where there is none, as when it is escaped, the last one's."""
        found = self._text.find(literal, self._at)
        if found >= 0:
            self._line += self._text.count("\n", self._at, found)
            self._at = found
        return self._line
