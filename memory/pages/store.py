"""The pages of a project: one object over drafts, buffers and the repository."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memory.errors import BadInputError
from memory.gate import FindSecrets
from memory.pages.answers import PulledPages
from memory.pages.buffer_files import Buffer
from memory.pages.buffers import Buffers
from memory.pages.directives import capture_template
from memory.pages.drafts import Drafts
from memory.pages.erasing import finish_erasing, forget_page
from memory.pages.evolution import blame_page, compare_versions, list_evolution
from memory.pages.exchange import export_pages, pull
from memory.pages.fronts import Fronts
from memory.pages.history import HISTORY_MAX, LogEntry, list_log
from memory.pages.model import Commit
from memory.pages.pushing import push
from memory.pages.reading import find_page, list_pages, name_paths, read_page, tell_status
from memory.pages.repository import Repository
from memory.pages.writing import refresh_drafts, write_draft


class Pages:
    """The pages of a project. A page is named by its slug, `concept/SLUG` or its path.

    All methods raise `memory.errors.MemoryRoomError`, with a remedy; `BadInputError` means that
    what was given cannot be taken, and nothing was written.
    """

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
        """Return whether `init` was run here: the folder of drafts is there, and the repository."""
        return self.drafts.folder.is_dir() and self.repository.exists

    def init(self) -> bool:
        """Make the folders of drafts and the repository; return whether anything was missing."""
        was_missing = not self.is_ready
        self.drafts.make_folders()
        self.repository.init()
        return was_missing

    def require_ready(self) -> None:
        """Refuse what needs the pages where `init` was not run."""
        if not self.is_ready:
            raise BadInputError("pages are not begun here", "context-mode pages init")

    # Each has a module of its own.
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
        """Take over another repository's commits, also into drafts that were not edited."""
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
        """Return the template of a source page, and the buffer that it is to be written from."""
        return capture_template(buffer, find_secrets=self.find_secrets, slug=slug or "session")

    def path(self) -> Path:
        """Return where the repository lies."""
        return self.repository.folder

    def find_drafts(self, slug: str, there: Sequence[str]) -> list[str]:
        """Return the paths of the drafts that a name means, of those that are there."""
        found = [path for path in name_paths(slug) if path in there]
        if not found:
            message = f"there is no draft of {slug[:80]!r}"
            raise BadInputError(message, "`context-mode pages status` lists the drafts")
        return found
