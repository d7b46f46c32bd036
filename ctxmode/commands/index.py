"""The verb `index`: make files, folders, stdin or web pages searchable."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import kb
from ctxmode import exit_codes
from ctxmode.errors import UsageError
from ctxmode.launch import print_json, with_library
from ctxmode.operations.answers import IndexAnswer
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import Library
from ctxmode.render.highlight import one_line, size
from ctxmode.render.live_output import waiting
from ctxmode.render.results import index_text

PROGRESS_EVERY = 25
"""Files between two updates of the line that shows progress."""

DEPTH_MAX, FILES_MAX = 20, 50_000
OF_FILES = (
    *("kind", "language", "include", "exclude", "max_depth", "max_files"),
    *("no_gitignore", "follow_symlinks", "watch", "verbose"),
)
CHOICES = {"--kind": tuple(sorted(kb.CHUNKERS))}
OF_PAGES = ("ttl", "force", "timeout", "concurrency")


def run_verb(args: argparse.Namespace) -> int:
    are_urls = [word.startswith(("http://", "https://")) for word in args.paths]
    if args.are_urls or any(are_urls):
        if not args.are_urls and not all(are_urls):
            raise UsageError("index: URLs and paths exclude each other", "Index them in two calls.")
        _refuse(args, OF_FILES, "web pages")
        from ctxmode.commands import fetch  # noqa: PLC0415 - files do without

        return fetch.run_verb(args)
    _refuse(args, OF_PAGES, "files")
    if len(args.paths) > 1:
        wrong = f"index: unexpected word {args.paths[1]!r}"
        raise UsageError(wrong, "Give one file or folder at a time.")
    return _run_files(args, args.paths[0])


def _refuse(args: argparse.Namespace, names: Sequence[str], kind: str) -> None:
    for name in names:
        if getattr(args, name) not in (None, [], False):
            option = name.replace("_", "-")
            raise UsageError(f"index: --{option} does not apply to {kind}", f"Remove --{option}.")


def _run_files(args: argparse.Namespace, path: str) -> int:
    if path == "-" and not args.source:
        raise UsageError("stdin has no name to find it by", "Give one: index - --source LABEL")
    request = IndexRequest(
        content=sys.stdin.buffer.read() if path == "-" else None,
        path=None if path == "-" else str(Path.cwd() / path),
        source=args.source,
        kind=args.kind,
        language=args.language,
        include=tuple(args.include),
        exclude=tuple(args.exclude),
        max_depth=DEPTH_MAX if args.max_depth is None else args.max_depth,
        max_files=FILES_MAX if args.max_files is None else args.max_files,
        respect_gitignore=not args.no_gitignore,
        follow_symlinks=args.follow_symlinks,
    )
    if args.watch:
        with_library(args, partial(_watch, args=args, request=request))
        return exit_codes.OK
    answer = with_library(args, partial(_index, request=request, as_json=args.json))
    if args.json:
        print_json(asdict(answer))
    else:
        _show(answer, args)
        if answer.labelled and answer.sections:
            sys.stdout.write(f"Find it: context-mode search --source {answer.source!r} QUERY\n")
        elif answer.sections:
            sys.stdout.write("Find it: context-mode search QUERY\n")
    return exit_codes.OK


def _index(library: Library, request: IndexRequest, *, as_json: bool) -> IndexAnswer:
    if as_json or not sys.stderr.isatty():
        return library.index(request)
    if request.path is None or not Path(request.path).is_dir():
        with waiting("indexing"):
            return library.index(request)
    try:
        return library.index(request, _progress)
    finally:
        sys.stderr.write("\r\x1b[K")


def _progress(files: int, indexed: int, bytes_indexed: int, _: str) -> None:
    if files % PROGRESS_EVERY == 0:
        counts = f"{files} files, {indexed} indexed, {size(bytes_indexed)}"
        sys.stderr.write(f"\r\x1b[K{counts}")
        sys.stderr.flush()


def _watch(library: Library, args: argparse.Namespace, request: IndexRequest) -> None:
    if request.content is not None:
        raise UsageError("stdin cannot be watched", "Give a folder.")
    for answer in library.watch(request, threading.Event()):
        if args.json:
            sys.stdout.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
        else:
            _show(answer, args)
        sys.stdout.flush()


def _show(answer: IndexAnswer, args: argparse.Namespace) -> None:
    sys.stdout.write(index_text(answer) + "\n")
    if args.verbose:
        sys.stdout.writelines(
            f"  {one_line(one['path'])}: {one['reason']}\n" for one in answer.left_out
        )
