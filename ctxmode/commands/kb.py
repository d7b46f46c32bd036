"""The verbs `kept check`, `kept backup` and `kept size`: look after the store of what is kept."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.launch import print_answer, print_json, with_library
from ctxmode.operations.library import Library
from ctxmode.render.highlight import size


def run(args: argparse.Namespace) -> int:
    carry_out = {"check": _check, "backup": _backup, "size": _measure}[args.action]
    return with_library(args, partial(carry_out, args=args))


def _check(library: Library, args: argparse.Namespace) -> int:
    problems = library.check(repair=args.repair)
    if args.json:
        print_json({"ok": not problems, "problems": problems})
    elif not problems:
        sys.stdout.write(f"{library.store.path} is sound.\n")
    else:
        sys.stdout.writelines(f"{problem}\n" for problem in problems)
        if not args.repair:
            sys.stdout.write("Try: context-mode kept check --repair\n")
    return exit_codes.ERROR if problems else exit_codes.OK


def _backup(library: Library, args: argparse.Namespace) -> int:
    target = Path.cwd() / args.file
    copied = library.backup(target)
    data = {"file": str(target), "bytes": copied}
    print_answer(args, data, f"Copied {size(copied)} to {target}.")
    return exit_codes.OK


def _measure(library: Library, args: argparse.Namespace) -> int:
    stats = library.stats()
    lines = [
        f"{library.store.path}: {size(stats.file_bytes)} on disk",
        f"{stats.sources} sources ({stats.superseded} of them superseded), {stats.chunks} chunks,"
        f" {size(stats.text_bytes)} of text",
    ]
    if stats.pending_bytes:
        lines.append(f"{size(stats.pending_bytes)} still to be indexed")
    print_answer(args, {"file": str(library.store.path)} | asdict(stats), "\n".join(lines))
    return exit_codes.OK
