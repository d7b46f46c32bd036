"""Programs that phases start in their cells, by the interpreters that are there."""

from __future__ import annotations

from pathlib import Path


def read_program(name: str) -> bytes:
    """The text of a program of this folder."""
    return (Path(__file__).parent / name).read_bytes()
