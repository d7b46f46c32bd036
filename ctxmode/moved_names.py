"""Names that tools obey, as the user's own file moves them; a project's file may move none.

[names]
".vscode" = "held"                  # never, held or commit
"docs/.idea" = "commit"
"*.secret" = "never"
"/Procfile" = "held"                # at the project's top alone
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ctxmode.configuration.files import PROJECT_FILE, USER_FILE, ConfigFile, read
from executor.project.names import NAMES, Names, with_moves


@dataclass(frozen=True, slots=True)
class MovedNames:
    """The table of names, and what a project's file asked for that only the user may move."""

    names: Names = NAMES
    warnings: tuple[str, ...] = ()


def load_names(project: Path, config_home: Path) -> MovedNames:
    """The table of names as the user moves it.

    Raises:
        UsageError: a file can't be read as TOML, or moves a name to what means nothing.
    """
    user = read(config_home / USER_FILE)
    of_project = read(project / PROJECT_FILE)
    warnings = tuple(
        f"{of_project.at('names', name)}: names: {name!r} is not for a project to move; "
        f"to allow it, put it into {user.path}"
        for name in _moves(of_project)
    )
    moves = _moves(user)
    return MovedNames(with_moves(moves) if moves else NAMES, warnings)


def _moves(file: ConfigFile) -> Mapping[str, str]:
    """The `[names]` table of a file, each row tried; none if there is no file."""
    table = file.data.get("names", {})
    if not isinstance(table, dict):
        raise file.error(("names",), "names is a table", "Write [names].")
    for name, verdict in table.items():
        try:
            with_moves({name: verdict})
        except (ValueError, TypeError) as error:
            problem = f"names: {name}: {error}"
            raise file.error(("names", name), problem, "See docs/configuration.md.") from error
    return table
