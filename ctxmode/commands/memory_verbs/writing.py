"""Writing facts: remember, prime, pin, unpin, forget."""

from __future__ import annotations

import argparse
from pathlib import Path

from ctxmode.commands.memory_verbs import opening
from ctxmode.operations.fact_answers import FactRequest


def remember(args: argparse.Namespace) -> int:
    asked = FactRequest(
        text=opening.read_text(args.text),
        branch=opening.find_branch(args),
        key=args.key,
        context=args.context or FactRequest().context,
        title=args.title,
        tags=tuple(args.tag),
        confidence=args.confidence,
        category=args.category,
        why=args.why,
        ttl=args.ttl,
        scope=args.scope,
        supersedes=args.supersedes,
        source=args.source,
    )
    return opening.show(args, asked)


def prime(args: argparse.Namespace) -> int:
    name = "stdin" if args.file == "-" else Path(args.file).name
    asked = FactRequest(
        text=opening.read_file(args.file),
        branch=opening.find_branch(args),
        source=args.source or name,
        title=name,
        is_pinned=args.pin,
    )
    return opening.show(args, asked)


def change(args: argparse.Namespace) -> int:
    asked = FactRequest(
        wanted=args.wanted,
        branch=opening.find_branch(args),
        why=args.why,
        is_erased=getattr(args, "erase", False),
    )
    return opening.show(args, asked)
