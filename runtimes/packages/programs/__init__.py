"""Programs that phases start in their cells, by the shell and interpreters that are there."""

from __future__ import annotations

from pathlib import Path


def read_program(name: str) -> bytes:
    """Read a program of this folder."""
    return (Path(__file__).parent / name).read_bytes()


def read_script(name: str) -> str:
    """Read a program of this folder as text, for a row to have it in its script."""
    return read_program(name).decode()
