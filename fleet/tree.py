"""A folder as a tree of digests, in the very bytes of the Remote Execution API.

`Directory`, `FileNode`, `DirectoryNode`, `SymlinkNode` and `Digest` of
build/bazel/remote/execution/v2/remote_execution.proto are written and read here: five messages of
texts and numbers, so that a digest needs no library of protobuf. What is read may hold fields that
are not kept, such as `node_properties`, which other programs write.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

SIZE_MAX = 2**63 - 1
VARINT_BYTES_MAX = 10
_HASH = re.compile(r"[0-9a-f]{64}")
_TEXT = 2  # wire types of protobuf: of texts and messages; numbers have 0
_FIXED = {1: 8, 5: 4}  # and the sizes of those of fixed size


class TreeError(ValueError):
    """A folder's message that is none, or holds a name that no folder can."""


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A blob by its content: sha256 in 64 lower-case hexadecimal digits, and its size in bytes."""

    hash: str
    size_bytes: int

    def __post_init__(self) -> None:
        """Refuse what no blob has.

        Raises:
            TreeError: it is no digest of sha256, or the size is negative.
        """
        if not _HASH.fullmatch(self.hash):
            raise TreeError(f"no digest of sha256: {self.hash[:80]!r}")
        if not 0 <= self.size_bytes <= SIZE_MAX:
            raise TreeError(f"no size of a blob: {self.size_bytes}")

    def __str__(self) -> str:
        return f"{self.hash}/{self.size_bytes}"


def digest_of(data: bytes) -> Digest:
    """The digest of a blob."""
    return Digest(hashlib.sha256(data).hexdigest(), len(data))


@dataclass(frozen=True, slots=True)
class FileNode:
    """A file in a folder."""

    name: str
    digest: Digest
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class FolderNode:
    """A folder in a folder, by the digest of its message."""

    name: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class LinkNode:
    """A symbolic link in a folder, with the text that it holds."""

    name: str
    target: str


_Node: TypeAlias = FileNode | FolderNode | LinkNode


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder holds, each kind in the order of its names' bytes."""

    files: tuple[FileNode, ...] = ()
    folders: tuple[FolderNode, ...] = ()
    links: tuple[LinkNode, ...] = ()

    def __post_init__(self) -> None:
        """Bring each kind into its order.

        Raises:
            TreeError: a name stands twice, leads elsewhere, or is no UTF-8.
        """
        nodes: tuple[_Node, ...] = (*self.files, *self.folders, *self.links)
        names = [node.name for node in nodes]
        for name in names:
            _check_name(name)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TreeError(f"the name {twice[:80]!r} stands twice in a folder")
        for link in self.links:
            if not link.target or "\0" in link.target or not _is_utf8(link.target):
                raise TreeError(f"the link {link.name[:80]!r} can't lead anywhere")
        object.__setattr__(self, "files", tuple(sorted(self.files, key=_in_order)))
        object.__setattr__(self, "folders", tuple(sorted(self.folders, key=_in_order)))
        object.__setattr__(self, "links", tuple(sorted(self.links, key=_in_order)))

    def encode(self) -> bytes:
        """The bytes of its `Directory`, the same for equal folders."""
        parts = [
            *(_text(1, _file(node)) for node in self.files),
            *(_text(2, _text(1, n.name.encode()) + _digest(2, n.digest)) for n in self.folders),
            *(_text(3, _text(1, n.name.encode()) + _text(2, n.target.encode()))
              for n in self.links),
        ]  # fmt: skip
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> Folder:
        """The folder of a `Directory`, in whatever order it is written.

        Raises:
            TreeError: it is none.
        """
        files, folders, links = [], [], []
        for number, value in _fields(data):
            if number == 1:
                files.append(_read_file(_message(value)))
            elif number == 2:
                node = dict(_fields(_message(value)))
                folders.append(FolderNode(_name(node.get(1)), _read_digest(node.get(2))))
            elif number == 3:
                node = dict(_fields(_message(value)))
                links.append(LinkNode(_name(node.get(1)), _name(node.get(2))))
        return cls(tuple(files), tuple(folders), tuple(links))


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder and all folders below it: the root's digest, and each one's message by digest."""

    root: Digest
    folders: Mapping[Digest, bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing at a relative path: a file by digest, a link by target, else a folder."""

    path: str
    digest: Digest | None = None
    is_executable: bool = False
    target: str | None = None


