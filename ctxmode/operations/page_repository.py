"""Where the pages of a project are kept; each search looks there, so nothing else is here."""

from __future__ import annotations

from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError

REPOSITORY_SETTING = "pages.repository"


def find_repository(config: Config) -> Path:
    """Find where the pages are kept: in the folder that `pages.repository` names, else beside the
    project's store.

    Raises:
        UsageError: the setting names no folder that may be.
    """
    # No project's file may change it, so none is read.
    given = str(load_settings(None, config.config_home).values[REPOSITORY_SETTING])
    if not given:
        return config.pages_folder
    named = given.replace("{project}", config.project.name)
    path = Path(config.home / named[2:] if named.startswith("~/") else named)
    if not path.is_absolute() or "\0" in given:
        raise UsageError(
            f"{REPOSITORY_SETTING} is {given!r}, which is no absolute path",
            'Give a path such as "~/pages/{project}.git".',
        )
    # What comes with a project may hold settings of git that start programs.
    if path.resolve().is_relative_to(config.project):
        raise UsageError(
            f"{REPOSITORY_SETTING} is {given!r}, which lies in the project",
            "Give a folder outside of it: who writes the project could write there, too.",
        )
    return path
