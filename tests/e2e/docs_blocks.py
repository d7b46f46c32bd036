"""Fenced blocks of the documents, and what the comment in front of each says of running it.

sh       commands, each of which succeeds
console  lines `$ command`, each followed by what it prints; `…` stands for any text

<!-- not run: REASON -->    is shown only
<!-- needs: PROGRAM -->     is run where that program, or an `engine` of containers, is there
<!-- exit: any -->          commands may exit as they like
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<word>not run|needs|exit): (?P<said>[^\n]*?) -->\n)?"
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
    return [
        Block(
            f"{path.name}:{text.count(chr(10), 0, found.start('language')) + 1}",
            found["language"],
            found["text"],
            found["word"] or "",
            found["said"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def fits(expected: str, said: str) -> bool:
    """Whether what was printed is what a document shows."""
    pattern = re.escape(expected.strip()).replace("…", r"[\s\S]*?")
    spaces = re.sub(r"(?:\\ )+", r" +", pattern)
    return re.fullmatch(spaces, said.strip()) is not None
