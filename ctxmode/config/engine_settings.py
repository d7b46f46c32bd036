"""What the executor is set to for a project: the settings and profiles of all files together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read
from ctxmode.config.locations import Config
from ctxmode.config.packages import load_packages
from ctxmode.config.profiles import load_profiles
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError
from executor.sessions.registry import SessionLimits
from executor.settings import Settings

# The table that a user writes:
#
# [names]
# ".vscode" = "held"                  # never, held or commit
# "docs/.idea" = "commit"
# "*.secret" = "never"
# "/Procfile" = "held"                # at the project's top alone


def load_names(project: Path, config_home: Path) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Load the names that the user moves, and warn of what only the user may move.

    A UsageError names the file that is not TOML, or moves a name to what means nothing.
    """
    user = read(config_home / USER_FILE)
    of_project = read(project / PROJECT_FILE, project)
    warnings: tuple[str, ...] = ()
    if _table(of_project):
        where = of_project.at("names")
        warnings = (f"{where}: names are not for a project to move; put them into {user.path}",)
    return _moves(user), warnings


def _table(file: ConfigFile) -> Mapping[str, Any]:
    table = file.data.get("names", {})
    if not isinstance(table, dict):
        raise file.error(("names",), "names is a table", "Write [names].")
    return table


def _moves(file: ConfigFile) -> Mapping[str, str]:
    """Read the `[names]` table of a file, each row checked; none if there is no file."""
    table = _table(file)
    if table:
        # Most files move none, and the table takes a while to load.
        from executor.project.rules.names import check_move  # noqa: PLC0415
    for name, verdict in table.items():
        try:
            check_move(name, verdict)
        except ValueError as error:
            problem = f"names: {name}: {error}"
            raise file.error(("names", name), problem, "See docs/configuration.md.") from error
    return table


def engine_settings(config: Config) -> tuple[Settings, tuple[str, ...]]:
    """Build the executor's settings, and list what a project's file asked for that only the user
    may grant. A ContextModeError names the file, key or value that cannot be used."""
    configured = load_settings(config.project, config.config_home)
    profiles = load_profiles(config.project, config.config_home)
    moves, move_warnings = load_names(config.project, config.config_home)
    packages = load_packages(config.project, config.config_home)
    values: Mapping[str, Any] = configured.values
    settings = Settings(
        inline_bytes=values["output.inline_bytes"],
        concurrency=values["run.concurrency"],
        profiles=profiles.by_name,
        sessions=SessionLimits(
            values["sessions.count"], values["sessions.idle_s"], values["sessions.life_s"]
        ),
        prewarm=values["prewarm.enabled"],
        prewarm_bytes=values["prewarm.bytes"],
        limits=configured.limits,
        isolation=config.isolation or values["sandbox.isolation"],
        runtime=config.runtime or values["sandbox.runtime"],
        name_moves=moves,
        storage=config.data_dir,
        packages=packages.settings,
    )
    if config.runtime and settings.isolation != "container":
        raise UsageError("--runtime is for containers", "Add --isolation container.")
    warnings = (*configured.warnings, *profiles.warnings, *move_warnings, *packages.warnings)
    return settings, warnings
