"""Two classes of names that tools obey: what a run may never change, and what a person looks at.

`names.toml` has the names. Where several rows cover a path, the more exact one counts for its
place, and of places the strictest: `.cursor/rules/a` is held, `.cursor/rules/.vscode/a` is never
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


class ChangeVerdict(StrEnum):
    """A verdict on a run's change. Held changes wait until a person takes them."""

    NEVER = "never"
    HELD = "held"
    COMMIT = "commit"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name, what becomes of changes to what bears it, and why.

    Attributes:
        pattern: as in `names.toml`; `parts` are the texts between stars of each name in it.
        anywhere: it holds also below what tools produce.
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
        """Return how exact it is: of two rows for one place the longer, then that without stars."""
        text, is_top = self.pattern, self.pattern.startswith("/")
        return len(self.parts), "*" not in text, is_top, strictness(self), len(text)

    def spelling(self, given: T, folded: T) -> T:
        """Return what counts: what passes has one spelling only."""
        return given if self.verdict is ChangeVerdict.COMMIT else folded

    def matches(self, given: Sequence[str], folded: Sequence[str], end: int) -> bool:
        """Return whether the names up to an end bear the pattern; the last one is known to."""
        start = end - len(self.parts)
        if start < 0 or (start and self.pattern.startswith("/")):
            return False
        names = self.spelling(given, folded)[start : end - 1]
        return all(map(is_made_of, self.parts[:-1], names))


def strictness(row: NameRow | None) -> int:
    """Return how much a row stops; it is the least for no row."""
    return -1 if row is None else ("commit", "held", "never").index(row.verdict)


def _read_rows() -> Iterator[NameRow]:
    for group in TABLE["groups"]:
        is_whole = group["class"] == "produced"
        verdict = ChangeVerdict("commit" if is_whole else group["class"])
        why, anywhere = f"obeyed by {group['who']}", group.get("anywhere", False)
        yield from (NameRow(p, verdict, why, anywhere, is_whole) for p in group["patterns"].split())


TABLE = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
CONTROL = frozenset(TABLE["control"])
ROWS = tuple(_read_rows())
CONTROLLED = NameRow(
    "CVS",
    ChangeVerdict.NEVER,
    "of other version control systems nothing is committed, nor of a .git otherwise spelt",
)
UNKNOWN = NameRow(
    ".*", ChangeVerdict.HELD, "a name in it begins with a dot, and is unknown: a tool may obey it"
)
SHORT = NameRow("*~*", ChangeVerdict.HELD, "a short name of Windows: a tool may obey the long one")


@dataclass(frozen=True, slots=True)
class ObeyedNames:
    """The table's rows as the user's own file has moved them.

    `links` are paths of the project by which others are obeyed: what `.vscode -> conf/editor` leads
    to is obeyed as `.vscode` is.
    """

    rows: tuple[NameRow, ...] = ROWS
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    _find: Callable[[str], Sequence[NameRow]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Names of folders come again with each path below them.
        object.__setattr__(self, "_find", lru_cache(maxsize=16_384)(_make_finder(self.rows)))

    def judge(self, path: str) -> NameRow | None:
        """Return the row that a path of the project falls under; None if it is committed.

        A `.git` is never: whether it is a repository, which is taken otherwise, is asked before.
        """
        others = [*self._spellings(path)] if self.links else []
        if "\\" in path:  # a separator on Windows
            others.append(path.replace("\\", "/"))
        return max(map(self._judge, (path, *others)), key=strictness)

    def judge_link(self, path: str) -> NameRow | None:
        """Return the row of a symbolic link: its own name's, or what is obeyed through it.

        A link `mise` or `tools` puts other files under the names that a tool looks for.
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
        """Return these names, where paths of the project lead to others: (link, real path)."""
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
    """Return the strictest of the rows that end at each name and that no longer one covers."""
    found, covered = None, len(best)
    for at in range(len(best) - 1, -1, -1):
        row = best[at]
        if row is not None and (start := at + 1 - len(row.parts)) < covered:
            covered = start
            found = max(found, row, key=strictness)
    return None if found is None or found.verdict is ChangeVerdict.COMMIT else found


def _make_finder(rows: Iterable[NameRow]) -> Callable[[str], Sequence[NameRow]]:
    """Return a function that finds the rows whose last name a given one bears."""
    literal: dict[str, list[NameRow]] = {}
    for row in rows:
        name = "*".join(row.parts[-1])
        literal.setdefault("*" if "*" in name else fold(name), []).append(row)
    starred = literal.pop("*", [])
    # Most names have in them no text of any row with a star.
    texts = {max(row.parts[-1], key=len).lower() for row in starred}
    may_be_starred = re.compile("|".join(map(re.escape, sorted(texts)))).search

    def find(name: str) -> list[NameRow]:
        folded = fold(name)
        found = (*literal.get(folded, ()), *(starred if may_be_starred(folded) else ()))
        return [row for row in found if is_made_of(row.parts[-1], row.spelling(name, folded))]

    return find


def is_control(name: str) -> bool:
    """Return whether a name is a version control system's own, in any spelling."""
    return name == "CVS" or fold(name) in CONTROL


def control_folder(path: str) -> str:
    """Return the version control system's folder that a path is, or lies in; "" for none."""
    names = path.split("/")
    return "/".join(names[: next((n for n, name in enumerate(names, 1) if is_control(name)), 0)])


@lru_cache(maxsize=8)
def names_after(moves: tuple[tuple[str, str], ...]) -> ObeyedNames:
    """Return the table as a user moves it: patterns, each with "never", "held" or "commit".

    Raises:
        ValueError: a pattern or verdict means nothing, or is of a version control system's files.
    """
    rows = {row.pattern: row for row in ROWS}
    for given, verdict in moves:
        check_move(given, verdict)
        # Whoever names a row himself means it wherever it is.
        row = NameRow(_bare(given), ChangeVerdict(verdict), "your configuration names it", True)
        rows[row.pattern] = row
    return ObeyedNames(tuple(rows.values()))


NAMES = names_after(())


def check_move(pattern: str, verdict: object) -> None:
    """Try one row of `names_after`.

    Raises:
        ValueError: as there.
    """
    if verdict not in [*ChangeVerdict]:
        raise ValueError(f"{verdict!r} is none of {', '.join(ChangeVerdict)}")
    plain = _bare(pattern).removeprefix("/")
    names = plain.split("/")
    if not fold(names[0].replace("*", "")) or not all(map(fold, names)):
        raise ValueError(f"{plain!r} must be names with / between, and begin with more than a star")
    if any(map(is_control, names)):
        raise ValueError("files by which a repository is controlled can't be moved")
    if verdict == ChangeVerdict.COMMIT and "*" not in plain and NAMES.judge_link(plain) is None:
        raise ValueError("no row covers it, so it is committed already")


def _bare(pattern: str) -> str:
    return pattern.removesuffix("/**").removesuffix("/")
