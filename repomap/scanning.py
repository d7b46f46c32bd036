"""Update of a map: only files changed since the last scan are read."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from base.plain_files import read_plain
from kb import Selection, Walk, WalkEntry, Why
from repomap import workers
from repomap.history import update_history
from repomap.importing import Resolver
from repomap.importing.tree import MODULE_CHARS
from repomap.model import FileRow, LeftOut, MapDamagedError, MapError, ScanReport, Structure
from repomap.reading import read_text
from repomap.store import (
    MapStore,
    index_words,
    read_files,
    read_imports,
    read_marks,
    remove_file,
    write_file,
    write_marks,
)
from repomap.words import split_names

CONFIG_BYTES = 256 * 1024
TARGETS_MAX = 64
"""Files that one import may refer to: a package of Go has some dozens."""

DEADLINE_S = 240.0
"""Time limit of one scan; the next one reads the rest."""

THREADS = 2
BATCH = 64
_COMPLETE = "complete"
FILE_BYTES = 512 * 1024
FILES = 20_000
Refusal = Literal["", "secret_name", "denied"]
UNSURE_NS = 2 * 10**9
"""Time after a change in which a file may change again with the same time stamp."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """A request for a scan."""

    root: Path
    is_secret_name: Callable[[str], bool]  # function of a relative path
    hide_secrets: Callable[[bytes], bytes]  # replaces secrets by the same number of bytes, first
    is_denied: Callable[[str], bool] = lambda _: False  # function of a relative path
    file_bytes: int = FILE_BYTES
    files: int = FILES
    deadline_s: float = DEADLINE_S

    def refuse(self, path: str) -> Refusal:
        """Return why a file is not read; empty if it may be read."""
        if self.is_secret_name(path):
            return "secret_name"
        return "denied" if self.is_denied(path) else ""


LISTED_TIMES = 5
"""Multiple of `files` up to which files are listed; beyond it, the rest are not counted."""

_NAMES: Mapping[Why, str] = MappingProxyType(
    {
        Why.ALWAYS: "excluded",
        Why.IGNORED: "ignored",
        Why.LINK: "link",
        Why.NAME: "encoding",
        Why.SPECIAL: "special",
        Why.TOO_LARGE: "too_large",
        Why.MET: "met",
        Why.UNREADABLE: "permission",
    }
)
"""Names of the walk's reasons here; the reason for a line of an ignore file concerns no file."""


def walk_files(
    root: Path,
    *,
    refuse: Callable[[str], Refusal],
    file_bytes: int = FILE_BYTES,
    files: int = FILES,
    until: float = float("inf"),
) -> tuple[list[WalkEntry], list[LeftOut], bool]:
    """Find the files below `root` for a map, ordered by path, those left out, and whether all were
    listed. `until` is a time of the monotonic clock. `refuse` returns why a file must not be read,
    by its relative path.

    Raises:
        OSError: `root` itself cannot be listed.
        TimeoutError: listing the folders took longer.
    """
    with os.scandir(root):
        begin = len(os.path.join(root, ""))

    def judge(path: Path) -> str | None:
        return refuse(str(path)[begin:]) or None

    walk = Walk(root, Selection(max_file_bytes=file_bytes, allowed=judge), until=until)
    entries: list[WalkEntry] = []
    beyond: list[LeftOut] = []
    is_whole = True
    for entry in walk.files():
        if len(entries) < files:
            entries.append(entry)
        elif len(beyond) < files * (LISTED_TIMES - 1):
            beyond.append((entry.relative, "too_many"))
        else:
            is_whole = False
            break
    skipped = [
        # Refused files have the name of their reason.
        (path, reason if why is Why.NOT_ALLOWED else _NAMES[why])
        for path, reason, why in walk.skipped
        if why is Why.NOT_ALLOWED or why in _NAMES
    ]
    entries.sort(key=lambda entry: entry.relative)
    return entries, sorted([*skipped, *beyond]), is_whole


_Read = tuple[FileRow, Structure, str] | str | None
"""The result of reading a file: its row, structure and words; or the reason why it has no text; or
None if it is unchanged, so that only its time is updated."""


