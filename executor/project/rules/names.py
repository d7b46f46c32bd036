"""Two classes of names that tools load: those that a run may never change, and those held.

`names.toml` has the names. If several rows match a path, the most exact row counts for its place,
and of all places the strictest one: `.cursor/rules/a` is held, `.cursor/rules/.vscode/a` is never
committed.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from base.globs import is_made_of

# The short name of `.git` in NTFS and FAT. For other short names the long one is unknown.
_SHORT_OF_GIT = re.compile(r"git~\d+")
_SHORT = re.compile(r"[^.]{1,7}~\d{1,6}(\.[^.]{0,3})?")
# Format characters, fillers and selectors: file systems that fold names ignore them.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


@lru_cache(maxsize=16_384)  # names of folders recur with each path below them
def fold(name: str) -> str:
    """Return the common form of all spellings of a name.

    It drops case, invisible characters (HFS+, casefolding ext4), compatible characters, streams,
    and endings that Windows drops. It is empty for a name of dots and spaces.
    """
    if name.isascii():
        low = name.lower()
    else:
        # By upper case first: some tables treat dotless i and long s as other forms of capitals.
        upper = unicodedata.normalize("NFKC", _without_ignorable(name)).upper()
        low = _without_ignorable(unicodedata.normalize("NFKC", upper.casefold()))
    low = low.partition(":")[0].rstrip(". ")
    return ".git" if _SHORT_OF_GIT.fullmatch(low) else low


def is_short(folded: str) -> bool:
    """Return whether Windows may have made this name from some longer one."""
    return "~" in folded and _SHORT.fullmatch(folded) is not None


def _without_ignorable(name: str) -> str:
    return _IGNORABLE.sub("", "".join(c for c in name if unicodedata.category(c) != "Cf"))


class ChangeVerdict(StrEnum):
    """A verdict on a run's change. Held changes wait for the user's review."""

    NEVER = "never"
    HELD = "held"
    COMMIT = "commit"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name, the verdict on changes to files with it, and the reason.

    Attributes:
        pattern: as in `names.toml`; `parts` are the texts between stars of each name in it.
        anywhere: it also applies below folders that tools produce.
        is_whole: tools produce it, with all below.
    """

    pattern: str
    verdict: ChangeVerdict
    why: str
    anywhere: bool = False
    is_whole: bool = False
    parts: tuple[list[str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = self.pattern.removeprefix("/").split("/")
        parts = (self.spelling(name, fold(name)).split("*") for name in names)
        object.__setattr__(self, "parts", tuple(parts))

    def rank(self) -> tuple[int, bool, bool, int, int]:
        """Return how exact it is: of two rows for a place the longer counts, then one without *."""
        text, is_top = self.pattern, self.pattern.startswith("/")
        return len(self.parts), "*" not in text, is_top, strictness(self), len(text)

    def spelling(self, given: T, folded: T) -> T:
        """Return the spelling to compare: committed names are compared unfolded."""
        return given if self.verdict is ChangeVerdict.COMMIT else folded

    def matches(self, given: Sequence[str], folded: Sequence[str], end: int) -> bool:
        """Return whether the names up to `end` match the pattern; the last one is known to."""
        start = end - len(self.parts)
        if start < 0 or (start and self.pattern.startswith("/")):
            return False
        names = self.spelling(given, folded)[start : end - 1]
        return all(map(is_made_of, self.parts[:-1], names))


def strictness(row: NameRow | None) -> int:
    """Return how strict a row is; -1 for no row."""
    return -1 if row is None else ("commit", "held", "never").index(row.verdict)


def _read_rows() -> Iterator[NameRow]:
    for group in TABLE["groups"]:
        is_whole = group["class"] == "produced"
        verdict = ChangeVerdict("commit" if is_whole else group["class"])
        why, anywhere = f"loaded by {group['who']}", group.get("anywhere", False)
        yield from (NameRow(p, verdict, why, anywhere, is_whole) for p in group["patterns"].split())


TABLE = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
CONTROL = frozenset(TABLE["control"])
ROWS = tuple(_read_rows())
CONTROLLED = NameRow(
    "CVS",
    ChangeVerdict.NEVER,
    "files of other version control systems, or of a .git in another spelling, are not committed",
)
UNKNOWN = NameRow(
    ".*", ChangeVerdict.HELD, "an unknown name in it begins with a dot: a tool may load it"
)
SHORT = NameRow("*~*", ChangeVerdict.HELD, "a short Windows name: a tool may load the long one")


@dataclass(frozen=True, slots=True)
class ObeyedNames:
    """The table's rows, with the changes of the user's own file.

    `links` maps paths of the project to names that point to them: the target of
    `.vscode -> conf/editor` is judged like `.vscode`.
    """

    rows: tuple[NameRow, ...] = ROWS
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    _find: Callable[[str], Sequence[NameRow]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Names of folders recur with each path below them.
        object.__setattr__(self, "_find", lru_cache(maxsize=16_384)(_make_finder(self.rows)))

    def judge(self, path: str) -> NameRow | None:
        """Return the row that applies to a path of the project; None if it is committed.

        A `.git` is never committed: repositories are handled before this.
        """
        others = [*self._spellings(path)] if self.links else []
        if "\\" in path:  # a separator on Windows
            others.append(path.replace("\\", "/"))
        return max(map(self._judge, (path, *others)), key=strictness)

    def judge_link(self, path: str) -> NameRow | None:
        """Return the row of a symbolic link: by its name, or by a name below it.

        A link `mise` or `tools` puts other files under names that a tool looks for.
        """
        found = self.judge(path)
        names = [*map(fold, path.split("/"))]
        for row in self.rows:
            for size in range(1, len(row.parts)):
                if all(map(is_made_of, row.parts[:size], names[-size:])) and size <= len(names):
                    rest = "/".join(map("".join, row.parts[size:]))
                    found = max(found, self.judge(f"{path}/{rest}"), key=strictness)
        return found

    def with_links(self, links: Iterable[tuple[str, str]]) -> ObeyedNames:
        """Return these names, with links from the project to other paths: (link, real path)."""
        met: dict[str, tuple[str, ...]] = {}
        for link, target in links:
            if self.judge_link(link):
                met[target] = (*met.get(target, ()), link)
        return replace(self, links=met)

    def _spellings(self, path: str) -> Iterator[str]:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            for link in self.links.get("/".join(parts[:end]), ()):
                yield "/".join((link, *parts[end:]))

    def _judge(self, path: str) -> NameRow | None:
        given = [name for name in path.split("/") if name not in ("", ".", "..")]
        folded = [*map(fold, given)]
        best: list[NameRow | None] = []
        is_inside = False
        for end, name in enumerate(folded, 1):
            if name in CONTROL or given[end - 1] == "CVS":
                return CONTROLLED
            row = None
            for each in self._find(given[end - 1]):
                if (each.anywhere or not is_inside) and each.matches(given, folded, end):
                    row = max(row or each, each, key=NameRow.rank)
            if row is None and "~" in name and is_short(name):
                row = SHORT
            is_dotted = name.startswith(".") or (not name and given[end - 1].strip(" "))
            if row is None and not is_inside and is_dotted:
                row = UNKNOWN
            is_inside |= row is not None and row.is_whole
            best.append(row)
        return _decide(best)


def _decide(best: Sequence[NameRow | None]) -> NameRow | None:
    """Return the strictest of the rows that end at a name and that no longer one covers."""
    found, covered = None, len(best)
    for at in range(len(best) - 1, -1, -1):
        row = best[at]
        if row is not None and (start := at + 1 - len(row.parts)) < covered:
            covered = start
            found = max(found, row, key=strictness)
    return None if found is None or found.verdict is ChangeVerdict.COMMIT else found


def _make_finder(rows: Iterable[NameRow]) -> Callable[[str], Sequence[NameRow]]:
    """Return a function that finds the rows whose last name matches a given one."""
    literal: dict[str, list[NameRow]] = {}
    for row in rows:
        name = "*".join(row.parts[-1])
        literal.setdefault("*" if "*" in name else fold(name), []).append(row)
    starred = literal.pop("*", [])
    # Most names contain no text of any row with a star.
    texts = {max(row.parts[-1], key=len).lower() for row in starred}
    may_be_starred = re.compile("|".join(map(re.escape, sorted(texts)))).search

    def find(name: str) -> list[NameRow]:
        folded = fold(name)
        found = (*literal.get(folded, ()), *(starred if may_be_starred(folded) else ()))
        return [row for row in found if is_made_of(row.parts[-1], row.spelling(name, folded))]

    return find


def is_control(name: str) -> bool:
    """Return whether a name, in any spelling, belongs to a version control system."""
    return name == "CVS" or fold(name) in CONTROL


def control_folder(path: str) -> str:
    """Return the version control system's folder that is or contains a path; "" if none."""
    names = path.split("/")
    return "/".join(names[: next((n for n, name in enumerate(names, 1) if is_control(name)), 0)])


@lru_cache(maxsize=8)
def names_after(moves: tuple[tuple[str, str], ...]) -> ObeyedNames:
    """Return the table with a user's changes: patterns, each with "never", "held" or "commit".

    Raises:
        ValueError: a pattern or verdict is invalid, or is for a version control system's files.
    """
    rows = {row.pattern: row for row in ROWS}
    for given, verdict in moves:
        check_move(given, verdict)
        # A user who names a row means it wherever it is.
        row = NameRow(_bare(given), ChangeVerdict(verdict), "your configuration names it", True)
        rows[row.pattern] = row
    return ObeyedNames(tuple(rows.values()))


NAMES = names_after(())


def check_move(pattern: str, verdict: object) -> None:
    """Check one row of `names_after`.

    Raises:
        ValueError: as there.
    """
    if verdict not in [*ChangeVerdict]:
        raise ValueError(f"{verdict!r} is not one of {', '.join(ChangeVerdict)}")
    plain = _bare(pattern).removeprefix("/")
    names = plain.split("/")
    if not fold(names[0].replace("*", "")) or not all(map(fold, names)):
        raise ValueError(f"{plain!r} must be names with / between, and begin with more than a star")
    if any(map(is_control, names)):
        raise ValueError("the verdict on files that control a repository can't be changed")
    if verdict == ChangeVerdict.COMMIT and "*" not in plain and NAMES.judge_link(plain) is None:
        raise ValueError("no row covers it, so it is already committed")


def _bare(pattern: str) -> str:
    return pattern.removesuffix("/**").removesuffix("/")
