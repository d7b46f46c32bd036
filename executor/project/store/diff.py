"""What a kept change set would change in the project as it is now, for a person to read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from executor.project.git.differences import BYTES_MAX, compare, find_renames
from executor.project.store.manifest import Change, list_changes
from executor.project.view.contents import digest, read_some
from executor.project.view.tree import Tree
from executor.project.view.walking import FOLDER_FLAGS

TEXT_BYTES_MAX = 1 << 20


def lines(changes: Sequence[Change], project: Path, contents: int) -> Iterator[str]:
    """Write lines of unified diffs, without ends; sizes and digests where something is no text.

    Raises:
        OSError: the project can't be read.
    """
    top = os.open(project, FOLDER_FLAGS)
    try:
        with Tree(top) as before, Tree(contents) as after:
            comparing = _Comparing(before, after)
            others = [c for c in changes if _has_content(c) and not comparing.has_text(c)]
            renames = find_renames(others, project, contents) | comparing.compare()
            for change in list_changes(changes, renames):
                yield from comparing.write(change)
    finally:
        os.close(top)


class _Comparing:
    """Texts of both sides, and what git says of them."""

    def __init__(self, project: Tree, contents: Tree) -> None:
        self._project = project
        self._contents = contents
        self._room = 2 * BYTES_MAX
        self._before: dict[str, bytes] = {}
        self._after: dict[str, bytes] = {}
        self._hunks: dict[str, Sequence[str]] | None = None  # by what is there afterwards

    def compare(self) -> dict[str, str]:
        """Ask git of all texts; new paths to old ones of what it takes for renamed."""
        found = compare(self._before, self._after, "-p", "-M")
        if found is None:
            return {}
        self._hunks = {one.new or one.old: one.hunks for one in found}
        return {one.new: one.old for one in found if one.old and one.new not in ("", one.old)}

    def has_text(self, change: Change) -> bool:
        """Read the texts of both sides, if both are."""
        path, is_new, is_gone = change.path, change.change == "created", change.change == "deleted"
        before = b"" if is_new else self._read_now(path)
        after = b"" if is_gone else self._read_left(change)
        if before is None or after is None or self._room < len(before) + len(after):
            return False
        self._room -= len(before) + len(after)
        if not is_new:
            self._before[path] = before
        if not is_gone:
            self._after[path] = after
        return True

    def write(self, change: Change) -> Iterator[str]:
        """Write one change's own lines."""
        old = change.source if change.change == "renamed" else change.path
        yield f"diff --git a/{old} b/{change.path}"
        if change.change == "renamed":
            yield f"rename from {old}"
            yield f"rename to {change.path}"
        yield from self._modes(change, old)
        if not _has_content(change):
            yield f"{change.kind} {change.change}"
        elif change.path not in self._before and change.path not in self._after:
            yield f"Binary: {self._describe_now(old)} → {_describe_left(change)}"
        elif self._hunks is None:
            was, now = len(self._before.get(old, b"")), len(self._after.get(change.path, b""))
            yield f"{was} → {now} bytes: git, which compares them, is not at hand"
        elif hunks := self._hunks.get(change.path):
            yield "--- /dev/null" if change.change == "created" else f"--- a/{old}"
            yield "+++ /dev/null" if change.change == "deleted" else f"+++ b/{change.path}"
            yield from hunks

    def _modes(self, change: Change, old: str) -> Iterator[str]:
        if change.change == "created":
            yield f"new {change.kind} mode {change.mode:o}"
        elif change.change == "deleted":
            yield f"deleted {change.kind} mode {change.mode:o}"
        else:
            info = self._project.info(old)
            if info is not None and info.st_mode & 0o777 != change.mode and change.kind != "link":
                yield f"old mode {info.st_mode & 0o777:o}"
                yield f"new mode {change.mode:o}"

    def _read_now(self, path: str) -> bytes | None:
        """Read the project's text, or a link's target; None of anything else."""
        try:
            return os.fsencode(self._project.target(path))
        except OSError:
            return _read_text(self._project, path)

    def _read_left(self, change: Change) -> bytes | None:
        if change.kind == "link":
            return os.fsencode(change.target)
        return _read_text(self._contents, change.path)

    def _describe_now(self, path: str) -> str:
        info = self._project.info(path)
        try:
            digested = digest(self._project, path) if info else ""
        except OSError:
            return "no regular file"
        return f"{info.st_size} bytes, sha256 {digested}" if info else "nothing"


def _has_content(change: Change) -> bool:
    return change.kind != "folder" and change.change not in ("mode", "times")


def _read_text(tree: Tree, path: str) -> bytes | None:
    data = read_some(tree, path, TEXT_BYTES_MAX)
    return None if data is None or b"\0" in data else data


def _describe_left(change: Change) -> str:
    if change.change == "deleted":
        return "nothing"
    return f"{change.size} bytes, sha256 {change.sha256}"
