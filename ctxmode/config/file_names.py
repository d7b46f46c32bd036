"""Names of files, by which a hook tells at once whether there is anything to do. Hooks load this,
so nothing else is here."""

from __future__ import annotations

import os
import re

from base.digests import sha256

PROJECT_MARKS = (".git", ".ctxmode")  # as in `policy.load`, which not every command loads


def find_project(here: str, home: str) -> str:
    """Find the project that `here` lies in, both real paths. A marked home folder is not one, nor
    is any above it: it holds the secrets."""
    folder = here
    while folder != home and not home.startswith(f"{folder.rstrip('/')}/"):
        if any(os.path.exists(os.path.join(folder, mark)) for mark in PROJECT_MARKS):
            return folder
        folder = os.path.dirname(folder)
    return here


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

USER_FILE = "ctxmode/config.toml"
"""The user's settings, below their configuration folder."""

PROJECT_FILE = ".ctxmode/config.toml"
"""A project's settings, below its folder."""

STORES_FOLDER = "projects"
"""The folder of all stores, below the storage place."""

SESSIONS_SUFFIX = ".sessions.sqlite3"
FACTS_SUFFIX = ".memory.sqlite3"
MAP_SUFFIX = ".repomap.sqlite3"
USER_FACTS = f"user{FACTS_SUFFIX}"
"""Beside the projects' files: the facts that hold for all of a user's projects."""

PAGES_SUFFIX = ".pages.git"
DRAFTS_FOLDER = ".contexo"
"""The drafts of a project's pages, below its folder: where it stands, pages were begun."""

CAPTURE_SUFFIX = ".pages.captured"
"""A mark beside the project's stores: `pages init` was run here. A folder of drafts alone, which a
clone may bring, has no turn captured."""

CAPTURE_OFF = "CONTEXO_CAPTURE_DISABLE"


def name_stores(project: str) -> str:
    """Return how the names of a project's stores begin: one file a project; the readable part is
    for people, the hash tells namesakes apart."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(project))[:40].strip("-.") or "root"
    return f"{name}-{sha256(os.fsencode(project)).hexdigest()[:12]}"


def is_captured(project: str, data_dir: str, environ: Mapping[str, str]) -> bool:
    """Tell whether turns are captured in a project: a person began pages there, on this machine,
    and nobody turned it off."""
    if environ.get(CAPTURE_OFF) == "1" or not has_drafts(project):
        return False
    return os.path.exists(name_capture_mark(project, data_dir))


def name_capture_mark(project: str, data_dir: str) -> str:
    """Return the path of the mark that `pages init` makes."""
    return os.path.join(data_dir, STORES_FOLDER, name_stores(project) + CAPTURE_SUFFIX)


def has_drafts(project: str) -> bool:
    """Tell whether pages were begun in a project: its folder of drafts is there, and no link."""
    folder = os.path.join(project, DRAFTS_FOLDER)
    return os.path.isdir(folder) and not os.path.islink(folder)
