"""Globs over paths: as a shell with globstar and braces has them, but a star also crosses slashes.

What can never mean a path is refused rather than matched with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from base.globs import parse_shell_name, to_expression

MOST_ALTERNATIVES = 256
"""How many globs the braces of one may come to."""

CHARS_MAX = 4096
ALTERNATIVES_CHARS_MAX = 16_384  # together

_PIECE = re.compile(r"\[!?+\]?+[^\]]*+\]|\[|[{},]|[^\[{},]+")
_CLASS = re.compile(r"\[!?(?P<members>.+)\]", re.DOTALL)
_ANY_FOLDERS = re.compile(r"(?<![^/])\*\*/")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)


class GlobError(ValueError):
    """A glob that is malformed or that no path could match; the message says what to write."""

    def __init__(self, glob: str, problem: str) -> None:
        shown = f"{glob[:80]}…" if len(glob) > CHARS_MAX else glob
        super().__init__(f"the glob {shown!r} {problem}")


def fits(glob: str, relative: str) -> bool:
    """Whether the glob fits a path relative to the folder."""
    paths, names = compile_glob(glob)
    return bool(paths.match(relative) or names.match(relative.rsplit("/", 1)[-1]))


@lru_cache(256)
def compile_glob(glob: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The glob, ready to match: paths, and by its alternatives without a slash a name anywhere.

    Raises:
        GlobError: it is malformed, or no path below the folder could match.
    """
    if len(glob) > CHARS_MAX:
        raise GlobError(glob, f"has over {CHARS_MAX:,} characters: give several")
    globs = list(dict.fromkeys(_anywhere(one) for one in _alternatives(glob)))
    variants = [variant for one in globs for variant in _variants(one, glob)]
    if sum(map(len, variants)) > ALTERNATIVES_CHARS_MAX:
        raise GlobError(glob, f"stands for over {ALTERNATIVES_CHARS_MAX:,} characters of globs: "
                        "give several")  # fmt: skip
    names = [variant for variant in variants if "/" not in variant]
    return _either(variants), _either(names)


def _either(globs: list[str]) -> re.Pattern[str]:
    ways = (to_expression(parse_shell_name(one), crosses=True) for one in globs)
    return re.compile("|".join(f"(?s:{way})\\Z" for way in ways) or r"(?!)")


def _alternatives(glob: str) -> list[str]:
    """The globs without braces that `glob` stands for."""
    open_groups: list[list[list[str]]] = [[[""]]]  # of each group its branches, each several globs
    for piece in _pieces(glob):
        branches = open_groups[-1]
        if piece == "{":
            open_groups.append([[""]])
        elif piece == "}" and len(open_groups) > 1:
            group = [one for branch in open_groups.pop() for one in branch]
            branches = open_groups[-1]
            branches[-1] = [before + one for before in branches[-1] for one in group]
            _check_bounds(branches[-1], glob)
        elif piece == "," and len(open_groups) > 1:
            branches.append([""])
        else:
            branches[-1] = [before + piece for before in branches[-1]]
    if len(open_groups) > 1:
        raise GlobError(glob, "has a { that is never closed: write [{] for the character itself")
    return open_groups[0][0]


def _pieces(glob: str) -> Iterator[str]:
    for piece in _PIECE.findall(glob):
        if piece == "[":
            raise GlobError(
                glob, "has a [ that is never closed: write [[] for the character itself"
            )
        if members := _CLASS.fullmatch(piece):
            for first, last in _RANGE.findall(members["members"]):
                if first > last:
                    raise GlobError(
                        glob, f"has a range from {first} to {last}: write {last}-{first}"
                    )
        yield piece


def _anywhere(glob: str) -> str:
    while glob.startswith("./"):
        glob = glob[2:].lstrip("/")
    return glob


def _variants(glob: str, whole: str) -> list[str]:
    """What the glob means in words of `base.globs`: `**/` may be no folder at all, and a folder is
    all that is in it."""
    if not glob.strip():
        raise GlobError(whole, "names nothing: write * for every file")
    if glob.startswith("/"):
        raise GlobError(whole, "starts at /: write it relative to the folder that is indexed")
    if ".." in glob.split("/"):
        raise GlobError(whole, "leads out of the folder: index the folder that is meant")
    if glob.startswith("!"):
        raise GlobError(whole, "starts with !: to leave files out, give the rest of it as exclude")
    folder = glob.rstrip("/")
    meant = [glob] if folder == glob else [folder, f"{folder}/*"]
    return [variant for one in meant for variant in _with_fewer_folders(one, whole)]


def _with_fewer_folders(glob: str, whole: str) -> list[str]:
    """The glob with and without each of its `**/`."""
    first, *others = _ANY_FOLDERS.split(glob)
    found = [first]
    for other in others:
        found = [one + folders + other for one in found for folders in ("**/", "")]
        _check_bounds(found, whole)
    return found


def _check_bounds(globs: list[str], whole: str) -> None:
    if len(globs) > MOST_ALTERNATIVES:
        raise GlobError(whole, f"stands for over {MOST_ALTERNATIVES} globs: give several")
