"""Rules in force, the same for runs, hooks, fetching and `policy`."""

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
    """Load all rules for a project. CLAUDE_CONFIG_DIR and XDG_CONFIG_HOME move the user's files.
    Raise policy.RuleFileError if a file cannot be used."""
    import policy  # noqa: PLC0415 - only if something is judged

    return policy.load_rules(
        project,
        home=home,
        claude_home=find_place("~/.claude", os.fspath(home), environ),
        config_home=find_place("~/.config", os.fspath(home), environ),
    )


def keep_current(project: StrPath, home: StrPath) -> Callable[[], policy.Rules]:
    """Return a function that loads as `load` does, and reads files again only if they changed."""
    import policy  # noqa: PLC0415 - as above

    user, environ = os.fspath(home), os.environ
    config_home = find_place("~/.config", user, environ)
    claude_home = find_place("~/.claude", user, environ)
    return policy.CurrentRules(project, home, config_home, claude_home).load


def make_hides(project: StrPath, home: StrPath) -> Callable[[str], bool]:
    """Make a function that returns whether rules forbid reading an absolute path, for
    `open_project_file`. The first call loads the rules."""
    rules = cache(lambda: load(project, home))

    def hides(path: str) -> bool:
        import policy  # noqa: PLC0415 - as above

        return not policy.evaluate_read(path, rules(), real_path=policy.real_path).allowed

    return hides
