"""The path of a project's page repository. Each search loads this module: nothing else is here."""

from __future__ import annotations

from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError

REPOSITORY_SETTING = "pages.repository"


def find_repository(config: Config) -> Path:
    """Find the pages' repository: the folder in `pages.repository`, else next to the store. Raise
    UsageError if the setting is not an allowed folder."""
    # Project files cannot change it, so they are not read.
    given = str(load_settings(None, config.config_home).values[REPOSITORY_SETTING])
    if not given:
        return config.pages_folder
    named = given.replace("{project}", config.project.name)
    path = Path(config.home / named[2:] if named.startswith("~/") else named)
    if not path.is_absolute() or "\0" in given:
        raise UsageError(
            f"invalid {REPOSITORY_SETTING} {given!r}: not an absolute path",
            'Set it to a path such as "~/pages/{project}.git".',
        )
    # Files of a project may contain git settings that start programs.
    if path.resolve().is_relative_to(config.project):
        raise UsageError(
            f"invalid {REPOSITORY_SETTING} {given!r}: inside the project",
            "Set it to a folder outside the project, whose authors could write there, too.",
        )
    return path
