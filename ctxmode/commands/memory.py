"""Remember facts of this project, or of you, and recall those that fit a budget of tokens.

ID is a fact's id, its path such as /memory/general/deploy, or its key in the context "general".
TEXT, FILE of - is stdin. A branch holds what is tried out, until it is merged.

examples:
  context-mode memory remember "Deploys go through staging first." --key deploy --tag release
  context-mode memory recall "how do we deploy" --budget 500
  context-mode memory search deploy --prefix /memory/general
  context-mode memory list --json
  context-mode memory log --limit 5
  context-mode memory stats
  context-mode memory snapshots
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ctxmode.commands.memory_verbs import opening, transferring
from ctxmode.errors import UsageError
from ctxmode.parsing import Parser
from memory.facts import CATEGORIES, CONFIDENCES, DEFAULT_BUDGET, FORMS, MAIN, SCOPES

Add = Callable[..., argparse.ArgumentParser]
OTHER_WORDS = {
    "add": "remember", "ls": "list", "get": "show", "pinned": "recall, without a query",
    "why-did-we": "search, then blame", "branches": "branch", "tokens": "stats",
    "context": "list --prefix /memory/projects/NAME", "decision": "remember --category decide",
    "summarize-session": "context-mode sessions summarize",
    "update": "remember, with the same --key",
}  # fmt: skip
"""What other systems call an action, and what it is here."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    if isinstance(parser, Parser):
        parser.other_words = OTHER_WORDS
    parser.add_argument("--branch", dest="of_all", default="", metavar="NAME",
        help="as behind the action")  # fmt: skip
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(
        name: str, about: str, *, wanted: str = "", has_branch: bool = True
    ) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=about, description=about)
        if wanted:
            one.add_argument("wanted", metavar=wanted)
        if has_branch:
            one.add_argument("--branch", default="", metavar="NAME", help=f"default: {MAIN}")
        one.add_argument("--json", action="store_true", help="as docs/cli.md tells")
        return one

    _add_writing(add)
    _add_asking(add)
    _add_branches(add)
    _add_transfer(add)


def _add_writing(add: Add) -> None:
    remember = add("remember", "write a fact, in place of what its key has")
    remember.add_argument("text", metavar="TEXT", help="- is stdin")
    words = "|".join(CONFIDENCES)
    for name, metavar, about in (
        ("context", "NAME", "its path is /memory/NAME/KEY (default general)"),
        ("key", "KEY", "by which it is written again; or a whole path"),
        ("title", "TEXT", "what it is about, in a line"),
        ("why", "TEXT", "why it is so, or was written"),
        ("ttl", "TIME", "until it expires: 12h, 30d, 2w"),
        ("supersedes", "ID", "the fact that it replaces"),
        ("source", "TEXT", "where it was read"),
    ):
        remember.add_argument(f"--{name}", default="", metavar=metavar, help=about)
    remember.add_argument("--confidence", "--importance", "-i", default="medium", metavar="HOW",
        help=f"{words}, or 0 to 1 (default medium)")  # fmt: skip
    remember.add_argument("--tag", "-t", dest="tags", action="append", default=[], metavar="WORD",
        help="may be said again")  # fmt: skip
    remember.add_argument("--category", default="observe", choices=CATEGORIES,
        help="what kind of write it is (default observe)")  # fmt: skip
    remember.add_argument("--scope", default="project", choices=SCOPES,
        help="whose it is (default project)")  # fmt: skip
    prime = add("prime", "write each section of a Markdown file as a fact, and keep them in step")
    prime.add_argument("file", metavar="FILE", help="- is stdin")
    prime.add_argument("--pin", dest="is_pinned", action="store_true",
        help="each recall begins with them")  # fmt: skip
    prime.add_argument("--source", default="", metavar="NAME", help="default: the file's name")
    for name, about in (
        ("pin", "have each recall begin with a fact"),
        ("unpin", "undo pin"),
        ("forget", "retract a fact; its history stays"),
    ):
        one = add(name, about, wanted="ID")
        one.add_argument("--why", "--reason", default="", metavar="TEXT", help="for the ledger")
        if name == "forget":
            one.add_argument("--erase", dest="is_erased", action="store_true",
                help="take its text out of the history, too")  # fmt: skip


