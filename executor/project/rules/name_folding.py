"""Which names are one and the same to some file system or tool: spellings brought to one form."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# What NTFS and Windows drop from the end of a name, and what begins a stream of a file there.
_DROPPED = ". "
_STREAM = ":"
_SHORT_BASE = 6
_SHORT_ENDING = 3


@lru_cache(maxsize=16_384)  # names of folders come again with each path below them
def fold(name: str) -> str:
    """The form that all spellings of a name have in common.

    Case, characters that show nothing (HFS+, casefolding ext4), compatible characters, and what
    Windows drops from the end. Of a short name such as `GIT~1` the number becomes NUL, which no
    name holds.
    """
    if name.isascii():
        low = name.lower()
    else:
        shown = "".join(c for c in name if not _is_ignorable(c))
        # By upper case first: to some tables dotless i and long s are capitals' other forms.
        low = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).upper().casefold())
        low = "".join(c for c in low if not _is_ignorable(c))
    if _STREAM in low:
        low = low.partition(_STREAM)[0]
    low = low.rstrip(_DROPPED)
    return _without_number(low) if "~" in low else low


def short_form(name: str) -> str | None:
    """What `fold` makes of the short name that NTFS and FAT give a folded one; None without one."""
    base, dot, ending = name.lstrip(".").rpartition(".")
    if not dot:
        base, ending = ending, ""
    plain = base.replace(".", "").replace(" ", "")
    if not name.startswith(".") and len(base) <= 8 and len(ending) <= _SHORT_ENDING:
        return None
    ending = f".{ending[:_SHORT_ENDING]}" if ending else ""
    return f"{plain[:_SHORT_BASE]}~\0{ending}"


def _without_number(name: str) -> str:
    base, tilde, rest = name.rpartition("~")
    number, dot, ending = rest.partition(".")
    return f"{base}{tilde}\0{dot}{ending}" if number.isdecimal() else name


def _is_ignorable(char: str) -> bool:
    """Whether file systems that fold names leave it out: format characters, selectors, fillers."""
    if unicodedata.category(char) == "Cf" or char in "\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5":
        return True
    return (
        "\ufe00" <= char <= "\ufe0f"
        or "\u180b" <= char <= "\u180f"
        or ("\U000e0000" <= char <= "\U000e0fff")
    )
