"""Looking facts up: recall, search, list, show, blame, log, tail, stats."""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import suppress
from typing import Any

from ctxmode import exit_codes
from ctxmode.commands.memory_verbs import opening
from ctxmode.config.locations import Config, load_config
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations import facts
from ctxmode.operations.fact_answers import FactRequest, describe_change
from ctxmode.operations.fact_numbers import counterfactual, ctxone_json
from ctxmode.render.fact_texts import change_line
from kb.tokens import BYTES_PER_TOKEN

TAIL_EVERY_S = 0.5
FRESH_S = 2.0
"""For so long after a write a file is looked into again: its time has no finer steps."""


def recall(args: argparse.Namespace) -> int:
    asked = FactRequest(
        text=args.query,
        budget=args.budget,
        branch=opening.find_branch(args),
        scope=args.scope,
        is_exact=args.exact,
    )
    found = opening.ask(args, asked)
    facts.count_recalled(load_config(args.project), found.recalled_bytes)
    if args.format == "ctxone" and found.recall is not None:
        print_json(ctxone_json(found.recall))
        return exit_codes.OK
    print_answer(args, found.data, found.text.removesuffix("\n"))
    if not args.json:
        pinned, matches = found.data["pinned"], found.data["matches"]
        tell(
            [
                f"pinned {pinned['shown']} of {pinned['total']}, "
                f"matching {matches['shown']} of {matches['total']}, "
                f"{found.data['tokens']} of {found.data['budget']} tokens "
                f"({found.data['estimator']})"
            ]
        )
    return exit_codes.OK


def search(args: argparse.Namespace) -> int:
    asked = FactRequest(
        text=args.query,
        prefix=args.prefix,
        branch=opening.find_branch(args),
        is_exact=args.exact,
        limit=args.limit,
    )
    return opening.show(args, asked)


def list_facts(args: argparse.Namespace) -> int:
    branch = opening.find_branch(args)
    asked = FactRequest(prefix=args.prefix, branch=branch, is_expired=args.expired)
    return opening.show(args, asked)


def look(args: argparse.Namespace) -> int:
    return opening.show(args, FactRequest(wanted=args.wanted, branch=opening.find_branch(args)))


def log(args: argparse.Namespace) -> int:
    asked = FactRequest(branch=args.branch, prefix=args.prefix, limit=args.limit)
    return opening.show(args, asked)


def tail(args: argparse.Namespace) -> int:
    """Show lines of the ledger as they come. With --json each is a document on a line."""
    config = load_config(args.project)
    with opening.open_memory(args) as memory:
        memory.log(branch=args.branch, limit=1)  # says that there is no such branch
        _, marks = memory.log_after({})
    tell(["showing what is written from now on, until it is interrupted"])
    sys.stderr.flush()
    seen: tuple[Any, ...] = ()
    while True:
        files = _look_at(config)
        if files != seen:
            # Opened anew each time: what has the files open keeps them from being restored.
            with facts.open_memory(config) as memory:
                changes, marks = memory.log_after(marks, branch=args.branch)
            for change in changes:
                line = change_line(change)
                if args.json:
                    line = json.dumps(describe_change(change), ensure_ascii=False)
                sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        seen = files
        time.sleep(TAIL_EVERY_S)


def _look_at(config: Config) -> tuple[Any, ...]:
    """Describe the files of facts and their logs, so that a change of them is seen."""
    found: list[Any] = []
    for path in (config.facts_file, config.users_facts_file):
        for part in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):
                state = part.stat()
                is_fresh = time.time() - state.st_mtime < FRESH_S
                found.append((part, state.st_ino, state.st_size, state.st_mtime_ns))
                found += [time.monotonic()] if is_fresh else []
    return tuple(found)


def stats(args: argparse.Namespace) -> int:
    found = facts.read_stats(load_config(args.project))
    measured = found.measured
    would = counterfactual(found.recalled_tokens, found.live_bytes)
    print_answer(args, {"measured": measured, "counterfactual": would}, _say(measured, would))
    return exit_codes.OK


def _say(measured: dict[str, Any], would: dict[str, Any]) -> str:
    return "\n".join(
        [
            "Measured",
            f"  facts: {measured['facts']} of the project, {measured['users_facts']} of the user, "
            f"{measured['pinned']} pinned, {measured['live_bytes']} bytes in all",
            f"  calls: {measured['calls']}",
            f"  recalled: {measured['recalled_bytes']} bytes, "
            f"{measured['recalled_tokens']} tokens (bytes / {BYTES_PER_TOKEN})",
            "Counterfactual, in no total",
            f"  {would['assumes']}: {would['tokens']} tokens once",
        ]
    )
