"""Searches of all of the user's projects at once: one ranking, one budget, every store only read.

Only a person asks for it, at a terminal: a model in one project must not read the others.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import kb
from ctxmode.config.locations import Config, name_projects
from ctxmode.operations.answers import Place, SearchAnswer
from ctxmode.operations.mirroring import USERS_LABEL
from ctxmode.operations.searching import SearchRequest, check, search
from ctxmode.render.highlight import one_line
from kb import eviction
from kb.merging import merge

EVERYWHERE_S = 10.0
"""How long a search of all projects may take."""

NAMED = 5
"""How many projects a note names that were not reached."""

CANDIDATES = 10
"""So many hits of each store at least are ranked together."""

Found: TypeAlias = tuple[Sequence[kb.QueryResult], Mapping[int, kb.Source]]
"""What one store found for every query, and the sources of that."""


def search_everywhere(
    config: Config, request: SearchRequest, *, wait_s: float = EVERYWHERE_S
) -> SearchAnswer:
    """Find every query's passages in the stores of all projects and in the user's own.

    A store that is damaged, of another release or not reached within `wait_s` is named in a note.

    Raises:
        UsageError: as of `searching.check`.
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
        notes.append(f"Not reached within {wait_s:.0f} s: {named}{more}. Search there, or again.")
    return _join(request, found, names, tuple(notes))


def list_databases(config: Config) -> list[Path]:
    """List the stores of what is kept: the project's, the user's own, then others, the latest used
    first."""
    folder = config.database.parent
    first = (config.database, config.users_database)

    def place(path: Path) -> tuple[int, float, str]:
        try:
            age = -path.stat().st_mtime
        except OSError:  # it went meanwhile
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
    """Leave out the facts that every project has: the project of the search has them, too."""
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
    """Join what the stores found, with numbers of its own for the passages."""
    stores = list(found.items())
    budget = request.budget_bytes
    numbers: dict[tuple[Path, int], int] = {}
    places: dict[int, Place] = {}
    queries = []
    for at, text in enumerate(request.queries):
        results = [of_store[at] for _, (of_store, _) in stores]
        joined, chosen = merge(results, limit=request.limit, budget_bytes=budget)
        hits = []
        for hit, store in zip(joined.hits, chosen, strict=True):
            path, (_, sources) = stores[store]
            number = numbers.setdefault((path, hit.chunk_id), len(numbers) + 1)
            source = sources[hit.source_id]
            places[number] = Place(names[path], source.path, source.indexed_at)
            hits.append(replace(hit, chunk_id=number))
        if request.sort == "timeline":
            hits.sort(key=lambda hit: (-places[hit.chunk_id].indexed_at, hit.start_byte))
        if budget is not None:
            budget -= sum(len(hit.text.encode()) for hit in hits)
        queries.append(replace(joined, query=text, hits=tuple(hits)))
    return SearchAnswer(tuple(queries), notes, places)
