"""The verb `changes`: show, apply or forget what runs changed and was kept for you to decide."""

from __future__ import annotations

import argparse
import time

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
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


def run(args: argparse.Namespace) -> int:
    changes = ChangeSets(load_config(args.project))
    actions = {"list": _list, "show": _show, "apply": _apply, "drop": _drop}
    return actions[args.action](changes, args)


def _list(changes: ChangeSets, args: argparse.Namespace) -> int:
    kept = changes.list()
    text = for_review(list_text(kept, time.time()))
    print_answer(args, {"changes": [to_json(one) for one in kept]}, text)
    return exit_codes.OK


def _show(changes: ChangeSets, args: argparse.Namespace) -> int:
    kept = changes.get(args.id)
    diff = changes.diff(kept, args.path)
    text = diff if args.path else f"{summary_text(kept)}\n\n{diff}"
    print_answer(args, {**to_json(kept), "diff": diff}, for_review(text.rstrip("\n")))
    return exit_codes.OK


def _apply(changes: ChangeSets, args: argparse.Namespace) -> int:
    done = changes.apply(
        changes.get(args.id), args.paths, dry_run=args.dry_run, theirs=args.theirs, merge=args.merge
    )
    print_answer(args, commit_json(done), for_review(commit_text(done, dry_run=args.dry_run)))
    is_prevented = any(left.kind in PREVENTING for left in done.left_out)
    return exit_codes.ERROR if is_prevented else exit_codes.OK


def _drop(changes: ChangeSets, args: argparse.Namespace) -> int:
    for identity in args.ids:
        kept = changes.get(identity)
        changes.drop(kept)
        print_answer(args, {"dropped": kept.id}, f"dropped {kept.id}")
    return exit_codes.OK
