"""The bare repository of pages: read by `cat-file` and `log`, written only by `fast-import`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from base.locks import hold_lock
from memory.errors import BadInputError, StoreUnavailableError
from memory.pages.git import LOG_FORMAT, SECONDS_MAX, Git, import_stream, message_of, parse_log
from memory.pages.model import PAGE_BYTES_MAX, Commit, GitError, MovedError

BRANCH = "refs/heads/main"
LOCK_WAIT_S = 30.0
PACKS_MAX = 50
"""Packs from which all objects are packed together; each commit adds one."""

LOOSE_FILES_MAX = 24
"""Loose objects in one of git's 256 folders from which all objects are packed together."""

_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./~^@-]{0,199}")
_READ_BYTES_MAX = 1 << 30
_SHA = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n")


class Repository:
    """A bare repository of pages with one branch, `main`."""

    def __init__(
        self,
        folder: Path,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        seconds_max: float = SECONDS_MAX,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        self.folder = folder
        self._git = Git(folder, environ, seconds_max=seconds_max)
        self._environ = environ
        self._clock = clock
        self._lock_wait_s = lock_wait_s

    @property
    def exists(self) -> bool:
        return (self.folder / "HEAD").is_file()

    @property
    def git(self) -> Git:
        """Return the runner of rarely used git commands."""
        return self._git

    def init(self) -> bool:
        """Make the repository if it is missing; return whether it was.

        Raises:
            GitError: git is missing or failed.
            StoreUnavailableError: the folder has other content, or cannot be written.
        """
        with self.lock():
            if self.exists:
                return False
            if self.folder.exists() and any(self.folder.iterdir()):
                raise StoreUnavailableError(f"{self.folder} is not empty and not a git repository")
            beside = self.folder.with_name(f"{self.folder.name}.new")
            shutil.rmtree(beside, ignore_errors=True)
            Git(beside, self._environ).run(
                *("init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(beside))
            )
            os.chmod(beside, 0o700)
            beside.replace(self.folder)
            return True

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from changing the branch.

        Raises:
            StoreUnavailableError: another process held the lock too long, or it cannot be made.
        """
        path = self.folder.with_name(f"{self.folder.name}.lock")
        try:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = hold_lock(path, self._lock_wait_s)
            held.__enter__()
        except BlockingIOError as error:
            message = f"another process has locked the pages for {self._lock_wait_s:g} s"
            raise StoreUnavailableError(message, "Try again when it has finished.") from error
        except OSError as error:
            raise StoreUnavailableError(f"cannot open {path}: {error.strerror}") from error
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    def head(self) -> str:
        """Return the newest commit; empty if there are no commits.

        Raises:
            GitError: its name is damaged, or git failed.
        """
        if not self.exists:
            return ""
        path = self.folder / BRANCH  # git writes it after each commit, unless it packs its names
        with suppress(OSError), open(path, "rb") as file:
            if match := _SHA.fullmatch(file.read(100)):
                return match[1].decode()
        code, said, _ = self._git.try_run("rev-parse", "--verify", "--quiet", BRANCH)
        if not code:
            return said.decode().strip()
        if code == 1 and not os.path.lexists(path):
            return ""
        message = f"{path} is damaged: it does not name a commit"
        raise GitError(message, "Write the newest commit's name into it, or restore a copy.")

    def resolve(self, revision: str) -> str:
        """Return the full name of a commit from any form that git knows; empty names the newest.

        Raises:
            BadInputError: the commit does not exist.
        """
        name = revision or BRANCH
        if self.exists and _REVISION.fullmatch(name):
            code, said, _ = self._git.try_run(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
            if not code:
                return said.decode().strip()
        message = f"no commit {revision[:80]!r}" if revision else "no commits yet"
        raise BadInputError(message, "List those of a page: context-mode pages history SLUG")

    def read(self, path: str, commit: str = "") -> str | None:
        """Return a page's text in a commit, else in the newest; None if it is missing."""
        return self.read_each([(path, commit)])[0]

    def read_each(self, wanted: Sequence[tuple[str, str]]) -> list[str | None]:
        """Return the texts of paths in commits, all by one process."""
        names = [f"{commit or BRANCH}:{path}" for path, commit in wanted]
        safe = [
            name if _is_path(path) and _REVISION.fullmatch(commit or BRANCH) else ""
            for name, (path, commit) in zip(names, wanted, strict=True)
        ]
        return self.read_objects(safe)

    def read_objects(self, names: Sequence[str]) -> list[str | None]:
        """Return the texts of objects, named in any form that git knows; None for one that is not
        text."""
        if not names or not self.exists:
            return [None] * len(names)
        asked = [name or "0" * 40 for name in names]
        checked = self._git.run("cat-file", "--batch-check", given=_lines(asked)).split(b"\n")
        blobs = [_small_blob(line) for line in checked[: len(asked)]]
        wanted = [blob for blob in dict.fromkeys(blobs) if blob]
        if not wanted:
            return [None] * len(names)
        said = self._git.run("cat-file", "--batch", given=_lines(wanted), bytes_max=_READ_BYTES_MAX)
        texts = dict(zip(wanted, _split_batch(said), strict=True))
        return [texts.get(blob) if blob else None for blob in blobs]

    def blobs(self, wanted: Sequence[tuple[str, str]]) -> list[str]:
        """Return the names of the contents of paths in commits; empty for a missing path."""
        if not wanted or not self.exists:
            return [""] * len(wanted)
        asked = [
            f"{commit or BRANCH}:{path}"
            if _is_path(path) and _REVISION.fullmatch(commit or BRANCH)
            else "0" * 40
            for path, commit in wanted
        ]
        said = self._git.run("cat-file", "--batch-check", given=_lines(asked)).split(b"\n")
        return [_small_blob(line) for line in said[: len(asked)]]

    def last_commit(self, path: str) -> Commit | None:
        """Return the newest commit that changed a path."""
        return next(iter(self.history(path, 1)), None)

    def history(self, path: str = "", limit: int = 50, *, at: str = "") -> list[Commit]:
        """Return the commits that changed a path, else all, up to a commit, newest first."""
        if not self.head() or (path and not _is_path(path)):
            return []
        arguments = [
            "log",
            "-z",
            f"--format=tformat:{LOG_FORMAT}",
            f"-n{limit}",
            at or BRANCH,
            "--",
        ]
        return [*parse_log(self._git.run(*arguments, *([path] if path else [])))]

    def versions(self, path: str, limit: int = 1000) -> list[tuple[Commit, str]]:
        """Return a path's commits and its texts in them, oldest first, without its deletions."""
        commits = self.history(path, limit)[::-1]
        texts = self.read_each([(path, one.sha) for one in commits])
        return [(one, text) for one, text in zip(commits, texts, strict=True) if text is not None]

    def changed_paths(self, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the paths that each commit changed."""
        if not commits:
            return {}
        said = self._git.run(
            *("diff-tree", "--stdin", "--root", "-r", "-z", "--name-only", "--no-renames", "-m"),
            given=_lines(commits),
        )
        known, found, current = set(commits), dict[str, list[str]](), ""
        for field in said.decode("utf-8", "replace").split("\0"):
            name = field.strip("\n")
            if name in known:
                current = name
                found.setdefault(current, [])
            elif name and current and name not in found[current]:
                found[current].append(name)
        return {commit: tuple(paths) for commit, paths in found.items()}

    def list_entries(self, commit: str = "") -> dict[str, str]:
        """Return the names of the contents of a commit's regular files, or of the newest's, by
        path, sorted."""
        if not (commit or self.head()):
            return {}
        said = self._git.run("ls-tree", "-r", "-z", "--full-tree", commit or BRANCH)
        entries = {}
        for row in said.decode("utf-8", "replace").split("\0"):
            meta, tab, path = row.partition("\t")
            mode, kind, blob = (*meta.split(" "), "", "", "")[:3]
            if tab and kind == "blob" and mode in ("100644", "100755"):
                entries[path] = blob
        return dict(sorted(entries.items()))

    def list_paths(self, commit: str = "") -> list[str]:
        """Return the paths of the regular files of a commit, or of the newest."""
        return list(self.list_entries(commit))

    def commit(
        self,
        files: Mapping[str, str | None],
        *,
        parent: str,
        author: str,
        message: str,
        trailers: Mapping[str, str],
    ) -> str:
        """Commit files with their texts, deleting those with None; return the new commit.

        Raises:
            BadInputError: a path or a text cannot be stored.
            MovedError: the newest commit is not `parent`. Nothing was committed.
            GitError: git failed.
        """
        for path, text in files.items():
            _check_file(path, text)
        stream = import_stream(
            BRANCH,
            files,
            parent=parent,
            author=author,
            message=message_of(message, trailers),
            at=int(self._clock()),
        )
        if self.head() != parent:
            raise _moved()
        code, _, errors = self._git.try_run(
            "fast-import", "--quiet", "--done", "--date-format=raw", given=stream
        )
        if code:
            if b"Not updating" in errors or b"does not contain" in errors:
                raise _moved()
            self._remove_leftovers()
            told = errors.decode("utf-8", "replace").strip().splitlines()
            message = f"git could not commit the pages: {(told or ['?'])[0][:300]}"
            raise GitError(message, "Free space if the disk is full, then push again.")
        return self.head()

    def _remove_leftovers(self) -> None:
        """Remove the partial data of a failed commit, which would fill the disk further."""
        for pattern in ("objects/pack/tmp_*", "fast_import_crash_*"):
            for one in self.folder.glob(pattern):
                with suppress(OSError):
                    one.unlink()

    def tidy(self) -> None:
        """Pack all objects together if there are many packs or loose objects."""
        objects = self.folder / "objects"
        packs = sum(name.endswith(".pack") for name in _list_names(objects / "pack"))
        # Git itself also checks this one of the 256 folders.
        if packs > PACKS_MAX or len(_list_names(objects / "17")) > LOOSE_FILES_MAX:
            self._git.try_run("gc", "--quiet")


def name_content(text: str, commit: str) -> str:
    """Return git's name for a content in the repository of a commit, without running git."""
    data = text.encode()
    make = hashlib.sha256 if len(commit) == 64 else hashlib.sha1
    return make(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _list_names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


def _moved() -> MovedError:
    return MovedError(
        "other pages were pushed at the same time; nothing was committed", "Push again."
    )


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("utf-8", "replace")


def _is_path(path: str) -> bool:
    """Return whether a path can be in a repository, and in one line."""
    if not path or len(path) > 1024 or re.search("[\0-\x1f\x7f\ud800-\udfff]", path):
        return False
    return not any(part.lower() in ("", ".", "..", ".git") for part in path.split("/"))


def _check_file(path: str, text: str | None) -> None:
    if not _is_path(path):
        raise BadInputError(f"invalid page path {path[:80]!r}", "Choose another slug.")
    if text is None:
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        message = f"{path} has a lone surrogate, which is not valid UTF-8"
        raise BadInputError(message, "Remove it.") from None
    if size > PAGE_BYTES_MAX and path not in ("index.md", "tags.md"):
        raise BadInputError(f"{path} is larger than {PAGE_BYTES_MAX >> 20} MiB", "Divide it.")


def _small_blob(line: bytes) -> str:
    """Return the name of a content in a line of `--batch-check`, unless it is not a page's."""
    fields = line.split(b" ")
    if len(fields) != 3 or fields[1] != b"blob" or not fields[2].isdigit():
        return ""
    return fields[0].decode() if int(fields[2]) <= 16 * PAGE_BYTES_MAX else ""


def _split_batch(said: bytes) -> Iterator[str | None]:
    """Return the texts that `cat-file --batch` prints; None for one that is not UTF-8."""
    at = 0
    while at < len(said):
        end = said.index(b"\n", at)
        size = int(said[at:end].rsplit(b" ", 1)[1])
        try:
            yield said[end + 1 : end + 1 + size].decode()
        except UnicodeDecodeError:
            yield None
        at = end + 1 + size + 1
