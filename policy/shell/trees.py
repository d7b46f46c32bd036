"""Programs that work on whole folders, and what they leave out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy import marks
from policy.wordlist import words

if TYPE_CHECKING:
    from policy.shell.call import Call

# The options that make a program descend into folders; "" where it always does.
_DESCENDS = {
    "grep": "r R recursive dereference-recursive",
    "egrep": "r R recursive",
    "fgrep": "r R recursive",
    "rgrep": "",
    "rg": "hidden . u uu uuu unrestricted",  # without them it passes over hidden files
    "ag": "hidden u unrestricted",
    "ack": "",
    "cp": "r R a recursive archive",
    "mv": "",
    "rm": "r R recursive",
    "chmod": "R recursive",
    "chown": "R recursive",
    "chgrp": "R recursive",
    "rsync": "r a recursive archive",
    "scp": "r",
    "zip": "r recurse-paths",
    "7z": "",
    "tar": "c create r append u update",
    "bsdtar": "c create r append u update",
    "diff": "r recursive",
    "setfacl": "R recursive",
}
_EXCLUDES = ("exclude", "exclude-dir", "ignore-dir", "x")


def excluded(call: Call) -> tuple[str, ...] | None:
    """The names left out of a tree; None when the program does not descend."""
    options = _DESCENDS.get(call.name)
    if options is None or (options and not call.parsed.has(*words(options))):
        return None
    return tuple(value.strip("/*") for value in call.parsed.values(_EXCLUDES))


_GLOBS = {"*": marks.GLOB_STAR, "?": marks.GLOB_ONE}


def as_pattern(text: str) -> str:
    """A pattern that the program itself expands, as one that the shell would have."""
    return "".join(_GLOBS.get(char, char) for char in text)
