"""The pages of a project: one object for drafts, buffers and the repository."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memory.errors import BadInputError, StoreUnavailableError
from memory.gate import FindSecrets
from memory.pages.buffer_files import Buffer
from memory.pages.buffers import Buffers
from memory.pages.directives import capture_template
from memory.pages.drafts import Drafts
from memory.pages.erasing import finish_erasing, forget_page
from memory.pages.evolution import blame_page, compare_versions, list_evolution
from memory.pages.history import HISTORY_MAX, LogEntry, list_log
from memory.pages.model import Commit, GitError, PulledPages
from memory.pages.page_index import Fronts
from memory.pages.pushing import push
from memory.pages.reading import find_page, list_pages, name_paths, read_page, tell_status
from memory.pages.repository import BRANCH, Repository
from memory.pages.writing import refresh_drafts, write_draft

_PULLED = "refs/context-mode/pulled"
_REMOTE_CHARS_MAX = 2048


def export_pages(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Write all pages into an empty or new folder; return their paths.

    Raises:
        BadInputError: the folder is not empty, or not a folder.
        StoreUnavailableError: it cannot be written.
    """
    entries = repository.list_entries()
    texts = repository.read_objects([*entries.values()])
    written = []
    try:
        # Into an empty folder, which has no links that a page could be written through.
        if folder.exists() and any(folder.iterdir()):
            raise BadInputError(f"{folder} is not empty", "Choose an empty or new folder.")
        for name, text in zip(entries, texts, strict=True):
            if text is None:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "x", encoding="utf-8", newline="") as file:
                file.write(text)
            written.append(name)
    except NotADirectoryError:
        raise BadInputError(f"{folder} is not a folder", "Choose an empty or new folder.") from None
    except (OSError, ValueError) as error:
        raise StoreUnavailableError(f"cannot write to {folder}: {error}") from error
    return tuple(written)


def pull(repository: Repository, remote: str = "origin") -> tuple[str, str, tuple[str, ...]]:
    """Fetch the commits of another repository that continue those here. Return the newest commit
    before and after, and the changed paths.

    Raises:
        BadInputError: the remote's name is invalid, or there is no repository yet.
        GitError: the remote cannot be reached, or its commits do not continue those here.
    """
    if not repository.exists:
        raise BadInputError(
            "pages are not set up in this project", "Set them up: context-mode pages init"
        )
    if (
        not remote
        or len(remote) > _REMOTE_CHARS_MAX
        or re.search("[\0-\x1f\x7f\ud800-\udfff]", remote)
    ):
        raise BadInputError("invalid name of a remote", "Give a name, a path or a URL.")
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
    """Fetch, and move the branch to a commit that continues it; return the newest commit."""
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
            message = f"{remote} and this repository have diverged"
            raise GitError(message, "Merge them with git, then pull again.")
    git.run("update-ref", BRANCH, after, before or "0" * len(after))
    return after


def _remedy(repository: Repository, remote: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]*", remote):
        return "Check that it is a repository of pages, and that it can be reached."
    command = f"git -C {shlex.quote(str(repository.folder))} remote add {remote} URL"
    return f"To add it: {command}"


def _drop_fetched(repository: Repository) -> None:
    """Delete the commits fetched by a refused pull: they may contain erased pages."""
    git = repository.git
    code, _, _ = git.try_run("rev-parse", "--verify", "--quiet", _PULLED)
    if not code:
        git.run("update-ref", "-d", _PULLED)
        git.run("repack", "-a", "-d", "-q")
        git.run("prune", "--expire=now")


def _continues(repository: Repository, older: str, newer: str) -> bool:
    code, _, _ = repository.git.try_run("merge-base", "--is-ancestor", older, newer)
    return code == 0


class Pages:
    """The pages of a project. A page is named by its slug, `concept/SLUG` or its path. All methods
    raise `memory.errors.MemoryRoomError`, with a remedy; after a `BadInputError`, nothing was
    written."""

    def __init__(  # noqa: PLR0913 - what the surface decides
        self,
        project: Path,
        repository: Repository,
        *,
        find_secrets: FindSecrets,
        hides: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.time,
        author: str = "",
        is_distill_disabled: bool = False,
        is_drift_disabled: bool = False,
    ) -> None:
        self.project = project
        self.repository = repository
        self.find_secrets = find_secrets
        self.clock = clock
        self.author = author
        self.is_distill_disabled = is_distill_disabled
        self.is_drift_disabled = is_drift_disabled
        self.drafts = Drafts(project, hides)
        self.buffers = Buffers(self.drafts.folder, find_secrets=find_secrets, clock=clock)
        self.fronts = Fronts(repository)

    @property
    def is_ready(self) -> bool:
        """Return whether `init` was run here: the drafts' folder and the repository exist."""
        return self.drafts.folder.is_dir() and self.repository.exists

    def init(self) -> bool:
        """Make the folder of drafts and the repository; return whether anything was missing."""
        was_missing = not self.is_ready
        self.drafts.make_folders()
        self.repository.init()
        return was_missing

    def require_ready(self) -> None:
        """Refuse to work with pages before `init`."""
        if not self.is_ready:
            raise BadInputError(
                "pages are not set up in this project", "Set them up: context-mode pages init"
            )

    # Each has its own module.
    finish_erasing = finish_erasing
    write = write_draft
    read = read_page
    list_pages = list_pages
    status = tell_status
    push = push
    evolution = list_evolution
    diff = compare_versions
    blame = blame_page
    forget = forget_page

    def pull(self, remote: str = "origin") -> PulledPages:
        """Fetch another repository's commits, and update drafts that were not edited."""
        self.require_ready()
        before, after, paths = pull(self.repository, remote)
        drafts, diverged = refresh_drafts(self, paths)
        return PulledPages(before, after, paths, drafts, diverged)

    def history(self, slug: str, limit: int = HISTORY_MAX) -> list[Commit]:
        """List a page's commits, newest first."""
        return self.repository.history(find_page(self, slug), limit)

    def log(self, limit: int = HISTORY_MAX) -> list[LogEntry]:
        """List the commits of all pages, newest first."""
        return list_log(self.repository, limit)

    def export(self, folder: Path) -> tuple[str, ...]:
        """Write the newest version of all pages into an empty folder; return their paths."""
        return export_pages(self.repository, folder)

    def capture_template(self, buffer: Buffer | None, *, slug: str = "") -> str:
        """Return the template of a source page, and the buffer to write it from."""
        return capture_template(buffer, find_secrets=self.find_secrets, slug=slug or "session")

    def path(self) -> Path:
        """Return the path of the repository."""
        return self.repository.folder

    def find_drafts(self, slug: str, there: Sequence[str]) -> list[str]:
        """Return the paths of the existing drafts that a name means."""
        found = [path for path in name_paths(slug) if path in there]
        if not found:
            message = f"no draft of {slug[:80]!r}"
            raise BadInputError(message, "List the drafts: context-mode pages status")
        return found
