"""Opening of a project's pages as one `Pages`, for all interfaces."""

from __future__ import annotations

import getpass
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from base.bounded_run import BoundedRunError, run_bounded
from base.secrets import find_secrets
from ctxmode.config import file_names
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.config.rules import make_hides
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.operations.page_repository import find_repository
from memory.errors import BadInputError, MemoryRoomError
from memory.pages import Pages, Repository, find_git

IDENTITY_S_MAX = 5.0
IDENTITY_BYTES_MAX = 64 * 1024
_IDENTITY = re.compile(r"(?P<author>[^\n]*<[^<>\n]*>) \d+ [+-]\d{4}\n?")


@contextmanager
def translate_page_errors() -> Iterator[None]:
    """Raise errors of `memory.pages` as errors of ctxmode."""
    try:
        yield
    except BadInputError as error:
        raise UsageError(error.message, error.remedy) from error
    except MemoryRoomError as error:
        raise ContextModeError(error.message, error.remedy) from error


@contextmanager
def open_pages(
    config: Config, *, author: str = "", environ: Mapping[str, str] = os.environ
) -> Iterator[Pages]:
    """Open a project's drafts and its repository of pages; both may be missing. The default author
    is git's."""
    repository = Repository(find_repository(config), environ=environ)
    before = _read_head(repository)
    with translate_page_errors():
        yield Pages(
            config.project,
            repository,
            find_secrets=find_secrets,
            hides=make_hides(config.project, config.home),
            clock=time.time,
            author=author or find_author(config.project, environ),
            is_distill_disabled=environ.get("CONTEXO_DISTILL_DISABLE") == "1",
            is_drift_disabled=environ.get("CONTEXO_DRIFT_DISABLE") == "1",
        )
    if before and _read_head(repository) not in ("", before):
        from ctxmode.operations.mirroring import PAGES, take_out  # noqa: PLC0415 - loads the kb

        take_out(config, (PAGES,))


def _read_head(repository: Repository) -> str:
    """Read the newest commit; empty if it is missing or unreadable."""
    with suppress(MemoryRoomError):
        return repository.head()
    return ""


def is_captured(config: Config, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether turns are captured: `pages init` was run, and capture is not turned off."""
    return file_names.is_captured(str(config.project), str(config.data_dir), environ)


def begin(config: Config, pages: Pages) -> bool:
    """Set up pages in a project, and the capture of turns; return whether they are new. Raise
    ContextModeError if the folders cannot be created."""
    is_new = pages.init()
    prepare_storage(config)
    mark = Path(file_names.name_capture_mark(str(config.project), str(config.data_dir)))
    try:
        mark.touch(mode=0o600)
    except OSError as error:
        raise ContextModeError(f"{mark}: {why(error)}", "Make its folder writable.") from error
    return is_new


def not_begun() -> UsageError:
    """Build the error for a project without pages."""
    remedy = "The user sets them up with: context-mode pages init"
    return UsageError("pages are not set up in this project", remedy)


def find_author(project: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Find the user's author name: git's, else the account name."""
    arguments = ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
    bounds = (IDENTITY_S_MAX, IDENTITY_BYTES_MAX)
    with suppress(BoundedRunError, MemoryRoomError):
        command = (find_git(), *arguments)
        said = run_bounded(command, bounds, environment=environ, folder=project)
        found = _IDENTITY.fullmatch(said.stdout.decode("utf-8", "replace"))
        if found and not said.returncode:
            return found["author"].strip()
    return _find_account()


def _find_account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user ID without a name
        return str(os.getuid())
