"""See what agents did in this project's sessions, and keep, summarise or forget them.

A session is one conversation with an agent, read from its host's own transcript. ID is that of the
session, its host's, or the beginning of either.

examples:
  context-mode sessions track
  context-mode sessions list
  context-mode sessions list --agent claude_code --status active --json
  context-mode sessions status
  context-mode sessions show 9e24 --tools
  context-mode sessions tools --everywhere
  context-mode sessions compactions --agent claude_code
  context-mode sessions resume 9e24 --budget 4096
  context-mode sessions export 9e24 --to out --markdown
  context-mode sessions import ~/Downloads/chatgpt-export.zip
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ctxmode.commands.session_verbs import keeping, looking, status
from ctxmode.config.locations import load_config
from ctxmode.launch import tell
from ctxmode.operations.sessions import list_notices


def run(args: argparse.Namespace) -> int:
    """Do what the sub-verb says. What became of a damaged store is told by each."""
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    try:
        return action(args)
    finally:
        tell(list_notices(load_config(args.project)))


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": looking.list_sessions,
    "show": looking.show,
    "tools": looking.tools,
    "compactions": looking.compactions,
    "snapshot": looking.snapshot,
    "resume": looking.resume,
    "track": keeping.track,
    "status": status.status,
    "queue": looking.queue,
    "digest": looking.digest,
    "summarize": looking.summarize,
    "export": keeping.export,
    "import": keeping.import_sessions,
    **dict.fromkeys(keeping.STATUS_OF, keeping.set_status),
    "pin": keeping.pin,
    "unpin": keeping.pin,
    "forget": keeping.forget,
    "check": keeping.check,
}
