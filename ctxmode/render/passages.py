"""What searches found, as text: passages under their queries and sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmode.render import highlight

if TYPE_CHECKING:
    from ctxmode.operations.answers import SearchAnswer
    from kb.model import Hit, QueryResult

# By the values of `kb.SearchState`, which a run does not load.
NOTHING_FOUND = {
    "no_match": "No passage matches. Try other or fewer words, or leave out source.",
    "nothing_indexed": "Nothing is indexed that could hold it: index a path, or run "
    "something, or leave out source and kind.",
}


def search_text(answer: SearchAnswer) -> str:
    """Write all queries' passages, each under its query and its source."""
    return "\n\n".join([*map(query_text, answer.queries), *answer.notes])


def query_text(result: QueryResult, *, coloured: bool = False) -> str:
    """Write one query's passages, exactly as their sources have them; `coloured` is for a
    terminal."""
    lines = [f"## {result.query}"]
    if result.corrections:
        used = ", ".join(f"{c.typed} as {c.used}" for c in result.corrections)
        lines.append(f"[also read {used}]")
    for hit in result.hits:
        text = hit.text.strip("\n")
        if coloured:
            lines += [highlight.heading(hit_heading(hit)), highlight.colour(text, hit.language)]
        else:
            lines += [hit_heading(hit), text]
    if nothing := NOTHING_FOUND.get(result.state):
        lines.append(nothing)
    if result.omitted:
        lines.append(f"[{result.omitted} more did not fit: ask for a source, or fewer queries]")
    if result.incomplete_sources:
        lines.append(f"[{result.incomplete_sources} sources are still being indexed: ask again]")
    return "\n".join(lines)


def hit_heading(hit: Hit) -> str:
    """Say where a passage stands: source, title and lines."""
    title = f" | {highlight.one_line(hit.title)}" if hit.title else ""
    older = ", superseded" if hit.superseded else ""
    source = highlight.one_line(hit.source)
    return f"--- {source}{title} | lines {hit.start_line}-{hit.end_line}{older} ---"
