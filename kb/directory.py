"""Indexing of a folder: only new or changed files are indexed again."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from base.plain_files import open_plain
from kb.bulk import Bulk
from kb.decoding import BINARY_SAMPLE, is_binary
from kb.ignoring import IGNORE_FILES
from kb.model import Indexed, SourceSpec
from kb.reading import FileState
from kb.store import Store
from kb.walking import Selection, Skipped, Walk, WalkEntry, Why, is_utf8

MAX_SINGLE_FILE_BYTES = 256 * 1024 * 1024
"""A file that is named by itself may be larger than one met in a folder."""


@dataclass(frozen=True, slots=True)
class DirectoryReport:
    """The result of indexing a folder; paths are relative to `root`."""

    root: Path
    indexed: tuple[str, ...]
    unchanged: int  # how many files were left as they were indexed before
    removed: tuple[str, ...]  # gone from the disk, and therefore from the store
    skipped: tuple[Skipped, ...]
    chunks: int
    bytes_indexed: int
    truncated: bool  # `max_files` left something out
    renamed: tuple[tuple[str, str], ...] = ()  # the old and the new path of files found elsewhere
    redactions: int = 0
    ignored: tuple[str, ...] = ()  # now ignored by git, and therefore gone from the store

    @property
    def changed(self) -> bool:
        """Return whether the store has changed."""
        return bool(self.indexed or self.removed or self.renamed or self.ignored)


OnProgress = Callable[[int, int, int, str], None]
"""Receives progress: files looked at, files indexed, bytes indexed, and the current path."""


def index_selection(  # noqa: PLR0913
    store: Store,
    root: Path,
    selection: Selection,
    *,
    only: Collection[Path] | None = None,
    max_files: int | None = None,
    session: str | None = None,
    on_progress: OnProgress | None = None,
) -> DirectoryReport:
    """Index the text files of a selection below `root` that are new or changed since the last time.

    A link that points outside `root` is never followed. A moved file keeps its chunks; a deleted
    one is forgotten. `only` narrows the pass to some paths and what is below them. `on_progress` is
    called after each file, in this thread.

    Raises:
        NotADirectoryError: `root` is not a folder.
        StoreError: a file could not be stored; those before it were.
    """
    root = root.resolve()
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder: index it as a file")
    truncated = False
    with store.bulk() as bulk:
        one_pass = _Pass(store, Walk(root, selection, only), session, bulk)
        for entry in one_pass.walk.files():
            if max_files is not None and one_pass.taken >= max_files:
                truncated = True
                break
            one_pass.take(entry)
            if on_progress is not None:
                bytes_indexed = one_pass.bulk.bytes_indexed
                on_progress(one_pass.taken, one_pass.added, bytes_indexed, entry.relative)
    return one_pass.report(
        one_pass.forget(one_pass.find_gone()),
        one_pass.forget(one_pass.find_ignored()),
        truncated=truncated,
    )


def index_file(store: Store, path: Path, root: Path | None = None) -> Indexed | None:
    """Index one file if it is new or changed; return None if unchanged. Its label is its path
    relative to `root`, or its whole path.

    Raises:
        OSError: it cannot be read.
        ValueError: it is binary.
        StoreError: it could not be stored.
    """
    path = path.resolve(strict=True)
    root = (root or Path("/")).resolve()
    walk = Walk(root, Selection(max_file_bytes=MAX_SINGLE_FILE_BYTES), [path])
    with store.bulk() as bulk:
        one_pass = _Pass(store, walk, None, bulk, met=False)
        one_pass.take(WalkEntry(path, str(path.relative_to(root)), path.stat()))
    if walk.skipped:
        raise ValueError(f"{path}: {walk.skipped[0][1]}")
    return bulk.indexed[0] if bulk.indexed else None


@dataclass(slots=True)
class _Pass:
    """One pass over a folder, or over some of its paths, and its results so far."""

    store: Store
    walk: Walk
    session: str | None
    bulk: Bulk
    met: bool = True
    added: int = 0
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unchanged: int = 0
    _known: dict[str, FileState] = field(default_factory=dict)
    _unmet: dict[str, FileState] = field(default_factory=dict)
    """The known files that the pass has not found yet."""
    _digests: set[bytes] = field(default_factory=set)
    """The contents of the known files. No others can have moved within a whole folder, and asking
    the store takes some hundred times as long."""

    def __post_init__(self) -> None:
        for path in self.walk.only or [self.walk.root]:
            if is_utf8(str(path)):
                self._known |= self.store.files(path)
        self._unmet = dict(self._known)
        self._digests = {state.sha256 for state in self._known.values()}

    @property
    def taken(self) -> int:
        return self.added + len(self.renamed) + self.unchanged

    def take(self, entry: WalkEntry) -> None:
        """Index the file unless the store has it as it is."""
        known = self._known.get(str(entry.path))
        self._unmet.pop(str(entry.path), None)
        if known is not None and known.is_unchanged(entry.status):
            self.unchanged += 1
            return
        data, status = self._read(entry)
        if data is None:
            return
        digest = hashlib.sha256(data).digest()
        if known is not None and known.sha256 == digest:
            self.store.touch(known.source_id, status.st_mtime_ns, status.st_ino)
            self.unchanged += 1
        elif known is None and (moved := self._find_moved(entry, digest, status)):
            self.renamed.append((self._relative(moved.path), entry.relative))
            self._unmet.pop(moved.path, None)
        else:
            self._add(entry, data, status)

    def _read(self, entry: WalkEntry) -> tuple[bytes | None, os.stat_result]:
        """Read the file's bytes and status as of one moment; None if it is skipped."""
        selection = self.walk.selection
        follow = selection.follow_symlinks
        try:
            with open_plain(entry.path, self.walk.root, follow=follow) as file:
                status = os.fstat(file.fileno())
                # It may have grown since it was listed, to any size.
                data = file.read(min(status.st_size, selection.max_file_bytes) + 1)
                if len(data) > status.st_size:  # it grows, or has no size, as files of /proc do
                    data += file.read(selection.max_file_bytes + 1 - len(data))
        except OSError as error:
            self.walk.skip(entry.path, f"unreadable: {error.strerror}", Why.UNREADABLE)
            return None, entry.status
        if len(data) > selection.max_file_bytes:
            self.walk.skip(entry.path, f"over {selection.max_file_bytes} bytes", Why.TOO_LARGE)
            return None, status
        if is_binary(data[:BINARY_SAMPLE]):
            self.walk.skip(entry.path, "binary", Why.BINARY)
            return None, status
        return data, status

    def _find_moved(
        self, entry: WalkEntry, digest: bytes, status: os.stat_result
    ) -> FileState | None:
        """Find the file of this content that was moved here; its source gets the new name. With
        another suffix it may be of another kind and is indexed again."""
        if not status.st_size or (self.walk.only is None and digest not in self._digests):
            return None
        moved = self.store.find_moved_file(digest, status.st_size)
        if moved is None or Path(moved.path).suffix != entry.path.suffix:
            return None
        if moved.path not in self._known and not self._within(moved.path):
            return None
        label = self.store.file_label(str(entry.path), entry.relative)
        self.store.rename_file(moved.source_id, label, str(entry.path), status)
        return moved

    def _within(self, path: str) -> bool:
        return Path(path).is_relative_to(self.walk.root)

    def _relative(self, path: str) -> str:
        return str(Path(path).relative_to(self.walk.root))

    def _add(self, entry: WalkEntry, data: bytes, status: os.stat_result) -> None:
        spec = SourceSpec(
            self.store.file_label(str(entry.path), entry.relative),
            origin="file",
            name=entry.path.name,
            session=self.session,
            path=str(entry.path),
            mtime_ns=status.st_mtime_ns,
            inode=status.st_ino,
            met=self.met,
        )
        self.bulk.add(spec, data)
        self.added += 1

    def find_gone(self) -> list[FileState]:
        """Return the files that are gone from the disk."""
        return [state for path, state in self._unmet.items() if not os.path.lexists(path)]

    def find_ignored(self) -> list[FileState]:
        """Find the files that an earlier pass indexed and that git, or a folder's rule, ignores
        now. Files that were named individually are not included."""
        ignored = self.walk.ignored
        return [
            state
            for state in self._unmet.values()
            if state.met and not ignored.isdisjoint((path := Path(state.path), *path.parents))
        ]

    def forget(self, states: Sequence[FileState]) -> tuple[str, ...]:
        """Forget the files, and return their paths."""
        for state in states:
            self.store.forget(state.source_id)
            del self._unmet[state.path]
        return tuple(sorted(self._relative(state.path) for state in states))

    def report(
        self, removed: tuple[str, ...], ignored: tuple[str, ...], *, truncated: bool
    ) -> DirectoryReport:
        return DirectoryReport(
            root=self.walk.root,
            indexed=tuple(indexed.label for indexed in self.bulk.indexed),
            unchanged=self.unchanged,
            removed=removed,
            skipped=tuple(self.walk.skipped),
            chunks=sum(indexed.chunks for indexed in self.bulk.indexed),
            bytes_indexed=self.bulk.bytes_indexed,
            truncated=truncated,
            renamed=tuple(self.renamed),
            redactions=sum(indexed.redactions for indexed in self.bulk.indexed),
            ignored=ignored,
        )


