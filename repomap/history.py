"""The commits of a repository: what they say, and which files they changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kb.walking import is_utf8
from repomap.errors import MapError, MapInputError
from repomap.git import run_git

COMMITS = 3000
FILES_MAX = 30
"""A commit of more files says little of each: a rename, a new licence, a formatter's run."""

MESSAGE_CHARS = 4096
DEADLINE_S = 20.0
_BEGIN = b"\x01commit\x02"
_FORMAT = "%x01commit%x02%H%x00%ct%x00%B%x00"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: when, in seconds; its message; the paths that it changed, from the map's folder."""

    sha: str
    at: int
    message: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Commits, the newest first. `is_anew` tells that the one asked from is no ancestor any more;
    `note` says why there are none, or fewer."""

    head: str
    commits: tuple[Commit, ...] = ()
    is_anew: bool = False
    note: str = ""


def read_history(
    root: Path, *, since: str = "", limit: int = COMMITS, deadline_s: float = DEADLINE_S
) -> History:
    """Read the commits that touch the folder, or those behind the commit `since`."""
    try:
        run_git(root, "rev-parse", "--git-dir", deadline_s=deadline_s)
    except MapError as error:
        return History("", note=_say_why(error.message))
    try:
        head = resolve_revision(root, "HEAD", deadline_s=deadline_s)
    except MapError:
        return History("", note="no history: there is no commit yet")
    if since == head:
        return History(head)
    is_anew = not since or not _is_ancestor(root, since, head, deadline_s)
    try:
        said = run_git(
            root,
            "log",
            "--no-merges",
            f"-n{limit}",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--relative",
            "-z",
            f"--format={_FORMAT}",
            head if is_anew else f"{since}..{head}",
            "--",
            deadline_s=deadline_s,
        )
    except MapError as error:
        return History("", note=f"no history: {error.message}")
    commits = tuple(_parse(said))
    note = "the history is shallow: older commits are not here" if _is_shallow(root) else ""
    return History(head, commits, is_anew, note)


def resolve_revision(root: Path, revision: str, *, deadline_s: float = DEADLINE_S) -> str:
    """Return the commit that a revision names.

    Raises:
        MapInputError: there is no such commit.
    """
    try:
        if "\0" in revision:
            raise MapError("NUL")
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        said = run_git(root, "rev-parse", *asked, deadline_s=deadline_s)
    except MapError as error:
        raise MapInputError(
            f"{revision[:100]!r} names no commit here", "Give a branch, a tag or a commit."
        ) from error
    return said.decode().split()[-1]


def list_changed(root: Path, revision: str, *, deadline_s: float = DEADLINE_S) -> tuple[str, ...]:
    """Return the paths that differ between a revision and the working tree, new files included.

    Raises:
        MapInputError: there is no such commit.
        MapError: git cannot tell.
    """
    sha = resolve_revision(root, revision, deadline_s=deadline_s)
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative")
    changed = run_git(root, "diff", *options, sha, "--", deadline_s=deadline_s)
    new = run_git(root, "ls-files", "-o", "--exclude-standard", "-z", deadline_s=deadline_s)
    names = [*changed.split(b"\0"), *new.split(b"\0")]
    return tuple(sorted({path for name in names if (path := _decode(name))}))


def _parse(said: bytes) -> list[Commit]:
    commits = []
    for part in said.split(_BEGIN)[1:]:
        sha, at, message, *names = part.split(b"\0")
        # git puts a line feed between the message and the first name
        paths = [path for name in names if (path := _decode(name.lstrip(b"\n")))]
        if 0 < len(paths) <= FILES_MAX:
            text = message[: MESSAGE_CHARS * 4].decode("utf-8", "replace")[:MESSAGE_CHARS]
            commits.append(Commit(sha.decode(), int(at), text, tuple(paths)))
    return commits


def _decode(name: bytes) -> str:
    """Return a path as text; empty where it is none."""
    text = name.decode("utf-8", "surrogateescape")
    return text if is_utf8(text) else ""


def _is_ancestor(root: Path, sha: str, head: str, deadline_s: float) -> bool:
    try:
        run_git(root, "merge-base", "--is-ancestor", sha, head, deadline_s=deadline_s)
    except MapError:
        return False
    return True


def _is_shallow(root: Path) -> bool:
    try:
        said = run_git(root, "rev-parse", "--is-shallow-repository", deadline_s=DEADLINE_S)
    except MapError:
        return False
    return said.strip() == b"true"


def _say_why(message: str) -> str:
    if "dubious ownership" in message:
        return "no history: the repository belongs to another user"
    if "not a git repository" in message:
        return "no history: there is no repository"
    return f"no history: {message}"
