"""The verb `memory`: remember facts, recall those that fit a budget, branch and merge them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ctxmode.commands.memory_verbs import opening, transferring
from ctxmode.errors import UsageError

OTHER_WORDS = {
    "add": "remember", "ls": "list", "get": "show", "pinned": "recall, without a query",
    "why-did-we": "search, then blame", "branches": "branch", "tokens": "stats",
    "context": "list --prefix /memory/projects/NAME", "decision": "remember --category decide",
    "summarize-session": "context-mode sessions summarize",
    "update": "remember, with the same --key",
}  # fmt: skip
"""What other systems call an action, and what it is here."""


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    if args.of_all and not hasattr(args, "branch"):
        raise UsageError(f"{args.action} takes no --branch", "Leave it out.")
    if args.of_all and args.branch not in ("", args.of_all):
        raise UsageError("two branches are named", "Name one.")
    args.branch = args.of_all or getattr(args, "branch", "")
    return action(args)


SHOWN = ("pin", "unpin", "forget", "search", "list", "show", "blame", "log")
"""Actions whose arguments are all that is asked, and whose answer is shown as it is."""

ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    **dict.fromkeys(SHOWN, opening.show),
    "remember": opening.remember,
    "prime": opening.prime,
    "recall": opening.recall,
    "tail": opening.tail,
    "stats": opening.stats,
    "branch": opening.branch,
    "diff": opening.compare,
    "merge": opening.merge,
    "export": transferring.export,
    "import": transferring.import_file,
    "check": transferring.check,
    "backup": transferring.backup,
    "snapshots": transferring.list_snapshots,
    "restore": transferring.restore,
}
