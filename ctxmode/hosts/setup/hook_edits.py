"""Our hooks in a host's file of them: edited one by one, whatever stands beside them.

A host has an event's hooks in a list. In Claude Code's form its items are groups, each with a
matcher and a list of hooks; in others they are the hooks themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode.hosts.setup import json_edits
from ctxmode.hosts.setup.json_syntax import parse
from ctxmode.hosts.setup.ownership import Owner

_LINES = ("command", "bash")
_FOR_EVERY_TOOL = (None, "", "*", ".*")


class _Hook(NamedTuple):
    """One hook, where it is, and the matcher that holds for it."""

    path: tuple[str | int, ...]
    members: Mapping[str, Any]
    matcher: object

    def lines(self) -> Iterator[tuple[str, str]]:
        for name in _LINES:
            if isinstance(line := self.members.get(name), str):
                yield name, line


def put_hook(text: str, adapter: str, event: str, entry: Mapping[str, Any], owner: Owner) -> str:
    """Return the text with a hook of ours for an event. One that is there keeps what a person added
    to it; where a wrapper of theirs calls us for the same tools, none is added.

    Raises:
        ValueError: the text is not JSON, or the event has no list.
    """
    own: list[_Hook] = []
    is_wrapped = False
    for hook in _hooks(text, event):
        if _owns(owner, hook, adapter, event):
            own.append(hook)
        elif hook.matcher in (*_FOR_EVERY_TOOL, entry.get("matcher")):
            lines = (line for _, line in hook.lines())
            is_wrapped |= any(owner.is_called_by(line, adapter, event) for line in lines)
    if not own and not is_wrapped:
        return json_edits.add_item(text, ("hooks", event), entry)
    wanted = entry["hooks"][0] if "hooks" in entry else entry
    for hook in own:
        for name, line in hook.lines():
            updated = owner.update_hook(line, adapter, event)
            text = json_edits.put(text, (*hook.path, name), updated)
        for name in wanted.keys() - hook.members.keys() - {"matcher"}:
            text = json_edits.put(text, (*hook.path, name), wanted[name])
    return text


def drop_hooks(text: str, adapter: str, event: str, owner: Owner) -> str:
    """Return the text without our hooks of an event, nor groups and lists that are empty then."""
    while text.strip():
        own = (hook for hook in _hooks(text, event) if _owns(owner, hook, adapter, event))
        hook = next(own, None)
        if hook is None:
            return text
        text = json_edits.drop_item(text, hook.path)
    return text


def _owns(owner: Owner, hook: _Hook, adapter: str, event: str) -> bool:
    lines = [line for _, line in hook.lines()]
    return bool(lines) and all(owner.owns_hook(line, adapter, event) for line in lines)


def _hooks(text: str, event: str) -> Iterator[_Hook]:
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
        yield _Hook((*path, index), item, matcher)
        inner = item.get("hooks")
        for number, hook in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(hook, Mapping):
                yield _Hook((*path, index, "hooks", number), hook, matcher)
