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
from memory.sessions import RESUME_BYTES, RESUME_BYTES_MIN, STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, about: str, *, sessions: str = "") -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=about, description=about)
        if sessions == "+":
            one.add_argument("ids", metavar="ID", nargs="+")
        elif sessions == "?":
            one.add_argument("id", metavar="ID", nargs="?", default="")
        elif sessions:
            one.add_argument("id", metavar="ID")
        one.add_argument("--json", action="store_true", help="as docs/cli.md tells")
        return one

    listing = add("list", "sessions, the latest first")
    listing.add_argument("--agent", default="", metavar="NAME", help="only of this agent")
    listing.add_argument("--status", default="", choices=STATUSES, help="only with this status")
    listing.add_argument("--all", action="store_true", help="not only the latest 20")
    listing.add_argument("--everywhere", action="store_true", help="of all projects")
    show = add("show", "what is known of one session", sessions="1")
    show.add_argument("--everywhere", action="store_true", help="of any project")
    for name, about in looking.PARTS.items():
        show.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=about)
    _add_across(add)
    add("snapshot", "what an agent gets back after a compaction", sessions="?")
    resume = add("resume", "what another agent needs to go on", sessions="1")
    resume.add_argument("--budget", type=_count_of(RESUME_BYTES_MIN), default=RESUME_BYTES,
        metavar="BYTES", help=f"how much it may take (default {RESUME_BYTES})")  # fmt: skip
    start = resume.add_mutually_exclusive_group()
    start.add_argument("--from", dest="first", type=_count_of(1), default=0, metavar="SEQ",
        help="begin at this message, in place of the last compaction")  # fmt: skip
    start.add_argument("--compaction", type=_count_of(1), default=0, metavar="N",
        help="begin at this compaction; 1 is the first")  # fmt: skip
    track = add("track", "read what is new in transcripts")
    track.add_argument("--watch", action="store_true", help="go on until it is interrupted")
    track.add_argument("--everywhere", action="store_true",
        help="transcripts of all projects, each into its own project's store")  # fmt: skip
    add("status", "what is recorded here, and how far transcripts are read")
    add("queue", "completed sessions that await a summary, the latest first")
    add("digest", "at most 32 KiB for whoever summarises a session", sessions="1")
    summarize = add("summarize", "keep a summary, which archives the session", sessions="1")
    summarize.add_argument("--from", dest="file", required=True, metavar="FILE",
        help="JSON with summary, details, decisions, … or plain text; - is stdin")  # fmt: skip
    export = add("export", "write a session's messages.json and summary.md", sessions="1")
    export.add_argument("--to", default="", metavar="DIR",
        help="the folder to put sessions/ID/ into (default: the working folder)")  # fmt: skip
    export.add_argument("--markdown", action="store_true", help="write transcript.md, too")
    export.add_argument("--everywhere", action="store_true", help="of any project")
    importing = add("import", "read sessions from a file that you name")
    importing.add_argument("file", metavar="FILE", help="- is stdin: lines are kept as they come")
    importing.add_argument("--agent", default="", metavar="NAME",
        help="whose transcript it is; or who wrote our own form")  # fmt: skip
    importing.add_argument("--session", default="", metavar="ID",
        help="the session of messages that name none")  # fmt: skip
    for name, wanted in keeping.STATUS_OF.items():
        add(name, f"say that a session is {wanted}", sessions="1")
    add("pin", "keep a session however old it is", sessions="1")
    add("unpin", "let a session go in its time", sessions="1")
    _add_forget(add)
    check = add("check", "verify the store and recount what it counts")
    check.add_argument("--mend", action="store_true",
        help="put wrong counts right, and the last copy in a damaged store's place")  # fmt: skip


def _add_forget(add: Callable[..., argparse.ArgumentParser]) -> None:
    forget = add("forget", "delete sessions for good; they are never read again", sessions="+")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    facts = forget.add_mutually_exclusive_group()
    facts.add_argument(
        "--facts", action="store_true", help="erase the facts of their summaries, too"
    )
    facts.add_argument("--keep-facts", action="store_true", help="leave those facts")


def _add_across(add: Callable[..., argparse.ArgumentParser]) -> None:
    for name, about in (
        ("tools", "which tools all sessions called, how often, with what cost"),
        ("compactions", "where sessions were compacted, the latest first"),
    ):
        one = add(name, about)
        one.add_argument("--agent", default="", metavar="NAME", help="only of this agent's")
        one.add_argument("--everywhere", action="store_true", help="of all projects")
        if name == "compactions":
            one.add_argument("--all", action="store_true", help="not only the latest 20")


def run(args: argparse.Namespace) -> int:
    """Do what the sub-verb says. What became of a damaged store is told by each."""
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    try:
        return action(args)
    finally:
        tell(list_notices(load_config(args.project)))


def _count_of(least: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        if not text.isdecimal() or len(text) > 12 or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return int(text)

    return count


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
