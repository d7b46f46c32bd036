"""Texts about when to use which tool: for hooks, rules files, and a skill.

A skill is a folder with `SKILL.md` (agentskills.io/specification): its `name` is the folder's, and
its `description` says when to read it.
"""

from __future__ import annotations

import os

SKILL_NAME = "context-mode"


def read_routing() -> str:
    """Return the text for hooks and rules files."""
    return _read_text("routing.md")


def read_skill() -> str:
    """Return the whole `SKILL.md`."""
    return _read_text("skill.md")


def _read_text(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
