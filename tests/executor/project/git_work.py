"""Work with git by hand and in `build`, and what two repositories are told apart by."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

S_MAX = 60.0
SETTINGS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_EDITOR": "true",
}
# What tells two repositories apart, however their objects are stored.
STATE = (
    "git rev-parse HEAD^{tree}; git symbolic-ref -q HEAD || true; "
    "git for-each-ref --format='%(refname) %(subject) %(tree)'; "
    "git stash list --format=%gs; git status --porcelain; "
    "git ls-files --stage; git log --all --topo-order --format='%s %T'"
)


def shell(folder: Path, script: str) -> str:
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        env=os.environ | SETTINGS,
        check=False,
        capture_output=True,
        text=True,
        timeout=S_MAX,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and link of a folder, by path."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in files + folders:
            path = Path(top, name)
            if path.is_symlink():
                found[str(path.relative_to(folder))] = os.readlink(path).encode()
            elif path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def work_tree(folder: Path) -> dict[str, bytes]:
    return {path: text for path, text in contents(folder).items() if not path.startswith(".git/")}


def as_settings() -> str:
    """Commands that set git up as `shell` does."""
    return "".join(f"export {name}={value}\n" for name, value in SETTINGS.items())
