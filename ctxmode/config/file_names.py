"""Names of files, by which a hook tells at once whether there is anything to do. Hooks load this,
so nothing else is here."""

from __future__ import annotations

import os
import re

from base.digests import sha256

USER_FILE = "ctxmode/config.toml"
"""The user's settings, below their configuration folder."""

PROJECT_FILE = ".ctxmode/config.toml"
"""A project's settings, below its folder."""

STORES_FOLDER = "projects"
"""The folder of all stores, below the storage place."""

SESSIONS_SUFFIX = ".sessions.sqlite3"
FACTS_SUFFIX = ".memory.sqlite3"
USER_FACTS = f"user{FACTS_SUFFIX}"
"""Beside the projects' files: the facts that hold for all of a user's projects."""


def name_stores(project: str) -> str:
    """Return how the names of a project's stores begin: one file a project; the readable part is
    for people, the hash tells namesakes apart."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(project))[:40].strip("-.") or "root"
    return f"{name}-{sha256(os.fsencode(project)).hexdigest()[:12]}"
