"""Applying kept changes as a person has decided: all that was asked for, or nothing."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from executor.project.plan import renames
from executor.project.plan.moves import find_moves
from executor.project.plan.neutral_git import merge
from executor.project.plan.plan import Plan
from executor.project.rules.names import ObeyedNames
from executor.project.rules.rules import CommitRules, Consent
from executor.project.store.change_set_folder import BASE_BYTES_MAX, BASES, CONTENTS, Kept
from executor.project.store.diff import below
from executor.project.store.manifest import PREVENTED, Change, ChangeSet, LeftOut
from executor.project.store.outcome import CommitError
from executor.project.view.contents import read_some
from executor.project.view.record import is_below, take
from executor.project.view.tree import Tree, split
from executor.project.view.walking import FOLDER_FLAGS

PREVENTING = (*PREVENTED, "repository")


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """What a person has said of a kept change set."""

    names: ObeyedNames
    paths: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    def rules(self) -> CommitRules:
        """As planning takes it."""
        exactly = {each for path in self.paths for each in _with_folders(path)}
        consent = Consent(frozenset(exactly), frozenset(_plain(each) for each in self.theirs))
        return CommitRules(self.names, self.shown, consent)


def _plain(path: str) -> str:
    return os.path.normpath(path)


def _with_folders(path: str) -> Iterator[str]:
    path = _plain(path)
    while path:
        yield path
        path, _ = split(path)


def select(kept: Kept, paths: Sequence[str], *, may_be_empty: bool = False) -> tuple[Change, ...]:
    """The changes of some paths, of what is below them, and of new folders that they lie in.

    Raises:
        CommitError: the change set has nothing at one of the paths.
    """
    if not paths or "." in map(_plain, paths):
        return kept.changes
    wanted: set[str] = set()
    for path in map(_plain, paths):
        found = below(kept.changes, path)
        if not found and not may_be_empty:
            raise CommitError(
                f"the changes {kept.id} have nothing at {path!r}",
                f"`context-mode changes show {kept.id}` lists what they have",
            )
        wanted |= {change.path for change in found}
        wanted |= set(_with_folders(split(path)[0])) if split(path)[0] else set()
    return tuple(change for change in kept.changes if change.path in wanted)


@contextmanager
def as_change_set(kept: Kept, folder: Path, paths: Sequence[str]) -> Iterator[ChangeSet]:
    """Some kept changes as those of a run that ends now.

    Raises:
        CommitError: there is nothing at one of the paths.
        OSError: what was kept can't be read.
    """
    contents = os.open(folder / CONTENTS, FOLDER_FLAGS)
    try:
        record = take(kept.project, kept.hidden)
        wanted = {*map(_plain, paths)}
        takings = (
            kept.takings
            if not paths or "." in wanted
            else tuple(one for one in kept.takings if is_below(one.carried.control, wanted))
        )
        changes = select(kept, paths, may_be_empty=bool(takings))
        yield ChangeSet(record, changes, contents, (), repositories=takings)
    finally:
        os.close(contents)


def prevents(plan: Plan) -> list[LeftOut]:
    """The conflicts for which nothing of a decision is applied."""
    return [left for left in plan.left_out if left.kind in PREVENTING]


@contextmanager
def merge_conflicts(
    changes: ChangeSet, conflicts: Sequence[LeftOut], kept_in: Path
) -> Iterator[tuple[ChangeSet, frozenset[str]]]:
    """The changes with texts for contents that both sides changed; the paths of these."""
    texts: dict[str, bytes] = {}
    top = os.open(changes.record.project, FOLDER_FLAGS)
    bases = os.open(kept_in / BASES, FOLDER_FLAGS)
    try:
        with Tree(top) as project, Tree(bases) as base, Tree(changes.contents) as run:
            for path in (left.path for left in conflicts):
                text = _merge(path, project, base, run)
                if text is not None:
                    texts[path] = text
    finally:
        os.close(top)
        os.close(bases)
    with (
        tempfile.TemporaryDirectory(prefix=".merged-", dir=kept_in) as folder,
        _merge_contents(changes, texts, Path(folder)) as both,
    ):
        yield both, frozenset(texts)


def _merge(path: str, project: Tree, base: Tree, run: Tree) -> bytes | None:
    """Both sides' changes to a text that was kept as it was before both."""
    if any(tree.info(path) is None for tree in (project, base, run)):
        return None
    ours, before, theirs = (read_some(tree, path, BASE_BYTES_MAX) for tree in (project, base, run))
    if ours is None or before is None or theirs is None:
        return None
    return merge(ours, before, theirs)


@contextmanager
def _merge_contents(
    changes: ChangeSet, texts: Mapping[str, bytes], folder: Path
) -> Iterator[ChangeSet]:
    """The contents once more, by hard links, with some of them replaced."""
    top = os.open(folder, FOLDER_FLAGS)
    try:
        with Tree(top) as copies, Tree(changes.contents) as contents:
            for change in changes.changes:
                if change.kind == "file" and change.change != "deleted":
                    _place(change.path, texts.get(change.path), copies, contents)
        sized = tuple(
            replace(c, size=len(texts[c.path]), mtime_ns=time.time_ns()) if c.path in texts else c
            for c in changes.changes
        )
        yield replace(changes, changes=sized, contents=top)
    finally:
        os.close(top)


def _place(path: str, text: bytes | None, copies: Tree, contents: Tree) -> None:
    folder, name = split(path)
    for each in reversed(list(_with_folders(folder)) if folder else []):
        beside, own = split(each)
        try:
            os.mkdir(own, 0o700, dir_fd=copies.folder(beside))
        except FileExistsError:
            continue
    target = copies.folder(folder)
    if text is None:
        os.link(name, name, src_dir_fd=contents.folder(folder), dst_dir_fd=target)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=target), "wb") as file:
        file.write(text)


def with_moves(changes: ChangeSet, planned: Plan) -> tuple[dict[str, str], Plan]:
    """New paths to old ones among what is to be applied, and the plan with those that are moved."""
    top = os.open(planned.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project, Tree(changes.contents) as contents:
            pairs = renames.find(planned.changes, project, contents)
            return pairs, replace(planned, moves=find_moves(planned, pairs, project))
    finally:
        os.close(top)
