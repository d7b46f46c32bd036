"""Indexing of content with a label, of a file, or of a folder of the project."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import policy
from base.plain_files import open_plain
from base.secrets import is_secret_path
from base.wording import inflect
from ctxmode.config.locations import Config, refuse_folder
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.operations.operation import Arg
from kb import (
    BINARY_SAMPLE,
    CHUNKERS,
    DirectoryReport,
    FileState,
    GlobError,
    Indexed,
    OnProgress,
    Origin,
    Selection,
    Source,
    SourceSpec,
    Store,
    StoreError,
    Why,
    index_selection,
    is_binary,
    is_utf8,
)
from kb import watch as watch_folder

TERMS_SHOWN = 12
FOLDERS_REMEMBERED = 4096
FILE_BYTES_MAX = 256 << 20
"""Size limit of one named file, which is read as a whole. Files of folders have a lower limit."""
RENEWED_S = 0.3
RENEWED_BYTES = 1 << 20
"""Seconds and bytes that a search may spend on changed files: as long as on mirrored stores, and
about as many bytes as are indexed in that time."""

RENEWAL_WAIT_S = 0.25  # seconds that a search waits for another writer of the store
FILES = "files"
LIKE_SECRETS = "named like a file of secrets"


# fmt: off
@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Content or path to index, exactly one of them, with options."""

    content: bytes | None = None
    path: str | None = None
    source: Annotated[str | None, Arg("label of the stored source", "LABEL")] = None
    kind: Annotated[str | None,
        Arg("kind of text (default: by name)", group=FILES, choices=tuple(sorted(CHUNKERS)))
    ] = None
    language: Annotated[str | None,
        Arg("language of code (default: by name)", "NAME", group=FILES)] = None
    include: Annotated[tuple[str, ...],
        Arg("only matching files (repeatable)", "GLOB", group=FILES)] = ()
    exclude: Annotated[tuple[str, ...],
        Arg("skip matching files (repeatable)", "GLOB", group=FILES)] = ()
    extensions: tuple[str, ...] = ()
    max_depth: Annotated[int | None, Arg("folder levels (default: 20)", "N", group=FILES)] = None
    max_files: Annotated[int | None, Arg("file limit (default: 50000)", "N", group=FILES)] = None
    respect_gitignore: Annotated[bool,
        Arg("include files that git ignores", flags=("--no-gitignore",), group=FILES)] = True
    follow_symlinks: Annotated[bool, Arg("follow symbolic links", group=FILES)] = False
# fmt: on


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """Indexed content, and skipped files with reasons."""

    source: str  # the label to search by, if `labelled`; for a folder its path
    files: int
    sections: int
    bytes: int
    labelled: bool = True
    unchanged: int = 0  # this and the next three count files that were indexed before
    renamed: int = 0
    removed: int = 0
    ignored: int = 0  # by git, and therefore removed from the index
    converted: str | None = None  # conversion of the bytes to text, such as `HTML to Markdown`
    redactions: int = 0  # secrets that were not stored
    terms: tuple[str, ...] = ()  # words to search it for
    skipped: Mapping[str, int] = field(default_factory=dict)  # number of files by reason
    left_out: tuple[Mapping[str, str], ...] = ()  # the same files, each with path and reason
    notes: tuple[str, ...] = ()


def index(
    store: Store,
    config: Config,
    rules: policy.Rules,
    request: IndexRequest,
    on_progress: OnProgress | None = None,
) -> IndexAnswer:
    """Index the requested content, file or folder.

    Raises:
        UsageError: the request, its path or a glob is invalid.
        ContextModeError: a rule denies reading the file.
    """
    if (request.content is None) == (request.path is None):
        raise UsageError("give either content or a path", "A path may be a file or a folder.")
    for name, least in (("max_depth", 0), ("max_files", 1)):
        if (given := getattr(request, name)) is not None and given < least:
            raise UsageError(f"invalid {name} {given}", f"Give {least} or more.")
    if request.path is not None:
        path = _resolve(request.path, config.project)
        if path.is_dir():
            report = index_selection(
                store,
                path,
                _selection(request, rules),
                max_files=request.max_files,
                on_progress=on_progress,
            )
            return _answer_folder(report, config, request)
        return _add_file(store, path, config, rules, request)
    assert request.content is not None
    if not request.source:
        raise UsageError("content needs a source", "Give a label to find it by.")
    return _answer_one(store, _add(store, request.source, request.content, request))


