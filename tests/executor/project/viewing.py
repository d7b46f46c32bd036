"""Runs in a view of a project, and what trees look like afterwards, for tests of commits."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from executor.instance import lock
from executor.project.git.host import GitError
from executor.project.git.repository_export import Scratch
from executor.project.store.manifest import Commit
from executor.project.store.store import ChangeStore, commit_changes
from executor.project.view import work_copy
from executor.project.view.comparison import of_upper
from executor.project.view.record import Record, begin, take
from executor.project.view.search import ProjectSearch

MOUNT = (
    'mount -t overlay overlay -o "userxattr,lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/m"'
    ' && cd "$2/m" && shift 2 && exec "$@"'
)
S_MAX = 60
NAMESPACES = Path("/proc/sys/user/max_user_namespaces")


def kind_here() -> str:
    """What a view is for this user: tier B has no overlay, but a work copy."""
    return "overlay" if int(NAMESPACES.read_text()) else "copy"


@dataclass(frozen=True)
class Row:
    verdict: str
    why: str


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


@dataclass
class View:
    """One view of a project: begun, run in, committed."""

    project: Path
    place: Path  # for the layers, and all that is stored
    kind: str = field(default_factory=kind_here)
    hidden: tuple[str, ...] = ()
    record: Record | None = None

    @property
    def store(self) -> ChangeStore:
        return ChangeStore(self.place / "changes")

    @property
    def upper(self) -> Path:
        """Where what a program writes lies: beside nothing else, or among all of a copy."""
        return self.place / ("copy" if self.kind == "copy" else "upper")

    def begin(self) -> None:
        for name in ("copy", "upper", "work", "m"):
            lock.remove(self.place / name)
            (self.place / name).mkdir(parents=True)
        self.record = self._record()
        if self.kind == "copy":
            owner = (os.geteuid(), os.getegid())
            self.copy = work_copy.make(self.record, self.upper, owner)

    def record_again(self) -> None:
        """Have the project as it is now be what the view began with; what a run left stays."""
        self.record = take(self.project, self.hidden)
        if self.kind == "copy":
            self.copy = replace(self.copy, record=work_copy.without_secrets(self.record))

    def _record(self) -> Record:
        """As the door takes it: whole for a copy, by the time of change for an overlay."""
        if self.kind == "overlay":
            search = ProjectSearch(self.project)
            search.hide([self.project / path for path in self.hidden])
            record = begin(search)
            record.settle()
            return record
        return take(self.project, self.hidden)

    def run(self, *command: str) -> None:
        """Run a command in the view's folder."""
        if self.kind == "copy":
            run(self.upper, *command)
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
            return self.copy.changes()
        return replace(of_upper(os.open(self.upper, os.O_RDONLY), self.record), may_move=True)

    def commit(self, names=None, **more) -> Commit:
        changes = self.changes()
        try:
            more.setdefault("read", PlainReader.of(self.place))
            return commit_changes(changes, names or FakeNames(), self.store, label="a run", **more)
        finally:
            changes.record.close()
            os.close(changes.contents)


@dataclass(frozen=True)
class PlainReader:
    """Has git read a scratch repository without a sandbox."""

    place: Path

    @classmethod
    def of(cls, above: Path) -> PlainReader:
        place = Path(tempfile.mkdtemp(dir=above))
        place.chmod(0o755)  # the project may be another user's
        return cls(place)

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        out = scratch.folder.with_name("out")
        scratch.borrow(map(str, scratch.objects))
        try:
            run(scratch.folder, "sh", "-c", script, "sh", str(out), *arguments)
        except AssertionError as error:
            raise GitError(str(error)) from None
        return out


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
                content = read(path, info)
            if not stat.S_ISLNK(info.st_mode):
                own = [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))
                       if n.startswith("user.")]  # fmt: skip
            key = os.path.relpath(path, top)
            first = groups.setdefault(info.st_ino, key) if stat.S_ISREG(info.st_mode) else key
            mtime = info.st_mtime_ns if times else 0
            seen[key] = (kind, stat.S_IMODE(info.st_mode), content, own, mtime, first)
    return dict(sorted(seen.items()))


def read(path: str, info: os.stat_result) -> bytes:
    """What is in a file, also where its owner has closed it to himself."""
    if info.st_mode & stat.S_IRUSR or os.geteuid() == 0:
        return Path(path).read_bytes()
    os.chmod(path, stat.S_IMODE(info.st_mode) | stat.S_IRUSR)
    try:
        return Path(path).read_bytes()
    finally:
        os.chmod(path, stat.S_IMODE(info.st_mode))


def left(outcome: Commit) -> dict[str, str]:
    """What was left out, by path."""
    return {each.path: each.kind for each in outcome.left_out}