def scan(store: MapStore, asked: ScanRequest) -> ScanReport:
    """Update the map from the files and the history of its folder.

    Raises:
        MapError: the folder cannot be listed, or not in time, or the map cannot be written.
    """
    began = time.monotonic()
    with store.hold():
        try:
            return _scan(store, asked, began)
        except MapDamagedError as error:  # noticed only when the file is read
            store.renew(error)
            return _scan(store, asked, began)


def _scan(store: MapStore, asked: ScanRequest, began: float) -> ScanReport:
    until = began + asked.deadline_s
    started_ns = time.time_ns()
    entries, refused, is_whole = _walk(asked, until)
    with store.reading() as db:
        known, marks = read_files(db), read_marks(db)
        left_before = dict(db.execute("SELECT path, reason FROM left_out"))
    sure_before = _read_started(marks, started_ns) - UNSURE_NS
    changed = [one for one in entries if not _is_same(one, known.get(one.relative), sure_before)]
    written, same, unread = _write_changed(store, changed, known, asked, until)
    present = {one.relative for one in entries}
    gone = [row for path, row in known.items() if path not in present]
    left_out = sorted([*refused, *unread])
    left_now = dict(left_out)
    was_complete = marks.get(_COMPLETE) == "1"
    with store.writing() as db:
        for row in gone:
            remove_file(db, row.id)
        if left_now != left_before:
            db.execute("DELETE FROM left_out")
            db.executemany("INSERT INTO left_out VALUES(?,?)", sorted(left_now.items()))
        is_complete = True
        if written or gone or left_now != left_before or not was_complete:
            is_complete = resolve_all(db, asked.root, until)
        history = update_history(
            db, asked.root, marks=marks, until=until, written=written if was_complete else None
        )
        write_marks(db, [("started_ns", str(started_ns)), (_COMPLETE, str(int(is_complete)))])
    return ScanReport(
        files=len(entries) - len(unread),
        read=len(written) + same,
        removed=len(gone),
        left_out=tuple(left_out),
        notes=(
            *store.notes,
            *([history.note] if history.note else ()),
            *_notes(left_out, is_whole),
        ),
        head=history.head,
        seconds=time.monotonic() - began,
    )


def _read_started(marks: Mapping[str, str], now_ns: int) -> int:
    """Return when the last scan began; 0 if unknown or, by this clock, in the future."""
    said = marks.get("started_ns", "")
    began_ns = int(said) if said.isascii() and said.isdigit() else 0
    return began_ns if began_ns <= now_ns else 0


def _walk(asked: ScanRequest, until: float) -> tuple[list[WalkEntry], list[LeftOut], bool]:
    try:
        return walk_files(
            asked.root,
            refuse=asked.refuse,
            file_bytes=asked.file_bytes,
            files=asked.files,
            until=until,
        )
    except TimeoutError:
        raise MapError(
            f"listing {asked.root} took longer than {asked.deadline_s:.0f} s",
            "Choose a smaller folder with --project.",
        ) from None
    except OSError as error:
        raise MapError(
            f"cannot list {asked.root}: {error.strerror}",
            "Choose a readable folder with --project.",
        ) from error


def _write_changed(
    store: MapStore,
    changed: Sequence[WalkEntry],
    known: Mapping[str, FileRow],
    asked: ScanRequest,
    until: float,
) -> tuple[set[str], int, list[LeftOut]]:
    """Read files and write them to the map; return those written, the number of unchanged ones, and
    those without text."""
    written: set[str] = set()
    same = 0
    unread: list[LeftOut] = []
    for batch in _read_all(changed, known, asked, until):
        with store.writing() as db:
            # A killed scan leaves files without their imports and history.
            write_marks(db, [(_COMPLETE, "0")])
            for entry, read in batch:
                path = entry.relative
                if read is None:
                    same += 1
                    _write_status(db, known[path].id, entry)
                elif isinstance(read, tuple):
                    written.add(path)
                    _write(db, *read)
                else:
                    unread.append((path, read))
                    if path in known and read != "late":
                        remove_file(db, known[path].id)
    return written, same, unread


