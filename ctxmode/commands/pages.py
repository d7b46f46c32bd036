"""Keep knowledge as versioned pages: Markdown drafts in .contexo/, pushed into a git repository.

SLUG is a page's name, concept/SLUG where two types share it, or its path. FILE of - is stdin.
The repository is the project's own; nothing of the project's git is touched.

examples:
  context-mode pages init
  context-mode pages write retry-policy docs/guide.md --type concept --tag http
  context-mode pages status
  context-mode pages push -m "Retries"
  context-mode pages read retry-policy
  context-mode pages diff retry-policy --blame
  context-mode pages history retry-policy --json
  context-mode pages log --limit 5
"""

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
