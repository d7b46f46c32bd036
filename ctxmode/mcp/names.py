"""Names of tools in Contexo, CTXone and ContextOS, and their tools here.

`serve --names` lists these instead of our tools; a call of one becomes a call of our tool. Each is
a row of `names.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

NOTHING: Mapping[str, str] = MappingProxyType({})


Joined: TypeAlias = tuple[Mapping[str, Any], Callable[[Sequence[Any]], str]]
"""A list that is written into our `text`: its kind, and its writer."""


class KnownName(NamedTuple):
    """A tool of another system, and its call here."""

    name: str  # its name there
    system: str
    tool: str  # our tool that answers the call
    given: Mapping[str, Any] = NOTHING  # our arguments that are always given
    renamed: Mapping[str, str] = NOTHING  # their argument names to ours, if they differ
    about: str = ""
    takes: tuple[str, ...] = ()  # our arguments that it lists
    fields: Mapping[str, Any] = NOTHING  # arguments that become our `fields`, with their kinds
    dropped: frozenset[str] = frozenset()  # arguments that are ignored
    joined: Mapping[str, Joined] = MappingProxyType({})  # arguments that become our `text`
    placed: Mapping[str, str] = NOTHING  # arguments that fill the path in our `key`

    def translate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return our tool's arguments for those of a call."""
        moved = {*self.fields, *self.dropped, *self.joined, *self.placed}
        own = {
            self.renamed.get(name, name): value
            for name, value in params.items()
            if name not in moved
        }
        if fields := {name: params[name] for name in self.fields if name in params}:
            own["fields"] = fields
        for name, path in self.placed.items():
            if name in params:
                own["key"] = path.format(params[name])
        parts = [self._join(name, params[name]) for name in self.joined if params.get(name)]
        if parts:
            wrong = [part for part in parts if not isinstance(part, str)]
            own["text"] = wrong[0] if wrong else "\n\n".join(parts)  # our tool reports the error
        return own | dict(self.given)

    def _join(self, name: str, value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
        if isinstance(value, str):
            return value
        try:
            return self.joined[name][1](value)
        except (TypeError, KeyError, AttributeError):
            return value


def _write_items(items: Sequence[Any]) -> str:
    return "\n".join("- " + item for item in items)


def _write_sections(sections: Sequence[Any]) -> str:
    return "\n\n".join("# " + one["title"] + "\n\n" + one["body"] for one in sections)


_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_SECTION = {"type": "object", "properties": {"title": _TEXT, "body": _TEXT}}
JOINED: Mapping[str, Joined] = {
    "items": (_TEXTS, _write_items),
    "decisions": (_TEXTS, lambda items: f"Decisions:\n{_write_items(items)}"),
    "sections": ({"type": "array", "items": _SECTION}, _write_sections),
}


def _read_rows() -> Iterator[KnownName]:
    rows = json.loads(Path(__file__).with_name("names.json").read_bytes())
    for name, row in rows.items():
        sets = {"takes": tuple(row.get("takes", ())), "dropped": frozenset(row.get("dropped", ()))}
        joined = {field: JOINED[kind] for field, kind in row.get("joined", {}).items()}
        yield KnownName(name, **(row | sets | {"joined": joined}))


NAMES = tuple(_read_rows())
SYSTEMS = ("contexo", "ctxone", "contextos")
BY_NAME = {one.name: one for one in NAMES}


def replace_tools(offered: Iterable[str], systems: Iterable[str]) -> tuple[str, ...]:
    """Replace our tools by their names in some systems."""
    wanted = frozenset(systems)
    found: list[str] = []
    for tool in offered:
        own = [one.name for one in NAMES if one.tool == tool and one.system in wanted]
        found += own or [tool]
    return tuple(found)


def describe(known: KnownName, row: Mapping[str, Any]) -> dict[str, Any]:
    """Build a name's row of `tools/list` from our tool's, with the other system's argument
    names."""
    own = row["inputSchema"]["properties"]
    theirs: dict[str, str] = {}
    for name, ours in known.renamed.items():
        if ours not in theirs.values():  # if several names map to one, list the first
            theirs[name] = ours
    shown = theirs | {name: name for name in known.takes}
    properties = {name: own[ours] for name, ours in shown.items()} | dict(known.fields)
    properties |= {name: kind for name, (kind, _) in known.joined.items()}
    properties |= dict.fromkeys(known.placed, _TEXT)
    schema = {"type": "object", "properties": properties}
    action = known.given.get("action") or known.given.get("view") or ""
    described = {key: value for key, value in row.items() if key != "outputSchema"}
    return described | {
        "name": known.name,
        "description": f"{known.about} It is {known.tool}{f', {action}' if action else ''}.",
        "inputSchema": schema,
    }
