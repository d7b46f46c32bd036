"""Plain English: words and turns that texts avoid, in documents, docstrings, help and messages.

`words.tsv` has those that no text contains; `words-look.tsv` those that few do: places to look
at. `python -m tests.structure.test_words [PATH...]` prints where they are.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.conftest import ROOMS, ROOT, read_modules

HERE = Path(__file__).parent
LOOK_MAX = 121  # 4,068 at first
DOCUMENTS = ("*.md", "docs/*.md", "docs/*/*.md", "changelog.d/*.md")
"""What a reader or an agent sees that is not in a module."""
DATA = ("*.md", "*.txt", "*.html", "*.toml")

Row = tuple[re.Pattern[str], str]
"""An expression, and what to write instead."""
Hit = tuple[str, int, str, str]
"""A file, a line number, its text, and what to write instead."""


def read_rows(name: str) -> list[Row]:
    """Read a list of words."""
    lines = (HERE / name).read_text().splitlines()
    cells = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead, *_ in cells]


def read_literals(source: str) -> Iterator[tuple[int, str]]:
    """Read the lines of every string of a module, docstrings too, with their numbers."""
    lines = source.splitlines()
    tree = ast.parse(source)
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) in inner or not (is_text or isinstance(node, ast.JoinedStr)):
            continue
        first, last = node.lineno, node.end_lineno or node.lineno
        for number in range(first, last + 1):
            line = lines[number - 1].encode()
            begin = node.col_offset if number == first else 0
            end = node.end_col_offset if number == last else len(line)
            yield number, line[begin:end].decode(errors="replace")


def read_texts() -> dict[str, list[tuple[int, str]]]:
    """Read all texts, by file: numbered lines."""
    texts = {path: list(read_literals(text)) for path, text in read_modules(*ROOMS).items()}
    files = [file for pattern in DOCUMENTS for file in ROOT.glob(pattern)]
    files += [file for room in ROOMS for pattern in DATA for file in (ROOT / room).rglob(pattern)]
    for file in files:
        lines = file.read_text(errors="replace").splitlines()
        texts[str(file.relative_to(ROOT))] = list(enumerate(lines, 1))
    return texts


def find_hits(rows: list[Row], texts: dict[str, list[tuple[int, str]]]) -> list[Hit]:
    """Find every line that a row matches."""
    return [
        (path, number, line.strip(), instead)
        for path, lines in sorted(texts.items())
        for number, line in lines
        for pattern, instead in rows
        if pattern.search(line)
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, list[tuple[int, str]]]:
    """All texts."""
    return read_texts()


def test_avoided_words_are_in_no_text(texts):
    assert find_hits(read_rows("words.tsv"), texts) == []


def test_unclear_turns_are_few(texts):
    assert len(find_hits(read_rows("words-look.tsv"), texts)) <= LOOK_MAX


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""Whether it is so."""\n', 1),
        ('x = 1\nraise ValueError(f"{x} is no file")\n', 2),
        ('x = (\n    "a"\n    "to be had"\n)\n', 3),
    ],
)
def test_an_avoided_word_is_found_in_strings(text, line):
    hits = find_hits(read_rows("words.tsv"), {"a.py": list(read_literals(text))})
    assert [number for _, number, _, _ in hits] == [line]


def test_an_avoided_word_in_code_is_not_a_text():
    assert not find_hits(read_rows("words.tsv"), {"a.py": list(read_literals("mend = anew(1)\n"))})


def main(paths: list[str]) -> int:
    """Print the hits of both lists; of the second, those below `paths` alone."""
    texts = read_texts()
    chosen = {path: lines for path, lines in texts.items() if path.startswith(tuple(paths) or "")}
    for name in ("words.tsv", "words-look.tsv"):
        hits = find_hits(read_rows(name), chosen)
        for path, number, line, instead in hits:
            print(f"{path}:{number}: {line}\n    -> {instead}")
        print(f"{name}: {len(hits)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
