"""The verb `search`: find exact passages in everything stored."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from ctxmode.errors import UsageError
from ctxmode.operations.library import open_library
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.operations.searching import SearchAnswer, SearchRequest
from ctxmode.render import highlight
from ctxmode.render.passages import age_s, name_kind, query_text, search_text
from ctxmode.render.terminal_output import for_stdout
from kb import Hit


def search_sources(
    asker: Asker,
    request: SearchRequest,
    *,
    everywhere: Annotated[bool, Arg("in all your projects")] = False,
    explain: Annotated[bool, Arg("show why each passage ranks where it does")] = False,
) -> Answer:
    """Find exact passages in everything stored."""
    if explain and everywhere:
        raise UsageError("--explain and --everywhere exclude each other", "Remove one of them.")
    with open_library(asker.config) as library:
        asker.tell(library.store.notices)
        if explain:
            from ctxmode.render import ranking  # noqa: PLC0415 - few ask why

            explained = library.explain(request)
            text = "\n\n".join(map(ranking.explanation_text, explained))
            return Answer(ranking.to_json(explained), text)
        answer = library.search_everywhere(request) if everywhere else library.search(request)
        paths = library.paths(answer) if asker.wants_data and not everywhere else {}
    return Answer(to_json(answer, paths), show=partial(_show, answer))


OPERATIONS: dict[str, Operation] = {"search": search_sources}


def _show(answer: SearchAnswer) -> None:
    if highlight.is_colour_wanted():
        show = partial(query_text, coloured=True, places=answer.places)
        sys.stdout.write("\n\n".join([*map(show, answer.queries), *answer.notes]) + "\n")
    else:
        sys.stdout.write(for_stdout(search_text(answer)) + "\n")


def to_json(answer: SearchAnswer, paths: Mapping[int, str | None]) -> dict[str, Any]:
    """Return the documented JSON."""
    hits = {hit.chunk_id: hit for result in answer.queries for hit in result.hits}
    corrections = dict.fromkeys(
        correction for result in answer.queries for correction in result.corrections
    )
    return {
        "hits": [_hit_to_json(hit, answer, paths) for hit in hits.values()],
        "corrections": [{"typed": typed, "used": used} for typed, used in corrections],
        "truncated": any(
            result.omitted > 0 or result.incomplete_sources for result in answer.queries
        ),
        "notes": list(answer.notes),
    }


def _hit_to_json(hit: Hit, answer: SearchAnswer, paths: Mapping[int, str | None]) -> dict[str, Any]:
    place = None if answer.places is None else answer.places[hit.chunk_id]
    return ({} if place is None else {"project": place[0] or None}) | {
        "source": hit.source,
        "kind": name_kind(hit),
        "author": hit.author,
        "age_s": age_s(hit),
        "path": paths.get(hit.source_id) if place is None else place[1].path,
        "title": hit.title,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "score": hit.score,
        "stale": hit.stale or None,
        "weak": hit.weak,
        "alike": hit.alike,
        "text": hit.text,
    }
