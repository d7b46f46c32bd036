"""Names that tools obey, as the user's own file moves them; a project's file may move none.

[names]
".vscode" = "held"                  # never, held or commit
"docs/.idea" = "commit"
"*.secret" = "never"
"/Procfile" = "held"                # at the project's top alone
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxmode.config.files import PROJECT_FILE, USER_FILE, ConfigFile, read


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
