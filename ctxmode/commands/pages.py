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
from memory.pages import EVOLUTION_MAX, HISTORY_MAX, PAGE_TYPES

Add = Callable[..., argparse.ArgumentParser]
TYPES = ("", *PAGE_TYPES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, about: str, *, slug: bool = False) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=about, description=about)
        if slug:
            one.add_argument("slug", metavar="SLUG")
        one.add_argument("--json", action="store_true", help="as docs/cli.md tells")
        return one

    add("init", "begin pages in this project, and the capture of its sessions' turns")
    _add_writing(add)
    _add_looking(add)
    _add_sharing(add)
    capture = add("capture", "keep a turn (hooks do), show what is kept, or what to distil")
    capture.add_argument("what", metavar="WHAT", choices=opening.ACTIONS, help="what to do")
    capture.add_argument("--session", default="", metavar="ID", help="default: the newest")


def _add_type(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--type", default="", choices=TYPES, metavar="TYPE",
        help=f"{about}: {', '.join(PAGE_TYPES)}")  # fmt: skip


def _add_writing(add: Add) -> None:
    write = add("write", "write a draft; of a source without a FILE show its template", slug=True)
    write.add_argument("file", metavar="FILE", nargs="?", default="",
        help="Markdown, with its fields before it or not; - is stdin")  # fmt: skip
    _add_type(write, "what it is")
    for name, metavar, about in (
        ("tag", "WORD", "what it is about; may be said again"),
        ("source", "SLUG", "the page of a session that it comes from; may be said again"),
        ("related", "SLUG", "a page that belongs to it; may be said again"),
    ):
        write.add_argument(f"--{name}", dest=f"all_{name}", action="append", default=[],
            metavar=metavar, help=about)  # fmt: skip
    write.add_argument("--summary", default=None, metavar="TEXT", help="why it is so, in a line")
    write.add_argument("--field", action="append", default=[], metavar="NAME=VALUE",
        help="a further field; may be said again")  # fmt: skip
    _add_force(write)
    push = add("push", "commit changed drafts; with a session to distil first, say what to do")
    push.add_argument("slugs", metavar="SLUG", nargs="*", help="only these pages")
    _add_type(push, "only of a type")
    push.add_argument("--tag", default="", metavar="WORD", help="only with a tag")
    push.add_argument("--message", "-m", default="", metavar="TEXT", help="of the commit")
    push.add_argument("--no-distill", action="store_true", help="without the session's source")
    push.add_argument("--distill-done", action="store_true", help="the source page is written")
    push.add_argument("--source-slug", default="", metavar="SLUG", help="that source page")
    push.add_argument("--from-run", dest="is_from_run", action="store_true",
        help="only drafts that a run wrote, as by you and a run")  # fmt: skip
    push.add_argument("--dry-run", dest="is_dry_run", action="store_true", help="commit nothing")
    forget = add("forget", "remove a page; its history stays", slug=True)
    _add_type(forget, "which of namesakes")
    forget.add_argument("--erase", dest="is_erased", action="store_true",
        help="take it out of the history, too")  # fmt: skip
    forget.add_argument("--why", dest="message", default="", metavar="TEXT", help="for the commit")
    _add_force(forget)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", dest="is_forced", action="store_true",
        help="discard the draft's edits that were never pushed")  # fmt: skip


def _add_looking(add: Add) -> None:
    read = add("read", "a page: its draft, else the newest version", slug=True)
    read.add_argument("--at", dest="end", default="", metavar="SHA", help="the version of a commit")
    listing = add("list", "all pages, by type")
    listing.add_argument("--tag", default="", metavar="WORD", help="only with a tag")
    add("status", "how drafts, captured turns and the repository stand")
    diff = add("diff", "what changed in a page, section by section", slug=True)
    diff.add_argument("--from", dest="start", default="", metavar="SHA",
        help="default: the version before")  # fmt: skip
    diff.add_argument("--to", dest="end", default="", metavar="SHA", help="default: the newest")
    diff.add_argument("--local", dest="is_local", action="store_true",
        help="the newest against the draft")  # fmt: skip
    diff.add_argument("--blame", dest="has_blame", action="store_true",
        help="whom each section is from")  # fmt: skip
    blame = add("blame", "whom each section of a page is from", slug=True)
    history = add("history", "the commits of a page, the newest first", slug=True)
    evolution = add("evolution", "the versions of a page, each with what changed", slug=True)
    log = add("log", "the commits of all pages, the newest first")
    for one, default in ((history, HISTORY_MAX), (evolution, EVOLUTION_MAX), (log, HISTORY_MAX)):
        one.add_argument("--limit", type=int, default=0, metavar="N", help=f"default {default}")
    for one in (read, diff, blame, history, evolution):
        _add_type(one, "which of namesakes")
    _add_type(listing, "only of a type")


def _add_sharing(add: Add) -> None:
    pull = add("pull", "take over what continues here from another repository")
    pull.add_argument("remote", metavar="REMOTE", nargs="?", default="", help="default: origin")
    add("path", "where the repository is, for git's own commands")
    export = add("export", "write all pages into a folder that is empty or new")
    export.add_argument("folder", metavar="DIR")


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
