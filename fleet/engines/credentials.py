"""By what a front and its engine know each other: certificates and a key, in files."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from base.plain_files import open_plain
from fleet.errors import ClusterError

_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM files: who may be the engine (`ca`), and who this front is (`certificate`, `key`)."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Pems:
    """The contents of the files of credentials."""

    ca: bytes
    certificate: bytes
    key: bytes


def read_credentials(files: Credentials) -> Pems:
    """Read what proves who is who.

    Raises:
        ClusterError: a file can't be read or is no PEM, or others may read the key.
    """
    key = _read(files.key, "cluster.key", is_secret=True)
    certificate = _read(files.certificate, "cluster.certificate")
    return Pems(_read(files.ca, "cluster.ca"), certificate, key)


def _read(path: Path, setting: str, *, is_secret: bool = False) -> bytes:
    try:
        with open_plain(path) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_BYTES_MAX)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClusterError(f"{setting} can't be read: {path}: {reason}", "correct it") from None
    if is_secret and mode & 0o077:
        raise ClusterError(f"others may read {path}, the key of {setting}", f"chmod 600 {path}")
    if b"-----BEGIN " not in content:
        raise ClusterError(f"{setting} is no PEM file: {path}", "correct it")
    return content
