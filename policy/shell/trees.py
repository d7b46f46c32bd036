"""Programs that work on whole folders, and what they leave out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy import marks
from policy.name_patterns import literal_name
from policy.paths import lies_in
from policy.wordlist import word_set, words

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall

# The options that make a program descend into folders; "" where it always does.
_ROWS = {
    "grep egrep fgrep diff": "r R recursive dereference-recursive",
    "rgrep rg ag ack mv 7z": "",
    "cp rsync": "r R a recursive archive",
    "rm chmod chown chgrp setfacl scp zip": "r R recursive recurse-paths",
    "tar bsdtar": "c create r append u update",
}
_DESCENDS = {name: row for names, row in _ROWS.items() for name in names.split()}
_EXCLUDES = ("exclude", "exclude-dir", "ignore", "ignore-dir", "x")
_GLOBS = ("glob", "iglob", "g")
_SEARCHES = word_set("grep egrep fgrep rgrep")


def find_excluded(call: ProgramCall) -> tuple[str, ...] | None:
    """Patterns of what is left out of a tree, as `FileAccess` has them; None when the program does
    not descend."""
    options = _DESCENDS.get(call.name)
    if options is None or (options and not call.parsed.has(*words(options))):
        return None
    found: list[str] = []
    for name, value in call.parsed.options:
        if call.name == "rsync" and name in ("include", "include-from", "filter", "f"):
            return ()  # what is included first stays
        if name in _GLOBS and value and call.name == "rg":
            found = [*found, value[1:]] if value[0] == "!" else []  # the last that fits holds
        elif name == "exclude" and value and call.name in _SEARCHES:
            found += [] if call.parsed.has("include") else [f":{value}"]
        elif name in _EXCLUDES and value:
            before = "./" if call.name == "zip" and value[0] != "*" else ""
            found.append(f"{before}{value}" + "/" * name.endswith("-dir"))
    return tuple(filter(None, (_ignore_pattern(call, pattern) for pattern in found)))


def _ignore_pattern(call: ProgramCall, pattern: str) -> str:
    pattern = pattern.replace(marks.GLOB_STAR, "*").replace(marks.GLOB_ONE, "?")
    if "/" not in pattern.rstrip("/") or not marks.is_known(pattern):
        return pattern if marks.is_known(pattern) else ""
    cwd = call.state.cwd
    is_absolute = any(lies_in(word, cwd) or lies_in(cwd, word) for word in call.operands())
    if is_absolute or call.name in (*_SEARCHES, "diff"):
        return ""
    return f"{literal_name(cwd)}/{pattern.removeprefix('./').lstrip('/')}"


def spread(argv: tuple[str, ...]) -> tuple[str, ...]:
    """zip's command line with `-x` and `-i` before each of the words that they are for."""
    option, found = "", list[str]()
    for word in argv:
        if word[:1] == "-":
            option = word if word in ("-x", "-i") else ""
        elif option and found[-1] != option:
            found.append(option)
        found.append(word)
    return tuple(found)


def find_included(call: ProgramCall) -> tuple[str, ...]:
    """The patterns of names that a search is restricted to: `--include=x`, `-g x`, `-t py`."""
    names = [*call.parsed.values(("include", *_GLOBS))]
    for kind in call.parsed.values(("type", "t")) if call.name == "rg" else ():
        names += [f"*.{ending}" for ending in words(_ENDINGS.get(kind, kind))]
    return tuple(name.rpartition("/")[2] for name in names if name[:1] != "!")


# rg's types that have more endings than their name.
_ENDINGS = {"yaml": "yaml yml", "config": "cfg conf config ini", "sh": "sh bash env", "all": "*"}

# Programs that put what their other operands name into the last one.
INTO = word_set("cp gcp mv rsync scp")


def sources(call: ProgramCall) -> frozenset[str] | None:
    """Those of the paths that a program writes which are trees, not where it puts them."""
    operands = call.operands() if call.name in INTO else ()
    return frozenset(operands[:-1]) - {operands[-1]} if len(operands) > 1 else None
