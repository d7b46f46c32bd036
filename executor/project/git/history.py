"""Knowledge of the host's repositories from before a run: contents, and files missing in a commit.

git is asked. Objects from earlier runs do not count: otherwise a run could plant what the next one
checks out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from executor.project.git.host import GitError, HostGit
from executor.project.rules.names import fold, is_control
from executor.project.store.manifest import Change
from executor.project.view.record import Record
from executor.project.view.tree import Tree, digest_file, split

OWN = ".git"
HEAD = "HEAD"
# gitrepository-layout(5): a folder with a HEAD and one of these is a repository; `commondir` names
# the place of objects. If a file system folds names, other spellings make a repository, too.
_PARTS = ("objects", "commondir")
_MARKS = {name.lower() for name in (HEAD, *_PARTS)}
# gitrepository-layout(5): git's names in a bare repository's folder. Others may be next to them.
_GITS = re.compile(
    r"(?:[A-Z_]*HEAD|[A-Z_]*MSG|config(?:\.worktree|\.lock)?|description|hooks|info|objects|refs"
    r"|packed-refs|reftable|logs|branches|remotes|modules|worktrees|index|sharedindex\.[0-9a-f]+"
    r"|shallow|commondir|gitdir|common|rr-cache|lfs|svn|gc\.[a-z]+|git-daemon-export-ok"
    r"|rebase-merge|rebase-apply|sequencer|BISECT_[A-Z_]+|MERGE_[A-Z]+|AUTO_MERGE)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository. Paths are relative to the project."""

    number: int
    control: str  # its own folder, "" for the project itself; a submodule's is inside another's
    top: str  # the folder of its files
    existed: bool  # whether it existed when the view began
    exists: bool  # whether it existed after the run

    @property
    def prefix(self) -> str:
        """Return the prefix of all paths in its own folder."""
        return f"{self.control}/" if self.control else ""

    @property
    def shown(self) -> str:
        """Return its own folder for messages."""
        return self.control or "."

    def is_gits(self, path: str) -> bool:
        """Return whether a path in its own folder is git's: a bare one may have other files."""
        inside = path[len(self.prefix) :]
        return self.top != self.control or bool(_GITS.fullmatch(fold(inside.split("/")[0])))