DEBOUNCE_MS = 400
"""The time for which changes are gathered, so that a checkout of a thousand files is one pass."""

STEP_MS = 50
"""The quiet time after which gathered changes are indexed."""

NOTICE_MS = 200
"""The time until `stop` is noticed."""

_IGNORE_NAMES = frozenset(Path(name).name for name in IGNORE_FILES)


def watch(  # noqa: PLR0913
    store: Store,
    root: Path,
    selection: Selection,
    *,
    stop: threading.Event,
    session: str | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[DirectoryReport]:
    """Index `root` wholly, then all changes in it, until `stop` is set: one report a pass.

    Blocks between passes, in the thread that iterates. If an ignore file changes, all of `root` is
    looked at again.

    Raises:
        NotADirectoryError: `root` is not a folder.
        StoreError: a file could not be stored.
    """
    root = root.resolve()
    # The watch begins before the first pass, so that nothing falls between the two.
    changes = import_module("watchfiles").watch(
        root,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        stop_event=stop,
        raise_interrupt=True,
        yield_on_timeout=True,
        rust_timeout=NOTICE_MS,
    )
    next(changes, None)
    only: set[Path] | None = None
    while not stop.is_set():
        report = index_selection(
            store, root, selection, only=only, session=session, on_progress=on_progress
        )
        if only is None or report.changed:
            yield report
        batch = next((batch for batch in changes if batch), None)
        if batch is None:
            return
        paths = {Path(path) for _, path in batch}
        only = None if any(path.name in _IGNORE_NAMES for path in paths) else paths
