"""Commits of a repository: messages, changed files, and the index of their words."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from base.plain_files import read_plain
from kb import is_utf8
from repomap.git import (
    GitFailedError,
    GitTooLongError,
    GitTooMuchError,
    run_git,
    switch_off_filters,
)
from repomap.model import MapError, MapInputError
from repomap.store import index_words, read_files, write_marks
from repomap.words import split_names

COMMITS = 3000
FILES_MAX = 30
"""Files of a commit from which it is skipped: a rename, a new licence, a formatter's run."""

FEWER = (10, 100)
"""Divisors if there are too many commits to read: a tenth of them, then a hundredth."""

MESSAGE_CHARS = 4096
FILES_CHARS = 32 * 1024
"""Characters of a message, divided by the commit's files: it is indexed with each of them."""

SHALLOW_BYTES = 1 << 20
DEADLINE_S = 20.0
_REASONS = (
    ("dubious ownership", "no history: the repository belongs to another user"),
    ("not a git repository", "no history: no git repository found"),
)
_KNOWN = frozenset(why for _, why in _REASONS)
_FORMAT = "--format=%x00%H%x00%ct%x00%B"
_DIFF = ("-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative")
_SHA = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its time, in seconds; its message; the changed paths, relative to the map's
    folder."""

    sha: str
    at: int
    message: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Commits, the newest first."""

    head: str
    commits: tuple[Commit, ...] = ()
    is_anew: bool = False  # whether the start commit is no longer an ancestor
    note: str = ""  # reason for missing commits
    fewer: str = ""  # notice that there were too many commits to read
    shallow: str = ""  # where a shallow history ends; empty if it is complete


def read_history(
    root: Path,
    *,
    since: str = "",
    shallow: str = "",
    limit: int = COMMITS,
    deadline_s: float = DEADLINE_S,
) -> History:
    """Read the commits that touch the folder; with `since`, only later ones, unless the shallow end
    of the history has changed from `shallow`."""
    asking = _Asking(root, deadline_s)
    try:
        asking.run("rev-parse", "--git-dir")
    except MapError as error:
        return History("", note=_say_why(error.message, root))
    try:
        head = asking.resolve("HEAD")
    except MapInputError:
        return History("", note=asking.say_headless())
    except MapError as error:
        return History("", note=_say_why(error.message))
    try:
        ends = asking.find_shallow()
        note = "the history is shallow: older commits are missing" if ends else ""
        if since == head and ends == shallow:
            return History(head, note=note, shallow=ends)
        is_anew = ends != shallow or not asking.is_ancestor(since, head)
        # The last commits of a shallow history seem to have created all their files.
        options = ("--min-parents=1",) if ends else ()
        commits = head if is_anew else f"{since}..{head}"
        said, fewer = asking.log((*options, commits), limit)
    except MapError as error:
        return History("", note=_say_why(error.message))
    return History(head, tuple(_parse(said)), is_anew, note, fewer, ends)


def list_changed(root: Path, revision: str, *, deadline_s: float = DEADLINE_S) -> tuple[str, ...]:
    """Return the paths that differ between a revision and the working tree, new files included.

    Raises:
        MapInputError: the revision does not exist.
        MapError: git failed.
    """
    asking = _Asking(root, deadline_s)
    sha = asking.resolve(revision)
    names = [*asking.diff(sha).split(b"\0"), *asking.list_new().split(b"\0")]
    return tuple(sorted({path for name in names if (path := _decode(name))}))


