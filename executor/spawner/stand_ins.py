"""Stand-ins for secrets that git knows, and its index, so that git considers them unchanged.

A cover would be a change to git, and every `git add -A`, stash or switch of branches would fail.
So a layer between the project and a run's changes has a file of zeros that nobody may read. Its
index records this very file as unchanged: git never reads it. If a run writes the index, it is
right on the host, too: times differ there, so git compares contents.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import posixpath
import stat
import struct
from collections.abc import Collection, Iterator, Mapping

from .kernel import StepError, open_beneath

# See gitformat-index(5). No part of it is trusted: a hostile one is rejected as invalid.

_START = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")  # ctime, mtime, device, inode, mode, owner, group, size
_VERSIONS = (2, 3, 4)
_EXTENDED = 0x4000
_STAGE = 0x3000
_LOW = 0xFFFFFFFF
_DIGESTS = (("sha1", 20), ("sha256", 32))
Places = dict[bytes, int]


class GitIndexError(ValueError):
    """A file is not an index that we can read."""


def find(data: bytes, paths: Collection[bytes]) -> Places:
    """Find where the entries of these paths begin, except entries in conflict.

    Raises:
        GitIndexError: it is not an index.
    """
    places: Places = {}
    try:
        for at, stage, path in _entries(data):
            if path in paths and not stage:
                places[path] = at
    except (struct.error, ValueError, IndexError) as error:
        raise GitIndexError("not a git index") from error
    return places


def size_of(data: bytes, place: int) -> int:
    """Return the size of a file in its entry; 0 if git has not yet recorded it reliably."""
    return int(_STAT.unpack_from(data, place)[-1])


def with_stat(data: bytes, infos: Mapping[int, os.stat_result]) -> bytes:
    """Return the index with these states of files in the entries at these places.

    Raises:
        GitIndexError: it does not end in its own digest.
    """
    kind, size = _digest_of(data)
    made = bytearray(data)
    for place, info in infos.items():
        mode = _STAT.unpack_from(data, place)[6]
        seconds = [divmod(ns, 10**9) for ns in (info.st_ctime_ns, info.st_mtime_ns)]
        owner = info.st_uid, info.st_gid, info.st_size
        fields = (*seconds[0], *seconds[1], info.st_dev, info.st_ino, mode, *owner)
        _STAT.pack_into(made, place, *(field & _LOW for field in fields))
    if any(data[-size:]):  # index.skipHash omits the digest
        made[-size:] = hashlib.new(kind, made[:-size], usedforsecurity=False).digest()
    return bytes(made)


def _digest_of(data: bytes) -> tuple[str, int]:
    """Return the kind of digest that the repository uses, and its size."""
    for kind, size in _DIGESTS:
        found = hashlib.new(kind, data[:-size], usedforsecurity=False).digest()
        if found == data[-size:]:
            return kind, size
    if not any(data[-20:]):
        return _DIGESTS[bool(not any(data[-32:]))]
    raise GitIndexError("the git index is damaged")


def _entries(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where each entry begins, its stage and its path."""
    mark, version, count = _START.unpack_from(data)
    if mark != b"DIRC" or version not in _VERSIONS:
        raise GitIndexError("not a git index")
    to_flags = _STAT.size + _digest_of(data)[1]
    at, path = _START.size, b""
    for _ in range(count):
        flags = data[at + to_flags] << 8 | data[at + to_flags + 1]
        begin = at + to_flags + (4 if flags & _EXTENDED else 2)
        kept = 0
        if version == 4:
            stripped, begin = _varint(data, begin)
            kept = len(path) - stripped
            if kept < 0:
                raise GitIndexError("not a git index")
        end = data.index(b"\0", begin)
        path = path[:kept] + data[begin:end]
        yield at, flags & _STAGE, path
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number in the encoding of offsets in packs; return it and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


NAME = "stand-ins"
STAND_IN_MARK = "user.ctxmode.stand-in"
MTIME_NS = 946_684_800 * 10**9  # git reads files that are not older than its index
INDEX_BYTES_MAX = 128 << 20
GITFILE_BYTES_MAX = 4096
_READ = os.O_RDONLY | os.O_NONBLOCK
_FAILURES = (StepError, OSError, ValueError)


def stand_in(
    project: int, layer: str, secrets: Collection[str], owner: tuple[int, int] | None = None
) -> frozenset[str]:
    """Put stand-ins for those secrets that git knows into the folder `layer`; return these secrets.

    `project` is open; nothing in it is changed. A secret that can't have a stand-in is left out.
    They belong to `owner`; without one, only this user's own files get any.
    """
    by_index: dict[tuple[str, str], list[str]] = {}
    for path in secrets:
        with contextlib.suppress(*_FAILURES):
            found = _repository_of(project, path)
            if found:
                by_index.setdefault(found, []).append(path)
    stood_in: set[str] = set()
    for (top, index), paths in by_index.items():
        making = _Making(project, layer, owner)
        with contextlib.suppress(*_FAILURES):
            stood_in |= making.stand_in(top, index, paths)
    return frozenset(stood_in)


