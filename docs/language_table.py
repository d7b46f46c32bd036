"""Writes what names all languages, from their rows: tables of README.md and docs/containers.md, the
list of tools, and the schema of the configuration.

Run it as `python docs/language_table.py` from the checkout after a language has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ctxmode.mcp import server
from docs import config_schema, tool_list
from images import GROUPS
from runtimes import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
MARK, END = "<!-- by docs/language_table.py -->", "<!-- end -->"


def _languages() -> Iterator[str]:
    yield "| language | name | also | toolchains |\n| --- | --- | --- | --- |"
    for row in LANGUAGES:
        toolchains = ", ".join(toolchain.name for toolchain in row.toolchains)
        yield f"| {row.title} | `{row.name}` | {', '.join(row.aliases)} | {toolchains} |"


def _images() -> Iterator[str]:
    titles = {row.name: row.title for row in LANGUAGES}
    yield "| image | languages |\n| --- | --- |"
    for group in GROUPS:
        yield f"| `{group.name}` | {', '.join(titles[name] for name in group.languages)} |"


def pages() -> Mapping[Path, str]:
    """The pages, with their tables as the rows have them."""
    tables = {ROOT / "README.md": _languages(), ROOT / "docs/containers.md": _images()}
    written = {page: "\n".join(rows) for page, rows in tables.items()}
    return {page: _put(table, page.read_text()) for page, table in written.items()}


def _put(table: str, text: str) -> str:
    before, _, rest = text.partition(f"{MARK}\n")
    counted = re.sub(r"in \d+ languages", f"in {len(LANGUAGES)} languages", before)
    return f"{counted}{MARK}\n{table}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
    server.FILE.write_text(tool_list.text(), encoding="utf-8")
    config_schema.write_schema()
