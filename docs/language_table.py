"""Writes the tables of languages in README.md and docs/containers.md, from the rows themselves.

Run it as `python docs/language_table.py` from the checkout after a language has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

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
    return f"{before}{MARK}\n{table}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
