"""Layers of packages and their locks, stored on disk for all projects of a user.

`layers/KEY/` holds a layer's tree, as a complete folder or not at all: it is made next to it, and
renamed. Next to the tree are its seal, and a file whose time says when all was last verified.
`locks/KEY.json` is the lock of some packages. `holds/KEY` is a lock file: shared while a cell shows
the layer, exclusive while it is made or removed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from base.locks import hold_lock
from base.plain_files import read_json, write_json
from executor.instance.lock import remove
from executor.packages.model import LayerInfo

# A change time cannot be set, so the first digest shows everything written to, replaced, added or
# removed since. If it differs, as in a copy, the contents are read. The folders alone show
# replaced, added and removed files, in a tenth of the time.


class Seal(NamedTuple):
    """Both digests of a tree, its size, and its folders with their change times."""

    state: str
    contents: str
    entries: int
    bytes: int
    folders: list[tuple[str, int]]


def seal(tree: Path) -> Seal:
    """Return the seal of a tree as it is now.

    Raises:
        OSError: it can't be read.
    """
    state = state_of(tree)
    entries = bytes_total = 0
    top = str(tree)
    folders = [(".", os.lstat(top).st_ctime_ns)]
    contents = hashlib.sha256()
    for name, info in _walk(top):
        entries += 1
        bytes_total += info.st_size
        path = f"{top}/{name}"
        contents.update(os.fsencode(f"{name}\0{info.st_mode:o}\0"))
        if stat.S_ISREG(info.st_mode):
            with open(path, "rb", buffering=0) as file:
                contents.update(hashlib.file_digest(file, "sha256").digest())
        elif stat.S_ISDIR(info.st_mode):
            folders.append((name, info.st_ctime_ns))
        elif stat.S_ISLNK(info.st_mode):
            contents.update(os.fsencode(os.readlink(path)))
    return Seal(state, contents.hexdigest(), entries, bytes_total, folders)


def has_folders(tree: Path, folders: list[tuple[str, int]]) -> bool:
    """Return whether the folders of a tree are unchanged since it was sealed."""
    top = str(tree)
    try:
        return all(os.lstat(f"{top}/{path}").st_ctime_ns == changed for path, changed in folders)
    except OSError:
        return False


def state_of(tree: Path) -> str:
    """Return the digest of the kernel's data on every entry: name, kind, mode, size, change time.

    Raises:
        OSError: it can't be read, or is a link.
    """
    if tree.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(tree))
    digest = hashlib.sha256()
    folders = [str(tree)]
    while folders:
        found, below = [], []
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                found.append((entry.name, info.st_mode, info.st_size, info.st_ctime_ns))
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
        found.sort()
        folders += sorted(below)
        digest.update(repr(found).encode(errors="surrogateescape"))
    return digest.hexdigest()


def _walk(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every entry below a folder by its path there, in one order; follow no link."""
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(f"{top}/{prefix}") as entries:
            found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        for name, info in found:
            yield f"{prefix}{name}", info
            if stat.S_ISDIR(info.st_mode):
                folders.append(f"{prefix}{name}/")


PARTIAL = ".partial-"
KEY = re.compile(r"[0-9a-f]{32}")
TREE, SEAL, VERIFIED = "tree", "seal.json", "verified"
VERIFIED_S = 60.0  # how long a verification of every file is valid
KEPT_SHARE = 0.9  # how full the folder is after removing the least recently used


