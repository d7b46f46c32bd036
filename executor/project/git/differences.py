"""Differences between two sets of files, computed by git in a separate repository.

Nothing else depends on it: it finds renames, shows lines, and merges them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from executor.project.git.host import GitError, HostGit
from executor.project.store.manifest import Change
from executor.project.view.tree import Tree, open_tree, read_some

FILES_MAX = 10_000
BYTES_MAX = 32 << 20  # of each side
BEFORE, AFTER = "refs/heads/before", "refs/heads/after"
# None of its files is used after the comparison.
_CONFIGURATION = "[core]\nfsync = none\n[pack]\ncompression = 0\n[fastimport]\nunpackLimit = 0\n"
_COMPARE = ("diff-tree", "-r", "--raw", "--no-rename-empty", "-l50")


Difference = tuple[str, str, Sequence[str]]
"""A file's old and new path, "" if missing; the lines of its hunks, if requested. Binary files have
none."""


@contextmanager
def _repository() -> Iterator[HostGit]:
    with tempfile.TemporaryDirectory(prefix="ctxmode-git-") as folder:
        for name in ("objects", "refs"):
            Path(folder, name).mkdir()
        Path(folder, "HEAD").write_text("ref: refs/heads/none\n")
        Path(folder, "config").write_text(_CONFIGURATION)
        yield HostGit(Path(folder))


def compare(
    before: Mapping[str, bytes], after: Mapping[str, bytes], *options: str
) -> Sequence[Difference] | None:
    """Compare files by path and content; None if git fails or is not installed.

    Options are those of `git diff-tree`: `-M` for renames, `-p` for hunks.
    """
    paths = sorted({*before, *after})
    try:
        with _repository() as git:
            stream = git.folder / "stream"
            with open(stream, "wb") as out:
                for ref, side in ((BEFORE, before), (AFTER, after)):
                    out.write(b"commit %s\ncommitter run <run> 0 +0000\ndata 0\n" % ref.encode())
                    for number, path in enumerate(paths):  # numbers instead of untrusted names
                        if path in side:
                            size = len(side[path])
                            out.write(b"M 100644 inline %09d\ndata %d\n" % (number, size))
                            out.write(side[path] + b"\n")
            git.feed(stream, "fast-import", "--quiet")
            said = git.ask(*_COMPARE, *options, BEFORE, AFTER)
    except (GitError, OSError):
        return None
    return tuple(_parse(said.decode("utf-8", "surrogateescape"), paths))


def _parse(said: str, paths: Sequence[str]) -> Iterator[Difference]:
    """Read lines `:… STATUS<tab>NAME`, two names for a rename, then a patch of each file."""
    records: list[str] = []
    hunks: list[list[str]] = []
    for line in said.split("\n")[:-1]:
        if line.startswith(":"):
            records.append(line.rpartition(" ")[2])
        elif line.startswith("diff --git "):  # no line of a hunk starts like this
            hunks.append([])
        elif hunks and (hunks[-1] or line.startswith("@@ ")):
            hunks[-1].append(line)
    for at, record in enumerate(records):
        status, *names = record.split("\t")
        old, new = paths[int(names[0])], paths[int(names[-1])]
        lines = hunks[at] if hunks else ()
        yield old if status != "A" else "", new if status != "D" else "", lines


def find_renames(changes: Sequence[Change], project: Path, contents: int) -> dict[str, str]:
    """Return new paths with their old ones, for files that a run renamed without changing them.

    Both sides are read if sizes match, so call this before anything is applied.

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
    with open_tree(project) as old, Tree(contents) as new:
        found = compare(_read(deleted, sizes, old), _read(created, sizes, new), "-M100%")
    return {new: old for old, new, _ in found or () if old and new}


def _read(changes: Iterable[Change], sizes: Collection[int], tree: Tree) -> dict[str, bytes]:
    """Read the files of some sizes, small ones first, up to the limit."""
    found, room = {}, BYTES_MAX
    chosen = sorted((c for c in changes if c.size in sizes), key=lambda each: each.size)
    for change in chosen[:FILES_MAX]:
        content = read_some(tree, change.path, min(room, change.size))
        if content:
            room -= len(content)
            found[change.path] = content
    return found


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Merge both sides' changes to one text; None if they change the same lines."""
    try:
        with _repository() as git:
            paths = [git.folder / name for name in ("ours", "base", "theirs")]
            for path, text in zip(paths, (ours, base, theirs), strict=True):
                path.write_bytes(text)
            return git.ask("merge-file", "-p", "--", *map(str, paths))
    except (GitError, OSError):
        return None
