"""How programs are isolated, as the user's configuration says it; a project's may not.

[sandbox]
isolation = "container"             # auto (the default): containers only where no cell works
runtime = "runsc"                   # the engine's own, unless one is named
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxmode.errors import ContextModeError, UsageError

USER_FILE = Path("ctxmode") / "config.toml"  # below the user's configuration folder
TABLE = "sandbox"
WAYS = ("auto", "container")


@dataclass(frozen=True, slots=True)
class IsolationChoice:
    """What `executor.Settings` takes. A runtime is for containers alone."""

    isolation: str = "auto"
    runtime: str = ""


def load_isolation(config_home: Path, isolation: str = "", runtime: str = "") -> IsolationChoice:
    """The user's choice; what a command line says (`isolation`, `runtime`) goes before the file.

    Raises:
        ContextModeError: the file holds a key or value that means nothing.
        UsageError: a runtime is named where no container is asked for.
    """
    file = config_home / USER_FILE
    table = _table(file)
    chosen = IsolationChoice(
        isolation or str(table.get("isolation", "auto")), runtime or str(table.get("runtime", ""))
    )
    if chosen.isolation not in WAYS:
        raise ContextModeError(
            f"{file}: [{TABLE}] isolation: unknown {chosen.isolation!r}",
            f"Known are: {', '.join(WAYS)}.",
        )
    if runtime and chosen.isolation != "container":
        raise UsageError("--runtime is for containers", "Add --isolation container.")
    return chosen


def _table(file: Path) -> Mapping[str, Any]:
    """The table of that name; none where there is no file. Profiles are read elsewhere."""
    try:
        table = tomllib.loads(file.read_text("utf-8")).get(TABLE, {})
    except (OSError, ValueError):
        return {}  # missing, or told by who reads the profiles
    known = ("isolation", "runtime")
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise ContextModeError(f"{file}: [{TABLE}] holds strings", "See README, Containers.")
    if unknown := next((key for key in table if key not in known), None):
        raise ContextModeError(
            f"{file}: [{TABLE}]: unknown key {unknown!r}", f"Known are: {', '.join(known)}."
        )
    return table
