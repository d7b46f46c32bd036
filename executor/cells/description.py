"""Descriptions of cells and runs for the spawner: built purely, packed into an anonymous file."""

from __future__ import annotations

import functools
import json
import os
import resource
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from executor.cells import rootfs
from executor.cells.seccomp import Judged
from executor.model import MIB, Limits
from executor.profile import ProjectAccess
from executor.project.guarded_files import Guarded
from runtimes import Ahead, Step

READ_ONLY, NOSUID, NODEV = 0x1, 0x2, 0x4  # MOUNT_ATTR_* of mount_setattr(2)
ROOT_BYTES = 16 * MIB
JOB_BYTES = 64 * MIB
# For what a run changes of a project, where it can't lie on disk.
ROOM_BYTES, ROOM_INODES = 2048 * MIB, 400_000
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CellSpec:
    """What a cell may touch. Sources are paths as the spawner reaches them."""

    tier: str
    uid: int
    gid: int
    outer_uid: int
    outer_gid: int
    project: str
    project_source: str
    access: ProjectAccess
    seccomp: bytes
    notices: bytes = b""  # the filter that has the supervisor told of some calls
    heavy_notices: bytes = b""  # the same for programs that tell of their exit, too
    judged: Judged | None = None  # tier B: the calls that are judged one by one
    scopes_signals: bool = True  # Landlock keeps signals within the run
    binds: tuple[tuple[str, str], ...] = ()  # (source, path in the cell), read-only
    limits: Limits = field(default_factory=Limits)
    scratch: str = rootfs.SCRATCH
    job: str = rootfs.JOB
    home: str = rootfs.HOME
    guarded: Guarded = field(default_factory=Guarded)
    listen: tuple[int, ...] = ()  # ports of the cell's loopback that are served from outside
    readable: tuple[tuple[str, str], ...] = ()  # tier B: the project's (path, "r" | "list")
    session: bool = False  # the cell serves many runs
    room: str = ""  # a folder for what is to be committed; without one it is kept in memory


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to run in a cell, once. Paths of files and links are absolute, in the job folder."""

    steps: tuple[Step, ...]
    env: Mapping[str, str]
    cwd: str
    limits: Limits
    files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    artifacts: tuple[str, ...] = ()  # patterns of files to hand back
    # Without a control group the supervisor sums memory, and the kernel counts processes by uid.
    without_cgroup: bool = False


class _Packed:
    """A description under construction: JSON in front, blobs behind."""

    def __init__(self) -> None:
        self._blobs = bytearray()

    def blob(self, content: bytes) -> tuple[int, int]:
        offset = len(self._blobs)
        self._blobs += content
        return offset, len(content)

    def file(self, path: str, content: bytes, mode: int = 0o644) -> tuple[str, int, int, int]:
        return path, mode, *self.blob(content)

    def pack(self, description: Mapping[str, Any]) -> bytes:
        text = json.dumps(description).encode()
        return struct.pack("=Q", len(text)) + text + bytes(self._blobs)


def pack_cell(spec: CellSpec) -> bytes:
    """The description of a cell."""
    devices = tuple(path for path in rootfs.DEVICES if os.path.exists(path))
    return _packed_cell(spec, rootfs.system_entries(), devices)


@functools.lru_cache(maxsize=16)
def _packed_cell(spec: CellSpec, system: rootfs.SystemEntries, devices: tuple[str, ...]) -> bytes:
    packed = _Packed()
    description: dict[str, Any] = {
        "tier": spec.tier,
        "uid": spec.uid,
        "gid": spec.gid,
        "outer_uid": spec.outer_uid,
        "outer_gid": spec.outer_gid,
        "hostname": rootfs.HOSTNAME,
        "job": spec.job,
        "scratch_folder": spec.scratch,
        "session": spec.session,
        "seccomp": packed.blob(spec.seccomp),
        "notices": packed.blob(spec.notices),
        "heavy_notices": packed.blob(spec.heavy_notices),
        "scopes_signals": spec.scopes_signals,
    }
    if spec.judged:
        filter_ = packed.blob(spec.judged.program)
        description["judged"] = {"filter": filter_, "kinds": spec.judged.kinds}
    if spec.tier == "A":
        description |= _namespaced(spec, system, devices, packed)
    else:
        description |= {"access": _tier_b_access(spec), "deny_tcp": True}
    return packed.pack(description)


def _namespaced(
    spec: CellSpec, system: rootfs.SystemEntries, devices: tuple[str, ...], packed: _Packed
) -> dict[str, Any]:
    read_only = READ_ONLY | NOSUID | NODEV
    accounts = rootfs.account_files(spec.uid, spec.gid)
    binds = [(path, path, read_only) for path in system.binds]
    binds += [(source, target, read_only) for source, target in spec.binds]
    writable: tuple[str, ...] = (spec.scratch, spec.home, rootfs.SHARED_MEMORY, *rootfs.DEVICES)
    commits = spec.access is ProjectAccess.COMMIT
    if spec.access is not ProjectAccess.READ_ONLY:
        writable = (*writable, spec.project)
    return {
        "root_bytes": ROOT_BYTES,
        "job_bytes": JOB_BYTES,
        "binds": [*binds, *((path, path, NOSUID) for path in devices)],
        "symlinks": list(system.links),
        "files": [packed.file(path, content) for path, content in accounts.items()],
        "scratch": {
            "bytes": spec.limits.scratch_bytes,
            "inodes": spec.limits.scratch_inodes,
            "folders": [
                ("tmp", spec.scratch, 0o1777),
                ("home", spec.home, 0o755),
                ("shm", rootfs.SHARED_MEMORY, 0o1777),
            ],
        },
        "project": {
            "source": spec.project_source,
            "target": spec.project,
            "mode": "cow" if commits else spec.access.value,
            "commit": commits,
            "room": spec.room,
            "room_bytes": ROOM_BYTES if commits else 0,
            "room_inodes": ROOM_INODES,
            "secrets": spec.guarded.secrets,
            "special": spec.guarded.special,
        },
        "access": [("/", "r"), *((path, "rw") for path in writable)],
        "deny_tcp": False,
        "listen": list(spec.listen),
    }


def _tier_b_access(spec: CellSpec) -> list[tuple[str, str]]:
    system = [(path, "r") for path in (*rootfs.SYSTEM_FOLDERS, "/proc")]
    etc = [(f"/etc/{name}", "r") for name in rootfs.ETC_ENTRIES]
    binds = [(source, "r") for source, _ in spec.binds]
    devices = [(path, "rw") for path in rootfs.DEVICES]
    return [*system, *etc, *binds, *devices, (spec.job, "r"), (spec.scratch, "rw"), *spec.readable]


def pack_run(spec: RunSpec, more: Mapping[str, Any] = NOTHING) -> bytes:
    """The description of a run."""
    packed = _Packed()
    return packed.pack(
        {
            "steps": [_step(step) for step in spec.steps],
            "env": dict(spec.env),
            "cwd": spec.cwd,
            "files": [packed.file(path, content, 0o755) for path, content in spec.files.items()],
            "links": list(spec.links.items()),
            "artifacts": list(spec.artifacts),
            "artifact_bytes": spec.limits.artifact_bytes,
            "rlimits": _rlimits(spec),
            "cpu_s": spec.limits.cpu_s,
            "memory_bytes": spec.limits.memory_bytes if spec.without_cgroup else None,
            **more,
        }
    )


def _step(step: Step) -> Mapping[str, Any]:
    return {"argv": step.argv, "phase": step.phase, "heavy": step.heavy}


def pack_hold(spec: RunSpec, ahead: Ahead | None) -> bytes:
    """The description of a program that is to wait for its run: what of the run is known by then.

    An interpreter that can be started ahead has a gate to wait at; any other program waits for
    its exec.
    """
    if ahead is None:
        return pack_run(replace(spec, files={}, links={}), {"waiting": None})
    job = ahead.job_dir
    started = replace(
        spec,
        steps=ahead.steps,
        env={**spec.env, **ahead.env},
        files={f"{job}/{name}": content for name, content in ahead.files.items()},
        links={},
    )
    waiting = {
        "gate": f"{job}/{ahead.gate}",
        "only_ahead": [f"{job}/{name}" for name in ahead.only_ahead],
        "environment": "".join(
            f"{name}={spec.env[name]}\n" for name in ahead.env if name in spec.env
        ),
    }
    return pack_run(started, {"waiting": waiting})


def pack_begin(guarded: Guarded, *, renew: bool, keep: bool) -> bytes:
    """What a session's project is to look like from this call on.

    To `renew` the view shows the host's present files, and to `keep` also what was written.
    """
    return _Packed().pack({"guarded": asdict(guarded), "renew": renew, "keep": keep})


def pack_interrupted(run: int) -> bytes:
    """Which run of a session is to stop what it does."""
    return _Packed().pack({"run": run})


def pack_asked(artifacts: Sequence[str], cwd: str, artifact_bytes: int) -> bytes:
    """What a session's report is to bring along."""
    asked = {"artifacts": list(artifacts), "cwd": cwd, "artifact_bytes": artifact_bytes}
    return _Packed().pack(asked)


def _rlimits(spec: RunSpec) -> Sequence[tuple[int, int]]:
    limits = spec.limits
    chosen = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        # A backstop of the supervisor's sum over the tree, which is the limit proper.
        (resource.RLIMIT_CPU, int(limits.cpu_s) + 1),
    ]
    if spec.without_cgroup:
        chosen.append((resource.RLIMIT_DATA, limits.memory_bytes))
        chosen.append((resource.RLIMIT_NPROC, limits.processes))
    return chosen


def anonymous_file(content: bytes) -> int:
    """A descriptor of an unnamed file in memory with this content, at its start."""
    fd = os.memfd_create("ctxmode", os.MFD_CLOEXEC)
    with open(os.dup(fd), "wb") as out:
        out.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
