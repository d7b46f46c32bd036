"""Edits of our hooks in a host's file, one by one, next to other hooks.

A host has a list of hooks per event. In Claude Code's form its items are groups, each with a
matcher and a list of hooks; in other forms the items are the hooks themselves.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmode.hosts.setup import json_edits
from ctxmode.hosts.setup.json_edits import parse

# A file that was missing ends with a new line, one that was empty does not; blank lines that it had
# stay after our text. So removal can restore the original state.


def put_into(base: str | None, edit: Callable[[str], str]) -> Callable[[str | None], str]:
    """Make an edit of a file from an edit that adds to a text of at least `base`; None: from one
    that keeps blank lines before its addition."""

    def put(text: str | None) -> str:
        if base is None:
            return edit(text or "") + ("\n" if text is None else "")
        if text is not None and text.strip():
            return edit(text)
        newline = "\r\n" if "\r\n" in (text or "") else "\n"
        made = edit(base.replace("\n", newline)).rstrip()
        if text is None:
            return made + newline
        return made + newline + text if text else made

    return put


def take_out(base: str, edit: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """Make an edit of a file from an edit that removes from a text; it returns None to delete the
    file. An edit of a text without a base also removes the end of the last line."""

    def take(text: str | None) -> str | None:
        if text is None or not text.strip():
            return text
        made = edit(text)
        bare = base.replace("\n", "\r\n" if "\r\n" in made else "\n")
        left = made.removeprefix(bare)
        if made == text or left.strip():
            return made
        rest = left.removeprefix("\r").removeprefix("\n") if base else left
        was_missing = left != rest if base else text.endswith("\n")
        return rest or (None if was_missing else "")

    return take


BEGIN = "<!-- context-mode: begin (written by `context-mode setup`) -->"
END = "<!-- context-mode: end -->"


def put(text: str, ours: str) -> str:
    """Put our text between the markers; without markers, at the end after a blank line. The final
    new line is kept. Raise ValueError if there is one marker without the other."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([BEGIN, *ours.strip().splitlines(), END])
    place = _place(text)
    if place is not None:
        return text[: place[0]] + block + text[place[1] :]
    gap = newline if text.strip() else ""
    return text + gap + (block + newline if text.endswith("\n") else gap + block)


def drop(text: str) -> str:
    """Remove our text, its markers and the gap before them. Raise ValueError if there is one marker
    without the other."""
    place = _place(text)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    gap = ("\r\n" if "\r\n" in text else "\n") if before.strip() else ""
    if after:
        return before.removesuffix(gap) + after.removeprefix("\r").removeprefix("\n")
    return before.removesuffix(2 * gap)


def _place(text: str) -> tuple[int, int] | None:
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise ValueError("its context-mode markers are not one pair")
    return start, end + len(END)


_PROGRAM = "context-mode"
_SERVE = "serve"


@dataclass(frozen=True, slots=True)
class Owner:
    """Commands by which hosts call this program, in addition to its own name."""

    command: Sequence[str]  # command to write
    is_given: bool = False  # the user named it, so it replaces any other of our commands
    recorded: Sequence[str] = ()  # command in the host's entry of our server, if one word

    def owns(self, words: Sequence[str]) -> bool:
        """Return whether some words are one of our commands."""
        own = (list(self.command), list(self.recorded))
        return is_program(words) or (bool(words) and list(words) in own)

    def owns_hook(self, line: str, adapter: str, event: str) -> bool:
        """Return whether a line only calls the hook of an event."""
        words = _split(line)
        return words[-3:] == ["hook", adapter, event] and self.owns(words[:-3])

    def update_hook(self, line: str, adapter: str, event: str) -> str:
        """Return the new text of one of our lines: a command that the user chose is kept, unless
        the user names another."""
        words = _split(line)[:-3]
        if not self.is_given and not is_program(words):
            return line
        return shlex.join([*self.command, "hook", adapter, event])

    def is_called_by(self, line: str, adapter: str, event: str) -> bool:
        """Return whether the user's line calls the hook of an event, as a wrapper does."""
        ends = {words[-1] for words in (self.command, self.recorded) if words}
        names = "|".join(map(re.escape, (_PROGRAM, "-m ctxmode", *sorted(ends))))
        return re.search(rf"(?:{names})['\"]? +hook +{adapter} +{event}\b", line) is not None


