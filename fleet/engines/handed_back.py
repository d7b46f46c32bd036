"""Names of what a worker handed back, which lead nowhere else."""

from __future__ import annotations

from fleet.errors import OutcomeError


def plain_name(name: str) -> str:
    """A name that leads nowhere else.

    Raises:
        OutcomeError: it could.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise OutcomeError(f"no name of an entry: {name[:80]!r}")
    return name


def plain_path(path: str) -> str:
    """A relative path of plain names.

    Raises:
        OutcomeError: it is none.
    """
    for name in path.split("/"):
        plain_name(name)
    return path
