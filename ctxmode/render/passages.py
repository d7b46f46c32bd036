"""Search results as text: passages under their queries and sources."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ctxmode.render import highlight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxmode.operations.searching import SearchAnswer
    from kb import Hit, QueryResult, Source

NO_PROJECT = "no project"
KINDS = {"fetch": "web", "memory": "fact", "session": "turn"}
"""Names of origins, if they differ from the origin's own value."""

SAID = ("fact", "page", "turn")
"""The kinds whose author and age are shown."""

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))

# By the values of `kb.SearchState`, which a run does not load.
NOTHING_FOUND = {
    "no_match": "No passage matches. Try other or fewer words, or leave out source.",
    "nothing_indexed": "Nothing is indexed for this search. Index a path, run a command, "
    "or leave out source and kind.",
}

STALE = {
    "changed": "file changed since: index it again",
    "gone": "file was deleted",
    "unreadable": "file cannot be read now",
}
"""Marks, by `Hit.stale`, of a passage whose file changed since it was indexed."""

WEAK = "[no passage has most of these words: the closest are below]"


def search_text(answer: SearchAnswer) -> str:
    """Write all queries' passages, each under its query and its source."""
    queries = (query_text(result, places=answer.places) for result in answer.queries)
    return "\n\n".join([*queries, *answer.notes])


def query_text(
    result: QueryResult,
    *,
    coloured: bool = False,
    places: Mapping[int, tuple[str, Source]] | None = None,
) -> str:
    """Write one query's passages, exactly as in their sources; `coloured` is for a terminal,
    `places` maps each passage to its project."""
    lines = [f"## {result.query}"]
    if result.corrections:
        used = ", ".join(f"{typed} as {used}" for typed, used in result.corrections)
        lines.append(f"[also read {used}]")
    for hit in result.hits:
        text = hit.text.strip("\n")
        heading = hit_heading(hit, places[hit.chunk_id][0] if places else None)
        if hit.alike:
            text += f"\n[and {hit.alike} more alike]"
        if coloured:
            lines += [highlight.heading(heading), highlight.colour(text, hit.language)]
        else:
            lines += [heading, text]
    if result.hits and all(hit.weak for hit in result.hits):
        lines.insert(1, WEAK)
    if nothing := NOTHING_FOUND.get(result.state):
        lines.append(nothing)
    if result.omitted:
        lines.append(f"[{result.omitted} more did not fit: ask for a source, or fewer queries]")
    if count := len(result.incomplete_sources):
        sources = "1 source is" if count == 1 else f"{count} sources are"
        lines.append(f"[{sources} not fully indexed yet: search again]")
    return "\n".join(lines)


def hit_heading(hit: Hit, project: str | None = None) -> str:
    """Write where a passage is (its project if another, source, title, lines) and its kind."""
    title = f" | {highlight.one_line(hit.title)}" if hit.title else ""
    notes = ", superseded" if hit.superseded else ""
    notes += f", {STALE[hit.stale]}" if hit.stale else ""
    notes += ", weak match" if hit.weak else ""
    kind = f" | {_describe(hit)}" if hit.origin else ""
    source = highlight.one_line(hit.source)
    if project is not None:
        source = f"{highlight.one_line(project) or NO_PROJECT}: {source}"
    return f"--- {source}{title} | lines {hit.start_line}-{hit.end_line}{notes}{kind} ---"


def name_kind(hit: Hit) -> str:
    """Return the kind of a hit: run, file, note, web, fact, page or turn."""
    return KINDS.get(hit.origin, hit.origin)


def age_s(hit: Hit) -> float:
    """Return how many seconds ago a hit was said or stored."""
    return round(max(time.time() - hit.at, 0.0), 1)


def _describe(hit: Hit) -> str:
    """Write a hit's kind; for facts, pages and turns also author and age."""
    kind = name_kind(hit)
    if kind not in SAID:
        return kind
    author = f" by {highlight.one_line(hit.author)}" if hit.author else ""
    age = age_s(hit)
    unit = next(((name, size) for name, size in _UNITS if age >= size), None)
    old = "" if unit is None else f", {int(age // unit[1])} {unit[0]} ago"
    return f"{kind}{author}{old}"
