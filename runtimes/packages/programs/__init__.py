"""Programs that phases start in their cells, by the shell and interpreters that are there."""

from __future__ import annotations

from pathlib import Path


def read_program(name: str) -> str:
    """Read a program of this folder: for a row to have in its script, or to lie in a cell."""
    return (Path(__file__).parent / name).read_text("utf-8")