def watch(
    store: Store, config: Config, rules: policy.Rules, request: IndexRequest, stop: threading.Event
) -> Iterator[IndexAnswer]:
    """Index a folder, then its changes, until `stop` is set; raise UsageError for a bad path or
    glob."""
    path = _resolve(request.path or ".", config.project)
    if not path.is_dir():
        raise UsageError(f"cannot watch {path}: not a folder", "Watch the folder that contains it.")
    try:
        for report in watch_folder(store, path, _selection(request, rules), stop=stop):
            yield _answer_folder(report, config, request)
    except NotADirectoryError as error:
        raise ContextModeError(
            f"folder {path} was removed", "Watch a folder that exists."
        ) from error


def _selection(request: IndexRequest, rules: policy.Rules) -> Selection:
    real_path = _remember_folders() if not request.follow_symlinks else policy.real_path
    try:
        return Selection(
            include=request.include,
            exclude=request.exclude,
            extensions=frozenset(suffix.lstrip(".").lower() for suffix in request.extensions),
            max_depth=request.max_depth,
            respect_gitignore=request.respect_gitignore,
            follow_symlinks=request.follow_symlinks,
            allowed=lambda path: _find_refusal(path, rules, real_path),
        )
    except GlobError as error:
        raise UsageError(str(error), "Give a glob such as *.py, docs/** or *.{ts,tsx}.") from error


def _resolve(given: str, project: Path) -> Path:
    if "\0" in given:
        raise UsageError("the path contains a NUL byte", "Remove it.")
    if not is_utf8(given):
        raise UsageError("the path is not UTF-8", "Rename it, or index it from stdin.")
    try:
        path = (project / given).resolve(strict=True)
    except (OSError, RuntimeError) as error:  # the latter for links in a circle
        raise UsageError(
            f"cannot read {given}: {why(error)}",
            f"Give a path relative to the project {project}.",
        ) from error
    if not path.is_relative_to(project):
        raise UsageError(
            f"cannot index {given!r}: outside the project {project}",
            "Give a path in the project, or choose another project with --project.",
        )
    if path == Path("/"):
        raise refuse_folder(path, "it contains the whole system")
    return path


def _add_file(
    store: Store, path: Path, config: Config, rules: policy.Rules, request: IndexRequest
) -> IndexAnswer:
    named = config.project / (request.path or ".")  # the name of a link counts, too
    if reason := _find_refusal(path, rules) or _find_refusal(named, rules):
        raise ContextModeError(f"{path.name} is not indexed: {reason}")
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(
                f"cannot index {path}: not a regular file",
                "Pipe in its content: index - --source LABEL",
            )
        with open_plain(path, config.project) as file:
            status = os.fstat(file.fileno())
            data = b"" if status.st_size > FILE_BYTES_MAX else file.read(FILE_BYTES_MAX)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {why(error)}", "Check its mode.") from error
    if status.st_size > FILE_BYTES_MAX:
        raise UsageError(
            f"{path} is too large: {status.st_size:,} bytes, over {FILE_BYTES_MAX:,}",
            "Run a program that prints the relevant part; its output is stored.",
        )
    label = request.source or str(path.relative_to(config.project))
    indexed = store.add(
        SourceSpec(
            label,
            Origin.FILE,
            name=path.name,
            kind=request.kind,
            language=request.language,
            path=str(path),
            mtime_ns=status.st_mtime_ns,
            inode=status.st_ino,
        ),
        data,
    )
    return _answer_one(store, indexed)


def renew(
    store: Store,
    config: Config,
    rules: policy.Rules,
    states: Sequence[FileState],
    *,
    bytes_max: int = RENEWED_BYTES,
) -> frozenset[int]:
    """Index changed files again, in this order, within RENEWED_S and `bytes_max`, if the read rules
    allow it. Return the sources whose content still matches the file."""
    deadline = time.monotonic() + RENEWED_S
    same = set()
    for state in states:
        if time.monotonic() >= deadline:
            break
        read = _read_again(state, config, rules, bytes_max)
        if read is None:
            continue
        data, status = read
        bytes_max -= len(data)
        try:
            if hashlib.sha256(data).digest() == state.sha256:
                same.add(state.source_id)
                times = (status.st_mtime_ns, status.st_ino)
                store.touch(state.source_id, *times, wait_s=RENEWAL_WAIT_S)
            else:
                spec = _build_spec(store.source(state.source_id), state, status)
                store.add(spec, data, wait_s=RENEWAL_WAIT_S)
        except StoreError:  # it is locked, read-only, full or purged: the old text stays, marked
            continue
    return frozenset(same)