class Repositories:
    """Finds the repository whose own folder contains a changed path."""

    def __init__(self, record: Record, changes: Iterable[Change]) -> None:
        self._states = record.states
        self._changed = {change.path: change for change in changes}
        self._disguised = self._find_disguised(record)
        self.found: dict[str, Repository] = {}
        self._of: dict[str, Repository | None] = {}
        for path in self._changed:
            self.of(path)

    def of(self, path: str) -> Repository | None:
        """Return the innermost repository whose own folder contains a path or is that path."""
        known = self._of.get(path, self)
        if not isinstance(known, Repositories):
            return known
        above = self.of(split(path)[0]) if path else None
        if above is not None and not above.is_gits(path):
            above = self.of(split(above.control)[0]) if above.control else None
        found = self._at(path, is_inside=above is not None) or above
        self._of[path] = found
        return found

    def add(self, control: str) -> Repository:
        """Add a repository whose held changes the user decides on."""
        folder, name = split(control)
        top = folder if name == OWN else control
        is_there = f"{control}/{HEAD}".lstrip("/") in self._states
        self.found[control] = Repository(len(self.found) + 1, control, top, is_there, True)
        return self.found[control]

    def was_there(self, path: str) -> bool:
        """Return whether a path existed when the view began."""
        return path in self._states

    def is_there(self, path: str) -> bool:
        """Return whether a path existed after the run."""
        change = self._changed.get(path)
        return path in self._states if change is None else change.change != "deleted"

    def is_changed(self, path: str) -> bool:
        """Return whether the run changed or deleted a path."""
        change = self._changed.get(path)
        return change is not None and change.change != "times"

    def changes_of(self, repository: Repository) -> Iterator[Change]:
        """Yield the changes in its own folder, except those of repositories inside it."""
        return (c for c in self._changed.values() if self.of(c.path) is repository)

    def _at(self, path: str, *, is_inside: bool) -> Repository | None:
        folder, name = split(path)
        if name != OWN and is_control(name):  # never committed, whatever is in it
            return None
        existed = _is_repository(path, self.was_there, is_inside=is_inside)
        exists = _is_repository(path, self.is_there, is_inside=is_inside) or path in self._disguised
        is_own = name == OWN and not is_inside
        if not (existed or exists or (is_own and self._is_folder(path))):
            return None
        top = folder if is_own else path
        self.found[path] = Repository(len(self.found) + 1, path, top, existed, exists)
        return self.found[path]

    def _is_folder(self, path: str) -> bool:
        change = self._changed.get(path)
        if change is not None:
            return change.kind == "folder"
        return path in self._states and stat.S_ISDIR(self._states[path].mode)

    def _find_disguised(self, record: Record) -> set[str]:
        """Find folders that are repositories by other spellings, one of them made by a run."""
        found: dict[str, set[str]] = {}
        for path, change in self._changed.items():
            folder, name = split(path)
            is_mark = fold(name) in _MARKS and change.change != "deleted"
            if is_mark and not _is_repository(folder, self.is_there, is_inside=False):
                found[folder] = set()
        if not found:
            return set()
        for path in {*self._changed, *(path for path, _ in record.kinds())}:
            folder, name = split(path)
            mark = fold(name)
            # A folder of that name is not a HEAD.
            is_mark = mark in _MARKS and (mark != "head" or not self._is_folder(path))
            if folder in found and is_mark and self.is_there(path):
                found[folder].add(mark)
        return {folder for folder, marks in found.items() if "head" in marks and len(marks) > 1}


def _is_repository(folder: str, there: Callable[[str], bool], *, is_inside: bool) -> bool:
    """Return whether a folder has the parts of a repository. Inside another one's folder, that of a
    working tree has a `commondir`."""
    prefix = f"{folder}/" if folder else ""
    parts = _PARTS[:1] if is_inside else _PARTS
    return there(prefix + HEAD) and any(there(prefix + part) for part in parts)


class BroughtObjects:
    """Names of objects that runs added, in one file, a line each, for all projects of a user.

    A project may be inside another, be renamed, or share a repository with another.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] | None = None

    def __contains__(self, name: str) -> bool:
        if self._names is None:
            self._names = set()
            for path in self._path.parent.glob("*.names"):
                self._names.update(path.read_text("ascii").split())
        return name in self._names

    def add(self, names: Iterable[str]) -> None:
        """Store more names, before their objects are added.

        Raises:
            OSError: the file can't be written.
        """
        new = [name for name in names if name not in self]
        if not new or self._names is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self._path, "a", encoding="ascii") as file:
            # A blank line first: if a writer died, the last name may be incomplete.
            file.write("".join(f"\n{name}" for name in new) + "\n")
        self._names.update(new)


FILE_BYTES_MAX = 64 << 20  # limit for files committed because a repository already had them
COMMITS_MAX = 256


@dataclass(slots=True)
class _Known:
    """One of the host's repositories, with a process that reports which objects it has."""

    own: Path
    format: str
    asking: subprocess.Popen[bytes]

    def has(self, name: str) -> bool:
        stdin, stdout = self.asking.stdin, self.asking.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{name}\n".encode())
        stdin.flush()
        return not stdout.readline().endswith(b" missing\n")

    def close(self) -> None:
        with self.asking:
            self.asking.kill()


