"""Orders, outcomes, and an engine's reports of both.

Each has a form in JSON, with every field checked when it is read. A reader trusts nobody: size,
depth and shape are bounded before anything is built. Paths in an order are relative to the project,
which has another place at the worker.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from executor import MIB, Limits, Profile, ProjectAccess, Request, Result
from executor.project import Change
from executor.project.view import DEPTH_MAX
from executor.run import safe_name
from fleet.tree import Digest
from policy import Rules

BYTES_MAX: Final = 16 * MIB
NESTING_MAX: Final = 32
CONTAINERS_MAX: Final = 200_000
"""Limit of lists and objects in a form: an empty one takes two bytes of text and 60 of memory."""
SCALARS_MAX: Final = 1_000_000
INTEGER_MAX: Final = 2**63 - 1  # SQLite's limit

# An unfinished string counts as one, or each quote in it would be tried as the first.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")

T = TypeVar("T")


class OutcomeError(Exception):
    """A worker's answer breaks its order's limits: that worker lost the run."""


class FormError(ValueError):
    """A form that cannot be read or written; the message says where and why."""


def encode(value: object) -> bytes:
    """Write a value as JSON, the same bytes for equal values: keys sorted, ASCII, no blanks.

    Raises:
        FormError: the value is larger than `BYTES_MAX`, or has no form.
    """
    try:
        # As it will be read: 5 in a field of fractions is 5.0.
        text = _write(msgspec.convert(_plain(value), type(value)))
    except (TypeError, ValueError) as error:
        raise FormError(f"it can't be written: {error}") from error
    if len(text) > BYTES_MAX:
        raise FormError(f"it is {len(text) / MIB:.1f} MiB; the limit is {BYTES_MAX // MIB} MiB")
    return text


def decode(kind: type[T], data: bytes) -> T:
    """Make an instance of a dataclass or named tuple from the output of `encode`.

    Raises:
        FormError: the data differs from that output: a field is missing or unknown, or a key twice.
    """
    _check_shape(data)
    try:
        value = json.loads(data.decode("ascii"), parse_int=_integer)
        if rb"\ud" in data:
            _check_characters(value)
        made = msgspec.convert(value, kind)
        is_as_written = _write(made) == data
    except (ValueError, RecursionError) as error:
        raise FormError(f"a value is invalid: {error}") from error
    if not is_as_written:
        raise FormError("a field is unknown, missing or twice")
    return made


def _write(value: object) -> bytes:
    """Write a value; msgspec's own encoder would refuse the half characters in names of files."""
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()


def _check_shape(data: bytes) -> None:
    """Refuse data that would take much time or memory to parse.

    Raises:
        FormError: the data is too large, too deep, or has too many parts.
    """
    if len(data) > BYTES_MAX:
        raise FormError(f"it is {len(data):,} bytes; the limit is {BYTES_MAX:,}")
    rest = _STRING.sub(b"", data)
    opened = rest.count(b"[") + rest.count(b"{")
    if opened > CONTAINERS_MAX or rest.count(b",") > SCALARS_MAX:
        raise FormError(f"it has over {CONTAINERS_MAX:,} lists, or {SCALARS_MAX:,} values")
    depth = 0
    for bracket in _BRACKET.finditer(rest):
        depth += 1 if bracket[0] in b"[{" else -1
        if not 0 <= depth <= NESTING_MAX:
            raise FormError(
                f"it is nested deeper than {NESTING_MAX}, or closed before it is opened"
            )


def _check_characters(value: object) -> None:
    """Refuse half characters, except those that stand for a byte that is not UTF-8.

    Raises:
        UnicodeEncodeError: there is one.
    """
    json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _integer(text: str) -> int:
    value = int(text)
    if abs(value) > INTEGER_MAX:
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _plain(value: object) -> object:
    return msgspec.to_builtins(value, enc_hook=_as_builtin)


