"""Two classes of names that tools obey: what a run may never change, and what a person looks at.

The tables (`never_rows`, `held_rows`, `control_rows`) say what obeys each name; here a path is held
against them. A name means what bears it and all below. Where several rows cover a path, the more
exact one speaks for its place, and of places the strictest counts: `.cursor/rules/a` is held,
`.cursor/rules/.vscode/a` never committed. Control files of repositories outweigh all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from executor.project.rules.control_rows import (
    CONTROL_FOLDERS,
    CONTROL_ROWS,
    GITFILE,
    OTHERWISE_SPELT,
)
from executor.project.rules.held_rows import HELD_ROWS, TEMPLATES
from executor.project.rules.name_folding import fold
from executor.project.rules.name_row import COMMIT, ChangeVerdict, NameRow
from executor.project.rules.never_rows import NEVER_ROWS
from executor.project.rules.pattern import PARTS_MAX, NamePattern, compile_pattern

__all__ = [
    "COMMIT",
    "CONTROL_ROWS",
    "NAMES",
    "ROWS",
    "ChangeVerdict",
    "NameRow",
    "ObeyedNames",
    "check_move",
    "judge_control",
    "names_after",
    "with_moves",
]

ROWS: tuple[NameRow, ...] = (*NEVER_ROWS, *HELD_ROWS)
# Where tools put what others wrote. Exact spellings: another one would take a guard away.
# No tool looks there for most names, and packages ship them (.npmrc, .vscode, AGENTS.md, .github);
# an editor opened on such a folder would: who does that opens other people's code as his project.
MET_MAX = 16_384  # names whose patterns are remembered
PACKAGE_FOLDERS = frozenset(
    {"node_modules", "bower_components", "site-packages", "dist-packages", "__pypackages__"}
)
PACKAGE_PATHS = frozenset(
    {("vendor", "bundle"), (".yarn", "cache"), (".yarn", "unplugged"), (".cargo", "registry")}
)


@dataclass(frozen=True, slots=True)
class _Index:
    """Patterns by their first name, so that an ordinary path costs a look-up for each part."""

    literal: Mapping[str, tuple[NamePattern, ...]]
    starred: tuple[NamePattern, ...]
    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    met: dict[str, tuple[NamePattern, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, patterns: Iterable[NamePattern]) -> _Index:
        literal: dict[str, tuple[NamePattern, ...]] = {}
        starred = []
        for pattern in patterns:
            first = pattern.parts[0]
            if first.is_literal:
                for name in filter(None, (first.texts[0], first.short)):
                    literal[name] = (*literal.get(name, ()), pattern)
            else:
                starred.append(pattern)
        firsts = [pattern.parts[0] for pattern in starred]
        beginnings = {first.texts[0] for first in firsts if first.texts[0]}
        endings = {first.texts[-1] for first in firsts if not first.texts[0]}
        return cls(literal, tuple(starred), tuple(beginnings), tuple(endings))

    def candidates(self, name: str) -> tuple[NamePattern, ...]:
        """The patterns whose first name may be this one."""
        found = self.literal.get(name, ())
        if name.startswith(self.beginnings) or name.endswith(self.endings):
            met = self.met.get(name)
            if met is None:  # names of folders come again with each path below them
                met = tuple(p for p in self.starred if p.parts[0].matches(name))
                if len(self.met) < MET_MAX:
                    self.met[name] = met
            found += met
        return found


@dataclass(frozen=True, slots=True)
class ObeyedNames:
    """The table's rows as the user's own file has moved them.

    `committed` are patterns that the rows would cover and that are committed nonetheless. `links`
    are paths of the project by which others are obeyed: what `.vscode -> conf/editor` leads to is
    obeyed as `.vscode` is, and so are folders that git's configuration names.
    """

    rows: tuple[NameRow, ...] = ROWS
    committed: tuple[str, ...] = TEMPLATES
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    _everywhere: _Index = field(init=False, repr=False, compare=False)
    _in_packages: _Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        patterns = [_compile(row) for row in (*CONTROL_ROWS, *self.rows)]
        patterns += [compile_pattern(text, None, in_packages=True) for text in self.committed]
        everywhere, packages = _Index.of(patterns), _Index.of(p for p in patterns if p.in_packages)
        object.__setattr__(self, "_everywhere", everywhere)
        object.__setattr__(self, "_in_packages", packages)

    def judge_control(self, path: str, folder: str = ".git") -> NameRow | None:
        """The row of a path inside a repository's own folder; None if it has none."""
        return judge_control(path, folder)

    def judge(self, path: str) -> NameRow | None:
        """The row that a path of the project falls under; None if it is committed.

        A `.git` itself has none, since a folder is a repository: ask `judge_control("")` where it
        is a file or a link.
        """
        found = self._judge(path)
        if "\\" in path:  # a separator on Windows
            found = _stricter(found, self._judge(path.replace("\\", "/")))
        if self.links:
            for other in self._spellings(path):
                found = _stricter(found, self._judge(other))
        return found

    def judge_link(self, path: str) -> NameRow | None:
        """The row of a symbolic link: its own name's, or what could be obeyed through it.

        A link `.cargo` or `.github` puts other files under the names that a tool looks for.
        """
        names = [*filter(None, map(fold, path.split("/")))]
        if names and names[-1] == ".git":
            return GITFILE
        found = self.judge(path)
        for at, name in enumerate(names):
            if name in PACKAGE_FOLDERS:  # often links
                continue
            for pattern in self._everywhere.candidates(name):
                if pattern.goes_on(names, at):
                    found = _stricter(found, pattern.row)
        return found

    def with_links(self, links: Iterable[tuple[str, str]]) -> ObeyedNames:
        """These names, where paths of the project lead to others: (link, real path) of each."""
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
        parts = path.split("/")
        names = [fold(part) for part in parts]
        if not all(names):
            parts = [part for part in parts if fold(part)]
            names = [*filter(None, names)]
        matches: dict[int, list[NamePattern]] = {}
        index = self._everywhere
        for at, name in enumerate(names):
            for pattern in index.candidates(name):
                if pattern.matches(names, at):
                    matches.setdefault(at, []).append(pattern)
            if name in _MARKED:
                if parts[at] not in CONTROL_FOLDERS:
                    return OTHERWISE_SPELT
                break  # a branch may have any name
            # A folder of packages is itself judged like any other; what is below it is not.
            if index is self._everywhere and _begins_packages(parts, at):
                index = self._in_packages
        return _decide(matches) if matches else None


