"""What `index` takes: content with a label, a file, or a folder of the project."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import policy
from ctxmode.answers import IndexAnswer
from ctxmode.config import Config
from ctxmode.errors import ContextModeError, UsageError
from kb import Indexed, Origin, Store, index_paths


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Exactly one of `content` and `path` is given; `content` needs `source` as its label."""

    content: bytes | None = None
    path: str | None = None
    source: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    max_depth: int | None = None
    max_files: int | None = None
    respect_gitignore: bool = True
    follow_symlinks: bool = False


def index(store: Store, config: Config, rules: policy.Rules, request: IndexRequest) -> IndexAnswer:
    """Make it searchable.

    Raises:
        UsageError: neither or both are given, a label is missing, or the path cannot be used.
        ContextModeError: a rule denies reading the file.
    """
    if (request.content is None) == (request.path is None):
        raise UsageError("give either content or a path", "A path may be a file or a folder.")
    if request.content is not None:
        if not request.source:
            raise UsageError("content needs a source", "Name it, to find it by that label.")
        return _one(store.add(request.source, request.content, origin=Origin.NOTE))
    assert request.path is not None
    path = _inside(request.path, config.project)
    if path.is_dir():
        return _folder(store, path, config, rules, request)
    return _file(store, path, config, rules, request)


def _inside(given: str, project: Path) -> Path:
    if "\0" in given:
        raise UsageError("the path holds a NUL byte", "Leave it out.")
    try:
        path = (project / given).resolve(strict=True)
    except OSError as error:
        raise UsageError(
            f"{given!r} cannot be indexed: {error.strerror}",
            f"Paths are taken from the project {project}.",
        ) from error
    if not path.is_relative_to(project):
        raise UsageError(
            f"{given!r} lies outside the project {project}",
            "Index what is in the project, or start in another one with --project.",
        )
    return path


def _file(
    store: Store, path: Path, config: Config, rules: policy.Rules, request: IndexRequest
) -> IndexAnswer:
    if reason := _denied(path, rules):
        raise ContextModeError(f"{path.name} is not indexed: {reason}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "Check its mode.") from error
    label = request.source or str(path.relative_to(config.project))
    return _one(store.add(label, data, name=path.name, origin=Origin.FILE, path=str(path)))


def _folder(
    store: Store, path: Path, config: Config, rules: policy.Rules, request: IndexRequest
) -> IndexAnswer:
    report = index_paths(
        store,
        path,
        include=request.include,
        exclude=request.exclude,
        extensions=request.extensions,
        max_depth=request.max_depth,
        max_files=request.max_files,
        respect_gitignore=request.respect_gitignore,
        follow_symlinks=request.follow_symlinks,
        allowed=lambda file: _denied(file, rules),
    )
    notes = ["the label is not used for a folder"] * bool(request.source)
    notes += [f"{report.unchanged} files are unchanged since the last time"] * bool(
        report.unchanged
    )
    notes += [f"{len(report.removed)} files are gone and were forgotten"] * bool(report.removed)
    notes += [f"only the first {request.max_files} files were taken"] * report.truncated
    return IndexAnswer(
        source=str(path.relative_to(config.project)),
        files=len(report.indexed),
        sections=report.chunks,
        bytes=report.bytes_indexed,
        labelled=False,
        skipped=dict(Counter(skipped.reason for skipped in report.skipped)),
        notes=tuple(notes),
    )


def _one(indexed: Indexed) -> IndexAnswer:
    return IndexAnswer(
        source=indexed.label,
        files=1,
        sections=indexed.chunks,
        bytes=indexed.bytes_total,
        notes=indexed.notes,
    )


def _denied(path: Path, rules: policy.Rules) -> str | None:
    """Why a rule forbids reading this file; None where none does."""
    verdict = policy.evaluate_read(str(path), rules, real_path=policy.real_path)
    return None if verdict.allowed else verdict.message
