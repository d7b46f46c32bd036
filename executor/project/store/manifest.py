"""A run's changes as data: each change, those left out, and the resulting commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from executor.model import LeftOut
from executor.project.view.record import Record
from executor.project.view.tree import EntryState

if TYPE_CHECKING:
    from executor.project.git.repository_import import Taking

T = TypeVar("T")
PREVENTED = ("conflict", "closed")  # by the project's present state; that may change
PREVENTING = (*PREVENTED, "repository")  # with these, none of the user's choices is applied


@dataclass(frozen=True, slots=True)
class Change:
    """One changed entry. For a deleted one, kind, mode and sizes are the former ones."""

    path: str
    change: str  # created, modified, deleted, renamed, mode or times
    kind: str  # file, folder or link
    mode: int
    size: int
    mtime_ns: int
    target: str = ""  # of a link
    source: str = ""  # former path if renamed; of a new hard link, an unchanged file linked to it
    group: int = 0  # hard links to one another share a number; 0: none
    xattrs: tuple[tuple[str, bytes], ...] = ()
    sha256: str = ""
    before: EntryState | None = None
    before_sha256: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The changes of a run; the content of each is at its path in the folder `contents`."""

    record: Record
    changes: tuple[Change, ...]
    contents: int  # a descriptor, which the caller closes
    refused: tuple[LeftOut, ...]  # changes that can't be committed anywhere
    may_move: bool = False  # whether contents may be moved instead of copied: nobody needs them
    repositories: tuple[Taking, ...] = ()  # those already read and stored; a run's are read later


class CommitError(OSError):
    """Nothing was committed: the project can't be written, or there are too many changes.

    `hint` is the remedy.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: the applied changes, those left out, and the id of those stored.

    `id` is empty if none are stored.
    """

    changed: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]
    id: str


def list_changes(changes: Sequence[Change], renames: Mapping[str, str]) -> tuple[Change, ...]:
    """List the changes for users: with renames, without times of folders whose entries changed.

    `renames` maps new paths to old ones.
    """
    paths = {change.path for change in changes}
    sources = {new: old for new, old in renames.items() if new in paths and old in paths}
    gone = {*sources.values()}
    touched = {path.rpartition("/")[0] for path in paths}
    return tuple(
        replace(c, change="renamed", source=sources[c.path]) if c.path in sources else c
        for c in changes
        if c.path not in gone
        and not (c.kind == "folder" and c.change == "times" and c.path in touched)
    )


def encode(value: object) -> str:
    """Write a dataclass as a line of JSON in ASCII; names that are not UTF-8 are preserved.

    msgspec's own encoder refuses the surrogates that represent their bytes.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str))


def decode(kind: type[T], text: str) -> T:
    """Read what `encode` wrote.

    Raises:
        ValueError: it is invalid.
    """
    return msgspec.convert(json.loads(text), kind, dec_hook=lambda inner, value: inner(value))
