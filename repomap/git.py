"""Queries to git about a working tree, which run none of the repository's programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from base.bounded_run import (
    GIT_PATH,
    NEUTRAL_SETTINGS,
    UNATTENDED,
    CannotStartError,
    TookTooLongError,
    TooMuchOutputError,
    run_bounded,
)
from repomap.model import MapError

OUTPUT_BYTES_MAX = 64 << 20
_ENVIRONMENT = {
    **UNATTENDED,
    # No protocol: missing objects are not fetched. Unlike `protocol.allow`, this cannot be
    # overridden by the repository's `protocol.ext.allow`, whose addresses are commands.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_PAGER": "cat",
}
_SETTINGS = (
    *NEUTRAL_SETTINGS,
    "core.excludesFile=/dev/null",
    "core.sshCommand=/bin/false",
    "log.showRoot=true",
    "protocol.allow=never",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "diff.orderFile=/dev/null",
    "diff.renames=false",
)
"""Git checks the repository's owner itself: it refuses another user's (`safe.directory`)."""

_NONE: Mapping[str, str] = MappingProxyType({})
_FILTER_KEYS = ("clean", "smudge", "process", "required")


class GitFailedError(MapError):
    """Error: a command of git failed; its first line is the message."""


class GitTooLongError(MapError):
    """Error: a command of git was stopped at its deadline."""


class GitTooMuchError(MapError):
    """Error: a command of git was stopped because it printed too much."""


def run_git(
    root: Path,
    *arguments: str,
    deadline_s: float,
    overruled: Mapping[str, str] = _NONE,
) -> bytes:
    """Return the output of a git command about the working tree at `root`. `overruled` are the
    repository's settings to replace, with their values.

    Raises:
        GitFailedError: it fails.
        GitTooLongError: it takes longer than `deadline_s`.
        GitTooMuchError: it prints too much.
        MapError: git is missing.
    """
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        raise MapError("git was not found", "Install git.")
    settings = [part for one in _SETTINGS for part in ("-c", one)]
    environment = {**_ENVIRONMENT, **_overrule(overruled)}
    bounds = (deadline_s, OUTPUT_BYTES_MAX)
    try:
        done = run_bounded(
            [git, *settings, *arguments], bounds, environment=environment, folder=root
        )
    except TookTooLongError as error:
        raise GitTooLongError(f"git {arguments[0]} took longer than {deadline_s:.1f} s") from error
    except TooMuchOutputError as error:
        most = OUTPUT_BYTES_MAX >> 20
        raise GitTooMuchError(f"git {arguments[0]} printed more than {most} MiB") from error
    except CannotStartError as error:
        raise MapError(f"cannot start git: {error}") from error
    if done.returncode:
        raise GitFailedError(f"git {arguments[0]}: {_say(done)}")
    return done.stdout


def switch_off_filters(root: Path, *, deadline_s: float) -> dict[str, str]:
    """Return the settings to override, so that reading the tree's files runs no filter. Filters
    have arbitrary names, so a list is needed. Git's attributes name filters; the tree's attributes
    cannot be switched off in all versions.

    Raises:
        MapError: git cannot list them.
    """
    listed = run_git(root, "config", "--list", "--name-only", "-z", deadline_s=deadline_s)
    names = {
        key[len("filter.") :].rpartition(".")[0]
        for key in listed.decode("utf-8", "surrogateescape").split("\0")
        if key.startswith("filter.")
    }
    return {
        f"filter.{name}.{key}": "false" if key == "required" else ""
        for name in sorted(names)
        for key in _FILTER_KEYS
    }


def _overrule(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables: unlike after `-c`, a name may contain an equals sign."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings.items()):
        found[f"GIT_CONFIG_KEY_{at}"] = key
        found[f"GIT_CONFIG_VALUE_{at}"] = value
    return found


def _say(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return fatal[0][:200] if fatal else f"exit {done.returncode}"
