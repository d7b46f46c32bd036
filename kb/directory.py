"""A folder becomes sources, and stays in step: only what is new or changed is indexed again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.model import Indexed
from kb.store import Store
from kb.walking import MAX_FILE_BYTES, Selection, Skipped, Walk

MAX_SINGLE_FILE_BYTES = 256 * 1024 * 1024
"""A file that is named by itself may be larger than one met in a folder."""

_BINARY_SAMPLE = 8192


@dataclass(frozen=True, slots=True)
class DirectoryReport:
    """What indexing a folder did; paths are relative to `root`.

    `unchanged` counts files left as they were indexed before, `removed` lists those that are gone
    from the disk and so from the store, `truncated` says that `max_files` left something out.
    """

    root: Path
    indexed: tuple[str, ...]
    unchanged: int
    removed: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    chunks: int
    bytes_indexed: int
    truncated: bool


def index_paths(  # noqa: PLR0913 - the selection is the interface
    store: Store,
    root: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_depth: int | None = None,
    max_files: int | None = None,
    extensions: Sequence[str] = (),
    max_file_bytes: int = MAX_FILE_BYTES,
    respect_gitignore: bool = True,
    follow_symlinks: bool = False,
    allowed: Callable[[Path], str | None] | None = None,
    session: str | None = None,
) -> DirectoryReport:
    """Index the text files below `root` that are new or changed since the last time.

    `include` and `exclude` are glob patterns over paths relative to `root`; `extensions` come with
    or without a dot. `allowed` gives the reason why a path may not be read, or None. A link that
    leads out of `root` is never followed.

    Raises:
        NotADirectoryError: `root` is no folder.
        StoreError: a file could not be stored; those before it were.
    """
    root = root.resolve()
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder: index it as a file")
    wanted = frozenset(extension.lstrip(".").lower() for extension in extensions)
    walk = Walk(
        root,
        Selection(
            include,
            exclude,
            wanted,
            max_depth,
            max_file_bytes,
            respect_gitignore,
            follow_symlinks,
            allowed,
        ),
    )
    added: list[Indexed] = []
    unchanged = 0
    truncated = False
    for path in walk.files():
        if max_files is not None and len(added) + unchanged >= max_files:
            truncated = True
            break
        outcome = _index_file(store, walk, path, session)
        if isinstance(outcome, Indexed):
            added.append(outcome)
        else:
            unchanged += outcome
    return DirectoryReport(
        root=root,
        indexed=tuple(indexed.label for indexed in added),
        unchanged=unchanged,
        removed=_forget_missing(store, root),
        skipped=tuple(walk.skipped),
        chunks=sum(indexed.chunks for indexed in added),
        bytes_indexed=sum(indexed.bytes_indexed for indexed in added),
        truncated=truncated,
    )


def index_file(store: Store, path: Path, root: Path | None = None) -> Indexed | None:
    """Index one file if it is new or changed; None where it is unchanged. Its label is its path
    relative to `root`, or its whole path.

    Raises:
        OSError: it cannot be read.
        ValueError: it is binary.
        StoreError: it could not be stored.
    """
    path = path.resolve(strict=True)
    walk = Walk((root or Path("/")).resolve(), Selection(max_file_bytes=MAX_SINGLE_FILE_BYTES))
    outcome = _index_file(store, walk, path, None)
    if walk.skipped:
        raise ValueError(f"{path}: {walk.skipped[0].reason}")
    return outcome if isinstance(outcome, Indexed) else None


def _index_file(store: Store, walk: Walk, path: Path, session: str | None) -> Indexed | bool:
    """What was added; else whether the file is unchanged (and not skipped)."""
    follow = 0 if walk.selection.follow_symlinks else os.O_NOFOLLOW
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow), "rb") as file:
            status = os.fstat(file.fileno())
            if store.is_current(str(path), status.st_mtime_ns, status.st_size, status.st_ino):
                return True
            data = file.read(walk.selection.max_file_bytes + 1)
    except OSError as error:
        walk.skip(path, f"unreadable: {error.strerror}")
        return False
    if len(data) > walk.selection.max_file_bytes:
        walk.skip(path, "grew while it was read")
        return False
    if b"\0" in data[:_BINARY_SAMPLE]:
        walk.skip(path, "binary")
        return False
    if store.touch(str(path), data, status.st_mtime_ns, status.st_ino):
        return True
    return store.add(
        store.file_label(str(path), str(path.relative_to(walk.root))),
        data,
        name=path.name,
        origin="file",
        session=session,
        path=str(path),
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
    )


def _forget_missing(store: Store, root: Path) -> tuple[str, ...]:
    """Forget the files below `root` that are gone from the disk."""
    removed = []
    for source_id, path in store.files(root):
        if not os.path.lexists(path):
            store.forget(source_id)
            removed.append(str(Path(path).relative_to(root)))
    return tuple(removed)
