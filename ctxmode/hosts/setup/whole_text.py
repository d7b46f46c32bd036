"""A whole file around an edit of its text: what is made where there is none or a blank one, and
what is left when ours is taken out again.

A file that was missing ends with a new line; one that was empty does not; blank lines that it had
stay behind ours. So it can be told which of them it was.
"""

from __future__ import annotations

from collections.abc import Callable


def put_into(base: str | None, edit: Callable[[str], str]) -> Callable[[str | None], str]:
    """Make an edit that puts something in, of one of a text that holds at least `base`; with None,
    of one that leaves blank lines before what it puts in."""

    def put(text: str | None) -> str:
        if base is None:
            return edit(text or "") + ("\n" if text is None else "")
        if text is not None and text.strip():
            return edit(text)
        newline = "\r\n" if "\r\n" in (text or "") else "\n"
        made = edit(base.replace("\n", newline)).rstrip()
        if text is None:
            return made + newline
        return made + newline + text if text else made

    return put


def take_out(base: str, edit: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """Make an edit that takes something out, of one of a text; None if the file is to go.

    An edit of a text without a base takes the end of its own last line with it.
    """

    def take(text: str | None) -> str | None:
        if text is None or not text.strip():
            return text
        made = edit(text)
        bare = base.replace("\n", "\r\n" if "\r\n" in made else "\n")
        left = made.removeprefix(bare)
        if made == text or left.strip():
            return made
        rest = left.removeprefix("\r").removeprefix("\n") if base else left
        was_missing = left != rest if base else text.endswith("\n")
        return rest or (None if was_missing else "")

    return take
