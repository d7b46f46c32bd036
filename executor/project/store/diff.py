"""Lines that a kept change set would change in the project as it is now, for a person to read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from executor.project.git.differences import BYTES_MAX, compare, find_renames
from executor.project.store.manifest import Change, list_changes
from executor.project.view.contents import digest, read_some
from executor.project.view.tree import Tree, open_tree

TEXT_BYTES_MAX = 1 << 20


def lines(changes: Sequence[Change], project: Path, contents: int) -> Iterator[str]:
    """Write lines of unified diffs, without ends; sizes and digests where something is no text.

    Raises:
        OSError: the project can't be read.
    """
    with open_tree(project) as before, Tree(contents) as after:
        texts = _Texts(before, after)
        others = [c for c in changes if _has_content(c) and not texts.add(c)]
        found = compare(texts.before, texts.after, "-p", "-M")
        hunks = None if found is None else {one.new or one.old: one.hunks for one in found}
        renames = find_renames(others, project, contents)
        renames |= {d.new: d.old for d in found or () if d.old and d.new not in ("", d.old)}
        for change in list_changes(changes, renames):
            old = change.source if change.change == "renamed" else change.path
            yield from _write_header(change, old, before.info(old))
            if not _has_content(change):
                yield f"{change.kind} {change.change}"
            elif not texts.has(change.path):
                yield f"Binary: {_describe_now(before, old)} → {_describe_left(change)}"
            elif hunks is None:
                sizes = texts.sizes(old, change.path)
                yield f"{sizes}: git, which compares them, is not at hand"
            elif hunks.get(change.path):
                yield "--- /dev/null" if change.change == "created" else f"--- a/{old}"
                yield "+++ /dev/null" if change.change == "deleted" else f"+++ b/{change.path}"
                yield from hunks[change.path]


class _Texts:
    """Texts and targets of links, of both sides."""

    def __init__(self, project: Tree, contents: Tree) -> None:
        self._trees = (project, contents)
        self._room = 2 * BYTES_MAX
        self.before: dict[str, bytes] = {}
        self.after: dict[str, bytes] = {}

    def add(self, change: Change) -> bool:
        """Read both sides of a change, if both are texts."""
        project, contents = self._trees
        path, is_new, is_gone = change.path, change.change == "created", change.change == "deleted"
        try:
            before: bytes | None = b"" if is_new else os.fsencode(project.target(path))
        except OSError:
            before = _read_text(project, path)
        if change.kind == "link" or is_gone:
            after: bytes | None = b"" if is_gone else os.fsencode(change.target)
        else:
            after = _read_text(contents, path)
        if before is None or after is None or self._room < len(before) + len(after):
            return False
        self._room -= len(before) + len(after)
        self.before |= {} if is_new else {path: before}
        self.after |= {} if is_gone else {path: after}
        return True

    def has(self, path: str) -> bool:
        """Return whether the sides of a path are texts."""
        return path in self.before or path in self.after

    def sizes(self, old: str, new: str) -> str:
        """Return how many bytes both sides have."""
        return f"{len(self.before.get(old, b''))} → {len(self.after.get(new, b''))} bytes"


def _write_header(change: Change, old: str, info: os.stat_result | None) -> Iterator[str]:
    yield f"diff --git a/{old} b/{change.path}"
    if change.change == "renamed":
        yield f"rename from {old}"
        yield f"rename to {change.path}"
    if change.change in ("created", "deleted"):
        said = "new" if change.change == "created" else "deleted"
        yield f"{said} {change.kind} mode {change.mode:o}"
    elif info is not None and info.st_mode & 0o777 != change.mode and change.kind != "link":
        yield f"old mode {info.st_mode & 0o777:o}"
        yield f"new mode {change.mode:o}"


def _has_content(change: Change) -> bool:
    return change.kind != "folder" and change.change not in ("mode", "times")


def _read_text(tree: Tree, path: str) -> bytes | None:
    data = read_some(tree, path, TEXT_BYTES_MAX)
    return None if data is None or b"\0" in data else data


def _describe_now(project: Tree, path: str) -> str:
    info = project.info(path)
    try:
        return f"{info.st_size} bytes, sha256 {digest(project, path)}" if info else "nothing"
    except OSError:
        return "no regular file"


def _describe_left(change: Change) -> str:
    if change.change == "deleted":
        return "nothing"
    return f"{change.size} bytes, sha256 {change.sha256}"
