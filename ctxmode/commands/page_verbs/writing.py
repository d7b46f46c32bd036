"""Writing pages: write, push, forget."""

from __future__ import annotations

import argparse
from typing import Any

from ctxmode.commands.memory_verbs.opening import read_file
from ctxmode.commands.page_verbs import opening
from ctxmode.errors import UsageError
from ctxmode.operations.page_answers import PageRequest


def write(args: argparse.Namespace) -> int:
    asked = PageRequest(
        slug=args.slug,
        type=args.type,
        text=read_file(args.file) if args.file else "",
        fields=_read_fields(args),
        is_forced=args.force,
    )
    return opening.show(args, asked)


def _read_fields(args: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for given in args.field:
        name, mark, value = given.partition("=")
        if not mark or not name.strip():
            raise UsageError(f"--field {given[:80]!r} has no =", "Give NAME=VALUE.")
        fields[name.strip()] = value
    lists = {"tags": args.tag, "sources": args.source, "related": args.related}
    fields |= {name: given for name, given in lists.items() if given}
    if args.summary is not None:
        fields["reasoning_summary"] = args.summary
    return fields


def push(args: argparse.Namespace) -> int:
    asked = PageRequest(
        slugs=tuple(args.slugs),
        type=args.type,
        tag=args.tag,
        message=args.message,
        distill_done=args.distill_done,
        source_slug=args.source_slug,
        no_distill=args.no_distill,
        is_dry_run=args.dry_run,
        is_from_run=args.from_run,
    )
    return opening.show(args, asked)


def forget(args: argparse.Namespace) -> int:
    asked = PageRequest(
        slug=args.slug,
        type=args.type,
        is_erased=args.erase,
        is_forced=args.force,
        message=args.why,
    )
    return opening.show(args, asked)
