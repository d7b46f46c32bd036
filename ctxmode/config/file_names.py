"""Names of files, and nothing else: hooks load this to find out whether there is work."""

from __future__ import annotations

import os
import re

from base.digests import sha256

PROJECT_MARKS = (".git", ".ctxmode")  # as in `policy.load`, which not every command loads


def find_project(here: str, home: str) -> str:
    """Find the project that contains `here`; both paths are real. Neither the home folder nor a
    folder above it is a project, even with a mark: it holds secrets."""
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
"""The user's settings, in their configuration folder."""

PROJECT_FILE = ".ctxmode/config.toml"
"""A project's settings, in its folder."""

STORES_FOLDER = "projects"
"""The folder of all stores, in the storage folder."""

SERVERS_FOLDER = "servers"
"""The folder of the locks that servers of agents hold, in the folder of state."""

SESSIONS_SUFFIX = ".sessions.sqlite3"
FACTS_SUFFIX = ".memory.sqlite3"
MAP_SUFFIX = ".repomap.sqlite3"
USER_FACTS = f"user{FACTS_SUFFIX}"
"""Facts for all projects of a user, next to the projects' files."""

PAGES_SUFFIX = ".pages.git"
DRAFTS_FOLDER = ".contexo"
"""The drafts of a project's pages, in its folder. It exists if pages are set up."""

CAPTURE_SUFFIX = ".pages.captured"
"""Mark next to the project's stores: `pages init` was run on this machine. Without it no turn is
captured, since a folder of drafts may come with a clone."""

CAPTURE_OFF = "CONTEXO_CAPTURE_DISABLE"


def name_stores(project: str) -> str:
    """Return the prefix of the names of a project's stores: a readable part, and a hash that
    distinguishes projects of the same name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(project))[:40].strip("-.") or "root"
    return f"{name}-{sha256(os.fsencode(project)).hexdigest()[:12]}"


def is_captured(project: str, data_dir: str, environ: Mapping[str, str]) -> bool:
    """Return whether turns are captured in a project: the user ran `pages init` there, on this
    machine, and capture is not turned off."""
    if environ.get(CAPTURE_OFF) == "1" or not has_drafts(project):
        return False
    return os.path.exists(name_capture_mark(project, data_dir))


def name_capture_mark(project: str, data_dir: str) -> str:
    """Return the path of the mark that `pages init` creates."""
    return os.path.join(data_dir, STORES_FOLDER, name_stores(project) + CAPTURE_SUFFIX)


def has_drafts(project: str) -> bool:
    """Return whether pages are set up in a project: its folder of drafts exists, not as a link."""
    folder = os.path.join(project, DRAFTS_FOLDER)
    return os.path.isdir(folder) and not os.path.islink(folder)
