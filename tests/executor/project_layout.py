"""Files of a made-up project."""

from __future__ import annotations

from pathlib import Path


def lay_out(project: Path, *names: str) -> None:
    """Make these; a name that ends with a slash is a folder."""
    for name in names:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("x")
