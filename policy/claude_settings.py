"""The `permissions` of one of Claude Code's settings files, each entry with its line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policy.model import Decision, RuleFileError
from policy.strict_json import strict_json
from policy.wordlist import word_set

RULES_MAX = 2_000  # of one file
UNREADABLE = "\ufffd"  # stands for a byte that is not UTF-8
_RESTRICTING = ("deny", "ask")
_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
_FOLDERS = word_set(
    """additionalDirectories blockReadsOutsideWorkingDirectories
    blockWritesOutsideWorkingDirectories"""
)
_OTHERS = word_set(
    "defaultMode denyInsteadOfPrompting disableBypassPermissionsMode disableAutoMode"
)


class Settings(NamedTuple):
    """The content of a settings file, its permissions, and warnings about it."""

    document: Mapping[str, Any]
    permissions: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


class _Object(dict[str, Any]):
    """An object of JSON in which the last of repeated keys counts."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs) if len(self) < len(pairs) else {}
        self.repeated = [key for key, count in counts.items() if count > 1]


def read_settings(text: str, path: str) -> Settings:
    """Read a settings file as Claude Code reads it: a byte order mark is passed over,
    an empty file has no settings, and the last of repeated keys counts.

    Raises:
        RuleFileError: it is not JSON, it or its permissions are not an object, or permissions are
            repeated or hold a repeated key: one of two lists of denials would be lost.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return Settings({}, {}, ("it is empty, so it has no settings",))
    warnings: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> _Object:
        found = _Object(pairs)
        names = (f"the key {key!r:.80} is repeated: the last one counts" for key in found.repeated)
        warnings.extend(names)
        return found

    try:
        document = strict_json(text, read_object)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise RuleFileError(path, line, f"not valid JSON: {error}", "Correct the syntax") from None
    if not isinstance(document, _Object):
        raise RuleFileError(path, 1, "not a JSON object", 'Write {"permissions": {...}}')
    permissions = document.get("permissions")
    if permissions is None:
        permissions = {}
    line = text.count("\n", 0, max(text.find('"permissions"'), 0)) + 1
    if not isinstance(permissions, dict):
        raise RuleFileError(path, line, "permissions is not an object", "Write it as {...}")
    again = [key for key in document.repeated if key == "permissions"]
    again += getattr(permissions, "repeated", [])
    if again:
        why = f"not valid JSON: the key {again[0]!r:.80} is repeated"
        raise RuleFileError(path, line, why, "Join the two")
    return Settings(document, permissions, tuple(warnings))


def entries_of(
    permissions: Mapping[str, Any], text: str, path: str
) -> Iterator[tuple[str, Decision, int]]:
    """Each rule with its line. An entry of `allow` that is none is left out.

    Raises:
        RuleFileError: an entry that denies or asks cannot be read, or there are too many rules.
    """
    count = 0
    for key, decision in _LISTS.items():
        at, line = _seek(text, f'"{key}"', 0, 1)
        entries: Any = permissions.get(key)
        if entries is None or (key not in _RESTRICTING and not isinstance(entries, list)):
            continue
        if not isinstance(entries, list):
            raise RuleFileError(path, line, f"permissions.{key} is not a list", "Write it as [...]")
        count += len(entries)
        if count > RULES_MAX:
            raise RuleFileError(
                path, line, f"it has over {RULES_MAX:,} rules", "Leave out what others cover"
            )
        for entry in entries:
            if not _is_rule(entry):
                if key not in _RESTRICTING:
                    continue
                raise RuleFileError(path, line, f"{entry!r} is not a rule", "Write it as a text")
            at, line = _seek(text, json.dumps(entry, ensure_ascii=False), at, line)
            yield entry, decision, line


def _is_rule(entry: object) -> bool:
    """Return whether an entry can be read. One with a byte that is not UTF-8 means what nobody can
    say."""
    return isinstance(entry, str) and bool(entry.strip()) and UNREADABLE not in entry


def warnings_of(permissions: Mapping[str, Any]) -> Iterator[str]:
    """What a person may expect of a key, and does not get here."""
    for key, value in permissions.items():
        if key in _LISTS and value is None:
            yield f"permissions.{key} is null, so it has no rules"
        elif key == "allow" and not isinstance(value, list):
            yield "permissions.allow is not a list, so it has no rules"
        elif key == "allow" and not all(map(_is_rule, value)):
            yield "permissions.allow has entries that are not rules; they are left out"
        elif key in _FOLDERS and value:
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
