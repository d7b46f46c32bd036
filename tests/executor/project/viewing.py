"""Runs in a view of a project, and what trees look like afterwards, for tests of commits."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from executor.project import past
from executor.project.changes import of_copy, of_upper
from executor.project.commit import Commit, commit
from executor.project.listing import Listings
from executor.project.record import Record, take
from executor.project.store import Store

MOUNT = (
    'mount -t overlay overlay -o "userxattr,lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/m"'
    ' && cd "$2/m" && shift 2 && exec "$@"'
)
S_MAX = 60


@dataclass(frozen=True)
class Row:
    verdict: str
    obeyed_by: str


class FakeNames:
    """A small table: what direnv and VS Code obey is never, what agents and npm do is held."""

    never = (".envrc", ".vscode")
    held = ("AGENTS.md", ".npmrc")

    def judge(self, path: str) -> Row | None:
        parts = path.split("/")
        if set(parts) & set(self.never):
            return Row("never", "a tool")
        return Row("held", "an agent") if parts[-1] in self.held else None

    def judge_link(self, path: str) -> Row | None:
        return self.judge(path)

    def judge_control(self, path: str, folder: str = ".git") -> Row | None:
        return None


@dataclass
class View:
    """One view of a project: begun, run in, committed."""

    project: Path
    place: Path  # for the layers, and all that is stored
    kind: str = "overlay"
    hidden: tuple[str, ...] = ()
    record: Record | None = None

    @property
    def store(self) -> Store:
        return Store(self.place / "changes")

    @property
    def upper(self) -> Path:
        return self.place / "upper"

    def begin(self) -> None:
        for name in ("upper", "work", "m"):
            shutil.rmtree(self.place / name, ignore_errors=True)
            (self.place / name).mkdir(parents=True)
        self.record = self._record()
        if self.kind == "copy":
            shutil.rmtree(self.place / "copy", ignore_errors=True)
            subprocess.run(["cp", "-a", self.project, self.place / "copy"], check=True)
            self.at_start = take(self.place / "copy", ()).states

    def _record(self) -> Record:
        """As the door takes it: whole for a copy, by the time of change for an overlay."""
        if self.kind == "overlay":
            record = past.begin(self.project, self.hidden, Listings())
            record.settle()
            return record
        return take(self.project, self.hidden)

    def run(self, *command: str) -> None:
        """Run a command in the view's folder."""
        if self.kind == "copy":
            run(self.place / "copy", *command)
            return
        unshare = ["unshare", "-Urm", "sh", "-ec", MOUNT, "sh"]
        outcome = subprocess.run(
            [*unshare, str(self.project), str(self.place), *command],
            check=False, timeout=S_MAX, capture_output=True, text=True,
        )  # fmt: skip
        if "mount" in outcome.stderr and "overlay" in outcome.stderr:
            pytest.skip(f"no overlay can be mounted here: {outcome.stderr}")
        assert outcome.returncode == 0, outcome.stderr + outcome.stdout

    def changes(self):
        assert self.record is not None
        if self.kind == "copy":
            return of_copy(self.place / "copy", self.at_start, self.record)
        upper = os.open(self.upper, os.O_RDONLY)
        try:
            return replace(of_upper(upper, self.record), may_move=True)
        finally:
            os.close(upper)

    def commit(self, names=None, **more) -> Commit:
        changes = self.changes()
        try:
            return commit(changes, names or FakeNames(), self.store, label="a run", **more)
        finally:
            changes.record.close()
            os.close(changes.contents)


def run(folder: Path, *command: str) -> None:
    outcome = subprocess.run(
        command, cwd=folder, check=False, timeout=S_MAX, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr + outcome.stdout


def python(code: str) -> tuple[str, ...]:
    """A command that runs a program of Python."""
    return (sys.executable, "-I", "-c", f"import os, shutil, pathlib\n{code}")


def tree(top: Path, *, times: bool = True, top_too: bool = False) -> dict[str, tuple]:
    """All that can be seen of a tree: kinds, modes, contents, times, attributes, hard links."""
    seen: dict[str, tuple] = {}
    groups: dict[int, str] = {}
    for folder, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            info = os.lstat(path)
            kind = stat.S_IFMT(info.st_mode)
            content: object = None
            own: object = None
            if stat.S_ISLNK(info.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(info.st_mode):
                content = Path(path).read_bytes()
            if not stat.S_ISLNK(info.st_mode):
                own = [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))
                       if n.startswith("user.")]  # fmt: skip
            key = os.path.relpath(path, top)
            first = groups.setdefault(info.st_ino, key) if stat.S_ISREG(info.st_mode) else key
            mtime = info.st_mtime_ns if times else 0
            seen[key] = (kind, stat.S_IMODE(info.st_mode), content, own, mtime, first)
    return dict(sorted(seen.items()))


def left(outcome: Commit) -> dict[str, str]:
    """What was left out, by path."""
    return {each.path: each.kind for each in outcome.left_out}
