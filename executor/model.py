"""The data of a run: its request, its limits, and its result."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class RequestError(Exception):
    """A request that can't be run; `hint` says what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SandboxUnavailableError(Exception):
    """The error that no permitted tier works here; `remedy` has the fix."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class UnknownRuntimeError(SandboxUnavailableError):
    """An engine does not have the requested container runtime."""


class SandboxError(Exception):
    """A sandbox could not be made or was lost: a failure of the server or the machine."""


class PackagesError(Exception):
    """A failure to fetch packages; `hint` has the fix. Nothing half-made is left."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class Status(StrEnum):
    """The end of a run. A program's failure is a status; a server's failure is an exception."""

    OK = "ok"
    NONZERO_EXIT = "nonzero_exit"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    MEMORY_LIMIT = "memory_limit"
    CPU_LIMIT = "cpu_limit"
    PROCESS_LIMIT = "process_limit"
    OUTPUT_LIMIT = "output_limit"
    DISK_LIMIT = "disk_limit"
    DENIED = "denied"
    REDIRECTED = "redirected"
    CANCELLED = "cancelled"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    SANDBOX_ERROR = "sandbox_error"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run, all always in force; the result names the mechanism of each."""

    wall_s: float = 120.0
    cpu_s: float = 240.0
    memory_bytes: int = 2 * GIB
    processes: int = 512
    file_bytes: int = 1 * GIB
    scratch_bytes: int = 512 * MIB
    scratch_inodes: int = 65_536
    open_files: int = 4_096
    output_bytes: int = 64 * MIB
    artifact_bytes: int = 64 * MIB

    def __post_init__(self) -> None:
        """Refuse what no kernel could honour.

        Raises:
            ValueError: a limit is not a positive number, or below what any program needs.
        """
        for limit in fields(self):
            value = getattr(self, limit.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"limit {limit.name} must be a positive number, not {value!r}")
            if value == float("inf"):
                raise ValueError(f"limit {limit.name} must be finite: every run has a ceiling")


LOCAL = "local-"
"""Start of the owners that are commands and servers of the user of this machine."""


def name_local() -> str:
    """Return a new owner for one of them."""
    return f"{LOCAL}{secrets.token_hex(6)}"


@dataclass(frozen=True, slots=True)
class Request:
    """One program to run. Exactly one of `code` and `path` is given."""

    language: str
    code: str | None = None
    path: str | None = None  # relative to `cwd`, or absolute
    bind_file: str | None = None  # a file whose content the program receives as FILE_CONTENT
    files: Mapping[str, bytes] = field(default_factory=dict)
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None  # what the program reads; None: end of file at once
    args: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()  # patterns of files to hand back, relative to `cwd`
    timeout_s: float | None = None  # instead of the wall time of `limits`
    limits: Limits | None = None  # None: the defaults
    profile: str = "analyze"
    intent: str | None = None
    background: bool = False
    session: str | None = None  # the box shared with the calls before and after it
    fresh: bool = False  # the session is emptied first
    owner: str = ""  # the client that asks; clients share no sessions or runs
    drain: bool = False  # it runs on beyond its limit of output; the rest is only counted
    interactive: bool = False  # typed by a user into a session: its value is shown
    stage: bool = False  # its changes of the project are held for review
    packages: tuple[str, ...] = ()  # names in its language, or a project's file that lists them

    @property
    def keeps_with(self) -> str:
        """Return the client whose earlier outputs it supersedes; those of one user share them."""
        return "" if self.owner.startswith(LOCAL) else self.owner

    def to_json(self) -> dict[str, Any]:
        """Return a form that JSON supports and `from_json` restores exactly."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out["files"] = {name: _encode(content) for name, content in self.files.items()}
        out["env"] = dict(self.env)
        out["args"] = list(self.args)
        out["artifacts"] = list(self.artifacts)
        out["packages"] = list(self.packages)
        out["stdin"] = None if self.stdin is None else _encode(self.stdin)
        out["limits"] = None if self.limits is None else _plain(self.limits)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """Restore a request from the output of `to_json`.

        Raises:
            ValueError, TypeError: the data is of another shape.
        """
        given = dict(data)
        given["files"] = {name: _decode(text) for name, text in given.get("files", {}).items()}
        given["args"] = tuple(given.get("args", ()))
        given["artifacts"] = tuple(given.get("artifacts", ()))
        given["packages"] = tuple(given.get("packages", ()))
        if given.get("stdin") is not None:
            given["stdin"] = _decode(given["stdin"])
        if given.get("limits") is not None:
            given["limits"] = Limits(**given["limits"])
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of isolation: whether and how it was in force, or why not and the fix."""

    active: bool
    detail: str = ""
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation that really confined the run: the tier and each of its layers by name."""

    tier: str
    layers: Mapping[str, Layer] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"tier": self.tier, "layers": {n: _plain(x) for n, x in self.layers.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Isolation:
        layers = {name: Layer(**layer) for name, layer in data["layers"].items()}
        return cls(data["tier"], layers)


@dataclass(frozen=True, slots=True)
class Stream:
    """One captured output stream, bounded. Counts are exact, of raw bytes and line feeds."""

    head: str = ""  # cut on line and character boundaries; the whole stream if nothing was left out
    tail: str = ""  # cut in the same way
    bytes_total: int = 0
    lines_total: int = 0
    bytes_omitted: int = 0
    lines_omitted: int = 0
    binary: bool = False

    @property
    def truncated(self) -> bool:
        return self.bytes_omitted > 0

    @property
    def text(self) -> str:
        """Return the stream as it is shown: whole, or head, a counted gap, and tail."""
        if not self.truncated:
            return self.head
        gap = f"[… {self.bytes_omitted} bytes, {self.lines_omitted} lines left out …]"
        head = self.head.removesuffix("\n")
        return f"{head}\n{gap}\n{self.tail}" if head else f"{gap}\n{self.tail}"


@dataclass(frozen=True, slots=True)
class Usage:
    """The run's consumption. None means that nothing on this machine could measure it."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int | None = None
    peak_processes: int | None = None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A project file that the run changed."""

    path: str  # relative to the project
    change: str  # created, modified, deleted, renamed, mode or times
    bytes: int | None = None
    source: str = ""  # what was renamed


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A change of a run that did not reach the project, and why.

    `kind` is `never` (tools run the file automatically), `held` (held for review), `conflict` (the
    host changed the file during the run), `closed` (this user may not write it), `refused` (not a
    file, folder or link), `kept` (a deletion did not remove it) or `repository` (committed only as
    a whole).
    """

    path: str
    reason: str
    kind: str


@dataclass(frozen=True, slots=True)
class Connection:
    """One attempt of a run to connect through the proxy."""

    host: str
    port: int
    allowed: bool
    reason: str = ""  # why it was refused


@dataclass(frozen=True, slots=True)
class Refusal:
    """A target that a run was refused, however often it was tried."""

    kind: str  # network, socket, call, read, write, privilege, commit or limit
    target: str
    by: str  # the part that refused it
    # `exact`: the refusing part reported it; `told`: the program's error names a path known to be
    # covered; `inferred`: only the text of an error suggests it.
    certainty: str
    count: int = 1
    remedy: str = ""  # how to allow it, or that nothing does


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that the run was asked to return."""

    name: str  # in the run
    bytes: int | None = None
    path: str | None = None  # where its copy is; None: it was not returned
    reason: str = ""  # why it was not handed back


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one run."""

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: Stream = field(default_factory=Stream)
    stderr: Stream = field(default_factory=Stream)
    usage: Usage = field(default_factory=Usage)
    isolation: Isolation = field(default_factory=lambda: Isolation("none"))
    artifacts: tuple[Artifact, ...] = ()
    changed_files: tuple[ChangedFile, ...] = ()
    changed_files_omitted: int = 0
    connections: tuple[Connection, ...] = ()
    not_committed: tuple[LeftOut, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    refusals_omitted: int = 0
    changes_id: str | None = None  # the ID of changes held for review
    persists: bool = False  # whether the changes are in the project now
    verdict: Mapping[str, Any] | None = None
    output_id: str | None = None
    phase: str = "run"
    message: str = ""
    profile: str = "analyze"
    toolchain: str | None = None
    session: str | None = None  # the state of its session, if any
    packages: str | None = None  # its package layer: "now" fetched, or "kept" (stored before)
    missing_packages: tuple[str, ...] = ()  # that its errors name, as the registry calls them
    compiled: str | None = None  # "now", or "kept" from an earlier run; else None
    worker: str | None = None  # the other machine that ran it, as its engine calls it

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Return paths that the host changed during the run, too: the host's state stays."""
        return tuple(path.path for path in self.not_committed if path.kind == "conflict")

    def to_json(self) -> dict[str, Any]:
        """Return a form that JSON supports and `from_json` restores exactly."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out["status"] = self.status.value
        for name in ("stdout", "stderr", "usage"):
            out[name] = _plain(out[name])
        out["isolation"] = self.isolation.to_json()
        out["artifacts"] = [_plain(artifact) for artifact in self.artifacts]
        out["connections"] = [_plain(connection) for connection in self.connections]
        left = self.not_committed
        out["not_committed"] = [{"path": n.path, "kind": n.kind, "reason": n.reason} for n in left]
        out["refusals"] = [_plain(refusal) for refusal in self.refusals]
        out["changed_files"] = [_plain(change) for change in self.changed_files]
        out["verdict"] = None if self.verdict is None else dict(self.verdict)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """Restore a result from the output of `to_json`.

        Raises:
            ValueError, TypeError, KeyError: the data is of another shape.
        """
        given = dict(data)
        given["status"] = Status(given["status"])
        given["stdout"] = Stream(**given["stdout"])
        given["stderr"] = Stream(**given["stderr"])
        given["usage"] = Usage(**given["usage"])
        given["isolation"] = Isolation.from_json(given["isolation"])
        given["artifacts"] = tuple(Artifact(**a) for a in given["artifacts"])
        given["connections"] = tuple(Connection(**c) for c in given["connections"])
        given["not_committed"] = tuple(LeftOut(**n) for n in given["not_committed"])
        given["missing_packages"] = tuple(given["missing_packages"])
        given["refusals"] = tuple(Refusal(**r) for r in given["refusals"])
        given["changed_files"] = tuple(ChangedFile(**c) for c in given["changed_files"])
        return cls(**given)


def _plain(data: Any) -> dict[str, Any]:  # noqa: ANN401 - any of the dataclasses above
    return {f.name: getattr(data, f.name) for f in fields(data)}


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def readable(name: str) -> str:
    """Return the name as text: undecodable bytes become U+FFFD."""
    return os.fsencode(name).decode(errors="replace")