class _Parts(NamedTuple):
    """What is known of one folder while a tree is built."""

    files: list[FileNode]
    links: list[LinkNode]
    folders: list[FolderNode]


def build(entries: Iterable[Entry]) -> Tree:
    """The tree of some entries; folders on the way need no entry of their own.

    Raises:
        TreeError: a path is not plain and relative, stands twice, or leads through a file.
    """
    held: dict[str, _Parts] = {"": _Parts([], [], [])}
    for entry in entries:
        if entry.path.startswith("/"):
            raise TreeError(f"not a relative path: {entry.path[:80]!r}")
        folder, _, name = entry.path.rpartition("/")
        is_folder = entry.digest is None and entry.target is None
        on_the_way = entry.path if is_folder else folder
        while on_the_way not in held:
            held[on_the_way] = _Parts([], [], [])
            on_the_way = on_the_way.rpartition("/")[0]
        if entry.digest is not None:
            held[folder].files.append(FileNode(name, entry.digest, entry.is_executable))
        elif entry.target is not None:
            held[folder].links.append(LinkNode(name, entry.target))
    messages: dict[Digest, bytes] = {}
    digest = digest_of(b"")
    # The innermost first, the root last.
    for path in sorted(held, key=lambda one: one.count("/") + bool(one), reverse=True):
        parts = held[path]
        message = Folder(tuple(parts.files), tuple(parts.folders), tuple(parts.links)).encode()
        digest = digest_of(message)
        messages[digest] = message
        if path:
            above, _, name = path.rpartition("/")
            held[above].folders.append(FolderNode(name, digest))
    return Tree(digest, messages)


def is_entry_name(name: str) -> bool:
    """Whether a name leads to an entry of its folder, and nowhere else."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _check_name(name: str) -> None:
    if not is_entry_name(name):
        raise TreeError(f"no name of an entry: {name[:80]!r}")
    if not _is_utf8(name):
        raise TreeError(f"a name is no UTF-8: {name[:80]!r}")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_order(node: _Node) -> bytes:
    return node.name.encode()


def _file(node: FileNode) -> bytes:
    executable = b"\x20\x01" if node.is_executable else b""
    return _text(1, node.name.encode()) + _digest(2, node.digest) + executable


def _digest(number: int, digest: Digest) -> bytes:
    size = b"\x10" + _varint(digest.size_bytes) if digest.size_bytes else b""
    return _text(number, _text(1, digest.hash.encode()) + size)


def _text(number: int, value: bytes) -> bytes:
    return bytes((number << 3 | _TEXT,)) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a message; those of fixed size are passed over."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        if not number:
            raise TreeError("a field without a number")
        if wire == 0:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if wire == _TEXT:
            size, at = _read_varint(data, at)
        elif wire in _FIXED:
            size = _FIXED[wire]
        else:
            raise TreeError("a field of a kind that no message has")
        if at + size > len(data):
            raise TreeError("it is cut short")
        if wire == _TEXT:
            yield number, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for n, byte in enumerate(data[at : at + VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return value, at + n + 1
    raise TreeError("it is cut short, or a number is too long")


def _read_file(data: bytes) -> FileNode:
    node = dict(_fields(data))
    return FileNode(_name(node.get(1)), _read_digest(node.get(2)), bool(node.get(4)))


def _read_digest(value: int | bytes | None) -> Digest:
    parts = dict(_fields(_message(value)))
    size = parts.get(2, 0)
    if not isinstance(size, int):
        raise TreeError("a size is no number")
    return Digest(_name(parts.get(1)), size)


def _message(value: int | bytes | None) -> bytes:
    if not isinstance(value, bytes):
        raise TreeError("a part of it is missing, or no message")
    return value


def _name(value: int | bytes | None) -> str:
    try:
        return _message(value).decode()
    except UnicodeDecodeError as error:
        raise TreeError("a text is no UTF-8") from error
