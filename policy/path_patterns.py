"""Path rules against paths: gitignore patterns, also where parts of the path are unknown."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from base.globs import ANY, ONE, SPECIAL, Part, Wildcard, literal_name, name_pattern
from policy import marks
from policy.model import Decision, Rule, Rules
from policy.paths import is_below, lies_in

_GLOBS = {
    marks.GLOB_STAR: ANY, marks.GLOB_ONE: ONE, marks.GLOB_SET: ONE, marks.GLOB_ANY: ANY,
}  # fmt: skip


def parts(text: str, *hole: Part) -> Iterator[Part]:
    """Yield the text's characters, with `hole` for each that is not known."""
    for char in text:
        if marks.has_hole(char):
            yield from hole
        else:
            yield _GLOBS.get(char, char)


def may_be(text: str, other: str, *hole: Part) -> bool:
    """Return whether a partly known text may be another one, with `hole` for its unknown parts."""
    return Wildcard(parts(text, *hole)).meets(other)


def match_path(spec: str, anchor: str | None, path: str) -> bool:
    """Return whether `path` falls under a gitignore pattern seen from `anchor` (None: from
    anywhere).

    With unknown parts in the path, whether it may fall under it: an unknown piece next to known
    text stands for at least one character, and a wholly unknown segment never matches.
    """
    names, only_below = _compile(spec)
    if not marks.is_known(path):
        above = tuple(map(literal_name, _segments(anchor or "")))
        return _meets((*above, *names), _segments(path), only_below=False)
    anchor = (anchor or "").rstrip("/")
    if path == anchor and spec.strip("/") == "**":
        return True
    if anchor and not is_below(path, anchor):
        return False
    relative = path[len(anchor) :]
    for piece in literal_pieces(spec):
        if piece not in relative:
            return False
    # "Everything below a folder" includes the folder itself: moving it moves all of its files.
    return _meets(names, _segments(relative), only_below=only_below and not spec.endswith("/**"))


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def literal_path(spec: str, anchor: str | None) -> str | None:
    """Return the one path that a pattern names, with all below it; None if it may be anywhere."""
    if anchor is None or "/" not in spec.rstrip("/"):
        return None
    segments = spec.removesuffix("/**").strip("/").split("/")
    if any(char in segment for segment in segments for char in "*?[!"):
        return None
    return "/".join([anchor.rstrip("/"), *segments])


def last_name(spec: str) -> str:
    """Return the last name of a pattern that is more than stars; empty if none is."""
    return next((name for name in reversed(_names(spec)) if name.strip("*")), "")


@functools.lru_cache(maxsize=1024)
def _compile(spec: str) -> tuple[tuple[str, ...], bool]:
    """Compile the pattern of each name from the top, and whether only paths below them match."""
    names = _names(spec)
    if "/" not in spec.rstrip("/"):
        names.insert(0, "**")
    only_below = spec.endswith("/")
    if only_below and names[-1] == "**":
        names[-1] = "*"
    while names and names[-1] == "**":
        names.pop()
        only_below = True
    return tuple(names), only_below


def _names(spec: str) -> list[str]:
    """Return the pattern of each name; two stars and more are any folders."""
    return [name if name.strip("*") or name == "*" else "**" for name in spec.split("/") if name]


@functools.lru_cache(maxsize=1024)
def literal_pieces(spec: str) -> tuple[str, ...]:
    """Return the text that every matching path contains; it alone excludes most paths."""
    if any(char in spec for char in "\\["):
        return ()
    return tuple(filter(None, re.split(r"[/*?]+", spec)))


def _meets(rule: tuple[str, ...], path: list[str], *, only_below: bool) -> bool:
    """Return whether a path, perhaps with unknown names, may match, or be below a match."""
    met = {0}
    for at, name in enumerate(path):
        met = _with_skipped(rule, met)
        # Paths below a match match too.
        if len(rule) in met:
            return True
        if marks.is_known(name) or not marks.is_only_hole(name):
            met = set(_advance(rule, met, name))
        elif at == len(path) - 1:
            met = {index for index in met if rule[index] == "**"}
        else:
            met = set(_advance_anywhere(rule, met))
    return not only_below and len(rule) in _with_skipped(rule, met)


def _with_skipped(rule: tuple[str, ...], met: set[int]) -> set[int]:
    """Add the states after a `**` that stands for no folder at all."""
    found = set(met)
    for index in range(min(met, default=len(rule)), len(rule)):
        if index in found and rule[index] == "**":
            found.add(index + 1)
    return found


def _advance(rule: tuple[str, ...], met: Iterable[int], name: str) -> Iterator[int]:
    """Yield the states of a pattern after one more name."""
    for index in met:
        if index < len(rule) and rule[index] == "**":
            yield index
        elif index < len(rule) and segment_meets(rule[index], name):
            yield index + 1


def _advance_anywhere(rule: tuple[str, ...], met: set[int]) -> Iterator[int]:
    """Yield the states of a pattern after any number of folders; known names after them must still
    meet the rest of it."""
    first = min(met, default=len(rule))
    yield from (index for index in range(first, len(rule)) if rule[index] != "**" or index in met)


@functools.lru_cache(maxsize=4096)
def segment_meets(rule: str, segment: str) -> bool:
    """Return whether a name that may be partly unknown may be one of a pattern's."""
    is_pattern = any(char in rule for char in SPECIAL)
    if marks.is_known(segment):
        return name_pattern(rule).meets(segment) if is_pattern else rule == segment
    if is_pattern:
        first, second = rule[:1], segment[:1]
        if (first == ".") != (second == ".") and (first == "*" or marks.has_glob(second)):
            return False  # a pattern's first character never stands for a leading dot
        return name_pattern(rule).meets(parts(segment, ONE))
    if rule[0] == "." and marks.has_glob(segment[0]):
        return False  # a pattern's first character never stands for a leading dot
    return may_be(segment, rule, ONE, ANY)


class HiddenPaths(NamedTuple):
    """The paths that `Read` rules deny, below the given folders.

    `literal` are absolute paths that can be covered with all below them, whether they exist yet or
    not. `patterns` must be looked for: gitignore lines, each with the folder that it is seen from
    (None: from any).
    """

    literal: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str | None], ...] = ()

    def covers(self, path: str) -> bool:
        """Return whether a rule denies reading this absolute path."""
        if any(lies_in(path, hidden) for hidden in self.literal):
            return True
        return any(match_path(spec, anchor, path) for spec, anchor in self.patterns)


def find_hidden_paths(rules: Rules, roots: Sequence[str]) -> HiddenPaths:
    """Find what to hide in the folders `roots` (absolute: the project, and other visible folders).

    Only deny rules count: a rule that asks does so before the program starts.
    """
    literal: dict[str, None] = {}
    patterns: dict[tuple[str, str | None], None] = {}
    for rule in rules.of("read"):
        if rule.decision is not Decision.DENY:
            continue
        path = _find_plain_path(rule)
        if path is None:
            if rule.anchor is None or any(_overlap(rule.anchor, root) for root in roots):
                patterns[rule.spec, rule.anchor] = None
        elif any(_overlap(path, root) for root in roots):
            literal[path] = None
    return HiddenPaths(tuple(literal), tuple(patterns))


def _find_plain_path(rule: Rule) -> str | None:
    """Return the path of a rule that names one; `Read(~/**)` names the home itself."""
    if rule.anchor is not None and rule.spec.strip("/") == "**":
        return rule.anchor.rstrip("/") or "/"
    return literal_path(rule.spec, rule.anchor)


def _overlap(first: str, second: str) -> bool:
    return lies_in(first, second) or lies_in(second, first)
