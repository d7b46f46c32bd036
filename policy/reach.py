"""Patterns and recursions against path rules: what is certain to be touched, and what may be."""

from __future__ import annotations

import os
from collections.abc import Iterable

from policy import marks
from policy.effects import FileAccess
from policy.folders import Folders
from policy.name_patterns import literal_name, name_pattern
from policy.path_patterns import last_name, literal_path, literal_pieces, match_path, segment_meets
from policy.paths import find_known_folder, is_below
from policy.rules import Rule

_ODD = "\uf8ff"  # in no rule: what a path with it falls under, it falls under with any text
_ANY_FOLDERS = (marks.GLOB_STAR * 2, marks.PATHS)


def is_meant(rule: Rule, path: str) -> bool:
    """Whether a path that may fall under a rule does so whatever its unknown parts are, or has the
    name that the rule has."""
    if marks.is_known(path) or match_path(rule.spec, rule.anchor, marks.fill(path, _ODD)):
        return True
    name = last_name(rule.spec)
    return any(_is_named(segment) and segment_meets(name, segment) for segment in path.split("/"))


def _is_named(segment: str) -> bool:
    """Whether a name is known, or begins with known text that a variable goes on."""
    return bool(segment) and not marks.has_glob(segment) and marks.is_known(segment[0])


def find_feared_path(
    access: FileAccess, path: str, rule: Rule, folders: Folders | None
) -> str | None:
    """The path under a rule that a pattern or a recursion may touch; None when there is none. Where
    no folder can be looked at, only a pattern that is about such a path counts."""
    is_tree = access.is_tree or path.endswith(marks.PATHS)
    if not (is_tree or marks.has_glob(path)):
        return None
    known = find_known_folder(path)
    if folders is None or not path.startswith("/"):
        is_hit = is_about(rule, path) and match_path(rule.spec, rule.anchor, path)
        return marks.show(path) if is_hit else None
    at = len(known.rstrip("/")) + 1
    pattern = [segment for segment in path[at:].split("/") if segment]
    for file in _files(rule, known, folders):
        names = file[at:].split("/")
        if _is_left(access, known, file) and _covers(pattern, names, is_tree=is_tree):
            return file
    return None


def is_about(rule: Rule, path: str) -> bool:
    """Whether a pattern has letters of the rule's last name, or is of the folder it is in."""
    name = last_name(rule.spec)
    for segment in path.split("/"):
        is_pattern = marks.has_glob(segment) and not marks.has_hole(segment)
        if is_pattern and marks.fill(segment, "") and segment_meets(name, segment):
            return True
    known, literal = find_known_folder(path), literal_path(rule.spec, rule.anchor)
    return literal is not None and known != rule.anchor and known == literal.rpartition("/")[0]


def _files(rule: Rule, root: str, folders: Folders) -> Iterable[str]:
    """The files on the disk below a folder that fall under a rule."""
    literal = literal_path(rule.spec, rule.anchor)
    if literal is not None:
        if not is_below(literal, root):
            return ()
        return folders.files_below(literal) or ((literal,) if os.path.lexists(literal) else ())
    start = rule.anchor if rule.anchor and is_below(rule.anchor, root) else root
    pieces = literal_pieces(rule.spec)
    return folders.matching(
        start,
        (rule.spec, rule.anchor),
        lambda file: all(p in file for p in pieces) and match_path(rule.spec, rule.anchor, file),
    )


def _is_left(access: FileAccess, root: str, file: str) -> bool:
    """Whether a file is among those that are neither left out nor of another name."""
    name = file.rpartition("/")[2]
    for pattern in access.excluded:
        if pattern[0] == ":" and name_pattern(pattern[1:]).meets(name):
            return False
        if match_path(pattern, "" if pattern[0] == "/" else root, file):
            return False
    return not access.included or any(name_pattern(p).meets(name) for p in access.included)


def _covers(pattern: Iterable[str], names: list[str], *, is_tree: bool) -> bool:
    """Whether a path's names fit a pattern's, or with `is_tree` lie below what fits."""
    met = {0}
    for segment in pattern:
        if segment in _ANY_FOLDERS or marks.is_only_hole(segment):
            met = set(range(min(met), len(names) + 1))
        else:
            rest = ((i, literal_name(names[i])) for i in met if i < len(names))
            met = {i + 1 for i, name in rest if segment_meets(name, segment)}
        if not met:
            return False
    return is_tree or len(names) in met
