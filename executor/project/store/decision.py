"""A person's decision on kept changes: which of them, and lines of both sides merged."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path

from executor.project.git.differences import merge
from executor.project.plan.plan import CommitRules, Consent
from executor.project.rules.names import ObeyedNames
from executor.project.store.change_set_folder import BASE_BYTES_MAX, BASES, CONTENTS, Kept
from executor.project.store.manifest import Change, ChangeSet, CommitError, LeftOut
from executor.project.view.contents import read_some
from executor.project.view.record import is_below, take
from executor.project.view.tree import Tree, open_tree


def find_paths(wanted: str, known: Iterable[str]) -> set[str]:
    """Find what a person names of some paths: one and all that is below, or all that fit a pattern.

    A pattern has `*`, `?` or `[…]`, and `**` for any folders; one without a slash is of names in
    any folder. A path that is there as it stands is no pattern.
    """
    known, wanted = tuple(known), os.path.normpath(wanted)
    if wanted == ".":
        return set(known)
    found = {path for path in known if is_below(path, {wanted})}
    if found or not any(sign in wanted for sign in "*?["):
        return found
    pattern = wanted.split("/") if "/" in wanted else ["**", wanted]
    return {path for path in known if _fits(path.split("/"), pattern)}


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the names of a path, or of a folder that it is in, fit those of a pattern."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_fits(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def make_rules(
    names: ObeyedNames, shown: Sequence[str], paths: Iterable[str], theirs: Iterable[str]
) -> CommitRules:
    """Make rules of what a person said: paths by exact name, and those to take from the run."""
    plain = {*map(os.path.normpath, paths)}
    exactly = frozenset(plain.union(*map(_list_folders, plain)))
    return CommitRules(names, shown, Consent(exactly, frozenset(map(os.path.normpath, theirs))))


def _list_folders(path: str) -> set[str]:
    """The folders that a path lies in."""
    return {*accumulate(path.split("/")[:-1], "{}/{}".format)}


def select(kept: Kept, paths: Sequence[str], *, may_be_empty: bool = False) -> tuple[Change, ...]:
    """The changes of some paths, of what is below them, and of new folders that they lie in.

    Raises:
        CommitError: the change set has nothing at one of the paths.
    """
    known = [change.path for change in kept.changes]
    wanted: set[str] = set() if paths else set(known)
    for path in paths:
        found = find_paths(path, known)
        if not found and not may_be_empty:
            raise CommitError(
                f"the changes {kept.id} have nothing at {path!r}",
                f"`context-mode changes show {kept.id}` lists what they have",
            )
        wanted |= found.union(*map(_list_folders, found))
    return tuple(change for change in kept.changes if change.path in wanted)


@contextmanager
def as_change_set(kept: Kept, folder: Path, paths: Sequence[str]) -> Iterator[ChangeSet]:
    """Some kept changes as those of a run that ends now.

    Raises:
        CommitError: there is nothing at one of the paths.
        OSError: what was kept can't be read.
    """
    record = take(kept.project, kept.hidden)
    takings = {one.carried.control: one for one in kept.takings}
    named = {control for path in paths or (".",) for control in find_paths(path, takings)}
    repositories = tuple(one for control, one in takings.items() if control in named)
    changes = select(kept, paths, may_be_empty=bool(named))
    with open_tree(folder / CONTENTS) as contents:
        yield ChangeSet(record, changes, contents.top, (), repositories=repositories)


@contextmanager
def merge_conflicts(
    changes: ChangeSet, conflicts: Sequence[LeftOut], kept_in: Path
) -> Iterator[tuple[ChangeSet, frozenset[str]]]:
    """The changes with texts for contents that both sides changed; the paths of these."""
    with (
        open_tree(changes.record.project) as project,
        open_tree(kept_in / BASES) as base,
        Tree(changes.contents) as run,
    ):
        merged = {left.path: _merge(left.path, project, base, run) for left in conflicts}
    texts = {path: text for path, text in merged.items() if text is not None}
    with tempfile.TemporaryDirectory(prefix=".merged-", dir=kept_in) as place:
        folder = Path(place, CONTENTS)
        shutil.copytree(kept_in / CONTENTS, folder, copy_function=os.link)
        for path, text in texts.items():
            (folder / path).unlink()
            (folder / path).write_bytes(text)
        now_ns = time.time_ns()
        sized = tuple(
            replace(c, size=len(texts[c.path]), mtime_ns=now_ns) if c.path in texts else c
            for c in changes.changes
        )
        with open_tree(folder) as tree:
            yield replace(changes, changes=sized, contents=tree.top), frozenset(texts)


def _merge(path: str, *trees: Tree) -> bytes | None:
    """The changes of two sides to a text: the project's, what it was before both, the run's."""
    if any(tree.info(path) is None for tree in trees):
        return None
    ours, before, theirs = (read_some(tree, path, BASE_BYTES_MAX) for tree in trees)
    if ours is None or before is None or theirs is None:
        return None
    return merge(ours, before, theirs)
