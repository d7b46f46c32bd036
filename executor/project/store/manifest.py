"""The changes of a run as data: what each one is, what is left out, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from executor.model import LeftOut
from executor.project.view.record import EntryState, Record

if TYPE_CHECKING:
    from executor.project.git.repository_import import Taking

T = TypeVar("T")
PREVENTED = ("conflict", "closed")  # by what the project is now; it may be otherwise later
PREVENTING = (*PREVENTED, "repository")  # for which nothing of a person's decision is applied


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that is not as it was. Of what is deleted, kind, mode and sizes are what it had."""

    path: str
    change: str  # created, modified, deleted, renamed, mode or times
    kind: str  # file, folder or link
    mode: int
    size: int
    mtime_ns: int
    target: str = ""  # of a link
    source: str = ""  # what was renamed; of a created hard link, the unchanged file beside it
    group: int = 0  # hard links to one another share a number; 0: none
    xattrs: tuple[tuple[str, bytes], ...] = ()
    sha256: str = ""
    before: EntryState | None = None
    before_sha256: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All that a run changed; a change's content lies under its path in the folder `contents`."""

    record: Record
    changes: tuple[Change, ...]
    contents: int  # a descriptor, which the caller closes
    refused: tuple[LeftOut, ...]  # what cannot be brought anywhere
    may_move: bool = False  # contents are nobody's afterwards: they need not be copied
    repositories: tuple[Taking, ...] = ()  # what was kept of some; a run's are still to be read


class CommitError(OSError):
    """Nothing was brought in: the project can't be written, or it is too much.

    `hint` says what helps.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: what reached the project, what was left out, and the id of what is kept.

    `id` is empty where nothing is kept.
    """

    changed: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]
    id: str


def list_changes(changes: Sequence[Change], renames: Mapping[str, str]) -> tuple[Change, ...]:
    """List changes that say something: renames as such, no times of folders whose entries changed.

    `renames` are new paths to old ones.
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
    """Write a dataclass as a line of JSON in ASCII; names that are not UTF-8 stay as they are.

    msgspec's own encoder refuses the half characters that stand for their bytes.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str))


def decode(kind: type[T], text: str) -> T:
    """Read what `encode` wrote.

    Raises:
        ValueError: it is something else.
    """
    return msgspec.convert(json.loads(text), kind, dec_hook=lambda inner, value: inner(value))