def _read_again(
    state: FileState, config: Config, rules: policy.Rules, bytes_max: int
) -> tuple[bytes, os.stat_result] | None:
    """Read a file that was indexed before; None if rules deny it, or a folder's index would skip it
    now."""
    path = Path(state.path)
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(config.project) or not stat.S_ISREG(real.stat().st_mode):
            return None
        if _find_refusal(path, rules) or _find_refusal(real, rules):
            return None
        with open_plain(real, config.project) as file:
            status = os.fstat(file.fileno())
            data = b"" if status.st_size > bytes_max else file.read(status.st_size)
    except (OSError, RuntimeError):  # the latter for links in a circle
        return None
    skipped = status.st_size > bytes_max or (state.met and is_binary(data[:BINARY_SAMPLE]))
    return None if skipped else (data, status)


def _build_spec(source: Source, state: FileState, status: os.stat_result) -> SourceSpec:
    """Describe a file as it was indexed. Keep kind and language of a file that was named by itself,
    because the user may have given them."""
    return SourceSpec(
        source.label,
        Origin.FILE,
        name=Path(state.path).name,
        kind=None if state.met else source.kind,
        language=None if state.met else source.language,
        session=source.session,
        path=state.path,
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
        pinned=source.pinned,
        met=state.met,
    )


def _add(store: Store, label: str, content: bytes, request: IndexRequest) -> Indexed:
    try:
        spec = SourceSpec(label, Origin.NOTE, kind=request.kind, language=request.language)
        return store.add(spec, content)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _answer_folder(report: DirectoryReport, config: Config, request: IndexRequest) -> IndexAnswer:
    notes = ["the label is not used for a folder"] * bool(request.source)
    notes += [
        f"indexed only the first {inflect(request.max_files or 0, 'file')}"
    ] * report.truncated
    if request.include and not (report.changed or report.unchanged):
        notes.append(f"No file that can be indexed matches {' or '.join(request.include)}.")
    below = report.root.relative_to(config.project)
    return IndexAnswer(
        source=str(below) if below.parts else str(config.project),
        files=len(report.indexed),
        sections=report.chunks,
        bytes=report.bytes_indexed,
        labelled=False,
        unchanged=report.unchanged,
        renamed=len(report.renamed),
        removed=len(report.removed),
        ignored=len(report.ignored),
        redactions=report.redactions,
        skipped=dict(Counter(_generalize(reason, why) for _, reason, why in report.skipped)),
        left_out=tuple({"path": path, "reason": reason} for path, reason, _ in report.skipped),
        notes=tuple(notes),
    )


def _generalize(reason: str, why: Why) -> str:
    """Return the reason without the file's size."""
    return "too large" if why is Why.TOO_LARGE else reason


def _answer_one(store: Store, indexed: Indexed) -> IndexAnswer:
    return IndexAnswer(
        terms=tuple(store.terms(indexed.source_id, TERMS_SHOWN)),
        source=indexed.label,
        files=1,
        sections=indexed.chunks,
        bytes=indexed.bytes_total,
        converted=indexed.converted,
        redactions=indexed.redactions,
        notes=indexed.notes,
    )


def _remember_folders() -> Callable[[str], str]:
    """Return a `policy.real_path` that resolves each folder once.

    Only for walks that follow no links: a folder that becomes a link later is not opened.
    """
    real_folder = lru_cache(FOLDERS_REMEMBERED)(policy.real_path)

    @lru_cache(1)  # it is called twice for each path
    def real_path(path: str) -> str:
        folder, _, name = path.rpartition("/")
        if not folder or name in {"", ".", ".."} or os.path.islink(path):
            return policy.real_path(path)
        return f"{real_folder(folder).rstrip('/')}/{name}"

    return real_path


def _find_refusal(
    path: Path, rules: policy.Rules, real_path: Callable[[str], str] = policy.real_path
) -> str | None:
    """Return why this file may not be read, by its name and its real path; None if it may."""
    if any(map(is_secret_path, {str(path), real_path(str(path))})) and not path.is_dir():
        return LIKE_SECRETS
    verdict = policy.evaluate_read(str(path), rules, real_path=real_path)
    return None if verdict.allowed else verdict.message
