"""The verb `kept rm`: forget what is kept, for good."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer, with_library
from ctxmode.operations.library import Library, age_s
from ctxmode.operations.purging import PurgeRequest
from ctxmode.render.highlight import inflect
from ctxmode.render.progress_line import waiting
from ctxmode.render.results import purge_text

PAGE = "page"
FACT = "fact"
"""The kind that is none of sources, but what `memory` remembers."""


def run(args: argparse.Namespace) -> int:
    if args.kind == FACT:
        return _purge_facts(args)
    if args.kind == PAGE:
        raise UsageError(
            "pages are none of the sources that are purged",
            "One page goes with: context-mode pages forget SLUG --erase",
        )
    if args.all and not args.yes:
        raise UsageError("--all forgets everything of this project", "Say --yes if that is meant.")
    request = PurgeRequest(
        source=args.source,
        older_than_s=None if args.older_than is None else age_s(args.older_than),
        kind=args.kind,
        session=args.session,
        superseded=args.superseded,
        pinned=args.pinned,
        expired=args.expired,
        everything=args.all,
    )
    with_library(args, partial(_purge, args=args, request=request))
    return exit_codes.OK


def _purge_facts(args: argparse.Namespace) -> int:
    """Retract the facts that have expired."""
    from ctxmode.operations.facts import open_memory  # noqa: PLC0415 - few ask

    beside = (args.source, args.older_than, args.session)
    if any(beside) or args.superseded or args.pinned or args.all:
        raise UsageError(
            "--kind fact stands alone: it retracts the facts that have expired",
            "Leave the other filters out; one fact is forgotten with: context-mode memory forget",
        )
    with open_memory(load_config(args.project)) as memory:
        gone = memory.purge()
    paths = [fact.path for fact in gone]
    text = "\n".join([f"{inflect(len(paths), 'expired fact')} retracted", *paths])
    print_answer(args, {"facts": paths}, text)
    return exit_codes.OK


def _purge(library: Library, args: argparse.Namespace, request: PurgeRequest) -> None:
    with nullcontext() if args.json else waiting("forgetting"):
        purged = library.purge(request)
        sessions = library.purge_sessions(request)
        has_map = library.purge_map(request)
    counts = {"sources": purged.sources, "chunks": purged.chunks, "bytes": purged.text_bytes}
    if request.everything:
        counts |= {"sessions": sessions, "maps": int(has_map)}
    print_answer(args, counts, purge_text(purged, sessions, has_map=has_map))
