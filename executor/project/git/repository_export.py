"""The transferred part of a run's repository: objects in one pack, refs, each working tree's HEAD
and index. Git makes it in a sandbox."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from executor.project.git.history import Repositories, Repository
from executor.project.git.host import REF_FORMAT, GitError, parse_refs
from executor.project.store.manifest import ChangeSet
from executor.project.view.record import Record
from executor.project.view.tree import Tree, split

# It has nothing else: no configuration, hooks, alternates, grafts or attributes.

# gitrepository-layout(5): files that define which commits are checked out, and where refs are.
_TREES = r"(?:worktrees/[^/]+/)?"
_REFS = re.compile(
    rf"(?:packed-refs|(?:refs|reftable)(?:/.*)?|logs/refs/stash"
    rf"|{_TREES}(?:HEAD|index|sharedindex\.[0-9a-f]+)|worktrees/[^/]+/(?:commondir|gitdir))\Z",
    re.DOTALL,
)
_TREE = re.compile(r"worktrees/[^/]+/HEAD\Z", re.DOTALL)
_OBJECTS = re.compile(
    r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx))\Z"
)
KNOWN = "known"
"""The file with the host's tips, which need no transfer, each after a `^`."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A repository in a separate folder."""

    folder: Path
    format: str  # the kind of its objects' names
    trees: tuple[str, ...]  # folders of its working trees, "" first
    objects: tuple[Path, ...]  # folders of the host with more of its objects

    def borrow(self, places: Iterable[str]) -> None:
        """Make it find the objects in other folders, at these places.

        Raises:
            OSError: it can't be written.
        """
        lines = "".join(f"{place}\n" for place in places)
        (self.folder / "objects/info/alternates").write_text(lines)


class ScratchWriter:
    """Copies the files of a repository that may be read out of a view."""

    def __init__(
        self, changes: ChangeSet, repositories: Repositories, project: Tree, contents: Tree
    ) -> None:
        self._record: Record = changes.record
        self._repositories = repositories
        self._changed = {change.path: change for change in changes.changes}
        self._project = project
        self._contents = contents
        self._made = set[Path]()

    def write(
        self,
        repository: Repository,
        folder: Path,
        kind: str,
        objects: Iterable[Path],
        tips: Iterable[str],
    ) -> Scratch:
        """Write it into a new folder. The host has a `kind` of names ("" for a new repository),
        folders of `objects`, and commits that are `tips`.

        Raises:
            OSError: a file can't be read or written.
            GitError: a part of it is a link.
        """
        # A run sees no other folders.
        objects = [each for each in objects if each.is_relative_to(self._record.project)]
        left = self._find_left(repository)
        if left is not None:
            objects.append(left)
        (folder / "refs").mkdir(parents=True)
        (folder / "objects" / "info").mkdir(parents=True)
        trees = {""}
        for path in self._paths(repository):
            inside = path[len(repository.prefix) :]
            if _REFS.match(inside) or (left is None and _OBJECTS.match(inside)):
                self._copy(path, folder / inside)
            if _TREE.match(inside):
                trees.add(split(inside)[0])
        kind = kind or self._guess_format(repository)
        _write_settings(folder, kind)
        (folder / KNOWN).write_text("".join(f"^{name}\n" for name in tips))
        return Scratch(folder, kind, tuple(sorted(trees)), tuple(objects))

    def _paths(self, repository: Repository) -> Iterator[str]:
        """Yield the paths of refs and indexes after the run, and of new objects."""
        prefix = repository.prefix
        for path, kind in self._record.kinds():
            if kind != stat.S_IFREG or not path.startswith(prefix) or path in self._changed:
                continue
            if _REFS.match(path[len(prefix) :]):
                yield path
        for path, change in self._changed.items():
            if change.change == "deleted" or self._repositories.of(path) is not repository:
                continue
            inside = path[len(prefix) :]
            if change.kind == "link" and (_REFS.match(inside) or inside.startswith("objects")):
                raise GitError(f"{inside} is a link, which is not followed")
            if change.kind == "file":
                yield path

    def _copy(self, path: str, to: Path) -> None:
        change = self._changed.get(path)
        is_new = change is not None and change.change in ("created", "modified")
        if to.parent not in self._made:
            to.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(to.parent)
        source = (self._contents if is_new else self._project).open(path)
        with open(source, "rb", buffering=0) as file, open(to, "xb", buffering=0) as out:
            shutil.copyfileobj(file, out, 1 << 20)

    def _find_left(self, repository: Repository) -> Path | None:
        """Return the run's folder of objects, if it can also be reached by a path."""
        top = self._contents.top
        try:
            path = os.readlink(f"/proc/self/fd/{top}")
            if not os.path.samestat(os.stat(path), os.fstat(top)):
                return None  # a path of a sandbox
            self._contents.folder(f"{repository.prefix}objects")
        except OSError:
            return None
        return Path(path, f"{repository.prefix}objects")

    def _guess_format(self, repository: Repository) -> str:
        """Return the kind of names of a new repository, by the length of one."""
        prefix = f"{repository.prefix}objects/"
        names = (path.rpartition("/")[2] for path in self._changed if path.startswith(prefix))
        return "sha256" if any(re.fullmatch("[0-9a-f]{62}", name) for name in names) else "sha1"


