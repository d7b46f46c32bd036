"""Branches of facts: begin, drop, compare, merge."""

from __future__ import annotations

import argparse

from ctxmode.commands.memory_verbs import opening
from ctxmode.errors import UsageError
from ctxmode.operations.fact_answers import FactRequest


def branch(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the branch behind the action, and its parent with --from.")
    asked = FactRequest(wanted=args.wanted, base=args.base, is_dropped=args.drop)
    return opening.show(args, asked)


def compare(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the two branches behind the action.")
    return opening.show(args, FactRequest(base=args.base, wanted=args.wanted))


def merge(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the branch that is merged into with --into.")
    asked = FactRequest(wanted=args.wanted, base=args.base, take=tuple(args.take))
    return opening.show(args, asked)


def _refuse_branch(args: argparse.Namespace, remedy: str) -> None:
    if args.branch:
        raise UsageError(f"{args.action} takes no --branch", remedy)
