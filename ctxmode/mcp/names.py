"""Names of tools that people know from Contexo, CTXone and ContextOS, and what they are here.

`serve --names` lists these in the place of our own; a call of one becomes a call of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class Joined(NamedTuple):
    """A list that goes into our `text`: its kind, and how it is written."""

    kind: Mapping[str, Any]
    write: Callable[[Sequence[Any]], str]


class KnownName(NamedTuple):
    """A tool of another system: whose it is, our tool, and the arguments that are always given.
    `renamed` are its names of arguments where ours differ, `takes` those of ours that it lists,
    `fields` those that go into our `fields`, with their kinds; `joined` those that go into `text`,
    `placed` those that name our `key` by a path; `dropped` ones mean nothing here."""

    name: str
    system: str
    tool: str
    given: Mapping[str, Any] = NOTHING
    renamed: Mapping[str, str] = NOTHING
    about: str = ""
    takes: tuple[str, ...] = ()
    fields: Mapping[str, Any] = NOTHING
    dropped: frozenset[str] = frozenset()
    joined: Mapping[str, Joined] = MappingProxyType({})
    placed: Mapping[str, str] = NOTHING

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
            own["text"] = wrong[0] if wrong else "\n\n".join(parts)  # ours says what is wrong
        return own | dict(self.given)

    def _join(self, name: str, value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
        if isinstance(value, str):
            return value
        try:
            return self.joined[name].write(value)
        except (TypeError, KeyError, AttributeError):
            return value


def _write_items(items: Sequence[Any]) -> str:
    return "\n".join("- " + item for item in items)


def _write_sections(sections: Sequence[Any]) -> str:
    return "\n\n".join("# " + one["title"] + "\n\n" + one["body"] for one in sections)


def _memory(
    tool: str, action: str, about: str, takes: str = "", *, dropped: str = "", **renamed: str
) -> KnownName:
    row = KnownName(tool, "ctxone", "ctx_memory", {"action": action}, renamed, about)
    return row._replace(takes=tuple(takes.split()), dropped=frozenset(dropped.split()))


_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_FIELDS = {"tags": _TEXTS, "related": _TEXTS, "sources": _TEXTS, "reasoning_summary": _TEXT,
           "author": _TEXT, "agent": _TEXT}  # fmt: skip


def _pages(tool: str, action: str, about: str, takes: str = "", **more: Any) -> KnownName:  # noqa: ANN401
    given = {"action": action} | more.pop("given", {})
    row = KnownName(tool, "contexo", "ctx_pages", given, about=about, takes=tuple(takes.split()))
    return row._replace(**more)


def _pack(tool: str, about: str, takes: str = "", **more: Any) -> KnownName:  # noqa: ANN401
    row = KnownName(tool, "contextos", "ctx_pack", about=about, takes=tuple(takes.split()))
    return row._replace(**more)


FILE_BUDGET = 40_000
"""For one file, of which 40 % of a budget may be whole."""

_SUMMARY = {"action": "remember", "scope": "session", "category": "checkpoint"}
_SECTION = {"type": "object", "properties": {"title": _TEXT, "body": _TEXT}}
_SECTIONS = Joined({"type": "array", "items": _SECTION}, _write_sections)
_POINTS = {
    "key_points": Joined(_TEXTS, _write_items),
    "decisions": Joined(_TEXTS, lambda items: f"Decisions:\n{_write_items(items)}"),
}
NAMES: tuple[KnownName, ...] = (
    _memory("remember", "remember", "Keep a fact.", "key context tags ttl why",
            fact="text", value="text", importance="confidence", ref="branch"),
    _memory("recall", "recall", "Facts within a budget.", "budget",
            topic="text", query="text", ref="branch"),
    _memory("search", "recall", "Facts that hold the words.", "budget",
            query="text", ref="branch", dropped="max_results"),
    _memory("prime", "prime", "Keep a Markdown text's sections.", dropped="pinned",
            content="text", source="key", ref="branch")._replace(joined={"sections": _SECTIONS}),
    _memory("forget", "forget", "Retract a fact.", path="id", reason="why", ref="branch"),
    _memory("ls", "list", "What stands.", prefix="key", path="key", ref="branch",
            dropped="max_depth"),
    _memory("context", "list", "What stands of a project.", ref="branch")
    ._replace(placed={"project": "/memory/projects/{}"}),
    _memory("get", "show", "One fact.", path="id", ref="branch"),
    _memory("log", "log", "What was written.", ref="branch", dropped="limit"),
    _memory("blame", "blame", "Who wrote a fact.", path="id", ref="branch"),
    _memory("why_did_we", "blame", "Who decided something, and why.",
            decision="text", path="id", ref="branch"),
    _memory("branches", "branch", "List branches."),
    _memory("branch", "branch", "List or begin branches.", name="id", **{"from": "branch"}),
    _memory("diff", "diff", "Where two branches differ.",
            ref_a="branch", ref_b="id", a="branch", b="id"),
    _memory("merge", "merge", "Take over a branch.", source="id", target="branch", into="branch"),
    _memory("summarize_session", "remember", "Keep what a session came to.", summary="text")
    ._replace(given=_SUMMARY, joined=_POINTS,
              placed={"session_id": "/sessions/{}/summary"}),
    _pages("ctx_write_page", "write", "Write a page.", "slug type force",
           renamed={"body": "text"}, fields=_FIELDS),
    _pages("ctx_push", "push", "Commit pages.", "type message no_distill distill_done source_slug",
           renamed={"feature": "tag", "tag": "tag"}),
    _pages("ctx_pull", "pull", "Take over what others pushed.", dropped=frozenset(["full"])),
    _pages("ctx_status", "status", "How drafts stand."),
    _pages("ctx_history", "history", "A page's commits.", "slug type limit"),
    _pages("ctx_diff", "diff", "What changed, with blame.", "slug type from to",
           dropped=frozenset(["blame"])),
    _pages("ctx_evolution", "evolution", "Each version's changes.", "slug type limit",
           dropped=frozenset(["blame"])),
    _pages("ctx_capture_session", "write", "A template to distil the session.",
           given={"type": "source"}),
    _pack("scan_repo", "What the project is made of.", "budget", given={"view": "map"}),
    _pack("pack_context", "The files that a task is about.", "task budget paths tests view"),
    _pack("list_files", "Files by how central they are, with signatures.", "paths budget tests",
          given={"view": "map"}),
    _pack("get_file", "One file, whole where the budget allows.",
          renamed={"path": "paths", "rel_path": "paths"}, given={"budget": FILE_BUDGET}),
    _pack("get_summary", "One file's signatures.", "budget",
          renamed={"path": "paths", "rel_path": "paths"}, given={"view": "signatures"}),
)  # fmt: skip
SYSTEMS = ("contexo", "ctxone", "contextos")
BY_NAME = {one.name: one for one in NAMES}


def replace_tools(offered: Iterable[str], systems: Iterable[str]) -> tuple[str, ...]:
    """Put the names of some systems in the place of the tools that they are here."""
    wanted = frozenset(systems)
    found: list[str] = []
    for tool in offered:
        own = [one.name for one in NAMES if one.tool == tool and one.system in wanted]
        found += own or [tool]
    return tuple(found)


def describe(known: KnownName, row: Mapping[str, Any]) -> dict[str, Any]:
    """Build a name's row of `tools/list` from our tool's: its arguments by the names known."""
    own = row["inputSchema"]["properties"]
    theirs: dict[str, str] = {}
    for name, ours in known.renamed.items():
        if ours not in theirs.values():  # of several names for one, the first is shown
            theirs[name] = ours
    shown = theirs | {name: name for name in known.takes}
    properties = {name: own[ours] for name, ours in shown.items()} | dict(known.fields)
    properties |= {name: one.kind for name, one in known.joined.items()}
    properties |= dict.fromkeys(known.placed, _TEXT)
    schema = {"type": "object", "properties": properties}
    action = known.given.get("action") or known.given.get("view") or ""
    described = {key: value for key, value in row.items() if key != "outputSchema"}
    return described | {
        "name": known.name,
        "description": f"{known.about} It is {known.tool}{f', {action}' if action else ''}.",
        "inputSchema": schema,
    }
