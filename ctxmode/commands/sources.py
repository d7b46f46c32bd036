"""The verb `kept ls`: list what is kept."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from functools import partial
from typing import Any

import kb
from ctxmode import exit_codes
from ctxmode.errors import command, describe_empty
from ctxmode.launch import print_json, with_library
from ctxmode.operations.library import Library
from ctxmode.render.highlight import age, size


def run(args: argparse.Namespace) -> int:
    with_library(args, partial(_list, args=args))
    return exit_codes.OK


def _list(library: Library, args: argparse.Namespace) -> None:
    found = library.sources(matching=args.part, all_versions=args.all)
    shown = found if args.limit is None else found[: max(args.limit, 0)]
    if args.json:
        print_json({"sources": [source_json(one) for one in shown], "total": len(found)})
    elif not found:
        sys.stdout.write(f"{_describe_none(library, args.part)}\n")
    else:
        _show(shown)


def _describe_none(library: Library, part: str | None) -> str:
    """Say whether nothing is stored at all, or nothing that matches; then the next command."""
    stored = len(library.sources()) if part else 0
    if not stored:
        return describe_empty("source")
    return f"No source matches {part!r} ({stored} stored). List all: {command('kept ls')}"


def source_json(source: kb.Source) -> dict[str, Any]:
    """Build the documented JSON of a source: its fields, and whether all of it is indexed."""
    return asdict(source) | {"complete": source.complete}


def _show(sources: list[kb.Source]) -> None:
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import highlight, terminal  # noqa: PLC0415

    right = ("id", "kept", "size")
    table = terminal.build_table(*right, "kind", "source", "", fixed=(*right, "kind"), right=right)
    for one in sources:
        table.add_row(
            str(one.id),
            age(time.time() - one.indexed_at),
            size(one.bytes_total),
            one.kind,
            Text(highlight.one_line(one.label)),
            Text(", ".join(_remarks(one))),
        )
    terminal.console().print(table)


def _remarks(source: kb.Source) -> list[str]:
    remarks = []
    if source.superseded_by is not None:
        remarks.append("superseded")
    if source.pinned:
        remarks.append("pinned")
    if not source.complete:
        remarks.append(f"indexed {size(source.bytes_indexed)}")
    if source.converted:
        remarks.append(source.converted)
    if source.redactions:
        remarks.append(f"{source.redactions} secrets redacted")
    return remarks
