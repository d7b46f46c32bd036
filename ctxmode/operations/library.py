"""The open store of one project: everything that needs its store and its rules, but no sandbox.

Calls block; servers call them in threads.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import kb
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.config.rules import load as load_rules
from ctxmode.errors import UsageError, translate_errors, unknown_id
from ctxmode.operations import mirroring, searching
from ctxmode.operations.searching import SearchRequest
from ctxmode.operations.stores import open_store
from ctxmode.render.highlight import one_line, size
from kb import CHANGED

# A search does not load indexing, ranking explanations or rules, to answer sooner.
if TYPE_CHECKING:
    import policy
    from ctxmode.operations.indexing import IndexAnswer, IndexRequest
    from ctxmode.operations.searching import SearchAnswer
    from kb import FileState, Section


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """The sources to purge: those that match every given filter."""

    source: str | None = None
    older_than_s: float | None = None
    kind: str | None = None
    session: str | None = None
    superseded: bool = False
    pinned: bool = False  # also purge pinned sources
    expired: bool = False  # without a filter: only expired sources
    everything: bool = False  # all sources; excludes filters

    @property
    def filtered(self) -> bool:
        """Return whether a filter is given."""
        given = (self.source, self.older_than_s, self.kind, self.session)
        return self.superseded or any(value is not None for value in given)

    def carry_out(self, store: kb.Store) -> kb.Purged:
        """Purge the sources; raise UsageError without a filter, or with both a filter and
        `everything`."""
        if self.source is not None and not self.source.strip():
            raise UsageError(
                "source is empty and would match all", "Give a part of a source's label."
            )
        if self.everything and self.filtered:
            raise UsageError("everything and a filter exclude each other", "Remove one of them.")
        if not (self.everything or self.filtered or self.expired):
            raise UsageError(
                "missing what to remove", "Give a source, a kind or an age, or choose everything."
            )
        return store.purge(**{k: v for k, v in asdict(self).items() if k != "expired"})


SETTLING_S = 1.0
QUEUE_S = 2.0
"""Seconds that a search may index the queue if no other process does: the user waits for it, and
several megabytes are indexed in that time."""

QUEUE_STEP_BYTES = 512 * 1024
QUEUE_WAIT_S = 0.25
"""Bytes indexed between two checks of the clock, and seconds to wait for another writer."""

SHOWN_BYTES = 4 << 20
"""Size limit for indexing a changed source again when it is shown: that of a file in a folder."""

NAMED = 5  # maximum number of sources that a message names if several match


class Library:
    """An open store with its rules, made by `open_library` or from an open store."""

    def __init__(
        self,
        config: Config,
        store: kb.Store,
        rules: Callable[[], policy.Rules],
        *,
        is_indexed_behind: bool = False,
    ) -> None:
        """Set up the library. With `is_indexed_behind` the process indexes the queue after answers;
        else a search does."""
        self._is_indexed_behind = is_indexed_behind
        self.config = config
        self.store = store
        self.rules = rules
        self._renewing = threading.Lock()

    def index(self, request: IndexRequest, on_progress: kb.OnProgress | None = None) -> IndexAnswer:
        """Index content, a file or a folder of the project, as `indexing.index` does."""
        from ctxmode.operations import indexing  # noqa: PLC0415

        with translate_errors():
            answer = indexing.index(self.store, self.config, self.rules(), request, on_progress)
            self._settle()
            return answer

    def _settle(self) -> None:
        """Apply the quota for up to SETTLING_S; the next process continues."""
        end = time.monotonic() + SETTLING_S
        while self.store.settle() and time.monotonic() < end:
            pass

    def watch(self, request: IndexRequest, stop: threading.Event) -> Iterator[IndexAnswer]:
        """Index a folder, then its changes, until `stop` is set."""
        from ctxmode.operations import indexing  # noqa: PLC0415

        with translate_errors():
            yield from indexing.watch(self.store, self.config, self.rules(), request, stop)

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Search the whole store for the queries. Changed files and new facts, pages and sessions
        are indexed first, within a time limit."""
        answer, notes = self._search(request)
        return replace(answer, notes=(*answer.notes, *notes))

    def _search(self, request: SearchRequest) -> tuple[SearchAnswer, tuple[str, ...]]:
        """Search, and return notes on sources that could not be updated."""
        notes = mirroring.catch_up(self.config, self.store)
        with translate_errors():
            answer = searching.search(self.store, request, self._renew)
            if not answer.incomplete_sources or self._is_indexed_behind:
                return answer, notes
            try:
                self._index_queued(answer.incomplete_sources)
            except kb.StoreError as error:
                return answer, (*notes, one_line(f"Not fully indexed: {error}"))
            answer = searching.search(self.store, request)
            if left := sum(map(self.store.count_bytes_left, answer.incomplete_sources)):
                notes += (f"{size(left)} left to index. Search again to continue.",)
            return answer, notes

    def _index_queued(self, source_ids: Iterable[int]) -> bool:
        """Index the queued parts of some sources, for QUEUE_S. Return whether more may be left."""
        deadline = time.monotonic() + QUEUE_S
        try:
            for source_id in source_ids:
                left, before = self.store.count_bytes_left(source_id), None
                # Without progress nothing of it is queued: its file is gone.
                while left and (before is None or left < before):
                    if time.monotonic() >= deadline:
                        return True
                    before = left
                    left = self.store.index_pending(
                        QUEUE_STEP_BYTES, source_id, wait_s=QUEUE_WAIT_S
                    )
            self.store.settle(0)
        except kb.StoreBusyError:  # another process writes, perhaps indexes the same
            return True
        return False

    def search_in(
        self, queries: Sequence[str], source_ids: Sequence[int] | None
    ) -> tuple[kb.QueryResult, ...]:
        """Find the queries' best passages in some sources; None means the whole store, updated as
        in `search`."""
        if source_ids is None:
            mirroring.catch_up(self.config, self.store)
        with translate_errors():
            return searching.search_in(self.store, queries, source_ids, self._renew)

    def _renew(self, states: Sequence[FileState], **limits: int) -> frozenset[int]:
        from ctxmode.operations import indexing  # noqa: PLC0415 - only for changed files
        from policy import RuleFileError  # noqa: PLC0415

        try:
            rules = self.rules()
        except RuleFileError:  # reading is not allowed: the stored text is shown, and marked
            return frozenset()
        with self._renewing:  # the first of several parallel searches indexes for all
            there = self.store.files_of([state.source_id for state in states])
            left = [one for one in states if one.source_id in there]
            same = indexing.renew(self.store, self.config, rules, left, **limits)
            with suppress(kb.StoreError):
                self.store.settle(0)
        return same

    def find_stale(self, source: kb.Source) -> str:
        """Return how a source's file changed since it was indexed, as `FileState.find_stale`
        does."""
        with translate_errors():
            state = self.store.files_of([source.id]).get(source.id)
        return "" if state is None else state.find_stale()

    def complete(self, source: kb.Source) -> tuple[kb.Source, bool]:
        """Index the queued parts of a source, for QUEUE_S. Return the source as stored now, and
        whether more may be left."""
        with translate_errors():
            is_more = not source.complete and self._index_queued([source.id])
            return self.store.source(source.id), is_more

    def renew(self, source: kb.Source) -> tuple[kb.Source, str]:
        """Index a source again if its file changed. Return the source as stored now, and how the
        file differs, as `FileState.find_stale` does."""
        with translate_errors():
            state = self.store.files_of([source.id]).get(source.id)
            if state is None or not (stale := state.find_stale()):
                return source, ""
            if stale == CHANGED and source.id in self._renew([state], bytes_max=SHOWN_BYTES):
                return source, ""
            renewed = self.store.source(source.id)
            if renewed.superseded_by is not None:
                return self.store.source(renewed.superseded_by), ""
            return source, stale

    def search_everywhere(self, request: SearchRequest) -> SearchAnswer:
        """Search all of the user's projects, and the user's own store."""
        _, notes = self._search(request)  # updates this project only: others are only read
        notes += self._catch_up_users_sessions()
        with translate_errors():
            answer = searching.search_everywhere(self.config, request)
        return replace(answer, notes=(*answer.notes, *notes))

    def _catch_up_users_sessions(self) -> tuple[str, ...]:
        from ctxmode.operations.session_search import open_users_index  # noqa: PLC0415
        from ctxmode.operations.session_store import find_users_store  # noqa: PLC0415

        if not find_users_store(self.config).exists():
            return ()
        with suppress(kb.StoreError), open_users_index(self.config) as store:
            return mirroring.catch_up(self.config, store, among=mirroring.USERS_MIRRORS)
        return ()

    def paths(self, answer: SearchAnswer) -> Mapping[int, str | None]:
        """Find the file of each source in the answer, by source ID."""
        with translate_errors():
            ids = {hit.source_id for result in answer.queries for hit in result.hits}
            return {source_id: self.store.source(source_id).path for source_id in ids}

    def sources(
        self, *, matching: str | None = None, all_versions: bool = False
    ) -> list[kb.Source]:
        """List the stored sources, latest first."""
        with translate_errors():
            found = self.store.sources(include_superseded=all_versions)
        return [one for one in found if matching is None or matching.lower() in one.label.lower()]

    def source(self, name: str) -> kb.Source:
        """Find a source by its ID, its label, an output ID, or a part of one. Raise UsageError if
        none or several match."""
        with translate_errors():
            known = self.store.sources(include_superseded=True)
        tests: tuple[Callable[[kb.Source], bool], ...] = (
            lambda one: name.isdecimal() and one.id == int(name),
            lambda one: one.label == name,
            lambda one: name.lower() in one.label.lower(),
        )
        for test in tests:
            found = [source for source in known if test(source)]
            current = [source for source in found if source.superseded_by is None]
            if len(current or found) == 1:
                return (current or found)[0]
            if found:
                raise UsageError(
                    f"{name!r} matches several sources: {_names(current or found)}",
                    "Give a number.",
                )
        raise unknown_id("source", name, is_empty=not known)

    def text(self, source: kb.Source) -> bytes:
        """Read the exact stored bytes of a source."""
        with translate_errors():
            return self.store.text(source.id)

    def terms(self, source: kb.Source) -> list[str]:
        """Find words that distinguish a source's chunks: suggestions for searches."""
        with translate_errors():
            return self.store.terms(source.id)

    def contents(self, source: kb.Source) -> list[Section]:
        """Read a source's table of contents."""
        from kb import contents  # noqa: PLC0415

        with translate_errors():
            return contents(self.store, source.id)

    def purge(self, request: PurgeRequest) -> kb.Purged:
        """Permanently delete sources; raise UsageError if the request selects none."""
        with translate_errors():
            purged = request.carry_out(self.store)
            if request.everything or request.pinned:
                mirroring.forget_marks(self.store, is_all=request.everything)
            return purged

    def purge_sessions(self, request: PurgeRequest) -> int:
        """Delete all sessions if the request is for everything, pinned ones only if it includes
        them; return how many were deleted."""
        if not request.everything or not self.config.sessions_file.exists():
            return 0
        from ctxmode.operations.sessions import forget_all  # noqa: PLC0415 - loads their store

        return len(forget_all(self.config, pinned=request.pinned))

    def purge_map(self, request: PurgeRequest) -> bool:
        """Remove the project's map if the request is for everything; return whether it existed."""
        if not request.everything or not self.config.map_file.exists():
            return False
        from ctxmode.operations.project_maps import forget_map  # noqa: PLC0415 - few ask

        return forget_map(self.config)

    def check(self, *, repair: bool = False) -> tuple[str, ...]:
        """List the store's problems; `repair` rebuilds its indexes if there are any."""
        with translate_errors():
            found = self.store.check()
            return self.store.repair() if found and repair else found

    def backup(self, target: Path) -> int:
        """Copy the store to a new file while it is in use; return its size. Raise UsageError if the
        file exists, or its folder is missing."""
        if not target.parent.is_dir():
            raise UsageError(
                f"cannot write {target}: no folder {target.parent}", "Create it first."
            )
        with translate_errors():
            try:
                self.store.backup(target)
            except FileExistsError as error:
                raise UsageError(str(error)) from error
            return target.stat().st_size

    def stats(self) -> dict[str, int]:
        """Measure the store."""
        with translate_errors():
            return self.store.stats()


def _names(sources: list[kb.Source]) -> str:
    shown = [f"{source.id} {one_line(source.label)}" for source in sources[:NAMED]]
    more = len(sources) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "none"


@contextmanager
def open_library(config: Config) -> Iterator[Library]:
    """Open a project's store; raise ContextModeError if it cannot be read or created."""
    with translate_errors():
        prepare_storage(config)
        store = open_store(config)
    with store:
        yield Library(config, store, partial(load_rules, config.project, config.home))


def age_s(text: str) -> float:
    """Convert an age such as `90s`, `30m`, `12h`, `7d` or `2w` to seconds; raise UsageError if
    invalid."""
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None:
        raise UsageError(f"invalid age {text!r}", "Give an age such as 90s, 30m, 12h, 7d or 2w.")
    unit_s = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[found.group(2)]
    return float(int(found.group(1)) * unit_s)
