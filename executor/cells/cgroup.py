"""Control groups: version 2 if it is delegated, else version 1, tested by making one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from base import process
from executor.engine.box import Consumption
from executor.model import Limits

MOUNT_TABLE = process.MOUNT_TABLE
OWN_GROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class Files:
    """The names one version of the interface gives to what we read and write."""

    controllers: tuple[str, ...]
    memory_max: str
    memory_swap_max: str
    memory_now: str
    memory_peak: str
    oom_events: str


V2 = Files(
    ("memory", "pids"),
    "memory.max",
    "memory.swap.max",
    "memory.current",
    "memory.peak",
    "memory.events",
)
V1 = Files(
    ("memory", "pids"),
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.usage_in_bytes",
    "memory.max_usage_in_bytes",
    "memory.oom_control",
)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The place of groups: one folder per controller (version 2: the same for both)."""

    version: int
    files: Files
    folders: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control group of one cell."""

    hierarchy: Hierarchy
    folders: Mapping[str, Path]
    enforces: bool = True  # see `Meter.enforces`

    def add(self, pid: int) -> None:
        """Move a process in, before it starts any other."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def limit(self, limits: Limits) -> None:
        """Set what its processes may have together.

        Raises:
            OSError: the kernel refused.
        """
        memory, files = self.folders["memory"], self.hierarchy.files
        (memory / files.memory_max).write_text(str(limits.memory_bytes))
        # Swap would let a run outgrow its memory unseen; not every kernel accounts it.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            swap = 0 if self.hierarchy.version == 2 else limits.memory_bytes
            (memory / files.memory_swap_max).write_text(str(swap))
        (self.folders["pids"] / "pids.max").write_text(str(limits.processes))

    def memory_bytes(self) -> int | None:
        """Return the present memory of its processes."""
        return _read_count(self.folders["memory"] / self.hierarchy.files.memory_now)

    def consumption(self) -> Consumption:
        files = self.hierarchy.files
        memory, pids = self.folders["memory"], self.folders["pids"]
        return Consumption(
            _read_count(memory / files.memory_peak),
            _read_count(memory / files.oom_events, "oom_kill") or 0,
            _read_count(pids / "pids.events", "max") or 0,
        )

    def remove(self) -> bool:
        """Return whether the group is gone; a dying process still holds it for a moment."""
        gone = True
        for folder in set(self.folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone


def find(instance: str) -> tuple[Hierarchy | None, str]:
    """Find the hierarchy for this instance's groups, or return None and the reasons.

    A folder named after the instance is made below the process's own group, version 2 first.
    """
    name, reasons = f"ctxmode-{instance}", []
    for attempt in (_version_2, _version_1):
        try:
            hierarchy = attempt(name)
            try:  # until a group was really made in it, it is not proven
                group = make_group(hierarchy, "probe")
                group.limit(Limits())
            except OSError:
                remove_hierarchy(hierarchy)
                raise
            group.remove()
            return hierarchy, ""
        except OSError as error:
            said = str(error).replace(name, "ctxmode-*")  # the same for every instance
            reasons.append(f"{attempt.__name__[1:].replace('_', ' ')}: {said}")
    return None, "; ".join(reasons)


def make_group(hierarchy: Hierarchy, name: str) -> ControlGroup:
    """Make a group that sets no limits.

    Raises:
        OSError: the kernel refused.
    """
    group = ControlGroup(hierarchy, {c: folder / name for c, folder in hierarchy.folders.items()})
    for folder in set(group.folders.values()):
        folder.mkdir()
    return group


def remove_hierarchy(hierarchy: Hierarchy) -> None:
    """Take the instance's own folder away again."""
    for folder in set(hierarchy.folders.values()):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _version_2(name: str) -> Hierarchy:
    own = _own_group("")
    # A group with processes can't pass controllers on: ours is next to it.
    base = _mount_point("cgroup2", None) / own.lstrip("/")
    parent = base.parent if own != "/" else base
    missing = {"memory", "pids"} - set((parent / "cgroup.subtree_control").read_text().split())
    if missing:
        raise OSError(f"{' and '.join(sorted(missing))} not handed down to {parent}")
    folder = parent / name
    folder.mkdir(exist_ok=True)
    hierarchy = Hierarchy(2, V2, {"memory": folder, "pids": folder})
    try:
        (folder / "cgroup.subtree_control").write_text("+memory +pids")
    except OSError:
        remove_hierarchy(hierarchy)
        raise
    return hierarchy


def _version_1(name: str) -> Hierarchy:
    folders = {}
    for controller in V1.controllers:
        root = _mount_point("cgroup", controller)
        folder = root / _own_group(controller).lstrip("/")
        folders[controller] = (folder if folder.is_dir() else root) / name
    for made in folders.values():
        made.mkdir(exist_ok=True)
    return Hierarchy(1, V1, folders)


def _mount_point(kind: str, controller: str | None) -> Path:
    for path, its_kind, options in process.read_mounts(MOUNT_TABLE):
        if its_kind == kind and (controller is None or controller in options):
            return Path(path)
    raise OSError(f"no {kind} file system is mounted" + (f" with {controller}" * bool(controller)))


def _own_group(controller: str) -> str:
    """Return this process's group in one hierarchy; "" names version 2's."""
    for line in OWN_GROUPS.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    raise OSError(f"this process is in no group of {controller or 'version 2'}")


def _read_count(path: Path, name: str = "") -> int | None:
    """Read a small file of the kernel: its number, or the one after a name; None without one.

    It takes three system calls: every run reads four such files.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            words = os.read(file, 4096).decode().split()
        finally:
            os.close(file)
        return int(words[words.index(name) + 1 if name else 0])
    except (OSError, ValueError, IndexError):
        return None