def _as_builtin(value: object) -> object:
    """Convert a mapping that msgspec does not know to a dictionary, and a subclass of str to str.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form")


NAME_BYTES_MAX: Final = 255  # linux/limits.h
PATH_BYTES_MAX: Final = 4095
MODE_MAX: Final = 0o777
GROUP_MAX: Final = 2**31
CHANGES: Final = ("created", "modified", "deleted", "mode", "times")
KINDS: Final = ("file", "folder", "link")
_SHA256 = re.compile(r"[0-9a-f]{64}")


PROTOCOL: Final = 3
"""Raised whenever the form of an order or outcome changes, or its meaning."""
GRACE_S: Final = 30.0
"""Seconds of a worker beyond a run's wall time: laying out, packing, uploading."""
Open = Callable[[], Iterable[bytes]]
"""Reads a blob's content in pieces. Called in a thread, perhaps more than once."""
OWNER_CHARACTERS_MAX = 200
WORKER_CHARACTERS_MAX = 200
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


def has_content(change: Change) -> bool:
    """Return whether a change's content comes with its outcome."""
    return change.kind == "file" and change.change != "deleted"


def check_changes(changes: Iterable[Change]) -> None:
    """Refuse changes that no run can make, or that contradict one another.

    Names that are not UTF-8 have surrogates in them. Only the front knows the files from before.

    Raises:
        FormError: with the reason.
    """
    kinds: dict[str, str] = {}
    groups: dict[int, tuple[str, int, int, str]] = {}
    for one in changes:
        _check_change(one)
        if one.path in kinds:
            raise FormError(f"a changed file is listed twice: {one.path[:200]!r}")
        kinds[one.path] = "gone" if one.change == "deleted" else one.kind
        if one.group:
            inode = (one.sha256, one.size, one.mode, one.source)
            if not has_content(one) or groups.setdefault(one.group, inode) != inode:
                raise FormError(f"not a hard link to another file: {one.path[:200]!r}")
    for path, kind in kinds.items():
        folder = path.rpartition("/")[0] if kind != "gone" else ""
        while folder:
            if kinds.get(folder, "folder") != "folder":
                raise FormError(f"the path leads through a non-folder: {path[:200]!r}")
            folder = folder.rpartition("/")[0]


def _check_change(one: Change) -> None:
    for path in (one.path, *filter(None, (one.source,))):
        if not is_plain(path):
            raise FormError(f"not a path of a changed file: {path[:200]!r}")
    if one.change not in CHANGES or one.kind not in KINDS:
        raise FormError(f"not a change of an entry that a project can have: {one.path[:200]!r}")
    if one.xattrs or one.before is not None or one.before_sha256:
        raise FormError(f"a worker cannot know the entry's earlier state: {one.path[:200]!r}")
    if not 0 <= one.mode <= MODE_MAX or one.size < 0 or not 0 <= one.group < GROUP_MAX:
        raise FormError(f"invalid mode, size or group of a changed file: {one.path[:200]!r}")
    if bool(one.target) is not (one.kind == "link" and one.change != "deleted"):
        raise FormError(f"a link must have a target, and nothing else may: {one.path[:200]!r}")
    if "\0" in one.target or len(os.fsencode(one.target)) > PATH_BYTES_MAX:
        raise FormError(f"the link {one.path[:200]!r} has an invalid target")
    if has_content(one) is not bool(one.sha256) or not is_sha256(one.sha256 or "0" * 64):
        raise FormError(f"a file must have a digest, and nothing else may: {one.path[:200]!r}")
    if (one.size and not has_content(one) and one.change != "deleted") or (
        one.source and not one.group
    ):
        raise FormError(f"its size or source does not match: {one.path[:200]!r}")


def is_plain(path: str) -> bool:
    """Return whether a path is relative, consists of names alone, and is not too long."""
    parts = path.split("/")
    if "\0" in path or not {"", ".", ".."}.isdisjoint(parts) or len(parts) > DEPTH_MAX + 2:
        return False
    encoded = os.fsencode(path)
    return len(encoded) <= PATH_BYTES_MAX and max(map(len, encoded.split(b"/"))) <= NAME_BYTES_MAX


