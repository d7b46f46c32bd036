"""Which files hold secrets, told by name alone: kept from programs and never indexed."""

from __future__ import annotations

import fnmatch
import re

# Matched against the last part of a path, in lower case: on some disks `.ENV` is `.env`.
SECRET_NAMES = (
    ".env",
    ".env.*",
    ".env~",
    "*.env",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".my.cnf",
    ".terraformrc",
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
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "kubeconfig",
    "credentials.json",
    "service-account*.json",
    "gha-creds-*.json",
    "*.tfstate",
    "*.tfstate.backup",
)
_ANY = re.compile("|".join(map(fnmatch.translate, SECRET_NAMES)))
NOT_SECRET_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist")


def is_secret_name(path: str) -> bool:
    """Whether a file of this name holds secrets. Only its last part counts."""
    name = path.rstrip("/").rpartition("/")[2].casefold()
    if name in NOT_SECRET_NAMES:
        return False
    return _ANY.match(name) is not None
