"""The verb `pages`: keep knowledge as versioned pages: write, push, compare, distil sessions."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ctxmode.commands.page_verbs import opening


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    return action(args)


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": opening.init,
    "write": opening.write,
    "push": opening.show,
    "forget": opening.show,
    "read": opening.show,
    "list": opening.show,
    "status": opening.show,
    "diff": opening.show,
    "blame": opening.show,
    "history": opening.show,
    "evolution": opening.show,
    "log": opening.show,
    "pull": opening.show,
    "path": opening.path,
    "export": opening.export,
    "capture": opening.capture,
}
