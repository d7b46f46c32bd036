"""What a kept change set would change in the project as it is now, for a person to read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from executor.project.plan import renames
from executor.project.plan.neutral_git import diff
from executor.project.store.manifest import Change
from executor.project.view.contents import digest, read_some
from executor.project.view.tree import Tree

TEXT_BYTES_MAX = 1 << 20
SIMILAR = 0.5  # as git's own bound
PAIRS_MAX = 2_500


def lines(changes: Sequence[Change], project: Tree, contents: Tree) -> Iterator[str]:
    """Lines of unified diffs, without ends; sizes and digests where something is no text."""
    comparing = _Comparing(project, contents)
    pairs = comparing.find_renames(changes)
    for change in renames.name_renames(changes, pairs):
        yield from comparing.of(change)


class _Comparing:
    def __init__(self, project: Tree, contents: Tree) -> None:
        self.project = project
        self.contents = contents

    def find_renames(self, changes: Sequence[Change]) -> Mapping[str, str]:
        """New paths to old ones: the same content first, then half of the same lines."""
        pairs = renames.find(changes, self.project, self.contents)
        used = {*pairs, *pairs.values()}
        rest = [c for c in changes if c.path not in used and c.kind == "file"]
        created = [c.path for c in rest if c.change == "created"]
        deleted = [c.path for c in rest if c.change == "deleted"]
        if not created or not deleted or len(created) * len(deleted) > PAIRS_MAX:
            return pairs
        scores = sorted(self._scores(created, deleted), reverse=True)
        for _, new, old in scores:
            if new not in used and old not in used:
                pairs[new] = old
                used |= {new, old}
        return pairs

    def _scores(
        self, created: Sequence[str], deleted: Sequence[str]
    ) -> Iterator[tuple[float, str, str]]:
        before = {path: self._lines(self.project, path) for path in deleted}
        for new in created:
            after = self._lines(self.contents, new)
            for old, counted in before.items():
                score = _similarity(after, counted)
                if score >= SIMILAR:
                    yield score, new, old

    def _lines(self, tree: Tree, path: str) -> Counter[bytes]:
        return Counter((self._text(tree, path) or b"").splitlines(keepends=True))

    def of(self, change: Change) -> Iterator[str]:
        """One change's own lines."""
        old = change.source if change.change == "renamed" else change.path
        yield f"diff --git a/{old} b/{change.path}"
        if change.change == "renamed":
            yield f"rename from {old}"
            yield f"rename to {change.path}"
        yield from self._modes(change, old)
        if change.kind == "folder" or change.change in ("mode", "times"):
            yield f"{change.kind} {change.change}"
        else:
            yield from self._contents(change, old)

    def _modes(self, change: Change, old: str) -> Iterator[str]:
        if change.change == "created":
            yield f"new {change.kind} mode {change.mode:o}"
        elif change.change == "deleted":
            yield f"deleted {change.kind} mode {change.mode:o}"
        else:
            info = self.project.info(old)
            if info is not None and info.st_mode & 0o777 != change.mode and change.kind != "link":
                yield f"old mode {info.st_mode & 0o777:o}"
                yield f"new mode {change.mode:o}"

    def _contents(self, change: Change, old: str) -> Iterator[str]:
        before = b"" if change.change == "created" else self._now(old)
        after = b"" if change.change == "deleted" else self._read_left(change)
        if before is None or after is None:
            yield f"Binary: {self._summary(self.project, old)} → {self._new_summary(change)}"
            return
        if before == after:
            return
        hunks = diff(before, after)
        if hunks is None:
            yield f"{len(before)} → {len(after)} bytes: git, which compares them, is not at hand"
            return
        yield "--- /dev/null" if change.change == "created" else f"--- a/{old}"
        yield "+++ /dev/null" if change.change == "deleted" else f"+++ b/{change.path}"
        yield from hunks

    def _now(self, path: str) -> bytes | None:
        """The project's text, or a link's target; None of anything else."""
        try:
            return os.fsencode(self.project.target(path))
        except OSError:
            return self._text(self.project, path)

    def _read_left(self, change: Change) -> bytes | None:
        if change.kind == "link":
            return os.fsencode(change.target)
        return self._text(self.contents, change.path)

    def _text(self, tree: Tree, path: str) -> bytes | None:
        data = read_some(tree, path, TEXT_BYTES_MAX)
        return None if data is None or b"\0" in data else data

    def _summary(self, tree: Tree, path: str) -> str:
        info = tree.info(path)
        try:
            return f"{info.st_size} bytes, sha256 {digest(tree, path)}" if info else "nothing"
        except OSError:
            return "no regular file"

    def _new_summary(self, change: Change) -> str:
        if change.change == "deleted":
            return "nothing"
        return f"{change.size} bytes, sha256 {change.sha256}"


def _similarity(one: Counter[bytes], other: Counter[bytes]) -> float:
    """How much of the larger text is in both, by the bytes of its lines."""
    shared = sum(len(line) * min(count, other[line]) for line, count in one.items())
    largest = max(sum(len(line) * count for line, count in each.items()) for each in (one, other))
    return shared / largest if largest else 0.0


def below(changes: Sequence[Change], path: str) -> list[Change]:
    """The changes of a path and of all that lies below it."""
    return [c for c in changes if c.path == path or c.path.startswith(f"{path.rstrip('/')}/")]