def _add_asking(add: Add) -> None:
    recall = add("recall", "the pinned facts, and those that answer a query, within a budget")
    recall.add_argument("text", metavar="QUERY", nargs="?", default="")
    recall.add_argument("--budget", type=int, default=DEFAULT_BUDGET, metavar="TOKENS",
        help=f"how much the answer may take (default {DEFAULT_BUDGET})")  # fmt: skip
    recall.add_argument("--exact", dest="is_exact", action="store_true",
        help="what holds it letter by letter")  # fmt: skip
    recall.add_argument("--scope", default="", choices=("", *SCOPES), metavar="SCOPE",
        help="only of this scope")  # fmt: skip
    recall.add_argument("--format", default="", choices=("ctxone",),
        help="JSON with CTXone's names and numbers")  # fmt: skip
    search = add("search", "the facts that answer a query, the best first, without a budget")
    search.add_argument("text", metavar="QUERY")
    search.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    search.add_argument("--exact", dest="is_exact", action="store_true",
        help="what holds it letter by letter")  # fmt: skip
    search.add_argument("--limit", type=int, default=0, metavar="N", help="default 50")
    listing = add("list", "what stands, by path")
    listing.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    listing.add_argument("--expired", dest="is_expired", action="store_true",
        help="those whose time is over")  # fmt: skip
    add("show", "one fact with all that is known of it", wanted="ID")
    add("blame", "who wrote a fact when and why, the latest first", wanted="ID")
    log = add("log", "what was written, the latest first")
    log.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    log.add_argument("--limit", type=int, default=0, metavar="N", help="default 20")
    add("tail", "show what is written from now on, until it is interrupted")
    add("stats", "what was recalled, and what all facts would have taken", has_branch=False)


def _add_branches(add: Add) -> None:
    branch = add("branch", "list the branches, begin one, or drop one")
    branch.add_argument("wanted", metavar="NAME", nargs="?", default="")
    branch.add_argument("--from", dest="base", default=MAIN, metavar="NAME",
        help=f"what it begins from (default {MAIN})")  # fmt: skip
    branch.add_argument("--drop", dest="is_dropped", action="store_true",
        help="it takes no more writes")  # fmt: skip
    diff = add("diff", "where two branches differ, path by path")
    diff.add_argument("base", metavar="A")
    diff.add_argument("wanted", metavar="B")
    merge = add("merge", "take over what a branch changed; with conflicts nothing", wanted="NAME")
    merge.add_argument("--into", dest="base", default=MAIN, metavar="NAME",
        help=f"default: {MAIN}")  # fmt: skip
    merge.add_argument("--take", action="append", default=[], metavar="SIDE",
        help="in conflicts: ours, theirs, or PATH=ours; may be said again")  # fmt: skip


def _add_transfer(add: Add) -> None:
    export = add(
        "export", "write what stands, as JSON, Markdown, or a section of CLAUDE.md or DECISIONS.md"
    )
    export.add_argument("--format", default="json", choices=transferring.FORMATS,
        help="default json")  # fmt: skip
    export.add_argument("-o", "--output", default="", metavar="FILE",
        help="a new file; of CLAUDE.md and DECISIONS.md only the section is replaced")  # fmt: skip
    importing = add(
        "import", "read facts from our JSON, CTXone's export, a CLAUDE.md or DECISIONS.md"
    )
    importing.add_argument("file", metavar="FILE", help="- is stdin")
    importing.add_argument("--format", default="", choices=("", *FORMS), metavar="FORM",
        help=f"{', '.join(FORMS)}; default: as its content looks")  # fmt: skip
    importing.add_argument("--pins", action="store_true", help="pin what the file pins")
    check = add("check", "verify that what stands is what the ledger says", has_branch=False)
    check.add_argument("--mend", action="store_true", help="make what stands anew from the ledger")
    backup = add("backup", "copy all facts to a new file while they are in use", has_branch=False)
    backup.add_argument("file", metavar="FILE")
    snapshots = add(
        "snapshots", "the daily copies, and the files that restores replaced", has_branch=False
    )
    restore = add(
        "restore", "put a copy in the place of the file of facts, which is kept", has_branch=False
    )
    which = restore.add_mutually_exclusive_group(required=True)
    which.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", default="",
        help="a name that snapshots lists, or a file that backup made")  # fmt: skip
    which.add_argument("--last", action="store_true", help="the newest daily copy that is sound")
    for one in (export, importing, backup, snapshots, restore):
        one.add_argument("--scope", default="project", choices=("project", "user"),
            help="whose file of facts (default project)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = ACTIONS[args.action]
    if args.of_all and not hasattr(args, "branch"):
        raise UsageError(f"{args.action} takes no --branch", "Leave it out.")
    if args.of_all and args.branch not in ("", args.of_all):
        raise UsageError("two branches are named", "Name one.")
    args.branch = args.of_all or getattr(args, "branch", "")
    return action(args)


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "remember": opening.remember,
    "prime": opening.prime,
    "pin": opening.show,
    "unpin": opening.show,
    "forget": opening.show,
    "recall": opening.recall,
    "search": opening.show,
    "list": opening.show,
    "show": opening.show,
    "blame": opening.show,
    "log": opening.show,
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
