"""Taking a transferred repository into the host's: checked separately, then applied by one
transaction of refs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from executor.project.git.host import GitError, HostGit
from executor.project.git.repository_export import CarriedRepository

REPLACE: Final = "refs/replace/"
NOT_CARRIED: Final = (REPLACE, "refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that replace known objects with others, and those of a single working tree."""
STASH: Final = "refs/stash"
LOOSE_MAX: Final = 100
"""Fewer objects than this become separate files, as with `fetch.unpackLimit`."""
LOCKED_BY: Final = "context-mode\n"
NEW_INDEX: Final = "index.ctxmode"
LOCKED_S_MAX: Final = 3.0
"""Seconds to wait for another program's lock of an index."""
_MISSING: Final = " missing"


@dataclass(frozen=True, slots=True)
class Taking:
    """The changes to apply to one of the host's repositories."""

    carried: CarriedRepository
    objects: tuple[str, ...] = ()  # names of the pack's new objects
    # By name, the old and new object of a ref; "" is none.
    refs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # By folder, the working trees whose HEAD and index are set: their former HEAD.
    heads: Mapping[str, str] = field(default_factory=dict)
    stashes: bool = False  # whether the list of stashes becomes the run's
    is_new: bool = False  # whether the repository is to be made

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        return not (self.refs or self.heads or self.stashes or self.is_new)

    @property
    def trees(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield the working trees that are set: the folder, HEAD and lines of the index of each."""
        for folder, (head, index) in self.carried.trees.items():
            if folder in self.heads:
                yield folder, head, index

    def with_pack(self, pack: Path) -> Taking:
        """Return the same with another file for the pack: a copy, for which the caller cares."""
        return replace(self, carried=replace(self.carried, pack=pack))


def check(
    carried: CarriedRepository, host: HostGit, objects: Path, folder: Path
) -> tuple[HostGit, tuple[str, ...]]:
    """Unpack a run's objects into `folder`, in addition to the host's `objects`; return the host's
    repository with them, and the names of new ones.

    Raises:
        GitError: an object does not match its name, or one is missing.
        OSError: there is no space.
    """
    (folder / "pack").mkdir(parents=True)
    for each in (folder, folder / "pack"):
        host.give(each)
    git = host.with_quarantine(folder, objects)
    git.feed(carried.pack, "index-pack", "--stdin", "--fix-thin", "--fsck-objects")
    tips = "".join(f"{tip}\n" for tip in carried.tips).encode()
    # Objects that the host's refs point to are complete; if not, that is the host's own problem.
    names = git.ask(
        "rev-list", "--objects", "--no-object-names", "--exclude-promisor-objects",
        "--stdin", "--not", "--all", stdin=tips,
    )  # fmt: skip
    # Some of these are also in older commits of the host.
    said = host.ask("cat-file", "--batch-check=%(objectname)", stdin=names).decode()
    lacking = [line[: -len(_MISSING)] for line in said.splitlines() if line.endswith(_MISSING)]
    return git, tuple(lacking)


def find_moves(now: Mapping[str, str], carried: CarriedRepository) -> dict[str, tuple[str, str]]:
    """List the refs that differ between a run's result and the host `now`."""
    return {
        name: (now.get(name, ""), carried.refs.get(name, ""))
        for name in sorted({*now, *carried.refs})
        if now.get(name) != carried.refs.get(name) and not name.startswith(NOT_CARRIED)
    }


def take(taking: Taking, host: HostGit, message: str) -> None:
    """Add objects, then set refs, HEAD and indexes. It may be repeated after a kill.

    Raises:
        GitError: someone else moved a ref in the meantime; then nothing is moved.
        OSError: the pack can't be read.
    """
    if taking.is_new:
        _make(host, taking.carried)
    if taking.objects:
        loose = ("unpack-objects", "-q")
        packed = ("index-pack", "--stdin", "--fix-thin")
        host.feed(taking.carried.pack, *(loose if len(taking.objects) < LOOSE_MAX else packed))
    trees = [(HostGit(host.folder / folder), head, index) for folder, head, index in taking.trees]
    with ExitStack() as held:  # nothing is moved until all indexes are ready
        for git, head, index in trees:
            at = taking.carried.refs.get(head, head)
            held.enter_context(_hold_new_index(git, at, index))
        _move_refs(taking.refs, host, message)
        if taking.stashes:
            _set_stashes(taking.carried.stashes, host)
        for git, head, _ in trees:
            _set_head(git, head, message)
            os.rename(git.folder / NEW_INDEX, git.folder / "index")


def _make(host: HostGit, carried: CarriedRepository) -> None:
    """Make a repository as `git init` does, without any templates."""
    if (host.folder / "HEAD").exists():
        return
    bare = () if host.folder.name == ".git" else ("--bare",)
    host.ask("init", "-q", "--template=", f"--object-format={carried.format}", *bare)


def _move_refs(moves: Mapping[str, tuple[str, str]], host: HostGit, message: str) -> None:
    """Move refs, except that of stashes, in one transaction that checks their former values.

    Raises:
        GitError: a ref has another value now.
    """
    now = host.list_refs()
    lines = []
    for name, (before, new) in moves.items():
        if name == STASH or now.get(name, "") == new:  # done before a kill
            continue
        old = before or "0" * len(new)
        lines.append(f"update {name} {new} {old}" if new else f"delete {name} {old}")
    if lines:
        orders = "".join(f"{line}\n" for line in ("start", *lines, "prepare", "commit"))
        host.ask("update-ref", "-m", message, "--stdin", stdin=orders.encode())


def _set_stashes(wanted: Iterable[tuple[str, str]], host: HostGit) -> None:
    """Set the list of stashes, the latest first."""
    wanted = list(wanted)
    names = {name for name, _ in wanted}
    there = host.list_stashes()
    for at in reversed(range(len(there))):
        if there[at] not in names:
            host.ask("reflog", "delete", "--updateref", "--rewrite", f"{STASH}@{{{at}}}")
    if there and not names & {*there}:
        host.ask("update-ref", "-d", STASH)
    for name, message in reversed(wanted):
        if name not in there:
            host.ask("update-ref", "-m", message, "--create-reflog", STASH, name)


def _set_head(git: HostGit, head: str, message: str) -> None:
    if git.head_or_none() == head:
        return
    if head.startswith("refs/"):
        git.ask("symbolic-ref", "-m", message, "HEAD", head)
    else:
        git.ask("update-ref", "-m", message, "--no-deref", "HEAD", head)


@contextmanager
def _hold_new_index(git: HostGit, head: str, lines: bytes) -> Iterator[None]:
    """Make a new index next to that of a working tree, for one block: a commit's or ref's entries,
    except for lines that differ. During the block no other git program can change the old one.

    Entries that stay keep the host's data on their files. Flags are the host's own.

    Raises:
        GitError: an entry is invalid, or another program keeps the index locked.
        OSError: the repository's folder can't be written.
    """
    index, new, lock = (git.folder / name for name in ("index", NEW_INDEX, "index.lock"))
    _lock(lock)
    try:
        before = index.stat() if index.exists() else None
        if before is not None:
            shutil.copy(index, new)
            git.give(new)
        ask = partial(git.ask, GIT_INDEX_FILE=str(new))
        at = ask("rev-parse", "-q", "--verify", f"{head}^{{commit}}", also=(1, 128)).decode()
        ask("read-tree", "-i", "--reset", at.strip()) if at else ask("read-tree", "--empty")
        if lines:
            ask("update-index", "-z", "--index-info", stdin=lines)
        if before is not None:
            # A file may have changed since in the very second of the index: git checks files that
            # are not older than their index (gitformat-index(5), "racy git"), and sees none here.
            os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
        yield
    finally:
        new.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)


def _lock(lock: Path) -> None:
    """Lock an index; a lock left by a server that died is ours.

    Raises:
        GitError: another program keeps it.
        OSError: the folder can't be written.
    """
    until = time.monotonic() + LOCKED_S_MAX
    while True:
        with suppress(FileExistsError), open(lock, "x", encoding="ascii") as file:
            file.write(LOCKED_BY)
            return
        with suppress(OSError, ValueError):
            if lock.read_text("ascii") == LOCKED_BY:
                return
        if time.monotonic() > until:
            raise GitError(f"{lock} exists: another git program is running, or it crashed")
        time.sleep(0.1)
