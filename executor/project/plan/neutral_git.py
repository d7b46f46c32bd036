"""git as a tool for two or three files, away from every repository and configuration."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from base.git_environment import GIT_PATH, ISOLATED

SECONDS_MAX = 20.0
SHA1_LETTERS = 40


def with_files(
    files: Mapping[str, bytes],
    *arguments: str,
    successes: tuple[int, ...],
    environment: Mapping[str, str] | None = None,
) -> bytes | None:
    """What git prints of files in a folder of their own; None if it can't, or not in time."""
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        return None
    with tempfile.TemporaryDirectory(prefix="ctxmode-git-") as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            outcome = subprocess.run(
                [git, "-c", "core.hooksPath=/dev/null", *arguments],
                cwd=folder,
                env={
                    **ISOLATED,
                    "GIT_CEILING_DIRECTORIES": str(Path(folder).parent),
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return outcome.stdout if outcome.returncode in successes else None


def diff(before: bytes, after: bytes) -> list[str] | None:
    """The hunks of a unified diff; None if there is no telling."""
    said = with_files(
        {"before": before, "after": after},
        *("diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--text"),
        *("--", "before", "after"),
        successes=(0, 1),
    )
    if said is None:
        return None
    lines = said.decode("utf-8", "surrogateescape").split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("@@")]
    return lines[starts[0] :][:-1] if starts else []


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Both sides' changes to one text; None where they touch the same lines."""
    return with_files(
        {"ours": ours, "base": base, "theirs": theirs},
        *("merge-file", "-p", "--", "ours", "base", "theirs"),
        successes=(0,),
    )


def has_path(objects: str, commit: str, path: str) -> bool | None:
    """Whether a commit has anything at a path; None if there is no telling.

    Of a repository only the folder `objects` is read, none of its settings: nothing is fetched.
    """
    kind = b"sha256" if len(commit) > SHA1_LETTERS else b"sha1"
    files = {
        "git/HEAD": b"ref: refs/heads/none\n",
        "git/refs/none": b"",
        "git/config": b"[core]\nrepositoryformatversion = 1\nbare = true\n"
        b"[extensions]\nobjectFormat = " + kind + b"\n",
    }
    environment = {"GIT_OBJECT_DIRECTORY": objects, "GIT_LITERAL_PATHSPECS": "1"}
    said = with_files(
        files,
        *("--git-dir=git", "ls-tree", "-z", "--full-tree", commit, "--", path),
        successes=(0,),
        environment=environment,
    )
    return None if said is None else bool(said)
