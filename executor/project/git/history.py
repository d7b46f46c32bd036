"""Knowledge of the host's repositories from before a run: contents, and what a commit lacks.

git is asked. What earlier runs brought in does not count: else one could plant what the next checks
out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from executor.project.git.host import GitError, HostGit
from executor.project.store.manifest import Change
from executor.project.view.contents import digest
from executor.project.view.record import Record
from executor.project.view.tree import Tree, split


class BroughtObjects:
    """Names in one file, a line each, for all projects of a user.

    A project may lie in another, get another name, or share a repository with it.
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
        """Remember more, before they are brought in.

        Raises:
            OSError: the file can't be written.
        """
        new = [name for name in names if name not in self]
        if not new or self._names is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self._path, "a", encoding="ascii") as file:
            # A blank line first: the last name may be half a one, where a writer died.
            file.write("".join(f"\n{name}" for name in new) + "\n")
        self._names.update(new)


FILE_BYTES_MAX = 64 << 20  # of what may be committed for having been there
COMMITS_MAX = 256


@dataclass(slots=True)
class _Known:
    """One of the host's repositories, with a process that says which objects it has."""

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
    """Answers for the repositories around the paths of a project.

    `after` are those that a run left, by the own folders of their working trees: with its objects,
    and with what is checked out.
    """

    record: Record
    project: Tree
    contents: Tree
    brought: BroughtObjects
    after: Mapping[Path, tuple[HostGit, str]] = field(default_factory=dict)
    _known: dict[str, _Known | None] = field(default_factory=dict)
    _earlier: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def close(self) -> None:
        """End the processes that were asked."""
        for known in self._known.values():
            if known is not None:
                known.close()

    def had(self, change: Change) -> bool:
        """Return whether what a change leaves at its path was in a repository around that path."""
        return self._find(change.path, lambda kind: self._name(change, kind), but_brought=True)

    def has_present(self, path: str) -> bool:
        """Return whether the file that a path has now is in a repository around it."""

        def name(kind: str) -> str:
            info = self.project.info(path)
            if info is None or info.st_size > FILE_BYTES_MAX:
                return ""
            return digest(self.project, path, kind, b"blob %d\0" % info.st_size)

        return self._find(path, name, but_brought=False)

    def was_without(self, path: str) -> bool:
        """Return whether a commit from before the run, which it went to, has nothing at a path."""
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
        """The nearest commits that were there before, from what is checked out now."""
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
        """The top of the innermost working tree that a path lies in, but is not."""
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
        """The name by which git knows a content; "" for what it can't have."""
        if change.kind == "link":
            target = os.fsencode(change.target)
            preamble = b"blob %d\0" % len(target)
            return hashlib.new(kind, preamble + target, usedforsecurity=False).hexdigest()
        # Nearly every repository has the empty content, which no path of it tells from another.
        if change.kind == "file" and 0 < change.size <= FILE_BYTES_MAX:
            return digest(self.contents, change.path, kind, b"blob %d\0" % change.size)
        return ""
