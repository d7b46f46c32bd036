"""Fenced blocks of the documents, and what the comment in front of each says of running it.

sh       commands, each of which succeeds
console  lines `$ command`, each followed by what it prints; `…` stands for any text

<!-- not run: REASON -->    is shown only
<!-- needs: PROGRAM -->     is run where that program, or an `engine` of containers, is there
<!-- needs: NAME WORDS -->  is run with what docs_needs.py makes under that name
<!-- exit: any -->          commands may exit as they like
<!-- prints: all -->        no commands, but all that the `sh` before it prints
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<word>not run|needs|exit|prints): (?P<said>[^\n]*?) -->\n)?"
    r"```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One block. `place` is its document and line."""

    place: str
    language: str
    text: str
    word: str
    said: str
    prints: str = "…"

    @property
    def page(self) -> str:
        """The name of its document."""
        return self.place.partition(":")[0]

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """Of a console: each command, and what it prints."""
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)
        assert not parts[0], f"{self.place} begins with no command"
        return [
            (command, said) for command, _, said in (part.partition("\n") for part in parts[1:])
        ]


def blocks(path: Path) -> list[Block]:
    """All blocks of a document."""
    text = path.read_text()
    found_here = [
        Block(
            f"{path.name}:{text.count(chr(10), 0, found.start('language')) + 1}",
            found["language"],
            found["text"],
            found["word"] or "",
            found["said"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]
    joined: list[Block] = []
    for block in found_here:
        if block.word == "prints":
            assert joined[-1].language == "sh", f"{block.place} follows no commands"
            joined[-1] = replace(joined[-1], prints=block.text)
        joined.append(block)
    return joined


def fits(expected: str, said: str) -> bool:
    """Whether what was printed is what a document shows."""
    pattern = re.escape(expected.strip()).replace("…", r"[\s\S]*?")
    spaces = re.sub(r"(?:\\ )+", r" +", pattern)
    return re.fullmatch(spaces, said.strip()) is not None