def is_program(words: Sequence[str]) -> bool:
    """Return whether some words are this program, wherever it is installed."""
    if len(words) == 1:
        return os.path.basename(words[0]) == _PROGRAM
    return list(words[1:]) == ["-m", "ctxmode"]


def split_server(entry: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    """Split a server's command at `serve`: the program, and the arguments after that word. None if
    the entry starts something else, such as a wrapper."""
    words: list[str] = []
    for given in (entry.get("command"), entry.get("args")):
        words += (
            map(str, given)
            if isinstance(given, list)
            else [given]
            if isinstance(given, str)
            else []
        )
    if _SERVE not in words:
        return None
    at = words.index(_SERVE)
    program = words[:at]
    return (program, words[at + 1 :]) if len(program) == 1 or is_program(program) else None


def is_foreign(entry: Mapping[str, Any]) -> bool:
    """Return whether a server with our name is the user's: it starts a wrapper, or has an
    address."""
    has_address = any(name.lower().endswith("url") for name in entry)
    return has_address or ("command" in entry and split_server(entry) is None)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


_LINES = ("command", "bash")
_FOR_EVERY_TOOL = (None, "", "*", ".*")


_Hook = Mapping[str, Any]
_Path = tuple[str | int, ...]


def _lines(hook: _Hook) -> Iterator[tuple[str, str]]:
    for name in _LINES:
        if isinstance(line := hook.get(name), str):
            yield name, line


def put_hook(text: str, adapter: str, event: str, entry: Mapping[str, Any], owner: Owner) -> str:
    """Add our hook for an event. An existing one keeps the user's additions; if the user's wrapper
    calls us for the same tools, none is added. Raise ValueError if the text is not JSON, or the
    event has no list."""
    own: list[tuple[_Path, _Hook]] = []
    is_wrapped = False
    for path, hook, matcher in _hooks(text, event):
        if _owns(owner, hook, adapter, event):
            own.append((path, hook))
        elif matcher in (*_FOR_EVERY_TOOL, entry.get("matcher")):
            lines = (line for _, line in _lines(hook))
            is_wrapped |= any(owner.is_called_by(line, adapter, event) for line in lines)
    if not own and not is_wrapped:
        return json_edits.add_item(text, ("hooks", event), entry)
    wanted = entry["hooks"][0] if "hooks" in entry else entry
    for path, hook in own:
        for name, line in _lines(hook):
            updated = owner.update_hook(line, adapter, event)
            text = json_edits.put(text, (*path, name), updated)
        for name in wanted.keys() - hook.keys() - {"matcher"}:
            text = json_edits.put(text, (*path, name), wanted[name])
    return text


def drop_hooks(text: str, adapter: str, event: str, owner: Owner) -> str:
    """Remove our hooks of an event, and groups and lists that become empty."""
    while text.strip():
        hooks = _hooks(text, event)
        path = next((at for at, hook, _ in hooks if _owns(owner, hook, adapter, event)), None)
        if path is None:
            return text
        text = json_edits.drop_item(text, path)
    return text


def _owns(owner: Owner, hook: _Hook, adapter: str, event: str) -> bool:
    lines = [line for _, line in _lines(hook)]
    return bool(lines) and all(owner.owns_hook(line, adapter, event) for line in lines)


def _hooks(text: str, event: str) -> Iterator[tuple[_Path, _Hook, object]]:
    """Yield each hook's path, the hook, and the matcher that applies to it."""
    path: Sequence[str] = ("hooks", event)
    found: Any = parse(text).value
    for depth, name in enumerate(path):
        if not isinstance(found, Mapping):
            raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        if name not in found:
            return
        found = found[name]
    if not isinstance(found, list):
        raise ValueError(f"{'.'.join(path)} is not a list")
    for index, item in enumerate(found):
        if not isinstance(item, Mapping):
            continue
        matcher = item.get("matcher")
        yield (*path, index), item, matcher
        inner = item.get("hooks")
        for number, hook in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(hook, Mapping):
                yield (*path, index, "hooks", number), hook, matcher
