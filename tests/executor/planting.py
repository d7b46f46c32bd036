"""A program that makes protected paths in a project, and does not end."""

from __future__ import annotations

from pathlib import Path

import trio

PLANT = """
git init -q sub; echo evil > sub/.git/hooks/post-checkout; echo evil > .envrc; echo kept > made
while :; do sleep 1; done
"""
PLANTED = {".envrc", "sub/.git"}


def is_planted(project: Path) -> bool:
    """Whether the program has done all of it, down to the last line's content."""
    return (project / "made").exists() and (project / "made").read_text() == "kept\n"


async def until_planted(project: Path) -> None:
    while not is_planted(project):  # noqa: ASYNC110 - by a program
        await trio.sleep(0.01)


def is_clean(project: Path) -> bool:
    """Whether of all that only what is not protected is left."""
    return is_planted(project) and not any((project / name).exists() for name in PLANTED)
