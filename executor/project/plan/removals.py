"""Whether a run's deletion is what a commit says that was there before: a switch of branches.

What is checked out afterwards is a commit that earlier runs did not make, or descends from one. A
path absent there is absent in the working tree.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence

from executor.project.plan import neutral_git
from executor.project.plan.blobs import Blobs
from executor.project.plan.object_stores import common_folder, git_folder, stores
from executor.project.store.manifest import Change
from executor.project.view.contents import read_some
from executor.project.view.tree import split

COMMITS_MAX = 256
ASKED_MAX = 200  # git is asked once for each
TEXT_BYTES_MAX = 8 << 20  # of packed references
COMMIT_BYTES_MAX = 1 << 20
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REFERENCE = re.compile(r"ref: (refs/[^\0\n]+)\Z")


class Removals:
    """Judges deletions by what the repositories around them have checked out after the run."""

    def __init__(self, changes: Mapping[str, Change], blobs: Blobs) -> None:
        self.changes = changes
        self.blobs = blobs
        self._commits: dict[str, list[str]] = {}
        self._asked = 0

    def had(self, path: str) -> bool:
        """Whether a commit from before the run, which it went to, has nothing at a path."""
        record, project = self.blobs.record, self.blobs.project
        top, _ = split(path)
        while not (git := git_folder(top, record, project)) and top:
            top, _ = split(top)
        common = git and common_folder(git, record, project)
        if not git or f"{common}/objects" not in record.states or self._asked >= ASKED_MAX:
            return False
        if git not in self._commits:
            self._commits[git] = self._earlier(git, common, [*stores(path, record, project)])
        objects = f"{record.project}/{common}/objects"
        inside = path[len(top) + 1 :] if top else path
        for commit in self._commits[git]:
            self._asked += 1
            if neutral_git.has_path(objects, commit, inside) is False:
                return True
        return False

    def _earlier(self, git: str, common: str, objects: Sequence[str]) -> list[str]:
        """The nearest commits that were there before, from what is checked out now."""
        pending, met, found = [self._head(git, common)], set[str](), []
        while pending and len(met) < COMMITS_MAX:
            commit = pending.pop(0)
            if commit in met or not _NAME.match(commit):
                continue
            met.add(commit)
            if any(self.blobs.had_object(each, bytes.fromhex(commit)) for each in objects):
                found.append(commit)
            else:
                pending += self._parents(f"{common}/objects/{commit[:2]}/{commit[2:]}")
        return found

    def _head(self, git: str, common: str) -> str:
        head = self._text(f"{git}/HEAD")
        found = _REFERENCE.match(head)
        if not found:
            return head
        loose = self._text(f"{common}/{found[1]}")
        return loose or next(self._read_packed_refs(common, found[1]), "")

    def _read_packed_refs(self, common: str, reference: str) -> Iterator[str]:
        for line in self._text(f"{common}/packed-refs").splitlines():
            commit, _, name = line.partition(" ")
            if name == reference:
                yield commit

    def _parents(self, path: str) -> list[str]:
        """Those of a commit that is a file of its own; of others nothing is told."""
        try:
            inflating = zlib.decompressobj()
            data = inflating.decompress(self._read(path), COMMIT_BYTES_MAX)
        except zlib.error:
            return []
        head, _, text = data.partition(b"\0")
        lines = text.partition(b"\n\n")[0].split(b"\n") if head.startswith(b"commit ") else []
        return [line[7:].decode("ascii", "replace") for line in lines if line[:7] == b"parent "]

    def _text(self, path: str) -> str:
        return self._read(path).decode("utf-8", "surrogateescape").strip()

    def _read(self, path: str) -> bytes:
        """A file as it is after the run; nothing where there is none."""
        change = self.changes.get(path)
        if change is not None and change.change == "deleted":
            return b""
        is_new = change is not None and change.change in ("created", "modified")
        tree = self.blobs.contents if is_new else self.blobs.project
        try:
            return read_some(tree, path, TEXT_BYTES_MAX) or b""
        except OSError:
            return b""
