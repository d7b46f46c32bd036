"""Facts written for others, and those of others read: export and import."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from base.whole_files import new_file_mode, replace_file
from ctxmode import exit_codes
from ctxmode.commands.memory_verbs import opening
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.launch import print_answer, print_json
from ctxmode.operations.section_files import write_section
from ctxmode.render.amounts import inflect
from ctxmode.render.highlight import harmless
from memory.facts import (
    FactStore,
    Imported,
    Memory,
    export_claude_md,
    export_decisions,
    export_json,
    export_markdown,
    import_facts,
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
