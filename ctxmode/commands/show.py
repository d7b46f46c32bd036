"""The verb `kept show`: show a kept source, exactly."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import kb
from ctxmode import exit_codes
from ctxmode.commands.sources import source_json
from ctxmode.errors import UsageError
from ctxmode.launch import print_json, tell, with_library
from ctxmode.operations.library import Library
from ctxmode.render import highlight
from ctxmode.render.highlight import size
from ctxmode.render.passages import STALE
from ctxmode.render.terminal_output import for_stdout, is_runner_log


def run(args: argparse.Namespace) -> int:
    with_library(args, partial(_show, args=args))
    return exit_codes.OK


def _show(library: Library, args: argparse.Namespace) -> None:
    source, stale = library.renew(library.source(args.source))
    if stale:
        tell([f"{source.label}: {STALE[stale]}"])
    elif source.path and source.superseded_by is not None:
        tell([f"{source.label}: an older version, replaced by source {source.superseded_by}"])
    source, is_more = library.complete(source)
    if not source.complete:
        parts = f"{size(source.bytes_indexed)} of {size(source.bytes_total)} are indexed"
        rest = ". Show it again to go on." if is_more else ", the rest was lost"
        tell([f"{source.label}: {parts}{rest}"])
    about = {"source": source_json(source), "stale": stale or None}
    if args.terms:
        terms = library.terms(source)
        _list(args, about, "terms", terms, terms)
    elif args.contents:
        sections = library.contents(source)
        lines = [f"{one.start_line}-{one.end_line}  {one.title}" for one in sections]
        _list(args, about, "contents", [asdict(one) for one in sections], lines)
    else:
        _show_text(library, args, source, about)


def _list(
    args: argparse.Namespace,
    about: Mapping[str, Any],
    name: str,
    items: Sequence[Any],
    lines: list[str],
) -> None:
    if args.json:
        print_json({**about, name: items})
    else:
        sys.stdout.writelines(f"{highlight.harmless(line)}\n" for line in lines)


def _show_text(
    library: Library, args: argparse.Namespace, source: kb.Source, about: Mapping[str, Any]
) -> None:
    text = library.text(source)
    if args.lines:
        text = _lines(text, args.lines)
    if args.json:
        print_json({**about, "text": text.decode("utf-8", "replace")})
    elif highlight.is_colour_wanted():
        language = source.language if source.converted is None else None
        sys.stdout.write(highlight.colour(text.decode("utf-8", "replace"), language))
    elif sys.stdout.isatty() or is_runner_log(sys.stdout):
        sys.stdout.write(for_stdout(text.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def _lines(text: bytes, wanted: str) -> bytes:
    found = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12}))?", wanted)
    if found is None:
        raise UsageError(f"--lines is {wanted!r}", "Give A-B, such as 100-140, or one number.")
    first = int(found.group(1))
    last = int(found.group(2) or first)
    return b"".join(text.splitlines(keepends=True)[max(first - 1, 0) : last])