def _repository_of(project: int, path: str) -> tuple[str, str] | None:
    """Return the top of the innermost working tree that contains a path, and its index."""
    top = path
    while top:
        top = posixpath.dirname(top)
        git = posixpath.join(top, ".git")
        try:
            fd = open_beneath(project, git, _READ)
        except StepError:
            continue
        try:
            is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
            own = git if is_folder else _read_gitfile(top, os.read(fd, GITFILE_BYTES_MAX))
        finally:
            os.close(fd)
        return (top, f"{own}/index") if own else None
    return None


def _read_gitfile(top: str, gitfile: bytes) -> str:
    """Return where the `.git` file of a submodule points; empty if that is outside the project."""
    word, _, place = gitfile.decode().strip().partition(": ")
    path = posixpath.normpath(posixpath.join(top, place))
    is_inside = word == "gitdir" and not path.startswith(("/", "../"))
    return path if is_inside else ""


class _Making:
    """The filling of the layer from one repository."""

    def __init__(self, project: int, layer: str, owner: tuple[int, int] | None) -> None:
        self._project = project
        self._owner = owner
        self._layer = layer
        self._folders: dict[str, os.stat_result] = {}

    def stand_in(self, top: str, index: str, paths: Collection[str]) -> set[str]:
        """Make stand-ins for those of these paths that are in the index."""
        info, data = self._own(index, INDEX_BYTES_MAX)
        start = len(top) + 1 if top else 0
        names = {os.fsencode(path[start:]): path for path in paths}
        places = find(data, names)
        try:
            infos = {
                place: self._make(names[name], size_of(data, place))
                for name, place in places.items()
            }
            if infos:
                self._write(index, with_stat(data, infos), info)
        finally:
            self._dress()
        return {names[name] for name in places}

    def _own(self, path: str, bytes_max: int) -> tuple[os.stat_result, bytes]:
        """Read the state of a regular file, and its content unless `bytes_max` is 0.

        Raises:
            StepError: not a regular file, too large, or not this user's, as the layer's files are.
        """
        fd = open_beneath(self._project, path, _READ if bytes_max else os.O_PATH)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or not self._is_own(info):
                raise StepError(f"{path} is not a regular file of this user")
            if bytes_max and info.st_size > bytes_max:
                raise StepError(f"{path} is too large")
            with open(fd, "rb", closefd=False) if bytes_max else io.BytesIO() as file:
                return info, file.read()
        finally:
            os.close(fd)

    def _is_own(self, info: os.stat_result) -> bool:
        return self._owner is not None or info.st_uid == os.geteuid()

    def _give(self, descriptor: int) -> None:
        if self._owner is not None and os.geteuid() == 0:
            os.fchown(descriptor, *self._owner)

    def _make(self, path: str, size: int) -> os.stat_result:
        """Make a stand-in, or reuse that of an earlier view; return its state as git sees it."""
        info, _ = self._own(path, 0)
        place = self._folder_for(path)
        size = size or info.st_size
        with contextlib.suppress(FileNotFoundError):
            known = os.stat(place, follow_symlinks=False)
            if known.st_size == size and not (known.st_mode ^ info.st_mode) & stat.S_IXUSR:
                return known
            os.unlink(place)
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            self._give(fd)
            os.ftruncate(fd, size)
            os.setxattr(fd, STAND_IN_MARK, b"y")
            os.fchmod(fd, info.st_mode & stat.S_IXUSR)
            os.utime(fd, ns=(MTIME_NS, MTIME_NS))
            return os.fstat(fd)
        finally:
            os.close(fd)

    def _write(self, path: str, data: bytes, info: os.stat_result) -> None:
        place = self._folder_for(path)
        with open(f"{place}.new", "wb") as file:
            file.write(data)
            self._give(file.fileno())
            os.fchmod(file.fileno(), stat.S_IMODE(info.st_mode))
        os.utime(f"{place}.new", ns=(info.st_atime_ns, info.st_mtime_ns))
        os.rename(f"{place}.new", place)

    def _folder_for(self, path: str) -> str:
        """Make the folders of a path; return the path's place in the layer.

        Raises:
            StepError: a folder is not this user's: in the layer it would become so.
        """
        folder = posixpath.dirname(path)
        above = folder
        while above and above not in self._folders:
            fd = open_beneath(self._project, above, os.O_PATH | os.O_DIRECTORY)
            info = os.fstat(fd)
            os.close(fd)
            if not self._is_own(info):
                raise StepError(f"{above} is not a folder of this user")
            self._folders[above] = info
            above = posixpath.dirname(above)
        os.makedirs(f"{self._layer}/{folder}", exist_ok=True)
        return f"{self._layer}/{path}"

    def _dress(self) -> None:
        """Give the layer's folders, which are shown, the modes and times of the project's."""
        for path in sorted(self._folders, reverse=True):
            place, info = f"{self._layer}/{path}", self._folders[path]
            with contextlib.suppress(FileNotFoundError):
                os.chmod(place, stat.S_IMODE(info.st_mode) & 0o777)
                os.utime(place, ns=(info.st_atime_ns, info.st_mtime_ns))
