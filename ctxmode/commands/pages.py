"""The verb `pages`: keep knowledge as versioned pages: write, push, compare, distil sessions."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ctxmode.commands.page_verbs import opening


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    return action(args)


SHOWN = (
    "push",
    "forget",
    "read",
    "list",
    "status",
    "diff",
    "blame",
    "history",
    "evolution",
    "log",
    "pull",
)
"""Actions whose arguments are all that is asked, and whose answer is shown as it is."""

ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    **dict.fromkeys(SHOWN, opening.show),
    "init": opening.init,
    "write": opening.write,
    "path": opening.path,
    "export": opening.export,
    "capture": opening.capture,
}
