"""Searches of the store, or of all stores, and notes about them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import kb
from ctxmode.config.locations import Config, name_projects
from ctxmode.errors import UsageError
from ctxmode.operations.mirroring import USERS_LABEL
from ctxmode.operations.operation import Arg
from ctxmode.render.highlight import one_line
from kb import CHANGED, FileState, QueryResult, SearchState, Store, eviction, filters
from kb.merging import merge

SOURCES_NAMED = 5
SEARCH_BYTES_MAX = 16 * 1024
"""The default size limit of all passages of one answer: about 4,000 tokens."""

BATCH_HITS = 3
SPARE = 4  # the factor by which more hits are fetched if some will be filtered out


Renew: TypeAlias = Callable[[Sequence[FileState]], frozenset[int]]
"""Indexes changed files again, and returns the sources whose content still matches the file."""


# fmt: off
@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Queries, and filters on sources."""

    queries: Annotated[tuple[str, ...], Arg(metavar="QUERY", is_word=True)]
    limit: Annotated[int, Arg("passages per query (default: 3)", "N")] = 3
    source: Annotated[str | None, Arg("a label, part of one, or an output id")] = None
    content: Annotated[Literal["code", "prose"] | None, Arg("only this kind")] = None
    sort: Annotated[Literal["relevance", "timeline"], Arg("sort order")] = "relevance"
    budget_bytes: Annotated[int | None, Arg(
        "size limit of all passages (default: 16384)", "BYTES", ("--budget",)
    )] = SEARCH_BYTES_MAX
    kind: Annotated[str | None, Arg("only this kind, such as markdown, code, log, json")] = None
    language: Annotated[str | None, Arg("only code in this language", "NAME", ("--lang",))] = None
    path: Annotated[str | None, Arg("only files whose path contains this", "PART")] = None
    since: Annotated[str | None,
                     Arg("only sources stored since: 12h, 7d, yesterday", "AGE")] = None
    places: Annotated[str | None, Arg(
        "only these: runs, files, web, memory, pages, sessions", "NAMES", ("--in",)
    )] = None
    superseded: Annotated[bool, Arg("include older versions of facts, pages and files")] = False

    def find_moment(self) -> float | None:
        """Return the time of the oldest source; raise UsageError if `since` is invalid."""
        moment = None if self.since is None else filters.moment(self.since)
        if self.since is not None and moment is None:
            raise UsageError(f"invalid --since {self.since!r}", f"Use {filters.MOMENTS}.")
        return moment

    def list_places(self) -> tuple[str, ...]:
        """Return the names of the places to search; raise UsageError if one is unknown."""
        places = () if self.places is None else filters.read_places(self.places)
        if places is None:
            problem, remedy = filters.explain_sense(f"in:{self.places}")
            raise UsageError(problem.replace("in:", "--in ", 1), remedy)
        return places
# fmt: on


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answers to all queries, in their order."""

    queries: tuple[QueryResult, ...]
    notes: tuple[str, ...] = ()
    # For a search in all projects, by passage number: project ("" is the user's own store) and
    # source.
    places: Mapping[int, tuple[str, kb.Source]] | None = None

    @property
    def incomplete_sources(self) -> tuple[int, ...]:
        """The sources that are not yet fully indexed, each once."""
        every = (one for result in self.queries for one in result.incomplete_sources)
        return tuple(dict.fromkeys(every))


def search(store: Store, request: SearchRequest, renew: Renew | None = None) -> SearchAnswer:
    """Find every query's passages. Raise UsageError as `check` does; `renew` as in
    `find_current`."""
    check(request)
    since = None if request.since is None else request.find_moment()
    places = () if request.places is None else request.list_places()

    def find() -> tuple[QueryResult, ...]:
        found = store.search(
            request.queries,
            limit=request.limit * (SPARE if request.content == "prose" else 1),
            source=request.source,
            kind="code" if request.content == "code" else request.kind,
            language=request.language,
            path=request.path,
            since=since,
            places=places,
            include_superseded=request.superseded
            or (request.source is not None and _is_superseded(store, request.source)),
            budget_bytes=request.budget_bytes,
        )
        if request.content != "prose" and request.sort == "relevance":
            return tuple(found)
        return tuple(_shape(result, request) for result in found)

    results = find_current(store, find, renew)
    notes = () if request.source is None else _note(store, request.source, results)
    return SearchAnswer(results, notes)


def find_current(
    store: Store, find: Callable[[], tuple[QueryResult, ...]], renew: Renew | None
) -> tuple[QueryResult, ...]:
    """Find passages, `renew` those of changed files, and find again. `Hit.stale` marks passages
    that still differ from their file."""
    results = find()
    states = _find_files(store, results)
    stale = {state.source_id: state.find_stale() for state in states}
    changed = [state for state in states if stale[state.source_id] == CHANGED]
    if changed and renew is not None:
        same = renew(changed)
        results = find()
        states = [one for one in _find_files(store, results) if one.source_id not in same]
        stale = {state.source_id: state.find_stale() for state in states}
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
    """Raise UsageError if there is no query, an empty one, an invalid `since:`, or a limit or
    budget below 1."""
    if not request.queries or not all(query.strip() for query in request.queries):
        raise UsageError("a query is empty", "Give words that the passage contains.")
    if unclear := [one for query in request.queries for one in filters.without_sense(query)]:
        problem, remedy = filters.explain_sense(unclear[0])
        raise UsageError(problem, f"{remedy} To search for these words, put them in quotes.")
    if request.kind is not None and request.kind not in filters.list_kinds():
        raise UsageError(*filters.explain_sense(f"kind:{request.kind}"))
    if request.limit < 1:
        raise UsageError(f"invalid limit {request.limit}", "Give 1 or more.")
    if request.budget_bytes is not None and request.budget_bytes < 1:
        raise UsageError(f"invalid budget {request.budget_bytes}", "Give 1 byte or more.")


def _is_superseded(store: Store, source: str) -> bool:
    """Return whether only older versions of a source exist, such as an earlier run."""
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


def _note(store: Store, given: str, results: Sequence[QueryResult]) -> tuple[str, ...]:
    """List the latest sources if the given one has no content."""
    if any(result.state is not SearchState.NOTHING_INDEXED for result in results):
        return ()
    latest = [one_line(source.label) for source in store.sources()[:SOURCES_NAMED]]
    if not latest:
        return ()
    return (f"No source matches {given!r}. Latest: {', '.join(latest)}.",)


def search_in(
    store: Store,
    queries: Sequence[str],
    source_ids: Sequence[int] | None,
    renew: Renew | None = None,
) -> tuple[QueryResult, ...]:
    """Find the queries' best passages in some sources only; None means the whole store."""
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


