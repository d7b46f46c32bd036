"""Explanation of the ranking: the query to the index, and the parts of each score."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from base.wording import inflect
from ctxmode.operations.searching import SearchRequest
from ctxmode.render.passages import hit_heading
from kb import ExplainedHit, RankExplanation, Store, canonical_language
from kb import explain as explain_query
from kb.filters import Filters

HIT_FIELDS = ("source", "title", "start_line", "end_line", "score")


def explain(store: Store, request: SearchRequest) -> tuple[RankExplanation, ...]:
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


def to_json(explanations: tuple[RankExplanation, ...]) -> dict[str, Any]:
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
