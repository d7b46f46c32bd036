"""Which files hold secrets, told by name alone: kept from programs and never indexed."""

from __future__ import annotations

import fnmatch

# Matched against the last part of a path, case and all.
SECRET_NAMES = (
    ".env",
    ".env.*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "kubeconfig",
    "credentials.json",
    "service-account*.json",
)
NOT_SECRET_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist")


def is_secret_name(path: str) -> bool:
    """Whether a file of this name holds secrets. Only its last part counts."""
    name = path.rstrip("/").rpartition("/")[2]
    if name in NOT_SECRET_NAMES:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_NAMES)
