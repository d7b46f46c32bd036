"""Which names are one and the same to some file system or tool: spellings brought to one form."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# What NTFS and FAT call `.git` where they keep short names. Of others the long one is unknown.
_SHORT_OF_GIT = re.compile(r"git~\d+")
_SHORT = re.compile(r"[^.]{1,7}~\d{1,6}(\.[^.]{0,3})?")
# Format characters, fillers and selectors: file systems that fold names leave them out.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


@lru_cache(maxsize=16_384)  # names of folders come again with each path below them
def fold(name: str) -> str:
    """Return the form that all spellings of a name have in common.

    Case, characters that show nothing (HFS+, casefolding ext4), compatible characters, streams, and
    what Windows drops from the end. It is empty for a name of dots and spaces.
    """
    if name.isascii():
        low = name.lower()
    else:
        # By upper case first: to some tables dotless i and long s are capitals' other forms.
        upper = unicodedata.normalize("NFKC", _without_ignorable(name)).upper()
        low = _without_ignorable(unicodedata.normalize("NFKC", upper.casefold()))
    low = low.partition(":")[0].rstrip(". ")
    return ".git" if _SHORT_OF_GIT.fullmatch(low) else low


def is_short(folded: str) -> bool:
    """Return whether Windows may have made this name of a longer one, whichever that is."""
    return "~" in folded and _SHORT.fullmatch(folded) is not None


def _without_ignorable(name: str) -> str:
    return _IGNORABLE.sub("", "".join(c for c in name if unicodedata.category(c) != "Cf"))
