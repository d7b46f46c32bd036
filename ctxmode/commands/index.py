"""Make files, folders or stdin searchable.

examples:
  context-mode index docs
  context-mode index . --include '*.py' --exclude 'tests/**'
  git log | context-mode index - --source history
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.errors import UsageError
from ctxmode.indexing import IndexRequest
from ctxmode.launch import print_json, with_app
from ctxmode.render import index_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH|-", help="a file or folder; - is stdin")
    parser.add_argument("--source", metavar="LABEL", help="the label to find it by")
    parser.add_argument("--include", action="append", default=[], metavar="GLOB")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB")
    parser.add_argument("--max-depth", type=int, default=20, metavar="N")
    parser.add_argument("--max-files", type=int, default=5000, metavar="N")
    parser.add_argument("--no-gitignore", action="store_true", help="also what git ignores")
    parser.add_argument("--follow-symlinks", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    if args.path == "-" and not args.source:
        raise UsageError("stdin has no name to find it by", "Give one: index - --source LABEL")
    request = IndexRequest(
        content=sys.stdin.buffer.read() if args.path == "-" else None,
        path=None if args.path == "-" else str(Path.cwd() / args.path),
        source=args.source,
        include=tuple(args.include),
        exclude=tuple(args.exclude),
        max_depth=args.max_depth,
        max_files=args.max_files,
        respect_gitignore=not args.no_gitignore,
        follow_symlinks=args.follow_symlinks,
    )
    answer = with_app(args, partial(App.index, request=request))
    if args.json:
        print_json(answer.to_json())
    else:
        sys.stdout.write(index_text(answer) + "\n")
    return exit_codes.OK
