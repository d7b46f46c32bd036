"""Which of the created entries are deleted ones under another name; nothing depends on it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from executor.project.store.manifest import Change
from executor.project.view.contents import digest, have_same_bytes
from executor.project.view.tree import Tree, split

PAIRS_MAX = 50_000
ALIKE_MAX = 100  # that are looked at for one
LARGE_BYTES = 1 << 20  # from which on files are compared, not digested
BYTES_MAX = 2 << 30  # that are read to know
FOLDERS_MAX = 50


@dataclass(slots=True)
class _Renames:
    """Pairs by size and digest, read only where a size fits."""

    project: Tree
    contents: Tree
    created: Mapping[str, Change]
    deleted: Mapping[str, Change]
    read_bytes: int = 0
    _digests: dict[tuple[bool, str], str] = field(default_factory=dict)

    def files(self) -> dict[str, str]:
        """New paths of files to their old ones."""
        by_size: dict[int, list[str]] = {}
        by_name: dict[tuple[int, str], list[str]] = {}
        for change in self.deleted.values():
            if change.kind == "file" and change.size:
                by_size.setdefault(change.size, []).append(change.path)
                name = split(change.path)[1]
                by_name.setdefault((change.size, name), []).append(change.path)
        pairs: dict[str, str] = {}
        taken: set[str] = set()
        for path, change in self.created.items():
            if change.kind != "file" or len(pairs) >= PAIRS_MAX:
                continue
            # Of several alike the one of the same name, in folders of the same, is most likely it.
            same_name = by_name.get((change.size, split(path)[1]), ())[:ALIKE_MAX]
            alike = dict.fromkeys((*same_name, *by_size.get(change.size, ())[:ALIKE_MAX]))
            candidates = sorted(
                (old for old in alike if old not in taken),
                key=lambda old: -_count_shared_end(old, path),
            )
            for old in candidates:
                if self._is_same(old, path):
                    pairs[path] = old
                    taken.add(old)
                    break
        return pairs

    def _is_same(self, old: str, new: str) -> bool:
        if self.created[new].size > LARGE_BYTES:
            return self._has_same_bytes(old, new)
        one, other = self._digest(old, is_new=False), self._digest(new, is_new=True)
        return bool(one) and one == other

    def _has_same_bytes(self, old: str, new: str) -> bool:
        """Whether two large files are the same: mostly their beginnings say that they are not."""
        self.read_bytes += 2 * self.created[new].size
        if self.read_bytes > BYTES_MAX:
            return False
        try:
            one = self.project.open(old)
        except OSError:
            return False
        try:
            other = self.contents.open(new)
            try:
                return have_same_bytes(one, other)
            finally:
                os.close(other)
        except OSError:
            return False
        finally:
            os.close(one)

    def _digest(self, path: str, *, is_new: bool) -> str:
        key = (is_new, path)
        if key not in self._digests:
            change = (self.created if is_new else self.deleted)[path]
            self.read_bytes += change.size
            try:
                tree = self.contents if is_new else self.project
                made = digest(tree, path) if self.read_bytes <= BYTES_MAX else ""
            except OSError:
                made = ""
            self._digests[key] = made
        return self._digests[key]

    def folders(self, pairs: Mapping[str, str]) -> dict[str, str]:
        """New paths of folders to their old ones, where all of one became all of the other."""
        found: dict[str, str] = {}
        tried: set[tuple[str, str]] = set()
        for new, old in pairs.items():
            candidates = []
            (new_folder, new_name), (old_folder, old_name) = split(new), split(old)
            while new_folder and old_folder and new_name == old_name:
                candidates.append((new_folder, old_folder))
                new_folder, new_name = split(new_folder)
                old_folder, old_name = split(old_folder)
            for candidate in reversed(candidates):  # the topmost first
                if candidate in tried or len(tried) >= FOLDERS_MAX:
                    continue
                tried.add(candidate)
                if self._became(*candidate, pairs):
                    found[candidate[0]] = candidate[1]
                    break
        return found

    def _became(self, new: str, old: str, pairs: Mapping[str, str]) -> bool:
        if new not in self.created or old not in self.deleted:
            return False
        after, before = _below(new, self.created), _below(old, self.deleted)
        return after.keys() == before.keys() and all(
            change.kind == before[name].kind
            and (
                change.kind != "file"
                or not (change.size or before[name].size)
                or pairs.get(f"{new}/{name}") == f"{old}/{name}"
            )
            for name, change in after.items()
        )


def _count_shared_end(one: str, other: str) -> int:
    """How many names two paths have in common at their ends."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _below(folder: str, changes: Mapping[str, Change]) -> dict[str, Change]:
    prefix = f"{folder}/"
    return {path[len(prefix) :]: c for path, c in changes.items() if path.startswith(prefix)}


def find(changes: Sequence[Change], project: Tree, contents: Tree) -> dict[str, str]:
    """New paths to old ones, of files and whole folders; both sides are read, before applying."""
    created = {c.path: c for c in changes if c.change == "created"}
    deleted = {c.path: c for c in changes if c.change == "deleted"}
    if not created or not deleted:
        return {}
    renames = _Renames(project, contents, created, deleted)
    pairs = renames.files()
    return {**pairs, **renames.folders(pairs)}


def name_renames(changes: Sequence[Change], pairs: Mapping[str, str]) -> tuple[Change, ...]:
    """The changes with renamed ones as such; what lies in a renamed folder is not told apart."""
    paths = {change.path for change in changes}
    pairs = {new: old for new, old in pairs.items() if new in paths and old in paths}
    kinds = {change.path: change.kind for change in changes}
    moved = {new for new in pairs if kinds[new] == "folder"}
    gone = {pairs[new] for new in moved}
    sources = set(pairs.values())
    told = []
    for change in changes:
        path = change.path
        if path in sources or _lies_in(path, gone) or _lies_in(path, moved):
            continue
        source = pairs.get(path, "")
        told.append(replace(change, change="renamed", source=source) if source else change)
    return tuple(told)


def _lies_in(path: str, folders: set[str]) -> bool:
    while folders and (path := split(path)[0]):
        if path in folders:
            return True
    return False
