"""What compiling made, kept on disk under the digest of all that it depends on.

Only a server writes here, what a compiler left in a cell without the project; programs never see
the folder. One file an entry, replaced as a whole, so that several servers may share it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from base.whole_files import replace_file
from executor.model import MIB

BYTES_MAX = 256 * MIB
KEPT_SHARE = 0.8  # how full the folder is after the least recently used have gone


@dataclass(frozen=True, slots=True)
class Compiled:
    """Products by their path below the scratch folder's, and what the compiler said of them."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    diagnosis: bytes = b""


class CompiledStore:
    """The folder of one user's products."""

    def __init__(self, folder: Path, bytes_max: int = BYTES_MAX) -> None:
        self.folder = folder
        self._bytes_max = bytes_max

    def load(self, key: str) -> Compiled | None:
        """What is kept under a key, which thereby was used now; a damaged entry is none."""
        path = self.folder / key
        try:
            packed = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        compiled = _unpack(packed)
        if compiled is None:
            path.unlink(missing_ok=True)
        return compiled

    def store(self, key: str, compiled: Compiled) -> None:
        """Keep products, and let go of those used longest ago. A full disk keeps nothing."""
        packed = _pack(compiled)
        if len(packed) > self._bytes_max * KEPT_SHARE:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.folder / key, packed)
            self._trim()

    def _trim(self) -> None:
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another server was faster
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= self._bytes_max:
            return
        for _, size, path in sorted(entries):
            if total <= self._bytes_max * KEPT_SHARE:
                break
            path.unlink(missing_ok=True)
            total -= size


def _pack(compiled: Compiled) -> bytes:
    """A line of JSON, then the contents in its order; the digest is over them."""
    contents = b"".join((*compiled.files.values(), compiled.diagnosis))
    header = {
        "files": [[path, len(content)] for path, content in compiled.files.items()],
        "digest": hashlib.sha256(contents).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + contents


def _unpack(packed: bytes) -> Compiled | None:
    line, _, contents = packed.partition(b"\n")
    try:
        header = json.loads(line)
        if hashlib.sha256(contents).hexdigest() != header["digest"]:
            return None
        files, at = {}, 0
        for path, size in header["files"]:
            files[path] = contents[at : at + size]
            at += size
    except (ValueError, KeyError, TypeError):
        return None
    return Compiled(files, contents[at:])