@dataclass(slots=True)
class History:
    """Answers for the repositories around the paths of a project."""

    record: Record
    project: Tree
    contents: Tree
    brought: BroughtObjects
    # By own folders of working trees: git with the run's objects, and the commit checked out.
    after: Mapping[Path, tuple[HostGit, str]] = field(default_factory=dict)
    _known: dict[str, _Known | None] = field(default_factory=dict)
    _earlier: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def close(self) -> None:
        """End the git processes."""
        for known in self._known.values():
            if known is not None:
                known.close()

    def was_known(self, change: Change) -> bool:
        """Return whether a repository around a path already had the content of its change."""
        return self._find(change.path, lambda kind: self._name(change, kind), but_brought=True)

    def is_known(self, path: str) -> bool:
        """Return whether a repository around a path has the file that is there now."""

        def name(kind: str) -> str:
            info = self.project.info(path)
            if info is None or info.st_size > FILE_BYTES_MAX:
                return ""
            return digest_file(self.project, path, kind, b"blob %d\0" % info.st_size)

        return self._find(path, name, but_brought=False)

    def was_without(self, path: str) -> bool:
        """Return whether the run checked out a commit from before it that lacks a path."""
        top = self._top_of(path)
        known = None if top is None else self._repository(top)
        if top is None or known is None or known.own not in self.after:
            return False
        git, head = self.after[known.own]
        inside = path[len(top) + 1 :] if top else path
        with contextlib.suppress(GitError):
            return any(
                not git.ask("ls-tree", "-z", "--full-tree", commit, "--", inside)
                for commit in self._list_earlier(top, git, head, known)
            )
        return False

    def _list_earlier(self, top: str, git: HostGit, head: str, known: _Known) -> tuple[str, ...]:
        """List the nearest commits from before the run, starting at the one checked out now."""
        if top not in self._earlier:
            said = git.ask("rev-list", f"--max-count={COMMITS_MAX}", "--parents", head).decode()
            found = []
            parents = {line.split()[0]: line.split()[1:] for line in said.splitlines()}
            pending, met = [next(iter(parents), "")], set[str]()
            while pending:
                commit = pending.pop()
                if commit in met:
                    continue
                met.add(commit)
                if known.has(commit) and commit not in self.brought:
                    found.append(commit)
                else:
                    pending += parents.get(commit, ())
            self._earlier[top] = tuple(found)
        return self._earlier[top]

    def _find(self, path: str, name: Callable[[str], str], *, but_brought: bool) -> bool:
        top = self._top_of(path)
        while top is not None:
            known = self._repository(top)
            if known is not None:
                with contextlib.suppress(OSError, GitError):
                    found = name(known.format)
                    is_known = bool(found) and known.has(found)
                    if is_known and not (but_brought and found in self.brought):
                        return True
            top = self._top_of(top) if top else None
        return False

    def _top_of(self, path: str) -> str | None:
        """Return the top of the innermost working tree that contains a path."""
        while path:
            path, _ = split(path)
            if (f"{path}/.git" if path else ".git") in self.record.states:
                return path
        return None

    def _repository(self, top: str) -> _Known | None:
        if top not in self._known:
            self._known[top] = None
            with contextlib.suppress(GitError, OSError):
                git = HostGit(Path(self.record.project, top, ".git"))
                said = git.ask("rev-parse", "--show-object-format", "--absolute-git-dir")
                kind, own = os.fsdecode(said).splitlines()
                asking = subprocess.Popen(
                    [*git.command, "cat-file", "--batch-check"],
                    env=git.environment,
                    cwd="/",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                self._known[top] = _Known(Path(own), kind, asking)
        return self._known[top]

    def _name(self, change: Change, kind: str) -> str:
        """Return git's name of a content; "" if git can't have it."""
        if change.kind == "link":
            target = os.fsencode(change.target)
            preamble = b"blob %d\0" % len(target)
            return hashlib.new(kind, preamble + target, usedforsecurity=False).hexdigest()
        # Almost every repository has the empty content, so it says nothing about a path.
        if change.kind == "file" and 0 < change.size <= FILE_BYTES_MAX:
            return digest_file(self.contents, change.path, kind, b"blob %d\0" % change.size)
        return ""
