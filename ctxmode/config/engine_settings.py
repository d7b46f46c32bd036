"""What the executor is set to for a project: the settings and profiles of all files together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.config.guarded_names import load_names
from ctxmode.config.locations import Config
from ctxmode.config.packages import load_packages
from ctxmode.config.profiles import load_profiles
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError
from executor.sessions.registry import SessionLimits
from executor.settings import Settings


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