def _write_settings(folder: Path, kind: str) -> None:
    reftable = "\trefStorage = reftable\n" if (folder / "reftable").exists() else ""
    (folder / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        "\tcommitGraph = false\n\tmultiPackIndex = false\n"
        f"[extensions]\n\tobjectFormat = {kind}\n{reftable}"
    )


PACK = "pack"
OUTPUTS_MAX: Final = 60  # working trees, by the number of files that a run may return

# $1 is the folder to write to; the others are folders of working trees. A new index is stored as
# its few differences from HEAD. `:mode mode object object status` is a line of diff-index, `mode
# object stage` one of ls-files. Each process takes 2 ms in a sandbox, so there are few. If objects
# of a ref are outside of the shown folders, git refuses: then it packs those that are there.
SCRIPT: Final = (
    Path(__file__)
    .with_name("carried.sh")
    .read_text("utf-8")
    .replace("@REF_FORMAT@", REF_FORMAT)
    .replace("@KNOWN@", KNOWN)
    .replace("@PACK@", PACK)
)


class Reader(Protocol):
    """A reader of a scratch repository, which was written in a folder of `place`, by git."""

    @property
    def place(self) -> Path:
        """Return where scratch repositories are written, and the unpacked objects."""

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        """Run a shell script that sees the scratch repository as its folder.

        Returns the folder of its output.

        Raises:
            GitError: it failed; with the reason.
        """


class NothingToRead:
    """A reader that refuses: stored repositories were already read. Unpacks in `place`."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        """Refuse.

        Raises:
            GitError: always.
        """
        raise GitError("a repository among files is not read")


@dataclass(frozen=True, slots=True)
class CarriedRepository:
    """A repository after a run."""

    control: str
    format: str
    refs: Mapping[str, str]
    tips: tuple[str, ...]
    # By the own folder of a working tree in the repository's, "" for the main one: the ref or
    # object that is checked out, and the lines of its index that differ from that.
    trees: Mapping[str, tuple[str, bytes]]
    stashes: tuple[tuple[str, str], ...]  # commits and messages, the latest first
    pack: Path  # the objects that the host lacks


def read_repository(control: str, scratch: Scratch, run: Reader) -> CarriedRepository:
    """Run git to read a scratch repository, and treat its output as data.

    Raises:
        GitError: it can't read the repository, or git is not installed.
    """
    if len(scratch.trees) > OUTPUTS_MAX // 3:
        raise GitError(f"the repository has over {OUTPUTS_MAX // 3} working trees")
    out = run(scratch, SCRIPT, [tree or "." for tree in scratch.trees])

    def said(name: str) -> bytes:
        return (out / name).read_bytes()

    try:
        trees = {
            tree: (
                _text(said(f"head-{n}")),
                _as_index(said(f"index-{n}"), said(f"unmerged-{n}")),
            )
            for n, tree in enumerate(scratch.trees)
        }
        refs = parse_refs(said("refs"))
        stashes = [line.split(" ", 1) for line in _text(said("stash")).splitlines()]
        tips = {*refs.values(), *_text(said("entries")).split(), *(name for name, _ in stashes)}
        tips |= {head for head, _ in trees.values() if not head.startswith("refs/")}
        return CarriedRepository(
            control,
            scratch.format,
            refs,
            tuple(sorted(tips)),
            trees,
            tuple((name, message) for name, message in stashes),
            out / PACK,
        )
    except (OSError, ValueError, IndexError) as error:
        raise GitError(f"cannot read the repository: {error}") from error


def _text(said: bytes) -> str:
    return said.decode("utf-8", "surrogateescape").strip()


def _as_index(raw: bytes, unmerged: bytes) -> bytes:
    """Convert lines of `git diff-index --raw` for `git update-index --index-info`.

    A line is `:old-mode new-mode old-object new-object status`, its path follows.
    """
    fields = raw.split(b"\0")[:-1]
    lines = []
    for line, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, name, _ = line.split(b" ")
        is_there = mode != b"000000" and name.strip(b"0")
        lines.append(b"%s %s\t%s\0" % (mode if is_there else b"0", name, path))
    return b"".join(lines) + unmerged
