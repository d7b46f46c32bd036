"""Paths for one use of the program: the project, the user's home, the storage folder."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import platformdirs

from ctxmode.config.file_names import (
    FACTS_SUFFIX,
    MAP_SUFFIX,
    PAGES_SUFFIX,
    SESSIONS_SUFFIX,
    STORES_FOLDER,
    USER_FACTS,
    find_project,
    name_stores,
)
from ctxmode.errors import ContextModeError, UsageError, why

_ENDING = re.compile(r"(?:\.usage|\.sessions|\.memory|\.repomap)?\.sqlite3$")
_STEM = re.compile(r"(.+)-[0-9a-f]{12}")


@dataclass(frozen=True)
class Config:
    """Settings that are fixed for the life of the process. All paths are absolute and real.

    Without slots, so that each path is derived once: every call asks for some of them.
    """

    project: Path
    home: Path
    data_dir: Path
    database_dir: Path | None = None  # None means a folder in `data_dir`
    config_home: Path = field(
        default_factory=lambda: Path(platformdirs.user_config_dir()).absolute()
    )
    project_is_given: bool = True  # named, not found from the working folder
    isolation: str = ""  # from the command line; if empty, the user's file decides
    runtime: str = ""
    cluster: str = ""
    fetch_private: bool = False  # allow fetching pages of this machine and private networks

    @cached_property
    def database(self) -> Path:
        """Store of the project's outputs, files and pages."""
        folder = self.database_dir or self.data_dir / STORES_FOLDER
        return folder / f"{name_stores(str(self.project))}.sqlite3"

    @cached_property
    def users_database(self) -> Path:
        """Store of data without a project, such as turns of ChatGPT; next to the others."""
        return self.database.with_name("user.sqlite3")

    @cached_property
    def usage_file(self) -> Path:
        """Counts of the project's calls, next to its store."""
        return self.database.with_suffix(".usage.sqlite3")

    @cached_property
    def sessions_file(self) -> Path:
        """Agents' sessions in the project, next to its store."""
        return self.database.with_suffix(SESSIONS_SUFFIX)

    @cached_property
    def facts_file(self) -> Path:
        """Facts of the project, next to its store."""
        return self.database.with_suffix(FACTS_SUFFIX)

    @cached_property
    def users_facts_file(self) -> Path:
        """Facts for all projects of the user."""
        return self.database.with_name(USER_FACTS)

    @cached_property
    def map_file(self) -> Path:
        """Map of the project's files, next to its store; it is derived and may be deleted."""
        return self.database.with_suffix(MAP_SUFFIX)

    @cached_property
    def pages_folder(self) -> Path:
        """Repository of the project's pages, next to its store."""
        return self.database.with_suffix(PAGES_SUFFIX)

    @cached_property
    def state_dir(self) -> Path:
        return self.data_dir / "state"

    @cached_property
    def log_dir(self) -> Path:
        return self.data_dir / "logs"


def load_config(
    project: str | None = None, *, environ: Mapping[str, str] = os.environ, cwd: Path | None = None
) -> Config:
    """Find the paths from the flags and the environment; CONTEXT_MODE_DIR moves all storage.

    The project is the argument, else CONTEXT_MODE_PROJECT_DIR. Else it is the nearest folder at or
    above `cwd` with a project mark and below home, or `cwd` itself. Raise UsageError if a path is
    not a folder, or CONTEXT_MODE_DIR is relative.
    """
    home = _home(environ)
    given = project or environ.get("CONTEXT_MODE_PROJECT_DIR")
    here = (cwd or Path.cwd()).resolve()
    root = _existing_folder(given, here) if given else Path(find_project(str(here), str(home)))
    private = environ.get("CONTEXT_MODE_FETCH_PRIVATE") == "1"
    data_dir = _data_dir(environ)
    return Config(root, home, data_dir, project_is_given=bool(given), fetch_private=private)


def require_project(config: Config) -> None:
    """Refuse a folder that is too large to show to a run in time. Raise UsageError if it is `/`, or
    it was not named and contains the home folder."""
    project, home = config.project, config.home
    if project == Path("/"):
        raise refuse_folder(project, "it contains the whole system")
    if not config.project_is_given and project in home.parents:
        raise refuse_folder(project, "it contains your home folder")


def refuse_folder(folder: Path, reason: str) -> UsageError:
    """Build the error for a folder that cannot be the project."""
    return UsageError(
        f"{folder} cannot be the project: {reason}",
        "Change to your project's folder, or set it with --project DIR or "
        "CONTEXT_MODE_PROJECT_DIR.",
    )


def name_projects(files: Iterable[Path]) -> dict[Path, str]:
    """Name the projects by their files. Projects of the same name keep the digest; a file without
    a project gets an empty name."""
    stems = {file: _ENDING.sub("", file.name) for file in files}
    plain = {
        file: found[1] if (found := _STEM.fullmatch(stem)) else "" for file, stem in stems.items()
    }
    times = Counter(plain.values())
    return {
        file: name if times[name] == 1 else (name and stems[file]) for file, name in plain.items()
    }


def prepare_storage(config: Config) -> None:
    """Create the storage folders, accessible only to their owner. Raise ContextModeError if they
    are not writable."""
    try:
        for folder in (config.data_dir, config.database.parent, config.state_dir, config.log_dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = config.data_dir / f".writable-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise ContextModeError(
            f"cannot write to storage {config.data_dir}: {why(error)}",
            f"Make {config.data_dir} a writable folder, or set CONTEXT_MODE_DIR to the absolute "
            "path of one.",
        ) from error


def _existing_folder(given: str, here: Path) -> Path:
    try:
        folder = (here / given).resolve(strict=True)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot open project folder {given!r}: {why(error)}", "Give an existing folder."
        ) from error
    if not folder.is_dir():
        raise UsageError(f"project {given!r} is a file", "Give the folder that contains it.")
    return folder


def _home(environ: Mapping[str, str]) -> Path:
    given = environ.get("HOME")
    return Path(given).resolve() if given and Path(given).is_absolute() else Path.home().resolve()


def _data_dir(environ: Mapping[str, str]) -> Path:
    given = environ.get("CONTEXT_MODE_DIR")
    if given is None:
        return Path(platformdirs.user_data_dir("ctxmode", appauthor=False)).absolute()
    if not Path(given).is_absolute():
        raise UsageError(
            f"CONTEXT_MODE_DIR must be an absolute path, not {given!r}",
            f"Set it, for example, to CONTEXT_MODE_DIR={Path.cwd() / (given or 'context-mode')}",
        )
    return Path(given).resolve()
