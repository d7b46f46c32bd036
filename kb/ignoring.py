"""Git's ignore rules: the patterns that apply in a folder, its parents' and the repository's."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from base.bounded_run import (
    GIT_PATH,
    NEUTRAL_SETTINGS,
    UNATTENDED,
    BoundedRunError,
    run_bounded,
)
from base.globs import parse_name, parse_shell_name, to_expression
from base.plain_files import read_plain

# A pattern that can never match a path is refused, not silently ignored.

MOST_ALTERNATIVES = 256
"""The limit on the globs that the braces of one may expand to."""

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
    """Return whether the glob fits a path relative to the folder."""
    paths, names = compile_glob(glob)
    return bool(paths.match(relative) or names.match(relative.rsplit("/", 1)[-1]))


@lru_cache(256)
def compile_glob(glob: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the glob to match paths and, by its alternatives without a slash, a name anywhere.

    Raises:
        GlobError: it is malformed, or no path below the folder could match.
    """
    if len(glob) > CHARS_MAX:
        raise GlobError(glob, f"has over {CHARS_MAX:,} characters: give several")
    globs = list(dict.fromkeys(_anywhere(one) for one in _alternatives(glob)))
    variants = [variant for one in globs for variant in _variants(one, glob)]
    if sum(map(len, variants)) > ALTERNATIVES_CHARS_MAX:
        raise GlobError(glob, f"expands to over {ALTERNATIVES_CHARS_MAX:,} characters of globs: "
                        "give several")  # fmt: skip
    names = [variant for variant in variants if "/" not in variant]
    return _either(variants), _either(names)


def _either(globs: list[str]) -> re.Pattern[str]:
    ways = (to_expression(parse_shell_name(one), crosses=True) for one in globs)
    return re.compile("|".join(f"(?s:{way})\\Z" for way in ways) or r"(?!)")


def _alternatives(glob: str) -> list[str]:
    """Expand the braces of `glob`."""
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
    """Return what the glob means in the syntax of `base.globs`: `**/` also matches no folder, and a
    folder stands for everything in it."""
    if not glob.strip():
        raise GlobError(whole, "is empty: write * for every file")
    if glob.startswith("/"):
        raise GlobError(whole, "starts at /: write it relative to the folder that is indexed")
    if ".." in glob.split("/"):
        raise GlobError(whole, "is outside the folder: index that folder instead")
    if glob.startswith("!"):
        raise GlobError(whole, "starts with !: to leave files out, give the rest as exclude")
    folder = glob.rstrip("/")
    meant = [glob] if folder == glob else [folder, f"{folder}/*"]
    return [variant for one in meant for variant in _with_fewer_folders(one, whole)]


def _with_fewer_folders(glob: str, whole: str) -> list[str]:
    """Return the glob with and without each of its `**/`."""
    first, *others = _ANY_FOLDERS.split(glob)
    found = [first]
    for other in others:
        found = [one + folders + other for one in found for folders in ("**/", "")]
        _check_bounds(found, whole)
    return found


def _check_bounds(globs: list[str], whole: str) -> None:
    if len(globs) > MOST_ALTERNATIVES:
        raise GlobError(whole, f"expands to over {MOST_ALTERNATIVES} globs: give several")


# A pattern becomes a regular expression that never backtracks: names between two `**` are taken
# where they are first found, and so is text between two stars of a name (`base.globs`).

PATTERN_CHARS_MAX = 1024
STARS_MAX = 64

_ESCAPED_SLASH = re.compile(r"(?<!\\)((?:\\\\)*+)\\/")


class PatternTooLargeError(ValueError):
    """A pattern that is longer, or has more stars, than the limit."""


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """A line with a pattern."""

    expression: re.Pattern[str] | None  # None if only the text itself fits
    text: str
    is_bare: bool  # it has no slash and fits a name in any folder
    only_folders: bool
    ignores: bool

    def fits(self, relative: str, name: str, *, is_folder: bool) -> bool:
        """Return whether the line matches a path, relative to its file's folder."""
        if self.only_folders and not is_folder:
            return False
        subject = name if self.is_bare else relative
        if self.expression is None:
            return subject == self.text
        return self.expression.match(subject) is not None


def ignore_pattern(line: str) -> IgnorePattern | None:
    """Parse a line; None for a comment, an empty line, and a pattern that fits nothing.

    Raises:
        PatternTooLargeError: it has over 1,024 characters or 64 stars.
    """
    text = _without_end(line)
    if not text or text.startswith("#"):
        return None
    if len(text) > PATTERN_CHARS_MAX:
        raise PatternTooLargeError(f"has over {PATTERN_CHARS_MAX:,} characters")
    if text.count("*") > STARS_MAX:
        raise PatternTooLargeError(f"has over {STARS_MAX} stars")
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    is_bare = "/" not in text
    text = text.removeprefix("/")
    if not text:
        return None
    is_plain = not any(char in text for char in "*?[\\")
    expression = None if is_plain else re.compile(_path(text), re.DOTALL)
    return IgnorePattern(expression, text, is_bare, only_folders, ignores)


def _without_end(line: str) -> str:
    """Return the line without trailing spaces, except one after a backslash."""
    text = line.rstrip("\r")
    bare = text.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and len(bare) < len(text) else bare


