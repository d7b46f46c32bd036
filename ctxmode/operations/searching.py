"""Searches of the store, and the notes where nothing is found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ctxmode.errors import UsageError
from ctxmode.operations.answers import SearchAnswer
from ctxmode.render.highlight import one_line
from kb import CHANGED, FileState, QueryResult, SearchState, Store, filters

SOURCES_NAMED = 5
SEARCH_BYTES_MAX = 16 * 1024
"""What all passages of one answer may take together where no budget is given: about four thousand
tokens."""

BATCH_HITS = 3
SPARE = 4
"""How many times as many hits are fetched where some will be filtered out."""


Renew: TypeAlias = Callable[[Sequence[FileState]], frozenset[int]]
"""Indexes files again that changed, and returns the sources whose content is still the file's."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, and in which sources."""

    queries: tuple[str, ...]
    limit: int = 3
    source: str | None = None  # a label, a part of one, or an output id
    content: str | None = None  # code, prose or both
    sort: str = "relevance"
    budget_bytes: int | None = SEARCH_BYTES_MAX
    kind: str | None = None
    language: str | None = None
    path: str | None = None  # a part of a file's path
    age_s: float | None = None  # how many seconds ago the oldest was kept
    places: tuple[str, ...] = ()  # of `kb.filters.PLACES`
    superseded: bool = False  # find older versions, too


def search(store: Store, request: SearchRequest, renew: Renew | None = None) -> SearchAnswer:
    """Find every query's passages; a UsageError as of `check`. `renew` is as of `find_current`."""
    check(request)

    def find() -> tuple[QueryResult, ...]:
        found = store.search(
            request.queries,
            limit=request.limit * (SPARE if request.content == "prose" else 1),
            source=request.source,
            kind="code" if request.content == "code" else request.kind,
            language=request.language,
            path=request.path,
            since=None if request.age_s is None else time.time() - request.age_s,
            places=request.places,
            include_superseded=request.superseded or _is_superseded(store, request.source),
            budget_bytes=request.budget_bytes,
        )
        return tuple(_shape(result, request) for result in found)

    results = find_current(store, find, renew)
    return SearchAnswer(results, _note(store, request, results))


def find_current(
    store: Store, find: Callable[[], tuple[QueryResult, ...]], renew: Renew | None
) -> tuple[QueryResult, ...]:
    """Find passages, `renew` those of files that changed since, and find again. What is not as
    its file is now stays marked by `Hit.stale`."""
    results = find()
    same: frozenset[int] = frozenset()
    if renew is not None:
        states = _find_files(store, results)
        if changed := [state for state in states if state.find_stale() == CHANGED]:
            same = renew(changed)
            results = find()
    stale = {
        state.source_id: state.find_stale()
        for state in _find_files(store, results)
        if state.source_id not in same
    }
    if not any(stale.values()):
        return results
    return tuple(
        replace(
            result,
            hits=tuple(replace(hit, stale=stale.get(hit.source_id, "")) for hit in result.hits),
        )
        for result in results
    )


def _find_files(store: Store, results: Sequence[QueryResult]) -> list[FileState]:
    """Find the files of the hits, in their order."""
    ids = dict.fromkeys(hit.source_id for result in results for hit in result.hits)
    states = store.files_of(ids)
    return [states[source_id] for source_id in ids if source_id in states]


def check(request: SearchRequest) -> None:
    """Raise UsageError where there is no query, an empty one, a `since:` without a meaning, or a
    limit or budget below 1."""
    if not request.queries or not all(query.strip() for query in request.queries):
        raise UsageError("a query is empty", "Give words that the passage contains.")
    if unclear := [one for query in request.queries for one in filters.without_sense(query)]:
        problem, remedy = filters.explain_sense(unclear[0])
        raise UsageError(problem, f"{remedy}; to look for these words, put them in quotes.")
    if request.limit < 1:
        raise UsageError(f"limit is {request.limit}", "Give 1 or more.")
    if request.budget_bytes is not None and request.budget_bytes < 1:
        raise UsageError(f"the budget is {request.budget_bytes} bytes", "Give 1 or more.")


def _is_superseded(store: Store, source: str | None) -> bool:
    """Tell whether a named source is there in older versions only, such as an earlier run."""
    if source is None:
        return False
    from executor.run import OUTPUT_PREFIX  # noqa: PLC0415 - few searches name a source

    if not source.startswith(OUTPUT_PREFIX):
        return False
    versions = [s for s in store.sources(include_superseded=True) if source in s.label]
    return bool(versions) and all(version.superseded_by is not None for version in versions)


def _shape(result: QueryResult, request: SearchRequest) -> QueryResult:
    hits = list(result.hits)
    if request.content == "prose":
        hits = [hit for hit in hits if hit.kind != "code"][: request.limit]
    if request.sort == "timeline":
        hits.sort(key=lambda hit: (-hit.at, -hit.source_id, hit.start_byte))
    emptied = not hits and result.state is SearchState.MATCH
    state = SearchState.NO_MATCH if emptied else result.state
    return replace(result, hits=tuple(hits), state=state)


def _note(store: Store, request: SearchRequest, results: Sequence[QueryResult]) -> tuple[str, ...]:
    """Name the latest sources where the one that was named holds nothing."""
    empty = all(result.state is SearchState.NOTHING_INDEXED for result in results)
    if request.source is None or not empty:
        return ()
    latest = [one_line(source.label) for source in store.sources()[:SOURCES_NAMED]]
    if not latest:
        return ()
    return (f"No source is called {request.source!r}. The latest are: {', '.join(latest)}.",)


def search_in(
    store: Store,
    queries: Sequence[str],
    source_ids: Sequence[int] | None,
    renew: Renew | None = None,
) -> tuple[QueryResult, ...]:
    """Find the queries' best passages among some sources only; None means all that was kept."""
    source = None if source_ids is None else tuple(source_ids)

    def find() -> tuple[QueryResult, ...]:
        found = store.search(
            queries,
            limit=BATCH_HITS,
            source=source,
            include_superseded=source is not None,
            budget_bytes=SEARCH_BYTES_MAX,
        )
        return tuple(found)

    return find_current(store, find, renew)
