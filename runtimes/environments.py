"""A project's own Python: `.venv`, `venv`, or the environment that Poetry keeps for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from base.plain_files import read_head

_FOLDERS: Final = (".venv", "venv")
# What set-up (setup.sh) leaves in an environment that it made for this program itself.
_OWN_MARK: Final = ".ready-app"


def interpreters(project: Path, home: Path) -> Iterator[Path]:
    """Interpreters of the project's environments, best first (uv and PDM use `.venv` too)."""
    folders = [project / name for name in _FOLDERS]
    if (project / "pyproject.toml").is_file():
        folders += _poetry(project, home)
    for folder in folders:
        python = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and python.is_file():
            yield python


def is_own(python: Path) -> bool:
    """Whether it belongs to the environment that this program's checkout was set up with.

    That has nobody's packages but this program's: the system's is more likely to be meant.
    """
    return (python.parent.parent / _OWN_MARK).is_file()


def base_prefix(python: Path) -> Path | None:
    """The installation behind a virtual environment's interpreter; None if it is not in one."""
    try:
        text = read_head(python.parent.parent / "pyvenv.cfg").decode("utf-8", "replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip()).parent
    return None


def _poetry(project: Path, home: Path) -> list[Path]:
    """Poetry names an environment `<name>-<digest of the project's path>-py<version>`.

    Source: EnvManager.generate_env_name in Poetry: eight characters of the URL-safe base64 of the
    path's SHA-256.
    """
    digest = hashlib.sha256(str(project.resolve()).encode()).digest()
    key = base64.urlsafe_b64encode(digest).decode()[:8]
    return sorted((home / ".cache/pypoetry/virtualenvs").glob(f"*-{key}-py*"), reverse=True)
