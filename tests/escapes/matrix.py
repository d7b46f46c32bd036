"""The table of attacks by back end, from what test runs recorded: `python -m tests.escapes.matrix`.

    pytest tests/escapes --matrix root.json      (and again as other users, into other files)
    python -m tests.escapes.matrix root.json … docs/attack-matrix.md

Without a document it goes to stdout.

An outcome appears only if its test passed; where it failed the table says so.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

BEGIN, END = "<!-- escapes:begin", "<!-- escapes:end -->"
COLUMNS = ("A", "A without cgroup", "B", "C", "C, runsc")
Row = Mapping[str, str]


def table(rows: Sequence[Row]) -> str:
    """The Markdown table, a line per attack; columns without any outcome are left out."""
    columns = [c for c in COLUMNS if any(row["column"] == c for row in rows)]
    by_id: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_id.setdefault(row["id"], {})[row["column"]] = row
    lines = [_line("", "attack", *columns), _line(*["---"] * (len(columns) + 2))]
    for name in sorted(by_id, key=order):
        found = by_id[name]
        title = next(iter(found.values()))["title"]
        lines.append(_line(name, title, *(_cell(found.get(column)) for column in columns)))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _cell(row: Row | None) -> str:
    if row is None:
        return "not run"
    if not row["proven"]:
        return "**unproven: its test fails**"
    mark = {"stopped": "stopped", "not stopped": "**not stopped**"}.get(row["outcome"])
    return f"{mark or row['outcome']}: {row['note']}"


def order(name: str) -> tuple[str, int, str]:
    """What to sort the ids of attacks by."""
    letter, number, rest = re.match(r"([A-Z]+)(\d+)(.*)", name).groups()  # type: ignore[union-attr]
    return letter, int(number), rest


def put_into(document: str, text: str) -> str:
    """The document with the table between its marks.

    Raises:
        ValueError: it has no such marks.
    """
    start, end = document.find(BEGIN), document.find(END)
    if start < 0 or end < start:
        raise ValueError(f"no {BEGIN} … --> and {END} in the document")
    after_mark = document.index("-->", start) + len("-->")
    return f"{document[:after_mark]}\n{text}\n{document[end:]}"


def main(arguments: Sequence[str]) -> int:
    results = [Path(name) for name in arguments if name.endswith(".json")]
    documents = [Path(name) for name in arguments if not name.endswith(".json")]
    if not results or len(documents) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    text = table([row for file in results for row in json.loads(file.read_text())])
    if not documents:
        print(text)
    for document in documents:
        document.write_text(put_into(document.read_text(), text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