@dataclass(frozen=True, slots=True)
class LayerStore:
    """The layers of one user, below `folder`, which no program sees as a whole."""

    folder: Path
    bytes_max: int = 0  # only the adder of layers sets a limit

    def prepare(self) -> None:
        """Make the folders.

        Raises:
            OSError: they can't be made.
        """
        for name in ("layers", "locks", "holds"):
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def tree(self, key: str) -> Path:
        """Return the path of a layer's tree, if it exists."""
        return self.folder / "layers" / key / TREE

    @contextlib.contextmanager
    def hold(self, key: str, *, is_shared: bool, wait_s: float | None = 0.0) -> Iterator[None]:
        """Hold a layer against removal, or exclusively.

        Raises:
            BlockingIOError: others hold it.
            OSError: its lock file cannot be opened.
        """
        with hold_lock(self.folder / "holds" / key, wait_s, is_shared=is_shared):
            yield

    def read_lock(self, key: str) -> dict[str, bytes] | None:
        """Return the files of a stored lock, or None."""
        kept = read_json(self.folder / "locks" / f"{key}.json")
        try:
            return kept and {name: base64.b64decode(text) for name, text in kept["files"].items()}
        except (KeyError, ValueError, AttributeError, TypeError):
            return None

    def keep_lock(self, key: str, label: str, files: Mapping[str, bytes]) -> None:
        """Store the files of a lock.

        Raises:
            OSError: they cannot be written.
        """
        texts = {name: base64.b64encode(content).decode() for name, content in files.items()}
        about = {"packages": label, "made_at": time.time(), "files": texts}
        write_json(self.folder / "locks" / f"{key}.json", about)

    def has(self, key: str) -> bool:
        """Return whether the layer exists, and mark it as used now.

        One with a link instead of its tree, or around it, does not count.
        """
        try:
            with _open_layer(self.folder, key) as layer:
                if not stat.S_ISDIR(os.stat(TREE, dir_fd=layer, follow_symlinks=False).st_mode):
                    return False
                os.utime(SEAL, dir_fd=layer, follow_symlinks=False)
        except OSError:
            return False
        return True

    def begin(self, key: str) -> Path:
        """Make a folder with an empty tree for a new layer; the caller holds its key exclusively.

        Raises:
            OSError: it can't be made.
        """
        self._sweep(key)
        place = Path(tempfile.mkdtemp(dir=self.folder / "layers", prefix=f"{PARTIAL}{key}-"))
        os.chmod(place, 0o755)  # noqa: S103 - the folder above is its user's alone
        (place / TREE).mkdir()
        return place

    def put(self, key: str, made: Path, about: Mapping[str, str]) -> None:
        """Seal the content of a folder from `begin`, and move it to its place as a whole.

        Raises:
            OSError: it cannot be written.
        """
        write_json(made / SEAL, {**about, **seal(made / TREE)._asdict(), "made_at": time.time()})
        os.close(os.open(made / VERIFIED, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        place = self.folder / "layers" / key
        remove(place)
        made.rename(place)
        self._trim(keep=key)

    def is_sound(self, key: str, *, in_full: bool) -> bool:
        """Return whether a layer matches its seal. If only its contents match, seal it again.

        Unless `in_full`, its folders suffice if all of it was verified a moment ago.
        """
        place = self.folder / "layers" / key
        kept = read_json(place / SEAL)
        try:
            sealed = Seal(*((kept or {})[name] for name in Seal._fields))
            verified_at = (place / VERIFIED).lstat().st_mtime
            if not in_full and 0 <= time.time() - verified_at < VERIFIED_S:
                return has_folders(place / TREE, sealed.folders)
            if state_of(place / TREE) != sealed.state:
                found = seal(place / TREE)
                if found.contents != sealed.contents:
                    return False
                write_json(place / SEAL, {**(kept or {}), **found._asdict()})
            os.utime(place / VERIFIED, follow_symlinks=False)
        except (OSError, KeyError, TypeError):
            return False
        return True

    def layers(self) -> tuple[LayerInfo, ...]:
        """Return all layers, the one used last first."""
        found = []
        for place in (self.folder / "layers").glob("[!.]*"):
            kept = read_json(place / SEAL)
            with contextlib.suppress(OSError, KeyError, TypeError):
                assert kept is not None
                used_at = (place / SEAL).stat().st_mtime
                texts = (str(kept["ecosystem"]), str(kept["packages"]))
                sizes = (int(kept["bytes"]), int(kept["entries"]))
                found.append(LayerInfo(place.name, *texts, *sizes, kept["made_at"], used_at))
        return tuple(sorted(found, key=lambda info: -info.used_at))

    def remove(self, key: str) -> bool:
        """Remove a layer that no cell shows; return whether that was possible."""
        try:
            with self.hold(key, is_shared=False):
                remove(self.folder / "layers" / key)
        except BlockingIOError:
            return False
        return True

    def forget_locks(self) -> int:
        """Delete stored locks, so that the next use locks again; return how many."""
        locks = list((self.folder / "locks").glob("*.json"))
        for lock in locks:
            lock.unlink(missing_ok=True)
        return len(locks)

    def _trim(self, *, keep: str) -> None:
        """Remove the layers used longest ago if there are too many bytes of them."""
        infos = self.layers()
        total = sum(info.bytes for info in infos)
        if total <= self.bytes_max:
            return
        for info in reversed(infos):
            if total <= self.bytes_max * KEPT_SHARE:
                return
            if info.key != keep and self.remove(info.key):
                total -= info.bytes

    def _sweep(self, held: str) -> None:
        """Remove unfinished layers of killed servers: nobody else holds the key."""
        for place in (self.folder / "layers").glob(f"{PARTIAL}*"):
            found = KEY.match(place.name.removeprefix(PARTIAL))
            if found is None:
                continue
            if found[0] == held:
                remove(place)
                continue
            with contextlib.suppress(OSError), self.hold(found[0], is_shared=False):
                remove(place)


@contextlib.contextmanager
def _open_layer(folder: Path, key: str) -> Iterator[int]:
    """Open a layer's folder, which is not a link."""
    opened = os.open(folder / "layers" / key, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield opened
    finally:
        os.close(opened)
