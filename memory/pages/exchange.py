"""Exchange of pages: pulled from another repository that the user names, written to a folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from memory.errors import BadInputError, StoreUnavailableError
from memory.pages.model import GitError
from memory.pages.repository import BRANCH, Repository

_PULLED = "refs/context-mode/pulled"
_REMOTE_CHARS_MAX = 2048


def export_pages(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Write all pages into a folder that is empty or missing; return their paths.

    Raises:
        BadInputError: something is in the folder, or it is none.
        StoreUnavailableError: it cannot be written.
    """
    entries = repository.list_entries()
    texts = repository.read_objects([*entries.values()])
    written = []
    try:
        # Into an empty folder: there is no link that a page could be written through.
        if folder.exists() and any(folder.iterdir()):
            raise BadInputError(f"{folder} is not empty", "name a folder that is empty or new")
        for name, text in zip(entries, texts, strict=True):
            if text is None:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "x", encoding="utf-8", newline="") as file:
                file.write(text)
            written.append(name)
    except NotADirectoryError:
        raise BadInputError(f"{folder} is no folder", "name one that is empty or new") from None
    except (OSError, ValueError) as error:
        raise StoreUnavailableError(f"{folder} cannot be written: {error}") from error
    return tuple(written)


def pull(repository: Repository, remote: str = "origin") -> tuple[str, str, tuple[str, ...]]:
    """Take over the commits of another repository that continue those here.

    Return the newest commit before and after that, and the paths that changed.

    Raises:
        BadInputError: the remote's name cannot be one, or there is no repository yet.
        GitError: it cannot be reached, or has other commits than continue those here.
    """
    if not repository.exists:
        raise BadInputError("there is no repository of pages yet", "context-mode pages init")
    if (
        not remote
        or len(remote) > _REMOTE_CHARS_MAX
        or re.search("[\0-\x1f\x7f\ud800-\udfff]", remote)
    ):
        raise BadInputError("that cannot be the name of a remote", "give a name, a path or a URL")
    with repository.lock():
        before = repository.head()
        try:
            after = _forward(repository, remote, before)
        except GitError as error:
            _drop_fetched(repository)
            raise GitError(error.message, error.remedy or _remedy(repository, remote)) from error
        if after == before:
            return before, before, ()
        old = repository.list_entries(before) if before else {}
        new = repository.list_entries(after)
    changed = (path for path in {**old, **new} if old.get(path) != new.get(path))
    return before, after, tuple(sorted(changed))


def _forward(repository: Repository, remote: str, before: str) -> str:
    """Fetch, and let the branch go on from a commit; return the newest one then."""
    git = repository.git
    git.run(
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
        *("--no-recurse-submodules", "--", remote, f"+{BRANCH}:{_PULLED}"),
    )
    after = git.run("rev-parse", "--verify", f"{_PULLED}^{{commit}}").decode().strip()
    if before:
        if after == before or _continues(repository, after, before):
            return before
        if not _continues(repository, before, after):
            message = f"{remote} and this repository have both gone on since they were alike"
            raise GitError(message, "merge them with git, then pull again")
    git.run("update-ref", BRANCH, after, before or "0" * len(after))
    return after


def _remedy(repository: Repository, remote: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]*", remote):
        return "see that it is a repository of pages, and that it can be reached"
    command = f"git -C {shlex.quote(str(repository.folder))} remote add {remote} URL"
    return f"where it is not known yet: {command}"


def _drop_fetched(repository: Repository) -> None:
    """Delete what a refused pull fetched: what was erased here may be among it."""
    git = repository.git
    code, _, _ = git.try_run("rev-parse", "--verify", "--quiet", _PULLED)
    if not code:
        git.run("update-ref", "-d", _PULLED)
        git.run("repack", "-a", "-d", "-q")
        git.run("prune", "--expire=now")


def _continues(repository: Repository, older: str, newer: str) -> bool:
    code, _, _ = repository.git.try_run("merge-base", "--is-ancestor", older, newer)
    return code == 0