class _Asking:
    """Several queries to git about one folder, with one deadline."""

    def __init__(self, root: Path, deadline_s: float) -> None:
        self.root = root
        self._until = time.monotonic() + deadline_s

    def left_s(self, share: float = 1.0) -> float:
        """Return a share of the seconds that are left, and never none."""
        return max((self._until - time.monotonic()) * share, 0.1)

    def run(self, *arguments: str) -> bytes:
        return run_git(self.root, *arguments, deadline_s=self.left_s())

    def resolve(self, revision: str) -> str:
        if "\0" in revision or not is_utf8(revision):
            raise _no_commit(revision)
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        try:
            said = self.run("rev-parse", *asked)
        except GitFailedError as error:
            why = _say_why(error.message)
            if why in _KNOWN:
                raise MapError(why, "Use a git repository that you own.") from error
            raise _no_commit(revision) from error
        return said.decode().split()[-1]  # some versions also print the option

    def is_ancestor(self, sha: str, head: str) -> bool:
        if not _SHA.fullmatch(sha):
            return False
        try:
            self.run("merge-base", "--is-ancestor", sha, head)
        except MapError:
            return False
        return True

    def log(self, commits: tuple[str, ...], limit: int) -> tuple[bytes, str]:
        """Return git's output for that many commits, or for fewer, with a note."""
        # Below the top of the tree, the latest commits that touch the folder are needed. If finding
        # enough takes too long, those among the latest of all are used.
        tries: list[tuple[int, tuple[str, ...]]] = [(limit, ("--",))]
        tries += [(max(1, limit // times), ("--",)) for times in FEWER]
        if self.run("rev-parse", "--show-prefix").strip():
            tries.insert(0, (limit, ("--", ".")))
        for at, (count, paths) in enumerate(tries):
            is_last = at == len(tries) - 1
            left = self.left_s(1 if is_last else 0.5)
            options = ("--no-merges", "--no-notes", f"-n{count}", "--name-only", *_DIFF, _FORMAT)
            try:
                said = run_git(self.root, "log", *options, *commits, *paths, deadline_s=left)
            except (GitTooLongError, GitTooMuchError):
                if is_last:
                    raise
                continue
            fewer = f"only the last {count} commits were read: the history is too large"
            return said, fewer if count < limit else ""
        raise AssertionError(tries)

    def find_shallow(self) -> str:
        """Return the digest of the end of a shallow history; empty if it is complete."""
        if self.run("rev-parse", "--is-shallow-repository").strip() != b"true":
            return ""
        said = self.run("rev-parse", "--git-path", "shallow").removesuffix(b"\n")
        try:
            ends = read_plain(self.root / os.fsdecode(said), SHALLOW_BYTES)
        except OSError:
            return "unknown"
        return hashlib.sha256(ends).hexdigest()

    def say_headless(self) -> str:
        """Return why there is no commit: none was made yet, or it is missing."""
        try:
            sha = self.run("rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
        except MapError:
            return "no history: no commits yet"
        return f"no history: cannot read commit {sha}; to list missing objects: git fsck"

    def diff(self, sha: str) -> bytes:
        off = switch_off_filters(self.root, deadline_s=self.left_s())
        asked = ("diff", "--name-only", *_DIFF, "--ignore-submodules=all", sha, "--")
        return run_git(self.root, *asked, deadline_s=self.left_s(), overruled=off)

    def list_new(self) -> bytes:
        return self.run("ls-files", "-o", "--exclude-standard", "-z")


def _parse(said: bytes) -> Iterator[Commit]:
    """Yield the commits with few files. An empty field begins each, since no name is empty."""
    fields = said.split(b"\0")
    at = 0
    while at + 3 < len(fields):
        sha, seconds, message = fields[at + 1 : at + 4]
        at = begin = at + 4
        while at < len(fields) and fields[at]:
            at += 1
        names = fields[begin:at]
        if 0 < len(names) <= FILES_MAX:
            names[0] = names[0].removeprefix(b"\n")  # git's, between the message and the names
            paths = tuple(path for name in names if (path := _decode(name)))
            chars = min(MESSAGE_CHARS, FILES_CHARS // len(names))
            text = message[: chars * 4].decode("utf-8", "replace")[:chars]
            if paths:
                yield Commit(sha.decode(), _read_time(seconds), text, paths)


def _read_time(seconds: bytes) -> int:
    """Return a time as a number; 0 if git has none, or one outside the calendar."""
    return int(seconds) if seconds.isdigit() and len(seconds) <= 12 else 0


def _decode(name: bytes) -> str:
    """Return a path as text; empty if it is not text, or is a nested repository."""
    text = name.decode("utf-8", "surrogateescape")
    return text if is_utf8(text) and not text.endswith("/") else ""


def _no_commit(revision: str) -> MapInputError:
    return MapInputError(f"no commit {revision[:100]!r}", "Give a branch, a tag or a commit.")


def _say_why(message: str, root: Path | None = None) -> str:
    if root is not None and _REASONS[1][0] in message and os.path.lexists(root / ".git"):
        return "no history: git finds no repository at .git"
    for part, why in _REASONS:
        if part in message:
            return why
    return f"no history: {message}"


HISTORY_CHARS = 256 * 1024
"""Characters of one file's commit messages that are indexed, the latest first."""

_HEAD, _FEWER, _SHALLOW = "head", "fewer", "shallow"


def update_history(
    db: sqlite3.Connection,
    root: Path,
    *,
    marks: Mapping[str, str],
    until: float,
    written: Collection[str] | None,
) -> History:
    """Add the commits after the last known one. Index their words for each file that they touch,
    and for each file `written` to the map; None means all files."""
    known = marks.get(_HEAD, "")
    deadline_s = max(1.0, min(DEADLINE_S, until - time.monotonic()))
    found = read_history(root, since=known, shallow=marks.get(_SHALLOW, ""), deadline_s=deadline_s)
    is_anew = found.is_anew or (not found.head and known != "")
    if is_anew:
        db.execute("DELETE FROM git_commit")
        db.execute("DELETE FROM commit_file")
    touched = set(written or ())
    for one in found.commits:
        words = split_names(one.message)
        db.execute("INSERT OR REPLACE INTO git_commit VALUES(?,?,?)", (one.sha, one.at, words))
        rows = [(path, one.sha) for path in one.paths]
        db.executemany("INSERT OR IGNORE INTO commit_file VALUES(?,?)", rows)
        touched.update(one.paths)
    files = dict(db.execute("SELECT path, id FROM file"))
    for path in sorted(files.keys() if is_anew or written is None else touched & files.keys()):
        _index(db, path, files[path])
    fewer = found.fewer if is_anew else found.fewer or marks.get(_FEWER, "")
    write_marks(db, [(_HEAD, found.head), (_FEWER, fewer), (_SHALLOW, found.shallow)])
    return replace(found, note="; ".join(filter(None, (found.note, fewer))))


def _index(db: sqlite3.Connection, path: str, file: int) -> None:
    """Index the messages of a file's commits, the latest first."""
    rows = db.execute(
        "SELECT words FROM commit_file JOIN git_commit USING (sha) WHERE path = ?"
        " ORDER BY at DESC, sha DESC",
        (path,),
    )
    latest: list[str] = []
    left = HISTORY_CHARS
    for (words,) in rows:
        if len(words) > left:
            break
        left -= len(words)
        latest.append(words)
    index_words(db, file, "history", "\n".join(reversed(latest)))


DEPENDS = 0.5
"""Share of a changed file's evidence for the files that import it."""


def find_changed(
    db: sqlite3.Connection, root: Path, revision: str
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Find the differences between a revision and the working tree, and the files that import them.
    Return evidence by path: 1 for changed files, less for their dependents. Also return the changed
    paths that are not in the map: removed, or left out.

    Raises:
        MapInputError: the revision does not exist.
        MapError: git failed.
    """
    files = read_files(db)
    changed = list_changed(root, revision)
    evidence = dict.fromkeys((path for path in changed if path in files), 1.0)
    for path in tuple(evidence):
        rows = db.execute(
            "SELECT file.path FROM edge JOIN file ON file.id = edge.file WHERE target = ?",
            (files[path].id,),
        )
        for (dependent,) in rows:
            evidence.setdefault(dependent, DEPENDS)
    return evidence, tuple(path for path in changed if path not in files)
