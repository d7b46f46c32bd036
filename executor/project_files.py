"""What of a project a program may read where nothing can be hidden from it (tier B)."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

# Files of a project that hold secrets, by name at any depth.
SECRET_NAMES = (
    ".env",
    ".env.*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.keystore",
    "*.kdbx",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
    "service-account*.json",
)
NOT_SECRET_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist")
ENTRIES_MAX = 200_000


def is_secret(name: str) -> bool:
    """Whether a file of this name is kept from programs."""
    if name in NOT_SECRET_NAMES:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_NAMES)


def readable(project: Path) -> tuple[tuple[str, str], ...]:
    """Landlock grants that cover the project but for its secrets.

    A folder without secrets anywhere below is granted whole ("r"), any other is only listed
    ("list") and its entries are granted one by one. A project with too many entries to look
    through is granted by what was seen: what was not, can't be read.
    """
    secret_free: dict[str, bool] = {}
    grants: list[tuple[str, str]] = []
    seen = 0
    for folder, folders, files in os.walk(project, topdown=False):
        seen += len(files) + len(folders)
        if seen > ENTRIES_MAX:
            return ((str(project), "list"), *grants)
        below = [os.path.join(folder, name) for name in folders]
        clean = not any(map(is_secret, files)) and all(secret_free.get(p, True) for p in below)
        secret_free[folder] = clean
        if clean:
            continue
        grants.append((folder, "list"))
        grants += [(path, "r") for path in below if secret_free.get(path, True)]
        grants += [(os.path.join(folder, name), "r") for name in files if not is_secret(name)]
    return tuple(grants) if grants else ((str(project), "r"),)
