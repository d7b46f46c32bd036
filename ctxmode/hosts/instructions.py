"""The texts that tell an agent when to use which tool: for hooks and rules files, and a skill.

A skill is a folder with `SKILL.md` (agentskills.io/specification): its `name` is the folder's, and
its `description` tells when to read on.
"""

from __future__ import annotations

import os

SKILL_NAME = "context-mode"


def read_routing() -> str:
    """Return the text for hooks and rules files."""
    return _read_beside("routing.md")


def read_skill() -> str:
    """Return the whole `SKILL.md`."""
    return _read_beside("skill.md")


def _read_beside(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
