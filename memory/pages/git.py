"""Running the real git: its own configuration, no hooks, no prompts, a deadline, bounded output."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from base.bounded_run import (
    Bounds,
    CannotStartError,
    TookTooLongError,
    TooMuchOutputError,
    run_bounded,
)
from base.git_environment import GIT_PATH, NEUTRAL_SETTINGS, UNATTENDED
from memory.pages.errors import GitError

SECONDS_MAX = 30.0
OUTPUT_BYTES_MAX = 256 << 20
_ENVIRONMENT = {**UNATTENDED, "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
_ALLOWED = frozenset(
    ["SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY", "TMPDIR"]
)
"""What is taken over from the environment: a pull over the network may need it."""

_SETTINGS = (
    *NEUTRAL_SETTINGS,
    "core.logAllRefUpdates=false",
    "commit.gpgSign=false",
    "protocol.ext.allow=never",
    "gc.auto=0",
    # Each commit is one pack, which is written faster than its objects one by one.
    "fastimport.unpackLimit=1",
    "maintenance.auto=false",
    "fetch.fsckObjects=true",
)


def find_git() -> str:
    """Return where git is.

    Raises:
        GitError: there is none.
    """
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        raise GitError(
            "pages are kept in a git repository, and there is no git here",
            f"install git, so that it is found in {GIT_PATH.replace(':', ', ')}",
        )
    return git


class Git:
    """Runs git upon one bare repository."""

    def __init__(
        self, folder: Path, environ: Mapping[str, str], *, seconds_max: float = SECONDS_MAX
    ) -> None:
        self.folder = folder
        self._seconds_max = seconds_max
        self._environment = {
            **{name: value for name, value in environ.items() if name in _ALLOWED},
            **_ENVIRONMENT,
        }

    def run(self, *arguments: str, given: bytes = b"", bytes_max: int = OUTPUT_BYTES_MAX) -> bytes:
        """Return what a command of git prints.

        Raises:
            GitError: it fails, prints more than `bytes_max`, or takes too long.
        """
        code, said, errors = self.try_run(*arguments, given=given, bytes_max=bytes_max)
        if code:
            raise GitError(f"git {arguments[0]} failed: {_shorten(errors) or f'exit {code}'}")
        return said

    def try_run(
        self, *arguments: str, given: bytes = b"", bytes_max: int = OUTPUT_BYTES_MAX
    ) -> tuple[int, bytes, bytes]:
        """Return the exit code of a command of git, its output and its errors.

        Raises:
            GitError: git is missing, prints more than `bytes_max`, or takes too long.
        """
        settings = [part for one in _SETTINGS for part in ("-c", one)]
        command = [find_git(), f"--git-dir={self.folder}", *settings, *arguments]
        try:
            done = run_bounded(
                command,
                Bounds(self._seconds_max, bytes_max),
                environment=self._environment,
                given=given,
            )
        except CannotStartError as error:
            raise GitError(f"git cannot be started: {error}") from error
        except TookTooLongError as error:
            raise GitError(
                f"git took longer than {self._seconds_max:g} s, and was ended", "try it once more"
            ) from error
        except TooMuchOutputError as error:
            raise GitError(f"git printed more than {bytes_max >> 20} MiB, and was ended") from error
        return done.code, done.output, done.errors


def _shorten(errors: bytes) -> str:
    """Return the lines that tell what is wrong, for a message."""
    lines = errors.decode("utf-8", "replace").splitlines()
    told = [one for one in lines if one.startswith(("fatal:", "error:", "warning:"))] or lines
    return "; ".join(told[:3])[:600]