def _path(text: str) -> str:
    """Return the expression of a pattern: runs of names, any folders between two runs."""
    first, *others = _runs(_ESCAPED_SLASH.sub(r"\1/", text))
    found = "/".join(map(_name, first))
    for number, names in enumerate(others):
        lead = "/" if first or number else ""
        expression = "/".join(map(_name, names))
        if number < len(others) - 1:
            found += f"{lead}(?>(?:[^/]++/)*?{expression}(?=/))"
        elif names:
            found += f"{lead}(?:[^/]++/)*?{expression}"
        else:
            found += f"{lead}.+"  # all that is in a folder, but not the folder itself
    return found + r"\Z"


def _runs(text: str) -> list[list[str]]:
    """Return the names between each two `**`; the first and the last run may be empty."""
    runs: list[list[str]] = [[]]
    for name in text.split("/"):
        if len(name) < 2 or name.strip("*"):
            runs[-1].append(name)
        elif len(runs) == 1 or runs[-1]:
            runs.append([])
    return runs


def _name(text: str) -> str:
    """Return the expression of one name."""
    return to_expression(parse_name(text, is_strict=True))


BYTES_MAX = 1024 * 1024  # of one file
PATTERNS_MAX = 10_000  # of one file
SHOWN_CHARS = 80
IGNORE_FILES = (".git/info/exclude", ".gitignore")
"""In a folder's order of precedence, the weakest first."""


IgnoreFile = tuple[str, tuple[IgnorePattern, ...], tuple[str, ...]]
"""A file's folder, ending in a slash; its patterns, the last line first, which takes precedence;
and its lines that are not applied, with reasons. Bytes are characters, as for git."""


@dataclass(frozen=True, slots=True)
class Ignores:
    """The ignore rules of one folder.

    Attributes:
        files: the ignore files that apply in it, outermost first.
        listed: the absolute paths that git itself named, if it was asked: folders end in a slash.
    """

    files: tuple[IgnoreFile, ...] = ()
    listed: frozenset[str] | None = None

    def within(self, folder: Path) -> Ignores:
        """Return the rules of `folder`, which is inside the one of these."""
        if self.listed is not None:
            return self
        found = tuple(_read(folder))
        return Ignores((*self.files, *found)) if found else self

    def match(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the innermost file that mentions the path ignores it, as git does."""
        if self.listed is not None:
            return (f"{path}/" if is_folder else path) in self.listed
        for folder, patterns, _ in reversed(self.files):
            relative = _as_bytes(path[len(folder) :])
            name = relative.rsplit("/", 1)[-1]
            for pattern in patterns:
                if pattern.fits(relative, name, is_folder=is_folder):
                    return pattern.ignores
        return False

    def problems(self, folder: Path) -> Iterator[str]:
        """Yield why files of one folder, or lines of them, could not be read or matched."""
        own = f"{str(folder).rstrip('/')}/"
        return (one for folder, _, found in self.files if folder == own for one in found)


LISTING_S = 10.0
LISTING_BYTES = 64 * 1024 * 1024
_LISTING = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
_SETTINGS = [part for one in (*NEUTRAL_SETTINGS, "core.excludesFile=/dev/null")
             for part in ("-c", one)]  # fmt: skip


def list_ignored(top: Path, seconds: float) -> frozenset[str] | None:
    """Ask git what it ignores in a working tree, within `seconds`. A folder that is ignored wholly
    is listed alone. None if git is missing, fails or takes too long."""
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        return None
    # Git looks for no repository above: the folder is itself one, or none.
    environment = {**UNATTENDED, "GIT_CEILING_DIRECTORIES": str(top.parent)}
    bounds = (max(min(seconds, LISTING_S), 0.1), LISTING_BYTES)
    try:
        done = run_bounded(
            [git, *_SETTINGS, *_LISTING], bounds, environment=environment, folder=top
        )
    except BoundedRunError:
        return None
    if done.returncode:
        return None
    return frozenset(f"{top}/{name}" for name in os.fsdecode(done.stdout).split("\0") if name)


def above(root: Path) -> Ignores:
    """Return the rules that the repository around `root` has above it. Empty if it ignores all of
    `root`: a user who names an ignored folder means it."""
    parents = list(root.parents)
    top = next((at for at, folder in enumerate(parents) if (folder / ".git").exists()), None)
    if top is None or (root / ".git").exists():
        return Ignores()
    ignores = Ignores()
    for folder in reversed(parents[: top + 1]):
        ignores = ignores.within(folder)
        if ignores.match(str(_child(folder, root)), is_folder=True):
            return Ignores()
    return ignores


def _child(folder: Path, below: Path) -> Path:
    """Return the entry of `folder` on the way to `below`."""
    return folder / below.relative_to(folder).parts[0]


def _read(folder: Path) -> Iterator[IgnoreFile]:
    own = f"{str(folder).rstrip('/')}/"
    for name in IGNORE_FILES:
        try:
            # Git doesn't follow such a link either, and problems show lines of the file.
            follow = name != ".gitignore"
            text = read_plain(folder / name, BYTES_MAX, follow=follow).decode("latin-1")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield own, (), (f"cannot read {name}: {error.strerror}",)
            continue
        yield _file(own, name, text.removeprefix("\xef\xbb\xbf").split("\n"))


def _file(folder: str, name: str, lines: list[str]) -> IgnoreFile:
    patterns: list[IgnorePattern] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            pattern = ignore_pattern(line)
        except PatternTooLargeError as error:
            problems.append(f"{name}, line {number}, is not used: {line[:SHOWN_CHARS]}… {error}")
            continue
        if pattern is not None:
            patterns.append(pattern)
        if len(patterns) == PATTERNS_MAX:
            problems.append(f"{name} is used up to line {number}: it has too many patterns")
            break
    return folder, tuple(reversed(patterns)), tuple(problems)


def _as_bytes(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("latin-1")