def _notes(left_out: Sequence[LeftOut], is_whole: bool) -> Iterator[str]:
    late = sum(reason == "late" for _, reason in left_out)
    if late:
        yield f"{late} files are not read yet: the scan ran out of time; the next one continues"
    many = sum(reason == "too_many" for _, reason in left_out)
    if many:
        more = "" if is_whole else "more than "
        yield f"{more}{many} files exceed the limit map.files"


def _is_same(entry: WalkEntry, row: FileRow | None, sure_before_ns: int) -> bool:
    status = entry.status
    return row is not None and (
        (row.mtime_ns, row.size, row.inode) == (status.st_mtime_ns, status.st_size, status.st_ino)
        and status.st_mtime_ns < sure_before_ns
        and status.st_ctime_ns < sure_before_ns
    )


def _read_all(
    entries: Sequence[WalkEntry],
    known: Mapping[str, FileRow],
    asked: ScanRequest,
    until: float,
) -> Iterator[Sequence[tuple[WalkEntry, _Read]]]:
    """Read files in threads, each with one parser process; in batches, in order."""

    def read(entry: WalkEntry) -> tuple[WalkEntry, _Read]:
        if time.monotonic() > until:
            return entry, "late"
        return entry, _read(entry, known.get(entry.relative), asked)

    with ThreadPoolExecutor(THREADS) as threads:
        for at in range(0, len(entries), BATCH):
            ahead = threads.map(read, entries[at : at + BATCH])
            yield list(ahead)


def _read(entry: WalkEntry, known: FileRow | None, asked: ScanRequest) -> _Read:
    found = read_text(asked.root, entry.relative, asked.file_bytes)
    if isinstance(found, str):
        return found
    text, language = found
    sha256 = hashlib.sha256(text).digest()
    if known is not None and known.sha256 == sha256:
        return None
    data = asked.hide_secrets(text)
    structure = workers.describe(data, language)
    status = entry.status
    row = FileRow(
        path=entry.relative,
        id=0,
        mtime_ns=status.st_mtime_ns,
        size=status.st_size,
        inode=status.st_ino,
        sha256=sha256,
        language=language,
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        purpose=structure.purpose,
        note=structure.note,
    )
    return row, structure, split_names(data.decode("utf-8", "replace"))


def _write_status(db: sqlite3.Connection, file: int, entry: WalkEntry) -> None:
    status = entry.status
    db.execute(
        "UPDATE file SET mtime_ns = ?, size = ?, inode = ? WHERE id = ?",
        (status.st_mtime_ns, status.st_size, status.st_ino, file),
    )


def _write(db: sqlite3.Connection, row: FileRow, structure: Structure, body: str) -> None:
    file = write_file(db, row, structure, body)
    index_words(db, file, "path", split_names(row.path.replace("/", " / ")))
    names = " ".join(symbol.name for symbol in structure.symbols)
    index_words(db, file, "symbols", split_names(names))


def resolve_all(db: sqlite3.Connection, root: Path, until: float) -> bool:
    """Find the targets of all imports again: an added or deleted file may change any of them.
    Return whether there was time for all."""
    files = read_files(db)

    def read(path: str) -> bytes | None:
        try:
            return read_plain(root / path, CONFIG_BYTES, root)
        except (OSError, ValueError):
            return None

    resolver = Resolver(list(files), read)
    edges: set[tuple[int, int]] = set()
    unresolved: set[tuple[int, str]] = set()
    is_whole = True
    for at, (file, path, language, one) in enumerate(read_imports(db)):
        if at % 256 == 0 and time.monotonic() > until:
            is_whole = False
            break
        targets = resolver.resolve(path, language, one)
        if not targets:
            unresolved.add((file, one.module[:MODULE_CHARS]))
        for target in targets[:TARGETS_MAX]:
            if target != path and target in files:
                edges.add((file, files[target].id))
    db.execute("DELETE FROM edge")
    db.executemany("INSERT INTO edge VALUES(?,?)", sorted(edges))
    db.execute("DELETE FROM unresolved")
    db.executemany("INSERT INTO unresolved VALUES(?,?)", sorted(unresolved))
    return is_whole