def _begins_packages(parts: Sequence[str], at: int) -> bool:
    return parts[at] in PACKAGE_FOLDERS or (*parts[at - 1 : at], parts[at]) in PACKAGE_PATHS


def _decide(matches: Mapping[int, Sequence[NamePattern]]) -> NameRow | None:
    """The strictest row of those that no longer or more exact pattern speaks for."""
    found: NameRow | None = None
    for at, patterns in matches.items():
        # Only what begins near it can cover it: a path of a thousand rows takes linear time.
        near = [(a, p) for a in range(at - PARTS_MAX, at + 1) for p in matches.get(a, ())]
        for pattern in patterns:
            is_control = pattern.row in _CONTROL_SET
            if is_control or not any(_outweighs(a, p, at, pattern) for a, p in near):
                found = _stricter(found, pattern.row)
        if found and found.verdict is ChangeVerdict.NEVER:
            break
    return found


def _outweighs(at: int, pattern: NamePattern, other_at: int, other: NamePattern) -> bool:
    """Whether a match covers all names of another, and says it more exactly."""
    end, other_end = at + len(pattern.parts), other_at + len(other.parts)
    return at <= other_at and end >= other_end and pattern.rank > other.rank


def _stricter(one: NameRow | None, other: NameRow | None) -> NameRow | None:
    if one is None or other is None:
        return one or other
    return (
        other if one.verdict is ChangeVerdict.HELD and other.verdict is ChangeVerdict.NEVER else one
    )


def _compile(row: NameRow) -> NamePattern:
    return compile_pattern(row.pattern, row, is_top=not row.anywhere, in_packages=row.in_packages)


_CONTROL_SET = frozenset(CONTROL_ROWS)
_CONTROL = _Index.of(_compile(row) for row in CONTROL_ROWS)
_MARKED = frozenset(
    name
    for folder in CONTROL_FOLDERS
    for name in (folder, *filter(None, [compile_pattern(folder, None).parts[0].short]))
)


def judge_control(path: str, folder: str = ".git") -> NameRow | None:
    """The row of a path inside a repository's own folder, wherever that lies; None if it has none.

    A bare repository's is judged as a `.git` is. An empty path is a `.git` that is no folder.
    """
    names = [folder, *filter(None, map(fold, path.replace("\\", "/").split("/")))]
    if names == [".git"]:
        return GITFILE
    rows = (p.row for p in _CONTROL.candidates(folder) if p.matches(names, 0))
    return next(rows, None)


NAMES = ObeyedNames()


def with_moves(moves: Mapping[str, str]) -> ObeyedNames:
    """The table as a user moves it: patterns, each with "never", "held" or "commit".

    A pattern that begins with a slash is meant at the project's top alone.

    Raises:
        ValueError: a pattern or verdict means nothing, or is of a repository's control files.
    """
    rows = {row.pattern: row for row in ROWS}
    committed = {*TEMPLATES}
    for given, verdict in moves.items():
        check_move(given, verdict)
        pattern = _bare(given)
        known = rows.pop(pattern, None)
        committed.discard(pattern)
        if verdict == COMMIT:
            committed.add(pattern)
        else:
            # Whoever names a row himself means it wherever it is.
            row = known or NameRow(pattern, ChangeVerdict.NEVER, "your own file", in_packages=True)
            rows[pattern] = replace(row, verdict=ChangeVerdict(verdict))
    return ObeyedNames(tuple(rows.values()), tuple(sorted(committed)))


@lru_cache(maxsize=8)
def names_after(moves: tuple[tuple[str, str], ...]) -> ObeyedNames:
    """What `with_moves` gives, made once."""
    return with_moves(dict(moves)) if moves else NAMES


def check_move(pattern: str, verdict: object) -> None:
    """Try one row of `with_moves`.

    Raises:
        ValueError: as there.
    """
    if verdict not in (*ChangeVerdict, COMMIT):
        raise ValueError(f"{verdict!r} is none of {', '.join((*ChangeVerdict, COMMIT))}")
    plain = _bare(pattern).removeprefix("/")
    compile_pattern(plain, None)
    if any(fold(part) in _MARKED for part in plain.split("/")):
        raise ValueError("files by which a repository is controlled can't be moved")
    if verdict == COMMIT and "*" not in plain and NAMES.judge_link(plain) is None:
        raise ValueError("no row covers it, so it is committed already")


def _bare(pattern: str) -> str:
    return pattern.removesuffix("/**").removesuffix("/")
