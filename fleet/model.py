"""What is ordered of a worker, what it answers, and what an engine says of both.

Each has a form in JSON that `fleet.forms` bounds and checks. Paths in an order are relative to the
project, which lies elsewhere at the worker.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from executor.model import Limits, Request, Result
from executor.profile import Profile, ProjectAccess
from executor.run.artifacts import safe_name
from fleet import forms
from fleet.changed import Changed, check_changes
from fleet.forms import FormError
from fleet.tree import Digest, is_entry_name
from policy.rules import Rules

PROTOCOL: Final = 2
"""Raised whenever an order or outcome of the release before would be misread."""
GRACE_S: Final = 30.0
"""What a worker may take beyond a run's wall time: laying out, packing, handing back."""
Open = Callable[[], Iterable[bytes]]
"""Reads a blob's content in pieces. It is called in a thread, perhaps more than once."""
OWNER_CHARACTERS_MAX = 200
WORKER_CHARACTERS_MAX = 200
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True, slots=True)
class Order:
    """One run that a worker is asked for.

    `root` is the project as a tree of digests. `rules`, `profile` and `limits` are the front's, and
    `verdict` what it decided by them, with a person's consent if there was any. `project` is where
    the project lies at the front: its rules name paths there. After `not_after`, in seconds since
    1970 in UTC, nobody waits for it.
    """

    run_id: str
    owner: str
    request: Request
    root: Digest
    rules: Rules
    profile: Profile
    limits: Limits
    project: str
    not_after: float
    verdict: Mapping[str, Any] | None = None
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        """Refuse what no other machine can run.

        Raises:
            FormError: it names what lies outside of the project, or needs this machine.
        """
        _check_run_id(self.run_id)
        _check_protocol(self.protocol)
        if not self.owner.isprintable() or not 0 < len(self.owner) <= OWNER_CHARACTERS_MAX:
            raise FormError(f"no name of an owner: {self.owner[:80]!r}")
        if not os.path.isabs(self.project) or "\0" in self.project:
            raise FormError(f"the project is no absolute path: {self.project[:80]!r}")
        if self.profile.name != self.request.profile:
            raise FormError(f"the profile is {self.profile.name!r}, not {self.request.profile!r}")
        if reason := why_here(self.request, self.profile):
            raise FormError(f"another machine can't run it: {reason}")
        cwd = self.request.cwd or "."
        for path in (cwd, self.request.path, self.request.bind_file):
            if path is not None and not _stays_inside(path if path is cwd else f"{cwd}/{path}"):
                raise FormError(f"{path[:200]!r} is not in the project, or no relative path")

    def encode(self) -> bytes:
        """Its form, the same bytes for the same order.

        Raises:
            FormError: it is too large to be sent.
        """
        return forms.encode(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """What a worker has to offer to be given it; see `Worker.list_offers`."""
        tier = ("tier=A",) if self.profile.floor == "A" else ()
        return (f"context-mode={PROTOCOL}", f"language={self.request.language}", *tier)

    @property
    def timeout_s(self) -> float:
        """How long a worker may take for it."""
        return self.limits.wall_s + GRACE_S

    @classmethod
    def decode(cls, data: bytes) -> Order:
        """The order of a form.

        Raises:
            FormError: it is none, or of another protocol.
        """
        value = forms.parse(data)
        _check_protocol(value.get("protocol"))
        return forms.read(cls, value)


def why_here(request: Request, profile: Profile) -> str:
    """Why a request has to run on the machine that it was asked on; nothing if it need not."""
    reasons = {
        "a session stays on one machine": request.session is not None,
        "somebody types": request.interactive,
        "its profile has a network": profile.network.is_open,
        "its profile shows paths outside of the project": bool(profile.read),
        "its profile shows sockets": bool(profile.sockets),
        "its profile works on the project itself": profile.project is ProjectAccess.LIVE,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order; the contents that belong to it lie beside it.

    A result's artifact that was handed back has as its path the name of a file beside it. `changed`
    is what the run changed in the project, where that is to be committed; the worker commits
    nothing, so that its result tells of no commit.
    """

    run_id: str
    worker: str
    result: Result
    changed: tuple[Changed, ...] = ()
    protocol: int = PROTOCOL

    def __post_init__(self) -> None:
        """Refuse names that lead elsewhere, or stand twice.

        Raises:
            FormError: there is one.
        """
        _check_run_id(self.run_id)
        _check_protocol(self.protocol)
        if not self.worker.isprintable() or not 0 < len(self.worker) <= WORKER_CHARACTERS_MAX:
            raise FormError(f"no name of a worker: {self.worker[:80]!r}")
        handed = [one.path for one in self.result.artifacts if one.path is not None]
        for name in handed:
            if safe_name(name) != name:
                raise FormError(f"no name of an artifact: {name[:200]!r}")
        if len(set(handed)) < len(handed):
            raise FormError("an artifact stands twice")
        for change in self.result.changed_files:
            for path in (change.path.removesuffix("/"), *filter(None, (change.source,))):
                if not _is_plain(path):
                    raise FormError(f"no path of a changed file: {path[:200]!r}")
        check_changes(self.changed)

    def encode(self) -> bytes:
        """Its form, the same bytes for the same outcome.

        Raises:
            FormError: it is too large to be sent.
        """
        return forms.encode(self)

    @classmethod
    def decode(cls, data: bytes, run_id: str) -> Outcome:
        """The outcome of a form, which has to be that of the run.

        Raises:
            FormError: it is none, or another run's, or of another protocol.
        """
        value = forms.parse(data)
        _check_protocol(value.get("protocol"))
        outcome = forms.read(cls, value)
        if outcome.run_id != run_id:
            raise FormError(f"it is of run {outcome.run_id}, not {run_id}")
        return outcome


class Cause(StrEnum):
    """Why a run has no outcome."""

    WORKER = "worker"  # it died, or left no outcome that holds
    ENGINE = "engine"  # which can't be reached, or knows nothing of the run any more
    BLOB = "blob"  # one is gone from the engine's storage
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a worker handed back: digests of files by path.

    `contents` are those that came along, by digest, and checked against it.
    """

    files: Mapping[str, Digest]
    worker: str | None = None
    contents: Mapping[Digest, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lost:
    """A run of which an engine will not bring an outcome; `detail` is in its own words."""

    run_id: str
    cause: Cause
    detail: str = ""
    worker: str | None = None


def _check_run_id(run_id: str) -> None:
    if not _RUN_ID.fullmatch(run_id):
        raise FormError(f"no id of a run: {run_id[:80]!r}")


def _check_protocol(protocol: object) -> None:
    if protocol != PROTOCOL or isinstance(protocol, bool):
        raise FormError(f"it is of protocol {str(protocol)[:20]}, and this release of {PROTOCOL}")


def _stays_inside(path: str) -> bool:
    """Whether a path, with the folder that it is seen from, leads out of no project."""
    if "\0" in path or path.startswith("/") or "//" in path:
        return False
    return os.path.normpath(path).partition("/")[0] != ".."


def _is_plain(path: str) -> bool:
    """Whether a path that is only shown is relative, and says where it is by names alone."""
    return all(is_entry_name(name) for name in path.split("/"))
