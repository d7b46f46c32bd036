"""Asking git for a working tree's history: none of the repository's programs may run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from base.git_environment import GIT_PATH, ISOLATED
from repomap.errors import MapError

OUTPUT_BYTES_MAX = 256 << 20
_ENVIRONMENT = {
    **ISOLATED,
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.sshCommand=/bin/false",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
    "protocol.allow=never",
    "color.ui=false",
    "diff.external=",
    "diff.renames=false",
)


def run_git(root: Path, *arguments: str, deadline_s: float) -> bytes:
    """Return what a command of git prints of the working tree at `root`.

    Raises:
        MapError: there is no git, it fails, or takes longer than `deadline_s`.
    """
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        raise MapError("there is no git here", "Install git.")
    settings = [part for one in _SETTINGS for part in ("-c", one)]
    try:
        done = subprocess.run(
            [git, *settings, *arguments],
            cwd=root,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MapError(f"git {arguments[0]} took longer than {deadline_s:.0f} s") from None
    except OSError as error:
        raise MapError(f"git cannot be started: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise MapError(f"git {arguments[0]}: {said[0][:200] if said else done.returncode}")
    if len(done.stdout) > OUTPUT_BYTES_MAX:
        raise MapError(f"git {arguments[0]} printed more than {OUTPUT_BYTES_MAX >> 20} MiB")
    return done.stdout
