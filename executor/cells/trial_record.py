"""What the trial of tier A found, kept so that a single run need not wait for another one.

It holds for one state of the machine: of its kernel since it started, of what this process may do
and where it is, of the project's file system, and of the program itself. It is believed only as
long as every cell shows the same: see `Recalled`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

FINDINGS = ("landlock", "copy_on_write")  # what a supervisor found that holds for every run
KEPT_MAX = 64
"""How many states are remembered: as many projects."""

_EXECUTOR = os.path.dirname(os.path.dirname(__file__))
_MAKING_CELLS = ("cells", "engine", "pool", "spawner")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# What decides whether namespaces may be made, beside the process's own credentials.
_OF_THE_KERNEL = (
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/sys/kernel/security/lsm",
    "/proc/self/attr/current",
    "/proc/self/uid_map",
)
_OF_THE_PROCESS = (
    *("Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapBnd"),
    *("NoNewPrivs", "Seccomp", "Seccomp_filters"),
)


class TrialOutdatedError(Exception):
    """A cell is not what an earlier trial found. Nothing ran in it, and the finding is forgotten:
    an executor that is opened anew makes a trial of its own."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """The findings for one project, in a file of the user's that all projects share."""

    file: Path
    project: Path

    def recall(self) -> Recalled | None:
        """What a trial in this very state found, if there was one."""
        found = self._all().get(self._state())
        return Recalled(found, self) if _is_finding(found) else None

    def keep(self, found: Mapping[str, Any]) -> None:
        """Note what a trial has just found; not being able to costs the next run a trial."""
        others = self._all()
        others.pop(state := self._state(), None)
        latest = dict(list(others.items())[1 - KEPT_MAX :])
        self._replace({**latest, state: {name: found[name] for name in FINDINGS}})

    def forget(self) -> None:
        """Have the next run make a trial."""
        others = self._all()
        if others.pop(self._state(), None) is not None:
            self._replace(others)

    def _all(self) -> dict[str, Any]:
        try:
            known = json.loads(self.file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}

    def _replace(self, known: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            with tempfile.NamedTemporaryFile("w", dir=self.file.parent, delete=False) as out:
                json.dump(known, out)
            os.replace(out.name, self.file)

    def _state(self) -> str:
        told = "\n".join((*_kernel(), *_process(), *_program(), *_place(self.project)))
        return hashlib.sha256(os.fsencode(told)).hexdigest()


@dataclass(frozen=True, slots=True)
class Recalled:
    """An earlier trial's findings, taken for this executor's."""

    found: Mapping[str, Any]
    record: TrialRecord

    def confirm(self, layers: Mapping[str, Any]) -> None:
        """Compare what the supervisor of a ready cell says with what the trial's said.

        Raises:
            TrialOutdatedError: they differ.
        """
        overlay = layers["copy_on_write"]  # False where the run needs none
        if layers["landlock"] != self.found["landlock"] or (
            overlay and overlay != self.found["copy_on_write"]
        ):
            raise self.outdated("a cell has other layers")

    def outdated(self, why: str) -> TrialOutdatedError:
        """The error to raise, now that it is forgotten."""
        self.record.forget()
        return TrialOutdatedError(why)


def _is_finding(found: object) -> TypeGuard[Mapping[str, Any]]:
    if not isinstance(found, dict) or set(found) != set(FINDINGS):
        return False
    return isinstance(found["landlock"], int) and isinstance(found["copy_on_write"], bool | str)


def _kernel() -> Iterator[str]:
    for path in _OF_THE_KERNEL:
        yield f"{path} {_text(path)}"


def _process() -> Iterator[str]:
    for line in _text("/proc/self/status").splitlines():
        if line.partition(":")[0] in _OF_THE_PROCESS:
            yield line
    for name in _NAMESPACES:
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/self/ns/{name}")


def _program() -> Iterator[str]:
    """The code that makes cells, by the names, times and sizes of its files."""
    for folder in _MAKING_CELLS:
        entries = os.scandir(os.path.join(_EXECUTOR, folder))
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                about = entry.stat()
                yield f"{entry.path} {about.st_mtime_ns} {about.st_size}"


def _place(project: Path) -> Iterator[str]:
    about = project.stat()
    yield f"{project} {about.st_dev} {about.st_ino} {about.st_uid} {about.st_mode}"


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        return f"errno {error.errno}"
