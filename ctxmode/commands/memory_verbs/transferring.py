"""Whole files of facts: check, backup, snapshots, restore."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from base.whole_files import new_file_mode, replace_file
from ctxmode import exit_codes
from ctxmode.commands.memory_verbs import opening
from ctxmode.config.locations import load_config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.launch import print_answer, print_json
from ctxmode.operations.facts import find_facts_file, name_restore, translate_fact_errors
from ctxmode.operations.mirroring import FACTS, USERS_FACTS, take_out
from ctxmode.operations.section_files import write_section
from ctxmode.render.fact_texts import restored_text, snapshots_text
from ctxmode.render.highlight import harmless, inflect
from memory.facts import (
    FactStore,
    Imported,
    Memory,
    export_claude_md,
    export_decisions,
    export_json,
    export_markdown,
    import_facts,
    make_snapshot,
    restoring,
)

_COUNTED = ("added", "changed", "same", "left_out", "not_pinned")


def _write_json(store: FactStore, branch: str) -> str:
    return json.dumps(export_json(store, branch), indent=2, ensure_ascii=False) + "\n"


EXPORTS: Mapping[str, Callable[[FactStore, str], str]] = {
    "json": _write_json,
    "md": export_markdown,
    "claude-md": export_claude_md,
    "decisions": export_decisions,
}
SECTIONS = ("claude-md", "decisions")
"""The formats that are a part of a file that a person keeps."""

FORMATS = tuple(EXPORTS)


def export(args: argparse.Namespace) -> int:
    with opening.open_memory(args) as memory:
        store = _choose(memory, args.scope)
        if store is None:
            raise UsageError("nothing is remembered yet", "Write a fact first.")
        text = EXPORTS[args.format](store, opening.find_branch(args))
    if args.output:
        target = Path.cwd() / Path(args.output).expanduser()
        size = _write(target, text, is_section=args.format in SECTIONS)
        data = {"path": str(target), "bytes": size}
        print_answer(args, data, f"{harmless(str(target))}: {inflect(size, 'byte')}")
    elif args.json and args.format != "json":
        print_json({"format": args.format, "text": text})
    else:
        sys.stdout.write(text if args.format == "json" else harmless(text))
    return exit_codes.OK


def import_file(args: argparse.Namespace) -> int:
    text = opening.read_file(args.file)
    name = "stdin" if args.file == "-" else Path(args.file).name
    with opening.open_memory(args, args.scope) as memory:
        store = _choose(memory, args.scope)
        assert store is not None  # it was opened to write
        found = import_facts(
            store,
            text,
            form=args.format,
            author=memory.author,
            branch=opening.find_branch(args),
            source=name,
            scope=args.scope,
            takes_pins=args.pins,
        )
    data = {one: list(getattr(found, one)) for one in _COUNTED}
    data_all = {"form": found.form, **data, "redactions": found.redactions}
    print_answer(args, data_all, harmless(_describe(found)))
    return exit_codes.OK


def _describe(found: Imported) -> str:
    lines = [", ".join(f"{one.replace('_', ' ')} {len(getattr(found, one))}"
                       for one in _COUNTED[:4])]  # fmt: skip
    if found.redactions:
        lines.append(f"{inflect(found.redactions, 'secret')} left out of the texts")
    if found.not_pinned:
        lines.append(f"not pinned: {len(found.not_pinned)}; --pins pins what the file pins")
    return "\n".join([*lines, *(f"left out: {one}" for one in found.left_out)])


def _choose(memory: Memory, scope: str) -> FactStore | None:
    return memory.user if scope == "user" else memory.project


def _write(target: Path, text: str, *, is_section: bool) -> int:
    """Write a new file, or the section of one that may be there; return its size."""
    try:
        if not target.parent.is_dir():
            raise UsageError(f"{target.parent} is no folder", "Give a place that exists.")
        if not is_section:
            if os.path.lexists(target):
                raise UsageError(f"{target} exists", "Give the name of a new file.")
            data = text.encode(errors="surrogateescape")
            replace_file(target, data, mode=new_file_mode())
            return len(data)
        return write_section(target, text)
    except (OSError, ValueError, RuntimeError) as error:
        raise ContextModeError(
            f"{target} cannot be written: {why(error) if isinstance(error, OSError) else error}",
            "Give another place.",
        ) from error


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
