"""The rules in force, for every front door alike: runs, hooks, fetching and `policy`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from base.host_homes import find_place

if TYPE_CHECKING:
    import policy

StrPath = str | os.PathLike[str]


def load(project: StrPath, home: StrPath, environ: Mapping[str, str] = os.environ) -> policy.Rules:
    """Load every rule for a project; policy.RuleFileError names a file that cannot be used.
    CLAUDE_CONFIG_DIR and XDG_CONFIG_HOME move a person's own files."""
    import policy  # noqa: PLC0415 - where something is judged

    return policy.load_rules(
        project,
        home=home,
        claude_home=find_place("~/.claude", os.fspath(home), environ),
        config_home=find_place("~/.config", os.fspath(home), environ),
    )


def make_hides(project: StrPath, home: StrPath) -> Callable[[str], bool]:
    """Make the question whether rules let an absolute path be read, for `open_project_file`; they
    are loaded with the first one."""
    rules = cache(lambda: load(project, home))

    def hides(path: str) -> bool:
        import policy  # noqa: PLC0415 - as above

        return not policy.evaluate_read(path, rules(), real_path=policy.real_path).allowed

    return hides
