"""One function a kind: source bytes in, marks out. `CHUNKERS` is the table of them.

To add a kind: a module here with a `marks(data, language)` function, a row in `CHUNKERS`, and the
rule in `kb.detect` or the name in `kb.filetypes` by which sources of that kind are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb.chunkers import (
    asciidoc,
    code,
    diff,
    html,
    json,
    log,
    markdown,
    notebook,
    report,
    rst,
    table,
    text,
    toml,
    xml,
    yaml,
)
from kb.chunks import Mark

Chunker = Callable[[bytes, str | None], Iterable[Mark]]

CHUNKERS: dict[str, Chunker] = {
    "asciidoc": asciidoc.marks,
    "code": code.marks,
    "compiler": report.compiler_marks,
    "csv": table.marks,
    "diff": diff.marks,
    "html": html.marks,
    "json": json.marks,
    "jsonl": json.line_marks,
    "log": log.marks,
    "markdown": markdown.marks,
    "notebook": notebook.marks,
    "rst": rst.marks,
    "stacks": report.stack_marks,
    "tests": report.report_marks,
    "text": text.marks,
    "toml": toml.marks,
    "xml": xml.marks,
    "yaml": yaml.marks,
}

CONTINUED: dict[str, Chunker] = {"csv": text.marks, "jsonl": json.marks, "notebook": json.marks}
"""Chunkers for a later part of a source, where the kind's own would number records from 0 anew or
take a record for the header."""

RESUMED: dict[str, Callable[[bytes, str | None], json.Scan]] = {
    "json": lambda data, state: json.Scan(data, state=state),
    "jsonl": lambda data, state: json.Scan(data, lines=True, state=state),
    "notebook": lambda data, state: json.Scan(data, state=state),
}
"""Chunkers that go on in a later part of a source where the part before it ended."""

CARRIED = frozenset({"asciidoc", "csv", "diff", "html", "markdown", "rst", "toml", "xml", "yaml"})
"""Kinds whose sections go on in a later part of a source, under the title of the last one."""

__all__ = ["CARRIED", "CHUNKERS", "CONTINUED", "RESUMED", "Chunker"]
