"""The verb `kept outputs`: list, read or compare stored outputs of runs."""

from __future__ import annotations

import difflib
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Annotated, Any

import kb
from ctxmode.errors import describe_empty, unknown_id
from ctxmode.operations.library import Library, open_library
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.highlight import age, size
from ctxmode.render.terminal_output import for_stdout

_LABEL = re.compile(r"(out-[0-9a-z]+)/(stdout|stderr) \((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Output:
    """The stored output of one run."""

    id: str
    about: str
    kept_at: float
    streams: tuple[kb.Source, ...]

    @property
    def bytes_total(self) -> int:
        return sum(stream.bytes_total for stream in self.streams)


def list_outputs(
    asker: Asker, *, limit: Annotated[int, Arg("only the latest N", "N")] = 50
) -> Answer:
    """List the stored outputs, latest first."""
    with open_library(asker.config) as library:
        known = find_outputs(library)
    shown = known[: max(limit, 0)]
    rows = [
        {"id": o.id, "about": o.about, "kept_at": o.kept_at, "bytes": o.bytes_total} for o in shown
    ]
    data = {"outputs": rows, "total": len(known)}
    notices = library.store.notices
    if not shown:
        return Answer(data, describe_empty("output"), notices)
    return Answer(data, "", notices, partial(_show_rows, rows))


def show_output(asker: Asker, output: Annotated[str, Arg(metavar="ID")]) -> Answer:
    """Print all of one output, in a pager on a terminal."""
    with open_library(asker.config) as library:
        text = _read(library, output)
    return _answer("show", (output,), text, library)


def compare_outputs(
    asker: Asker,
    before: Annotated[str, Arg(metavar="A")],
    after: Annotated[str, Arg(metavar="B")],
) -> Answer:
    """Compare two outputs, line by line."""
    with open_library(asker.config) as library:
        a, b = (_read(library, name).splitlines(keepends=True) for name in (before, after))
    lines = difflib.unified_diff(a, b, before, after)
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return _answer("diff", (before, after), text, library)


def _answer(action: str, names: Sequence[str], text: str, library: Library) -> Answer:
    data = {action: list(names), "text": text}
    return Answer(data, "", library.store.notices, partial(page, text))


def find_outputs(library: Library) -> list[Output]:
    """Return the stored outputs, latest first."""
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


def _read(library: Library, name: str) -> str:
    """Join stdout and stderr of one output; stderr follows the line `[stderr]`."""
    known = find_outputs(library)
    found = [one for one in known if one.id == name] or [
        one for one in known if one.id.startswith(name) or one.id.startswith(f"out-{name}")
    ]
    if len(found) != 1:
        raise unknown_id("output", name, (one.id for one in found), is_empty=not known)
    parts = []
    for stream in found[0].streams:
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


def _show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    from ctxmode.render import terminal  # noqa: PLC0415 - for people only

    fixed = ("id", "kept", "size")
    columns: dict[str, Callable[[Mapping[str, Any]], object]] = {
        "id": itemgetter("id"),
        "kept": lambda one: age(time.time() - one["kept_at"]),
        "size": lambda one: size(one["bytes"]),
        "program": itemgetter("about"),
    }
    terminal.show_table(columns, rows, fixed=fixed)


OPERATIONS: dict[str, Operation] = {
    "list": list_outputs,
    "show": show_output,
    "diff": compare_outputs,
}
DEFAULT_ACTION = "list"
