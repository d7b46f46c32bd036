"""Bare repositories under other spellings, which git obeys where case and the like do not count."""

from __future__ import annotations

import stat
from collections.abc import Mapping

from executor.project.rules.name_folding import fold
from executor.project.store.manifest import Change
from executor.project.view.record import Record
from executor.project.view.tree import split

_MARKS = frozenset({"head", "objects", "refs", "commondir"})
_BEGINNINGS = frozenset(mark[0] for mark in _MARKS)
Marks = dict[str, set[str]]  # of each folder


def find_made(record: Record, changed: Mapping[str, Change], known: frozenset[str]) -> set[str]:
    """The folders that a run made such a repository of; `known` are names of ordinary ones."""
    after: Marks = {}
    for path, change in changed.items():
        _note(after, path, change.kind == "folder", change.change != "deleted")
    folders = {folder for folder in after if split(folder)[1] not in known}
    if not folders:
        return set()
    before: Marks = {}
    for path, state in record.states.items():
        folder, _ = split(path)
        if folder in folders:
            is_folder = stat.S_ISDIR(state.mode)
            _note(before, path, is_folder, there=True)
            _note(after, path, is_folder, path not in changed)
    return {each for each in folders if _is_one(after[each]) and not _is_one(before.get(each, ()))}


def _note(marks: Marks, path: str, is_folder: bool, there: bool) -> None:
    """Note the mark that a path is, if it is one."""
    folder, name = split(path)
    if name.isascii() and name[:1].lower() not in _BEGINNINGS:
        return
    mark = fold(name)
    if mark in _MARKS and is_folder == (mark in ("objects", "refs")):
        found = marks.setdefault(folder, set())
        if there:
            found.add(mark)


def _is_one(marks: set[str] | tuple[()]) -> bool:
    return "head" in marks and ({"objects", "refs"} <= {*marks} or "commondir" in marks)
