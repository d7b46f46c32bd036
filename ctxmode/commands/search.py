"""The verb `search`: find exact passages in everything stored."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from base.wording import inflect
from ctxmode.errors import UsageError, translate_errors
from ctxmode.operations.library import open_library
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.operations.searching import SearchAnswer, SearchRequest
from ctxmode.render import highlight
from ctxmode.render.passages import age_s, hit_heading, name_kind, query_text, search_text
from ctxmode.render.terminal_output import for_stdout
from kb import ExplainedHit, Hit, RankExplanation, Store, canonical_language
from kb import explain as explain_query
from kb.filters import Filters


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
            library.search(request)  # updates the index
            with translate_errors():
                explained = explain_ranks(library.store, request)
            text = "\n\n".join(map(explanation_text, explained))
            return Answer(build_explanations(explained), text)
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


HIT_FIELDS = ("source", "title", "start_line", "end_line", "score")


def explain_ranks(store: Store, request: SearchRequest) -> tuple[RankExplanation, ...]:
    """Explain every query, under the request's filters."""

    filters = Filters(
        source=request.source,
        kind="code" if request.content == "code" else request.kind,
        language=None if request.language is None else canonical_language(request.language),
        since=request.find_moment(),
        path=request.path,
        places=request.list_places(),
        include_superseded=request.superseded,
    )
    return tuple(
        explain_query(store, query, filters, limit=request.limit) for query in request.queries
    )


def explanation_text(explanation: RankExplanation) -> str:
    """Write the query and each hit's scores, best first."""
    lines = [f"## {explanation.query}", f"words: {' '.join(explanation.words) or 'none'}"]
    lines += [f"corrected: {typed} as {used}" for typed, used in explanation.corrections]
    lines += [f"filter: {name} = {value}" for name, value in explanation.filters]
    for one in explanation.expressions:
        lines.append(f"query to {one.table}: {one.words}")
        if one.choosing:
            lines.append(f"  chosen by: {' '.join(one.choosing)}")
        if one.together:
            lines.append(f"  near each other: {one.together}")
    lines.append(f"{inflect(explanation.ranked, 'chunk')} ranked")
    for place, hit in enumerate(explanation.hits, start=1):
        lines += [f"{place}. {hit_heading(hit.hit).strip('- ')}", f"   {scores_text(hit)}"]
    return "\n".join(lines)


def scores_text(hit: ExplainedHit) -> str:
    """Write the parts of a score."""
    near = "" if hit.together_rank is None else f" (rank {hit.together_rank})"
    return (
        f"score {hit.hit.score:.4g} = words {hit.words:.4g} (rank {hit.words_rank})"
        f" + together {hit.together:.4g}{near} + source {hit.source:.4g}"
    )


def build_explanations(explanations: tuple[RankExplanation, ...]) -> dict[str, Any]:
    """Build the explanations as data; each hit has its location, but not its text."""
    found = []
    for explanation in explanations:
        data = asdict(explanation)
        data["filters"] = dict(explanation.filters)
        data["corrections"] = [{"typed": one, "used": used} for one, used in data["corrections"]]
        for hit in data["hits"]:
            hit["hit"] = {name: hit["hit"][name] for name in HIT_FIELDS}
        found.append(data)
    return {"explanations": found}
