"""The places between two steps of a commit."""

from __future__ import annotations


def step() -> None:
    """Mark a place between two steps. Tests end the process at each of them."""
