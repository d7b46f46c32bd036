"""Writes docs/chunks.md: what each kind's chunks look like, from the files in docs/samples.

python docs/chunk_table.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kb.chunkers import CHUNKERS
from kb.chunking import chunk_part
from kb.decoding import as_utf8
from kb.detect import Detected, detect
from kb.indexing import convert
from kb.model import SourceSpec, StoredContent
from kb.packing import CAP_BYTES, MERGE_BYTES, TARGET_BYTES, Chunk

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"
TABLE = HERE / "chunks.md"
SHOWN_CHARS = 60
TITLE_CHARS = 100
IDENTIFIERS_SHOWN = 6

HEAD = f"""\
# What chunks look like

Written by `python docs/chunk_table.py` from the files in `docs/samples`; a test holds it true.

A source is cut along its own structure. A chunk aims at {TARGET_BYTES} bytes and never exceeds
{CAP_BYTES}, whatever its shape; neighbours below {MERGE_BYTES} bytes under one parent are joined.
Its title is the path to it, its identifiers are searched beside its words. Its text is exactly the
bytes of its lines: of the file itself, or, where the table says so, of what was made of it.
"""


def main() -> int:
    """Write the table; 0."""
    TABLE.write_text(table())
    sys.stdout.write(f"wrote {TABLE}\n")
    return 0


def table() -> str:
    """The whole document."""
    missing = set(CHUNKERS) - {converted(path)[0].kind for path in samples()}
    assert not missing, f"no sample is of kind {', '.join(sorted(missing))}"
    return "\n".join([HEAD, *(line for path in samples() for line in section(path))])


def samples() -> list[Path]:
    """Every sample, by kind."""
    return sorted(SAMPLES.iterdir(), key=lambda path: (converted(path)[0].kind, path.name))


def known_name(path: Path) -> str | None:
    return None if path.suffix == ".txt" else path.name


def converted(path: Path) -> tuple[StoredContent, bytes, Detected]:
    return convert(SourceSpec("", name=known_name(path)), path.read_bytes())


def section(path: Path) -> Iterator[str]:
    """One sample: what it is taken for and why, and its chunks."""
    content, text, chunked_as = converted(path)
    detected = detect(as_utf8(path.read_bytes())[0], name=known_name(path))
    language = f", {detected.language}" if detected.language not in (None, detected.kind) else ""
    steps = f"; {content.converted}" if content.converted else ""
    yield f"## {detected.kind}"
    yield ""
    link = f"[{path.name}](samples/{path.name})"
    by = f"known by its {detected.by}" if " " not in detected.by else detected.by
    yield f"{link}: {detected.kind}{language}, {by}{steps}."
    yield ""
    yield "| lines | bytes | title | begins with | identifiers |"
    yield "| --- | --- | --- | --- | --- |"
    for chunk in chunk_part(text, chunked_as):
        yield row(chunk)
    yield ""


def row(chunk: Chunk) -> str:
    cells = (
        f"{chunk.start_line}-{chunk.end_line}",
        f"{chunk.start_byte}-{chunk.end_byte}",
        shortened(chunk.title_text, TITLE_CHARS),
        f"`` {shortened(chunk.text, SHOWN_CHARS)} ``",
        ", ".join(chunk.identifiers[:IDENTIFIERS_SHOWN]),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def shortened(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


if __name__ == "__main__":
    sys.exit(main())
