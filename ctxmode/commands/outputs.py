"""The verb `outputs`: list, read or compare what runs printed."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import time
from dataclasses import dataclass
from functools import partial

import kb
from ctxmode import exit_codes
from ctxmode.errors import describe_empty, unknown_id
from ctxmode.launch import print_json, with_library
from ctxmode.operations.library import Library
from ctxmode.render.highlight import age, size
from ctxmode.render.terminal_output import for_stdout

_LABEL = re.compile(r"(out-[0-9a-z]+)/(stdout|stderr) \((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Output:
    """What one run printed."""

    id: str
    about: str
    kept_at: float
    streams: tuple[kb.Source, ...]

    @property
    def bytes_total(self) -> int:
        return sum(stream.bytes_total for stream in self.streams)


def run(args: argparse.Namespace) -> int:
    names = {"list": [], "show": ["id"], "diff": ["before", "after"]}[args.action]
    ids = [getattr(args, name) for name in names]
    with_library(args, partial(_answer, action=args.action, names=ids, args=args))
    return exit_codes.OK


def _answer(library: Library, action: str, names: list[str], args: argparse.Namespace) -> None:
    known = outputs(library)
    if action == "list":
        _list(known[: max(args.limit, 0)], len(known), as_json=args.json)
        return
    texts = [_text(library, _find_output(known, name)) for name in names]
    if action == "diff":
        before, after = (text.splitlines(keepends=True) for text in texts)
        lines = difflib.unified_diff(before, after, names[0], names[1])
        texts = ["".join(line if line.endswith("\n") else f"{line}\n" for line in lines)]
    if args.json:
        print_json({action: names, "text": texts[0]})
    else:
        page(texts[0])


def outputs(library: Library) -> list[Output]:
    """List the kept outputs, latest first."""
    found: dict[str, list[tuple[str, kb.Source]]] = {}
    for source in library.sources(matching="out-", all_versions=True):
        if label := _LABEL.fullmatch(source.label):
            found.setdefault(label[1], []).append((label[3], source))
    return [
        Output(
            name,
            streams[0][0],
            max(source.indexed_at for _, source in streams),
            tuple(sorted((s for _, s in streams), key=lambda s: s.label, reverse=True)),
        )
        for name, streams in found.items()
    ]


def _find_output(known: list[Output], name: str) -> Output:
    found = [one for one in known if one.id == name] or [
        one for one in known if one.id.startswith(name) or one.id.startswith(f"out-{name}")
    ]
    if len(found) != 1:
        raise unknown_id("output", name, (one.id for one in found), is_empty=not known)
    return found[0]


def _text(library: Library, output: Output) -> str:
    """Join stdout and stderr, the latter under a line that says so."""
    parts = []
    for stream in output.streams:
        text = library.text(stream).decode("utf-8", "replace")
        is_stderr = "/stderr (" in stream.label
        parts.append(f"[stderr]\n{text}" if is_stderr else text)
    return "\n".join(part.removesuffix("\n") for part in parts) + "\n"


def page(text: str) -> None:
    """Show a text, in a pager if it is for a terminal."""
    if sys.stdout.isatty():
        import pydoc  # noqa: PLC0415 - for people only

        pydoc.pager(for_stdout(text))
    else:
        sys.stdout.write(for_stdout(text))


def _list(shown: list[Output], total: int, *, as_json: bool) -> None:
    if as_json:
        entries = [
            {"id": o.id, "about": o.about, "kept_at": o.kept_at, "bytes": o.bytes_total}
            for o in shown
        ]
        print_json({"outputs": entries, "total": total})
        return
    if not shown:
        sys.stdout.write(f"{describe_empty('output')}\n")
        return
    from rich.text import Text  # noqa: PLC0415 - for people only

    from ctxmode.render import highlight, terminal  # noqa: PLC0415

    table = terminal.build_table("id", "kept", "size", "program", fixed=("id", "kept", "size"))
    for one in shown:
        kept = age(time.time() - one.kept_at)
        table.add_row(one.id, kept, size(one.bytes_total), Text(highlight.harmless(one.about)))
    terminal.console().print(table)
