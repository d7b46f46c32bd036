"""The verb `changes`: show, apply or forget what runs changed and was kept for you to decide."""

from __future__ import annotations

import argparse
import time

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, did_you_mean
from ctxmode.launch import print_answer
from ctxmode.operations.changes import (
    ChangeSets,
    commit_json,
    commit_text,
    list_text,
    summary_text,
    to_json,
)
from ctxmode.render.terminal_output import for_review
from executor.project import PREVENTING

ACTIONS = ("list", "show", "apply", "drop")


def run(args: argparse.Namespace) -> int:
    action, *words = args.words or ["list"]
    if action not in ACTIONS or (action == "list") != (not words):
        raise UsageError(
            f"changes {' '.join(args.words)!r} is not understood",
            f"{did_you_mean(action, ACTIONS)}Say changes, changes show ID, changes apply ID, or "
            "changes drop ID.",
        )
    changes = ChangeSets(load_config(args.project))
    if action == "list":
        kept = changes.list()
        text = for_review(list_text(kept, time.time()))
        print_answer(args, {"changes": [to_json(one) for one in kept]}, text)
        return exit_codes.OK
    return {"show": _show, "apply": _apply, "drop": _drop}[action](changes, words, args)


def _show(changes: ChangeSets, words: list[str], args: argparse.Namespace) -> int:
    identity, path = words[0], words[1] if len(words) > 1 else None
    kept = changes.get(identity)
    diff = changes.diff(kept, path)
    text = diff if path else f"{summary_text(kept)}\n\n{diff}"
    print_answer(args, {**to_json(kept), "diff": diff}, for_review(text.rstrip("\n")))
    return exit_codes.OK


def _apply(changes: ChangeSets, words: list[str], args: argparse.Namespace) -> int:
    done = changes.apply(
        changes.get(words[0]), words[1:], dry_run=args.dry_run, theirs=args.theirs, merge=args.merge
    )
    print_answer(args, commit_json(done), for_review(commit_text(done, dry_run=args.dry_run)))
    is_prevented = any(left.kind in PREVENTING for left in done.left_out)
    return exit_codes.ERROR if is_prevented else exit_codes.OK


def _drop(changes: ChangeSets, words: list[str], args: argparse.Namespace) -> int:
    for identity in words:
        kept = changes.get(identity)
        changes.drop(kept)
        print_answer(args, {"dropped": kept.id}, f"dropped {kept.id}")
    return exit_codes.OK
