"""What differs between two sets of files, as git tells it in a repository of their own.

Nothing depends on it: it names renames, shows lines, and merges them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from executor.project.git.host import GitError, HostGit
from executor.project.store.manifest import Change
from executor.project.view.contents import read_some
from executor.project.view.tree import Tree
from executor.project.view.walking import FOLDER_FLAGS

FILES_MAX = 10_000
BYTES_MAX = 64 << 20  # of each side
BEFORE, AFTER = "refs/heads/before", "refs/heads/after"
# Names of files are data here, and no file of it outlives the question.
_CONFIGURATION = """[core]
\trepositoryformatversion = 0
\tbare = true
\tprotectNTFS = false
\tprotectHFS = false
\tfsync = none
[pack]
\tcompression = 0
[fastimport]
\tunpackLimit = 0
"""
_COMMIT = b"commit %s\ncommitter run <run> 0 +0000\ndata 0\n"
_FILE = b'M 100644 inline "%s"\ndata %d\n'
_ESCAPED = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"))
_COMPARE = ("diff-tree", "-r", "-z", "--raw", "--no-rename-empty", "-l50")


class Difference(NamedTuple):
    """A file by its paths on both sides, "" where it is not; the lines of its hunks, if asked for.

    Of what is no text there is none.
    """

    old: str
    new: str
    hunks: Sequence[str] = ()


@contextmanager
def _repository() -> Iterator[HostGit]:
    with tempfile.TemporaryDirectory(prefix="ctxmode-git-") as folder:
        for name in ("objects", "refs"):
            Path(folder, name).mkdir()
        Path(folder, "HEAD").write_text("ref: refs/heads/none\n")
        Path(folder, "config").write_text(_CONFIGURATION)
        yield HostGit(Path(folder))


def compare(
    before: Iterable[tuple[str, bytes]], after: Iterable[tuple[str, bytes]], *options: str
) -> Sequence[Difference] | None:
    """Compare files by path and content; None if git can't, or is not there.

    Options are those of `git diff-tree`: `-M` for renames, `-p` for hunks.
    """
    try:
        with _repository() as git:
            stream = git.folder / "stream"
            with open(stream, "wb") as out:
                _write(out, BEFORE, before)
                _write(out, AFTER, after)
            git.feed(stream, "fast-import", "--quiet")
            return tuple(_parse(git.ask(*_COMPARE, *options, BEFORE, AFTER)))
    except (GitError, OSError, ValueError):
        return None


def _write(out: BinaryIO, ref: str, files: Iterable[tuple[str, bytes]]) -> None:
    """Write one side as `git fast-import` reads it. No part of a path has a meaning for git."""
    out.write(_COMMIT % ref.encode())
    for path, content in files:
        name = os.fsencode("/".join(f"={part}" for part in path.split("/")))
        for one, other in _ESCAPED:
            name = name.replace(one, other)
        out.write(_FILE % (name, len(content)))
        out.write(content)
        out.write(b"\n")


def _parse(said: bytes) -> Iterator[Difference]:
    """Read what `git diff-tree --raw -z` prints: `:… STATUS`, one path or two, then hunks."""
    pairs = []
    while said.startswith(b":"):
        head, name, said = said.split(b"\0", 2)
        status, old, new = head.rpartition(b" ")[2][:1], name, name
        if status == b"R":
            new, said = said.split(b"\0", 1)
        pairs.append((b"" if status == b"A" else old, b"" if status == b"D" else new))
    hunks = list(_split_hunks(said[1:])) or [()] * len(pairs)
    for (old, new), lines in zip(pairs, hunks, strict=True):
        yield Difference(_as_path(old), _as_path(new), lines)


def _as_path(name: bytes) -> str:
    return "/".join(part[1:] for part in os.fsdecode(name).split("/"))


def _split_hunks(patch: bytes) -> Iterator[Sequence[str]]:
    """Split a patch into the lines of each file's hunks. No line within one begins as a header."""
    lines = patch.decode("utf-8", "surrogateescape").split("\n")[:-1]
    starts = [at for at, line in enumerate(lines) if line.startswith("diff --git ")]
    for start, end in pairwise([*starts, len(lines)]):
        first = (at for at in range(start, end) if lines[at].startswith("@@ "))
        yield lines[next(first, end) : end]


def find_renames(changes: Sequence[Change], project: Path, contents: int) -> dict[str, str]:
    """Return new paths to old ones, of files that a run left as they were under another name.

    Both sides are read where sizes fit, so that it is asked before anything is applied.

    Raises:
        OSError: the project can't be read.
    """
    created, deleted = (
        [c for c in changes if c.change == one and c.kind == "file" and c.size]
        for one in ("created", "deleted")
    )
    sizes = {c.size for c in created} & {c.size for c in deleted}
    if not sizes:
        return {}
    top = os.open(project, FOLDER_FLAGS)
    try:
        with Tree(top) as old, Tree(contents) as new:
            found = compare(_read(deleted, sizes, old), _read(created, sizes, new), "-M100%")
    finally:
        os.close(top)
    return {one.new: one.old for one in found or () if one.old and one.new}


def _read(
    changes: Iterable[Change], sizes: Collection[int], tree: Tree
) -> Iterator[tuple[str, bytes]]:
    room = BYTES_MAX
    chosen = sorted((c for c in changes if c.size in sizes), key=lambda each: each.size)
    for change in chosen[:FILES_MAX]:
        content = read_some(tree, change.path, min(room, change.size))
        if content:
            room -= len(content)
            yield change.path, content


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Merge both sides' changes to one text; None where they touch the same lines."""
    try:
        with _repository() as git:
            paths = [git.folder / name for name in ("ours", "base", "theirs")]
            for path, text in zip(paths, (ours, base, theirs), strict=True):
                path.write_bytes(text)
            return git.ask("merge-file", "-p", "--", *map(str, paths))
    except (GitError, OSError):
        return None