def is_sha256(text: str) -> bool:
    """Return whether a text is a digest of sha256 in lower-case hexadecimal."""
    return _SHA256.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Order:
    """A run that a worker is asked to do. Rules, profile and limits are the front's."""

    run_id: str
    owner: str
    request: Request
    root: Digest  # the project as a tree of digests
    rules: Rules
    profile: Profile
    limits: Limits
    project: str  # its path at the front: the rules name paths there
    not_after: float  # when nobody waits any more, in seconds since 1970 in UTC
    verdict: Mapping[str, Any] | None = None  # the front's, with the user's approval if any
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        """Refuse orders that no other machine can run.

        Raises:
            FormError: a path is outside the project, or the run needs this machine.
        """
        _check_run_id(self.run_id)
        _check_protocol(self.protocol)
        if not self.owner.isprintable() or not 0 < len(self.owner) <= OWNER_CHARACTERS_MAX:
            raise FormError(f"invalid name of an owner: {self.owner[:80]!r}")
        if not os.path.isabs(self.project) or "\0" in self.project:
            raise FormError(f"the project is not an absolute path: {self.project[:80]!r}")
        if self.profile.name != self.request.profile:
            raise FormError(f"the profile is {self.profile.name!r}, not {self.request.profile!r}")
        if reason := why_here(self.request, self.profile):
            raise FormError(f"another machine can't run it: {reason}")
        cwd = self.request.cwd or "."
        for path in (cwd, self.request.path, self.request.bind_file):
            if path is not None and not _stays_inside(path if path is cwd else f"{cwd}/{path}"):
                raise FormError(f"{path[:200]!r} is not in the project, or not a relative path")

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the offers that its worker must make; see `Worker.list_offers`."""
        tier = ("tier=A",) if self.profile.floor == "A" else ()
        return (f"context-mode={PROTOCOL}", f"language={self.request.language}", *tier)

    @property
    def timeout_s(self) -> float:
        """Return the time limit of a worker in seconds."""
        return self.limits.wall_s + GRACE_S


def why_here(request: Request, profile: Profile) -> str:
    """Return why a request must run on the machine that it was made on; empty if it need not."""
    reasons = {
        "a session stays on one machine": request.session is not None,
        "it is interactive": request.interactive,
        "its profile has a network": profile.network.is_open,
        "its profile shows paths outside of the project": bool(profile.read),
        "its profile shows sockets": bool(profile.sockets),
        "its profile works on the project itself": profile.project is ProjectAccess.LIVE,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an order; the contents that belong to it are files next to it.

    An uploaded artifact of the result has as its path the name of a file next to the outcome. The
    worker commits nothing, so its result has no commit.
    """

    run_id: str
    worker: str
    result: Result
    changed: tuple[Change, ...] = ()  # the changes to commit, without the earlier state
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        """Refuse names that lead elsewhere or are listed twice.

        Raises:
            FormError: there is one.
        """
        _check_run_id(self.run_id)
        _check_protocol(self.protocol)
        if not self.worker.isprintable() or not 0 < len(self.worker) <= WORKER_CHARACTERS_MAX:
            raise FormError(f"invalid name of a worker: {self.worker[:80]!r}")
        handed = [one.path for one in self.result.artifacts if one.path is not None]
        for name in handed:
            if safe_name(name) != name:
                raise FormError(f"invalid name of an artifact: {name[:200]!r}")
        if len(set(handed)) < len(handed):
            raise FormError("an artifact is listed twice")
        for change in self.result.changed_files:
            for path in (change.path.removesuffix("/"), *filter(None, (change.source,))):
                if not is_plain(path):
                    raise FormError(f"not a path of a changed file: {path[:200]!r}")
        check_changes(self.changed)


class Cause(StrEnum):
    """The reasons why a run has no outcome."""

    WORKER = "worker"  # it died, or left no valid outcome
    ENGINE = "engine"  # it cannot be reached, or does not know the run any more
    BLOB = "blob"  # a blob is gone from the engine's storage
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A worker's answer: digests of files by path.

    `contents` are those sent with the answer, by digest, and checked against it.
    """

    files: Mapping[str, Digest]
    worker: str | None = None
    contents: Mapping[Digest, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lost:
    """A run whose outcome an engine will not deliver."""

    run_id: str
    cause: Cause
    detail: str = ""  # in the engine's own words
    worker: str | None = None


def _check_run_id(run_id: str) -> None:
    if not _RUN_ID.fullmatch(run_id):
        raise FormError(f"invalid run ID: {run_id[:80]!r}")


def _check_protocol(protocol: int) -> None:
    if protocol != PROTOCOL:
        raise FormError(f"it has protocol {protocol}, and this release {PROTOCOL}")


def _stays_inside(path: str) -> bool:
    """Return whether a path, relative to the folder of its link, stays inside the project."""
    if "\0" in path or path.startswith("/") or "//" in path:
        return False
    return os.path.normpath(path).partition("/")[0] != ".."
