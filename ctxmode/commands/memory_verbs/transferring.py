"""Whole files of facts: check, backup, snapshots, restore."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.commands.memory_verbs import opening
from ctxmode.config.locations import load_config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.launch import print_answer
from ctxmode.operations.facts import find_facts_file, name_restore, translate_fact_errors
from ctxmode.operations.mirroring import FACTS, USERS_FACTS, take_out
from ctxmode.render.amounts import inflect
from ctxmode.render.snapshot_texts import restored_text, snapshots_text
from memory.facts import make_snapshot, restoring

RESTORE_LAST = "context-mode memory restore --last"


def check(args: argparse.Namespace) -> int:
    with opening.open_memory(args) as memory:
        found = memory.check()
        is_sound = not any(found.values())
        left = memory.check(mend=True) if args.mend and not is_sound else found
        helps = [one.mended_by for one in memory.stores if left[str(one.path)]]
    problems = {path: list(problems) for path, problems in found.items()}
    is_mended = not is_sound and not any(left.values())
    lines = [one for path, of in problems.items() for one in of or [f"{path} is sound."]]
    if is_mended:
        lines.append("All of this is put right.")
    elif not is_sound:
        lines += [f"Try: {one}" for one in (helps if not args.mend else [RESTORE_LAST])]
    data = {"ok": is_sound, "mended": is_mended, "problems": problems}
    print_answer(args, data, "\n".join(lines) or "No fact is kept yet.")
    return exit_codes.OK if is_sound or is_mended else exit_codes.ERROR


def backup(args: argparse.Namespace) -> int:
    target = Path.cwd() / Path(args.file).expanduser()
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent} is no folder", "Give a place that exists.")
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists", "Give the name of a new file.")
    with opening.open_memory(args) as memory:
        store = memory.user if args.scope == "user" else memory.project
        if store is None:
            raise UsageError("nothing is remembered yet", "Write a fact first.")
        try:
            make_snapshot(store, target)
            size = target.stat().st_size
        except OSError as error:
            problem = f"{target} cannot be written: {why(error)}"
            raise ContextModeError(problem, "Give another place.") from error
    text = f"{target}: {inflect(size, 'byte')}"
    print_answer(args, {"path": str(target), "bytes": size}, text)
    return exit_codes.OK


def list_snapshots(args: argparse.Namespace) -> int:
    path = find_facts_file(load_config(args.project), args.scope)
    found = restoring.describe_snapshots(path)
    data = {"path": str(path), "snapshots": [asdict(one) for one in found]}
    print_answer(args, data, snapshots_text(found))
    return exit_codes.OK


def restore(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    path = find_facts_file(config, args.scope)
    passed: tuple[restoring.Snapshot, ...] = ()
    with translate_fact_errors():
        if args.last:
            chosen, passed = restoring.find_last_sound(path)
        else:
            chosen = restoring.find_snapshot(path, args.snapshot)
        prepare_storage(config)  # a backup may be what a new machine begins with
        restored = restoring.restore(path, chosen)
    take_out(config, (USERS_FACTS if args.scope == "user" else FACTS,), is_everywhere=True)
    data = {"passed_over": [asdict(one) for one in passed], **asdict(restored)}
    text = restored_text(restored, passed, name_restore(args.scope))
    print_answer(args, data, text)
    return exit_codes.OK
