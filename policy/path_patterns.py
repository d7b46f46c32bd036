"""Path rules against paths: gitignore patterns, also where parts of the path are unknown."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from policy import marks
from policy.paths import is_below

_UNKNOWN = {
    marks.GLOB_STAR: "*", marks.GLOB_ONE: "?", marks.GLOB_SET: "?", marks.GLOB_ANY: "*",
}  # fmt: skip


def match_path(spec: str, anchor: str | None, path: str) -> bool:
    """Whether `path` falls under a gitignore pattern seen from `anchor` (None: from anywhere).

    With unknown parts in the path, whether it may fall under it: an unknown
    piece beside known text stands for at least one character, and a segment
    of which nothing is known is no reason to match.
    """
    if anchor is not None and marks.is_known(path):
        if path == anchor.rstrip("/") and spec.strip("/") == "**":
            return True
        if not is_below(path, anchor):
            return _is_folder_of(spec, anchor, path)
        relative = path[len(anchor.rstrip("/")) + 1 :]
        return _matches(spec, relative) or _is_folder_of(spec, anchor, path)
    if marks.is_known(path):
        relative = path.lstrip("/")
        return _matches(spec, relative) or (
            spec.endswith("/**") and spec != "**" and _matches(spec[:-3], relative)
        )
    return _may_match(spec, anchor, path)


def literal_path(spec: str, anchor: str | None) -> str | None:
    """The one path that a pattern names, with all below it; None when it may be anywhere."""
    if anchor is None or "/" not in spec.rstrip("/"):
        return None
    segments = spec.removesuffix("/**").strip("/").split("/")
    if any(char in segment for segment in segments for char in "*?[!"):
        return None
    return "/".join([anchor.rstrip("/"), *segments])


def lies_in_tree(spec: str, anchor: str | None, root: str, excluded: Collection[str] = ()) -> bool:
    """Whether a folder, taken with all below it, holds the path that a pattern names.

    Patterns that fit anywhere (`.env`) do not count: a search of the project
    would never be allowed.
    """
    literal = literal_path(spec, anchor)
    if literal is None or not marks.is_known(root) or not is_below(literal, root):
        return False
    return not set(excluded).intersection(literal[len(root.rstrip("/")) + 1 :].split("/"))


@functools.lru_cache(maxsize=1024)
def _compiled(spec: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - pathspec's own type
    import pathspec  # noqa: PLC0415 - 17 ms that only file rules pay

    return pathspec.GitIgnoreSpec.from_lines([spec])


@functools.lru_cache(maxsize=1024)
def _literal_pieces(spec: str) -> tuple[str, ...]:
    """What every path that the pattern matches has in it; most are told apart by that alone."""
    if any(char in spec for char in "\\[!#") or spec != spec.strip():
        return ()
    return tuple(filter(None, re.split(r"[/*?]+", spec)))


def _matches(spec: str, relative: str) -> bool:
    for piece in _literal_pieces(spec):
        if piece not in relative:
            return False
    return bool(_compiled(spec).match_file(relative))


def _is_folder_of(spec: str, anchor: str, path: str) -> bool:
    """The folder itself of `folder/**`: who reads or moves it whole has everything in it."""
    if not spec.endswith("/**"):
        return False
    return path == f"{anchor.rstrip('/')}/{spec[:-3].strip('/')}".rstrip("/")


def _may_match(spec: str, anchor: str | None, path: str) -> bool:
    rule = [segment for segment in spec.split("/") if segment]
    if anchor is not None and anchor != "/":
        rule = [segment for segment in anchor.split("/") if segment] + (
            rule if spec.startswith("/") or "/" in spec.rstrip("/") else ["**", *rule]
        )
    elif "/" not in spec.strip("/"):
        rule = ["**", *rule]
    segments = [segment for segment in path.split("/") if segment]
    return _segments_meet(tuple(rule), tuple(segments))


@functools.lru_cache(maxsize=4096)
def _segments_meet(rule: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not rule:
        return True  # what lies below a match matches too
    if not path:
        return all(segment == "**" for segment in rule)
    if rule[0] == "**":
        return len(rule) == 1 or any(
            _segments_meet(rule[1:], path[index:]) for index in range(len(path))
        )
    if marks.is_only_hole(path[0]):
        # Any number of folders; what is known behind it must still meet the rule.
        if len(path) == 1:
            return False
        starts = [index for index, segment in enumerate(rule) if segment != "**"]
        return any(_segments_meet(rule[index:], path[1:]) for index in starts)
    return _segment_meets(rule[0], path[0]) and _segments_meet(rule[1:], path[1:])


def _segment_meets(rule: str, segment: str) -> bool:
    if marks.is_known(segment):
        return re.fullmatch(_expression(rule), segment) is not None
    if any(char in rule for char in "*?["):
        first, second = rule[:1], segment[:1]
        if (first == ".") != (second == ".") and (first == "*" or marks.has_glob(second)):
            return False  # a pattern's first character never stands for a leading dot
        return _globs_meet(rule, "".join(_UNKNOWN.get(char, char) for char in segment))
    if rule[0] == "." and marks.has_glob(segment[0]):
        return False  # a pattern's first character never stands for a leading dot
    return re.fullmatch(_shape(segment), rule) is not None


def _expression(glob: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char) for char in glob)


def _shape(segment: str) -> str:
    pieces = []
    for char in segment:
        if char in (marks.GLOB_STAR, marks.GLOB_ANY):
            pieces.append(".*")
        elif char in (marks.GLOB_ONE, marks.GLOB_SET):
            pieces.append(".")
        else:
            pieces.append(".+" if marks.has_hole(char) else re.escape(char))
    return "".join(pieces)


@functools.lru_cache(maxsize=4096)
def _globs_meet(first: str, second: str) -> bool:
    """Whether two patterns have a name in common."""
    if not first or not second:
        return not (first + second).strip("*")
    if first[0] == "*":
        return _globs_meet(first[1:], second) or _globs_meet(first, second[1:])
    if second[0] == "*":
        return _globs_meet(first, second[1:]) or _globs_meet(first[1:], second)
    if "?" in (first[0], second[0]) or first[0] == second[0] or marks.has_hole(second[0]):
        return _globs_meet(first[1:], second[1:])
    return False