# Only for users at a terminal: a model in one project must not read the others.

EVERYWHERE_S = 10.0  # time limit in seconds of a search in all projects
NAMED = 5  # maximum number of projects that a note lists as not reached
CANDIDATES = 10  # minimum number of hits of each store that are ranked together

Found: TypeAlias = tuple[Sequence[kb.QueryResult], Mapping[int, kb.Source]]
"""One store's results for every query, and their sources."""


def search_everywhere(
    config: Config, request: SearchRequest, *, wait_s: float = EVERYWHERE_S
) -> SearchAnswer:
    """Find every query's passages in the stores of all projects and in the user's own.

    Notes name stores that are damaged, from another release, or not reached within `wait_s`.

    Raises:
        UsageError: as in `check`.
    """
    check(request)
    deadline = time.monotonic() + wait_s
    files = list_databases(config)
    names = name_projects(files)
    found: dict[Path, Found] = {}
    notes: list[str] = []
    late: list[str] = []
    for path in files:
        try:
            if time.monotonic() < deadline:
                found[path] = _search(path, request, deadline, is_own=path == config.database)
                continue
        except (kb.StoreError, sqlite3.Error, ValueError) as error:
            if time.monotonic() < deadline:
                name = names[path] or path.stem
                notes.append(one_line(f"Not searched: {name}: {error}"))
                continue
        late.append(names[path] or path.stem)
    if late:
        more = f" and {len(late) - NAMED} more" if len(late) > NAMED else ""
        named = one_line(", ".join(late[:NAMED]))
        notes.append(f"Not reached in {wait_s:.0f} s: {named}{more}. Search again, or there.")
    return _join(request, found, names, tuple(notes))


def list_databases(config: Config) -> list[Path]:
    """List the stores: the project's, the user's own, then others, latest used first."""
    folder = config.database.parent
    first = (config.database, config.users_database)

    def place(path: Path) -> tuple[int, float, str]:
        try:
            age = -path.stat().st_mtime
        except OSError:  # it was deleted since
            age = 0.0
        return (first.index(path) if path in first else len(first), age, path.name)

    return sorted(eviction.stores(folder), key=place)


def _search(path: Path, request: SearchRequest, deadline: float, *, is_own: bool) -> Found:
    wanted = replace(
        request, limit=max(request.limit, CANDIDATES), budget_bytes=None, sort="relevance"
    )
    with kb.Store.open_to_read(path, deadline=deadline) as store:
        results = search(store, wanted).queries
        if not is_own:
            results = tuple(map(_leave_out_users_facts, results))
        ids = {hit.source_id for result in results for hit in result.hits}
        return results, {source_id: store.source(source_id) for source_id in ids}


def _leave_out_users_facts(result: kb.QueryResult) -> kb.QueryResult:
    """Remove the user's facts, which every project has, from another project's hits."""
    hits = tuple(hit for hit in result.hits if not hit.source.startswith(USERS_LABEL))
    emptied = not hits and result.state is kb.SearchState.MATCH
    state = kb.SearchState.NO_MATCH if emptied else result.state
    return replace(result, hits=hits, state=state)


def _join(
    request: SearchRequest,
    found: Mapping[Path, Found],
    names: Mapping[Path, str],
    notes: tuple[str, ...],
) -> SearchAnswer:
    """Merge the results of the stores; number the passages from 1."""
    stores = list(found.items())
    budget = request.budget_bytes
    numbers: dict[tuple[Path, int], int] = {}
    places: dict[int, tuple[str, kb.Source]] = {}
    queries = []
    for at, text in enumerate(request.queries):
        results = [of_store[at] for _, (of_store, _) in stores]
        joined, chosen = merge(results, limit=request.limit, budget_bytes=budget)
        hits = []
        for hit, store in zip(joined.hits, chosen, strict=True):
            path, (_, sources) = stores[store]
            number = numbers.setdefault((path, hit.chunk_id), len(numbers) + 1)
            places[number] = names[path], sources[hit.source_id]
            hits.append(replace(hit, chunk_id=number))
        if request.sort == "timeline":
            hits.sort(key=lambda hit: (-places[hit.chunk_id][1].indexed_at, hit.start_byte))
        if budget is not None:
            budget -= sum(len(hit.text.encode()) for hit in hits)
        queries.append(replace(joined, query=text, hits=tuple(hits)))
    return SearchAnswer(tuple(queries), notes, places)
