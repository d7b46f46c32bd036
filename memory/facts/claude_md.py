"""The section of a CLAUDE.md that an export writes: between two marks, each a line of its own."""

from __future__ import annotations

from memory.errors import BadInputError

BEGIN = "<!-- context-mode:memory:begin -->"
END = "<!-- context-mode:memory:end -->"


def put_section(document: str, section: str) -> str:
    """Return a document with the section in place of the one it has, else at its end. Nothing else
    of it changes.

    Raises:
        BadInputError: its marks are no pair, so that it is not known what is the user's.
    """
    newline = "\r\n" if "\r\n" in document else "\n"
    own = section.removesuffix("\n").replace("\n", newline) + newline
    lines = _split(document)
    found = _find_section(lines)
    if found is None:
        if document and not document.endswith("\n"):
            document += newline
        return document + (newline if document.strip() else "") + own
    begin, end = found
    if not lines[end].endswith("\n"):
        own = own.removesuffix(newline)
    return "".join([*lines[:begin], own, *lines[end + 1 :]])


def drop_section(document: str) -> str:
    """Return a document without the section.

    Raises:
        BadInputError: its marks are no pair.
    """
    lines = _split(document)
    found = _find_section(lines)
    return document if found is None else "".join(lines[: found[0]] + lines[found[1] + 1 :])


def _split(document: str) -> list[str]:
    """Return the lines with their ends; other separators than a line feed are part of a line."""
    lines = document.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _find_section(lines: list[str]) -> tuple[int, int] | None:
    """Return the lines of the two marks; None where there is neither."""
    begins, ends = (
        [number for number, line in enumerate(lines) if line.rstrip() == mark]
        for mark in (BEGIN, END)
    )
    if not begins and not ends:
        return None
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        return begins[0], ends[0]
    where = ", ".join(str(number + 1) for number in sorted(begins + ends)[:10])
    raise BadInputError(
        f"the marks of the memory's section are no pair: lines {where}",
        f"Leave one line {BEGIN}, and below it one line {END}.",
    )
