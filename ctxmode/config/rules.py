"""The rules in force, for every front door alike: runs, hooks, fetching and `policy`."""

from __future__ import annotations

import os
from collections.abc import Mapping

import policy

StrPath = str | os.PathLike[str]


def load(project: StrPath, home: StrPath, environ: Mapping[str, str] = os.environ) -> policy.Rules:
    """Every rule for a project. CLAUDE_CONFIG_DIR and XDG_CONFIG_HOME move a person's own files.

    Raises:
        policy.RuleFileError: a file of rules cannot be used.
    """
    return policy.load_rules(
        project,
        home=home,
        claude_home=_folder(environ.get("CLAUDE_CONFIG_DIR")),
        config_home=_folder(environ.get("XDG_CONFIG_HOME")),
    )


def _folder(given: str | None) -> str | None:
    return given if given and given.startswith("/") else None
