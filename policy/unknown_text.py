"""Partly known text as a pattern: whether it may be a certain text before the program runs."""

from __future__ import annotations

from collections.abc import Iterator

from policy import marks
from policy.wildcards import ANY, ONE, Part, Wildcard

_GLOBS = {
    marks.GLOB_STAR: ANY, marks.GLOB_ONE: ONE, marks.GLOB_SET: ONE, marks.GLOB_ANY: ANY,
}  # fmt: skip


def parts(text: str, *hole: Part) -> Iterator[Part]:
    """The text's characters, with `hole` for each that is not known."""
    for char in text:
        if marks.has_hole(char):
            yield from hole
        else:
            yield _GLOBS.get(char, char)


def may_be(text: str, other: str, *hole: Part) -> bool:
    """Whether a partly known text may be another one, with `hole` for what is not known of it."""
    return Wildcard(parts(text, *hole)).meets(other)
