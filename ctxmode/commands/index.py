"""The verb `index`: make files, folders or stdin searchable."""

from __future__ import annotations

import argparse
import json
import sys
import threading
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
from ctxmode.render.progress_line import waiting
from ctxmode.render.results import index_text

PROGRESS_EVERY = 25
"""Files between two updates of the line that shows progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH|-", help="a file or folder; - is stdin")
    parser.add_argument("--source", metavar="LABEL", help="the label to find it by")
    parser.add_argument("--kind", choices=sorted(kb.CHUNKERS), help="default: by its name")
    parser.add_argument("--language", metavar="NAME", help="of code; default: by its name")
    parser.add_argument(
        "--include", action="append", default=[], metavar="GLOB", help="only files like this"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="no files like this"
    )
    parser.add_argument("--max-depth", type=int, default=20, metavar="N", help="default: 20")
    parser.add_argument("--max-files", type=int, default=50_000, metavar="N", help="default: 50000")
    parser.add_argument("--no-gitignore", action="store_true", help="also what git ignores")
    parser.add_argument("--follow-symlinks", action="store_true", help="also what links lead to")
    parser.add_argument("--watch", action="store_true", help="stay, and index what changes")
    parser.add_argument("--verbose", action="store_true", help="list what is left out, and why")
    parser.add_argument("--json", action="store_true", help="with --watch one line a pass")


def run(args: argparse.Namespace) -> int:
    if args.path == "-" and not args.source:
        raise UsageError("stdin has no name to find it by", "Give one: index - --source LABEL")
    request = IndexRequest(
        content=sys.stdin.buffer.read() if args.path == "-" else None,
        path=None if args.path == "-" else str(Path.cwd() / args.path),
        source=args.source,
        kind=args.kind,
        language=args.language,
        include=tuple(args.include),
        exclude=tuple(args.exclude),
        max_depth=args.max_depth,
        max_files=args.max_files,
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


def _progress(done: kb.DirectoryProgress) -> None:
    if done.files % PROGRESS_EVERY == 0:
        counts = f"{done.files} files, {done.indexed} indexed, {size(done.bytes_indexed)}"
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
