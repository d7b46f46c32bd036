"""The verb `sessions`: see, resume, summarise or forget what agents did in their sessions."""

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
