"""The host's own git, used only by plumbing commands, each with a time limit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from base import process
from base.bounded_run import (
    GIT_PATH,
    NEUTRAL_SETTINGS,
    UNATTENDED,
    BoundedRunError,
    Bounds,
    run_bounded,
)
from base.plain_files import read_head
from policy import real_path

SECONDS_MAX: Final = 120.0
"""Enough to check packs of gigabytes; a usual command takes 3 ms."""
ERROR_CHARACTERS_MAX: Final = 500
# The project may be another user's: `safe.directory` allows that, as the user chose to run it.
_SETTINGS = (
    *NEUTRAL_SETTINGS,
    *("safe.directory=*", "gc.auto=0", "core.useReplaceRefs=false"),
    "protocol.allow=never",  # objects that a partial clone lacks are not fetched
)
_ENVIRONMENT = {**UNATTENDED, "GIT_NO_LAZY_FETCH": "1"}

_TO_BE_OTHERS = (process.SETUID, process.SETGID, process.CHOWN)


class GitError(Exception):
    """git failed; the text has its own message."""


@dataclass(frozen=True, slots=True)
class HostGit:
    """git in one repository's own folder, or in that of one of its working trees.

    With `quarantine`, new objects go into that folder; they are used in addition to the
    repository's `objects`.
    """

    folder: Path
    quarantine: Path | None = None
    objects: Path | None = None

    def ask(
        self, *arguments: str, stdin: bytes = b"", also: Iterable[int] = (), **env: str
    ) -> bytes:
        """Return a command's output. `also` are exit codes besides 0 that are not errors.

        Raises:
            GitError: git is not installed, failed, or took too long.
        """
        return self._run(arguments, {"input": stdin}, also, env)

    def feed(self, path: Path, *arguments: str) -> None:
        """Run a command that reads a file.

        Raises:
            GitError, OSError: as `ask`, or the file can't be read.
        """
        with open(path, "rb") as file:
            self._run(arguments, {"stdin": file}, (), {})

    def _run(
        self,
        arguments: Sequence[str],
        given: dict[str, Any],
        also: Iterable[int],
        env: Mapping[str, str],
    ) -> bytes:
        if self.is_others:
            owner = self._find_owner()
            given |= {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}
        try:
            done = subprocess.run(
                [*self.command, *arguments],
                env=self.environment | dict(env),
                cwd="/",
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
                **given,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git took over {SECONDS_MAX:.0f} s") from None
        except OSError as error:
            raise GitError(f"cannot start git: {error.strerror}") from None
        if done.returncode and done.returncode not in also:
            said = done.stderr.decode("utf-8", "replace").strip()[-ERROR_CHARACTERS_MAX:]
            raise GitError(f"git {arguments[0]}: {said or f'exit code {done.returncode}'}")
        return bytes(done.stdout)

    @property
    def is_others(self) -> bool:
        """True if another user owns it: then git runs as that user, who owns what it writes."""
        is_own = self._find_owner().st_uid == os.geteuid()
        return not is_own and process.holds(*_TO_BE_OTHERS)

    def give(self, path: Path) -> None:
        """Give a file or folder to the repository's owner.

        Raises:
            OSError: it is missing.
        """
        if self.is_others:
            owner = self._find_owner()
            os.chown(path, owner.st_uid, owner.st_gid)

    def _find_owner(self) -> os.stat_result:
        """Return the owner of its folder, or of the nearest existing one above."""
        return next(above for above in (self.folder, *self.folder.parents) if above.exists()).stat()

    @property
    def command(self) -> list[str]:
        """Return the start of its command lines."""
        git = shutil.which("git", path=GIT_PATH)
        if git is None:
            raise GitError("git is not installed")
        # A quarantine is not used after the command.
        also = () if self.quarantine is None else ("core.fsync=none",)
        settings = (part for setting in (*_SETTINGS, *also) for part in ("-c", setting))
        return [git, *settings, f"--git-dir={self.folder}"]

    @property
    def environment(self) -> dict[str, str]:
        """Return the whole environment of its processes."""
        env = dict(_ENVIRONMENT)
        if self.quarantine is not None:
            env["GIT_OBJECT_DIRECTORY"] = str(self.quarantine)
            quoted = str(self.objects).replace("\\", r"\\").replace('"', r"\"")
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = f'"{quoted}"'
        return env

    def with_quarantine(self, folder: Path, objects: Path) -> HostGit:
        """Return the same repository, read-only: new objects go to `folder`.

        Its own are in `objects`.
        """
        return HostGit(self.folder, folder, objects)

    def find_objects(self) -> tuple[str, tuple[Path, ...]]:
        """Return the kind of its objects' names, and the folders with its objects, its own first.

        Raises:
            GitError: as `ask`.
        """
        said = self.ask("rev-parse", "--show-object-format", "--git-path", "objects")
        kind, own = os.fsdecode(said).splitlines()
        paths = [own]
        if Path("/", own, "info/alternates").exists():
            lines = self.ask("count-objects", "-v").splitlines()
            paths += [os.fsdecode(line[11:]) for line in lines if line.startswith(b"alternate: ")]
        return kind, tuple(Path("/", path) for path in paths)

    def list_refs(self) -> dict[str, str]:
        """Return the objects of all refs by name; symbolic refs are left out.

        Raises:
            GitError: as `ask`.
        """
        return parse_refs(self.ask("for-each-ref", f"--format={REF_FORMAT}"))

    def list_stashes(self) -> list[str]:
        """List the commits of all stashes, the latest first.

        Raises:
            GitError: as `ask`.
        """
        return self.ask("reflog", "show", "--format=%H", "refs/stash", also=(128,)).decode().split()

    def head_or_none(self) -> str:
        """Return the ref or object that is checked out; "" without one."""
        try:
            return self.head()
        except GitError:
            return ""

    def head(self) -> str:
        """Return the name of the ref that is checked out, or the object if none is.

        Raises:
            GitError: as `ask`.
        """
        named = self.ask("symbolic-ref", "-q", "HEAD", also=(1,)) or self.ask("rev-parse", "HEAD")
        return named.decode("utf-8", "surrogateescape").strip()


REF_FORMAT: Final = "%(objectname) %(refname) %(symref)"


def parse_refs(said: bytes) -> dict[str, str]:
    """Read lines of `REF_FORMAT`. Names of refs have no spaces (git-check-ref-format(1))."""
    found = {}
    for line in said.decode("utf-8", "surrogateescape").splitlines():
        name, ref, symbolic = line.split(" ", 2)
        if not symbolic:
            found[ref] = name
    return found


LINKED_BOUNDS: Final[Bounds] = (5.0, 1 << 16)


def find_linked(project: Path) -> tuple[str, ...]:
    """Find the repository outside of a project that a worktree's or submodule's `.git` points to.

    Only a repository that also knows the project: the author of a packed project chose the file's
    content, and could name any repository of the user who unpacks it.
    """
    if not os.path.isfile(project / ".git"):
        return ()
    said = _ask(project / ".git", "rev-parse", "--absolute-git-dir", "--git-common-dir")
    if len(said) != 2:
        return ()
    folder, common = (Path(real_path(os.path.join("/", path))) for path in said)
    is_outside = folder.is_relative_to(common) and not folder.is_relative_to(project)
    return (str(common),) if is_outside and _knows(folder, project) else ()


def _knows(folder: Path, project: Path) -> bool:
    """Return whether a git folder names this project as its worktree, or its submodule."""
    places = [f"{place}/.git" for place in _ask(folder, "config", "core.worktree")]
    with suppress(OSError):  # missing if it is not a worktree's
        places.append(os.fsdecode(read_head(folder / "gitdir")).rstrip("\n"))
    return any(place and real_path(f"{folder / place}") == f"{project}/.git" for place in places)


def _ask(own: Path, *arguments: str) -> list[str]:
    """Return the lines that git prints about a repository; none if it fails."""
    git = HostGit(own)
    try:
        command = [*git.command, *arguments]
        done = run_bounded(command, LINKED_BOUNDS, environment=git.environment)
    except (GitError, BoundedRunError):
        return []
    return [] if done.returncode else os.fsdecode(done.stdout).splitlines()
