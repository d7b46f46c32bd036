"""Programs that work on whole folders, and what they leave out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy.wordlist import word_set, words

if TYPE_CHECKING:
    from policy.shell.call import Call

# The options that make a program descend into folders; "" where it always does.
_ROWS = {
    "grep egrep fgrep diff": "r R recursive dereference-recursive",
    "rgrep rg ag ack mv 7z": "",
    "cp rsync": "r R a recursive archive",
    "rm chmod chown chgrp setfacl scp zip": "r R recursive recurse-paths",
    "tar bsdtar": "c create r append u update",
}
_DESCENDS = {name: row for names, row in _ROWS.items() for name in names.split()}
_EXCLUDES = ("exclude", "exclude-dir", "ignore-dir", "x")


def excluded(call: Call) -> tuple[str, ...] | None:
    """The names left out of a tree; None when the program does not descend."""
    options = _DESCENDS.get(call.name)
    if options is None or (options and not call.parsed.has(*words(options))):
        return None
    return tuple(value.strip("/*") for value in call.parsed.values(_EXCLUDES))


def included(call: Call) -> tuple[str, ...]:
    """The patterns of names that a search is restricted to: `--include=x`, `-g x`, `-t py`."""
    names = [*call.parsed.values(("include", "glob", "iglob", "g"))]
    for kind in call.parsed.values(("type", "t")) if call.name == "rg" else ():
        names += [f"*.{ending}" for ending in words(_ENDINGS.get(kind, kind))]
    return tuple(name.rpartition("/")[2] for name in names if name[:1] != "!")


# rg's types that have more endings than their name.
_ENDINGS = {"yaml": "yaml yml", "config": "cfg conf config ini", "sh": "sh bash env", "all": "*"}

# Programs that put what their other operands name into the last one.
INTO = word_set("cp gcp mv rsync scp")


def sources(call: Call) -> frozenset[str] | None:
    """Those of the paths that a program writes which are trees, not where it puts them."""
    operands = call.operands() if call.name in INTO else ()
    return frozenset(operands[:-1]) - {operands[-1]} if len(operands) > 1 else None
