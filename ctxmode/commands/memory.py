"""The verb `memory`: store facts, recall them within a budget, branch and merge them."""

from __future__ import annotations

import argparse

from ctxmode.errors import UsageError
from ctxmode.operations import fact_actions as actions
from ctxmode.operations import fact_files as files
from ctxmode.operations import fact_history as history
from ctxmode.operations.operation import Operation

OTHER_WORDS = {
    "add": "remember", "ls": "list", "get": "show", "pinned": "recall, without a query",
    "why-did-we": "search, then blame", "branches": "branch", "tokens": "stats",
    "context": "list --prefix /memory/projects/NAME", "decision": "remember --category decide",
    "summarize-session": "context-mode sessions summarize",
    "update": "remember, with the same --key",
}  # fmt: skip
"""Actions' names in other systems, and their names here."""

OPERATIONS: dict[str, Operation] = {
    "remember": actions.remember_fact,
    "prime": files.prime_facts,
    "pin": actions.pin_fact,
    "unpin": actions.unpin_fact,
    "forget": actions.forget_fact,
    "recall": actions.recall_facts,
    "search": actions.search_facts,
    "list": actions.list_facts,
    "show": actions.show_fact,
    "blame": history.blame_fact,
    "log": history.list_changes,
    "tail": history.follow_changes,
    "stats": actions.show_stats,
    "branch": history.keep_branches,
    "diff": history.diff_branches,
    "merge": history.merge_branches,
    "export": files.export_facts,
    "import": files.import_file,
    "check": files.check_facts,
    "backup": files.back_up_facts,
    "snapshots": files.list_snapshots,
    "restore": files.restore_facts,
}
REMEDIES = {
    "branch": "Name the branch after the action, and its parent with --from.",
    "diff": "Name the two branches after the action.",
    "merge": "Name the target branch with --into.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--branch",
        dest="of_all",
        default="",
        metavar="NAME",
        help="same as --branch after the action",
    )


def adjust(parsed: argparse.Namespace) -> None:
    """Use a branch named before the action as if it came after it."""
    if not parsed.of_all:
        return
    if not hasattr(parsed, "branch"):
        remedy = REMEDIES.get(parsed.action, "Remove --branch.")
        raise UsageError(f"{parsed.action} takes no --branch", remedy)
    if parsed.branch not in ("", parsed.of_all):
        raise UsageError("--branch is given twice", "Remove one of them.")
    parsed.branch = parsed.of_all
