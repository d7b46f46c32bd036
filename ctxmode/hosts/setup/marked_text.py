"""Our text between two markers of a file that belongs to somebody else."""

from __future__ import annotations

BEGIN = "<!-- context-mode: begin (written by `context-mode setup`) -->"
END = "<!-- context-mode: end -->"


def put(text: str, ours: str) -> str:
    """The text with ours between the markers; at its end if there are none yet, behind a blank
    line, and the text ends with a new line as it did before.

    Raises:
        ValueError: there is one marker without the other.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([BEGIN, *ours.strip().splitlines(), END])
    place = _place(text)
    if place is not None:
        return text[: place[0]] + block + text[place[1] :]
    gap = newline if text.strip() else ""
    return text + gap + (block + newline if text.endswith("\n") else gap + block)


def drop(text: str) -> str:
    """The text without ours, its markers and what parted them from it.

    Raises:
        ValueError: there is one marker without the other.
    """
    place = _place(text)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    gap = ("\r\n" if "\r\n" in text else "\n") if before.strip() else ""
    if after:
        return before.removesuffix(gap) + after.removeprefix("\r").removeprefix("\n")
    return before.removesuffix(2 * gap)


def _place(text: str) -> tuple[int, int] | None:
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise ValueError("its markers of context-mode do not make one pair")
    return start, end + len(END)
