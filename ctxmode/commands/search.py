"""The verb `search`: find exact passages in everything stored."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from ctxmode import exit_codes
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer, print_json, with_library
from ctxmode.operations.answers import SearchAnswer
from ctxmode.operations.library import Library
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import highlight
from ctxmode.render.passages import age_s, name_kind, query_text, search_text
from ctxmode.render.terminal_output import for_stdout
from kb import Hit, filters


def run_verb(args: argparse.Namespace) -> int:
    if args.explain and args.everywhere:
        raise UsageError("--explain and --everywhere exclude each other", "Remove one of them.")
    request = SearchRequest(
        tuple(args.queries),
        args.limit,
        args.source,
        args.content,
        args.sort,
        budget_bytes=args.budget,
        kind=args.kind,
        language=args.lang,
        path=args.path,
        age_s=None if args.since is None else _age_s(args.since),
        places=() if args.places is None else _read_places(args.places),
        superseded=args.superseded,
    )
    with_library(args, partial(_answer, args=args, request=request))
    return exit_codes.OK


def _age_s(since: str) -> float:
    moment = filters.moment(since)
    if moment is None:
        raise UsageError(f"invalid --since {since!r}", f"Use {filters.MOMENTS}.")
    return time.time() - moment


def _read_places(given: str) -> tuple[str, ...]:
    places = filters.read_places(given)
    if places is None:
        problem, remedy = filters.explain_sense(f"in:{given}")
        raise UsageError(problem.replace("in:", "--in ", 1), remedy)
    return places


def _answer(library: Library, args: argparse.Namespace, request: SearchRequest) -> None:
    if args.explain:
        from ctxmode.render import ranking  # noqa: PLC0415 - few ask why

        explanations = library.explain(request)
        texts = map(ranking.explanation_text, explanations)
        print_answer(args, ranking.to_json(explanations), "\n\n".join(texts))
        return
    answer = library.search_everywhere(request) if args.everywhere else library.search(request)
    if args.json:
        paths = {} if args.everywhere else library.paths(answer)
        print_json(to_json(answer, paths))
    elif highlight.is_colour_wanted():
        show = partial(query_text, coloured=True, places=answer.places)
        parts = [*map(show, answer.queries), *answer.notes]
        sys.stdout.write("\n\n".join(parts) + "\n")
    else:
        sys.stdout.write(for_stdout(search_text(answer)) + "\n")


def to_json(answer: SearchAnswer, paths: Mapping[int, str | None]) -> dict[str, Any]:
    """Return the documented JSON."""
    hits = {hit.chunk_id: hit for result in answer.queries for hit in result.hits}
    corrections = dict.fromkeys(
        correction for result in answer.queries for correction in result.corrections
    )
    data: dict[str, Any] = {
        "hits": [_hit_to_json(hit, answer, paths) for hit in hits.values()],
        "corrections": [{"typed": typed, "used": used} for typed, used in corrections],
        "truncated": any(
            result.omitted > 0 or result.incomplete_sources for result in answer.queries
        ),
    }
    return data | {"notes": list(answer.notes)}


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
