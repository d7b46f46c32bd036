"""Looking at pages: read, list, status, diff, blame, history, evolution, log."""

from __future__ import annotations

import argparse

from ctxmode.commands.page_verbs import opening
from ctxmode.operations.page_answers import PageRequest


def read(args: argparse.Namespace) -> int:
    return opening.show(args, PageRequest(slug=args.slug, type=args.type, end=args.at))


def list_pages(args: argparse.Namespace) -> int:
    return opening.show(args, PageRequest(type=args.type, tag=args.tag))


def status(args: argparse.Namespace) -> int:
    return opening.show(args, PageRequest())


def compare(args: argparse.Namespace) -> int:
    asked = PageRequest(
        slug=args.slug,
        type=args.type,
        start=args.start,
        end=args.end,
        has_blame=args.blame,
        is_local=args.local,
    )
    return opening.show(args, asked)


def look(args: argparse.Namespace) -> int:
    asked = PageRequest(
        slug=getattr(args, "slug", ""),
        type=getattr(args, "type", ""),
        limit=getattr(args, "limit", 0),
    )
    return opening.show(args, asked)
