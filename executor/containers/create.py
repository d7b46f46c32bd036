"""Docker's configuration of one container. Pure."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from executor.engine import box
from executor.engine.box import JOB_BYTES
from executor.engine.seccomp import ALLOWED, CLONE_NEW_FLAGS, SOCKETS
from executor.model import MIB, Limits
from executor.spawner.confine import SENT_AT_ONCE

AGENT = ("python3", "-I", "-S", "-B", "/opt/ctxmode/agent/__main__.py")
AGENT_TASKS = 2  # the agent's own threads count among the container's processes
AGENT_BYTES = 32 * MIB  # and its memory among the container's
# A runtime with a kernel of its own runs that on the container's account, too.
OWN_KERNELS = ("runsc", "gvisor", "kata")
KERNEL_TASKS, KERNEL_BYTES = 1024, 128 * MIB
TASKS_OF_ONE = 16  # gVisor takes a thread of the machine for each pair of process and processor
# gVisor shows any process's descriptors to its user. So the agent there begins as that kernel's
# root, which is none of the machine's, and programs are of a user that can't become it.
TO_CHANGE_USER = ("SETUID", "SETGID", "SETPCAP")
TO_STOP = ("SYS_PTRACE",)  # processes of another user than the agent's
CPU_SHARES = 512  # of the usual 1,024: other work on that machine comes first
Mount = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """Everything that a container may touch. Two equal specs are interchangeable.

    Mounts are (path on the engine's host, path in the container), in their order.
    """

    image: str
    runtime: str
    user: tuple[int, int]
    project: str
    limits: Limits  # as `of_box` gives them
    access: str
    read_only: tuple[tuple[str, str], ...] = ()
    writable: tuple[tuple[str, str], ...] = ()
    overlay: bool = False  # the project is one
    absent: tuple[str, ...] = ()  # paths below the project that its overlay is without
    shipped: bool = False  # the project is empty at first
    state: tuple[tuple[str, int, int], ...] = ()  # tells files apart that go by the same names
    once: bool = False  # no other is made ahead for the next run

    @property
    def key(self) -> ContainerSpec:
        """Return the spec itself: containers of equal specs are interchangeable."""
        return self

    @property
    def label(self) -> str:
        """Return the image's name, as pools show it."""
        return self.image.rpartition("/")[2]


def of_box(limits: Limits) -> Limits:
    """Return the limits that a container has from its start; the others are set for each run."""
    return replace(limits, wall_s=1, cpu_s=1, file_bytes=1, output_bytes=1, artifact_bytes=1)


def configuration(
    spec: ContainerSpec,
    labels: Mapping[str, str],
    processors: int,
    overlay: Mount | None = None,
) -> dict[str, Any]:
    """Return the body of Docker's `POST /containers/create`; `overlay` mounts the project."""
    mounts = [overlay] if overlay else []
    # A folder is mounted before its entries, whatever it is mounted from.
    binds = [(target, source, False) for source, target in spec.writable]
    binds += [(target, source, True) for source, target in spec.read_only]
    mounts += [_bind(source, target, read_only) for target, source, read_only in sorted(binds)]
    memory, tasks = spec.limits.memory_bytes + AGENT_BYTES, spec.limits.processes + AGENT_TASKS
    open_files = spec.limits.open_files + SENT_AT_ONCE
    own_kernel = has_own_kernel(spec.runtime)
    if own_kernel:
        memory, tasks = memory + KERNEL_BYTES, tasks * TASKS_OF_ONE + KERNEL_TASKS
    return {
        "Image": spec.image,
        "User": "0:0" if own_kernel else f"{spec.user[0]}:{spec.user[1]}",
        "Entrypoint": list(AGENT),
        "Cmd": [str(identity) for identity in spec.user] if own_kernel else [],
        "WorkingDir": "/",
        "Hostname": box.HOSTNAME,
        "Labels": dict(labels),
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the agent learns from its end that the server is gone
        "Tty": False,
        "NetworkDisabled": True,
        "HostConfig": {
            "NetworkMode": "none",
            "IpcMode": "private",
            "CapDrop": ["ALL"],
            "CapAdd": [*TO_CHANGE_USER, *TO_STOP] if own_kernel else [],
            "SecurityOpt": ["no-new-privileges:true", f"seccomp={make_profile()}"],
            "ReadonlyRootfs": True,
            "Init": False,  # the agent does what an init does, and can't be killed in its place
            "Tmpfs": _scratch(spec),
            "ShmSize": spec.limits.scratch_bytes,
            "PidsLimit": tasks,
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": processors * 10**9,
            "CpuShares": CPU_SHARES,
            "Ulimits": [
                {"Name": "nofile", "Soft": open_files, "Hard": open_files},
                {"Name": "core", "Soft": 0, "Hard": 0},
            ],
            "LogConfig": {"Type": "none"},
            "RestartPolicy": {"Name": "no"},
            "Mounts": mounts,
        }
        | ({"Runtime": spec.runtime} if spec.runtime else {}),
    }


def has_own_kernel(runtime: str) -> bool:
    """Return whether a runtime has its own kernel between programs and the machine's, by its name.

    If the name is unclear, the agent detects it and is refused: see `container`.
    """
    return runtime.startswith(OWN_KERNELS)


def overlay_volume(
    lower: str, folder: str, target: str, labels: Mapping[str, str], *, read_only: bool = False
) -> Mount:
    """Describe a volume that the daemon mounts as an overlay, and removes with the container.

    `folder` holds its `upper` and `work`. No folder is redirected, whatever the host's default is:
    readers of the upper folder do not support that.
    """
    options = f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work,redirect_dir=off"
    if read_only:  # Docker itself takes no such flag for a volume without a name
        options = f"ro,{options}"
    return {
        "Type": "volume",
        "Target": target,
        "VolumeOptions": {
            "NoCopy": True,
            "Labels": dict(labels),
            "DriverConfig": {
                "Name": "local",
                "Options": {"type": "overlay", "device": "overlay", "o": options},
            },
        },
    }


def _bind(source: str, target: str, read_only: bool) -> Mount:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only}


def _scratch(spec: ContainerSpec) -> dict[str, str]:
    """Return the folders that the program may write, each limited in bytes and in files."""
    uid, gid = spec.user
    own = f"uid={uid},gid={gid},nosuid,nodev,exec"
    ours = "uid=0,gid=0,nosuid,nodev,exec" if has_own_kernel(spec.runtime) else own
    sized = f"size={spec.limits.scratch_bytes},nr_inodes={spec.limits.scratch_inodes}"
    inodes = spec.limits.scratch_inodes
    folders = {
        box.SCRATCH: f"rw,{own},{sized},mode=1777",
        box.HOME: f"rw,{own},{sized},mode=755",
        box.JOB: f"rw,{ours},size={JOB_BYTES},nr_inodes={inodes},mode=755",
    }
    if spec.shipped:
        folders[spec.project] = f"rw,{own},{sized},mode=755"
    return folders


def make_profile() -> str:
    """Return the system call profile that Docker applies (JSON): all else is refused with EPERM.

    Programs are put under our own filter (`executor.engine.seccomp`) besides, by the agent. Only
    the engine's native system calls are known to this one: without the 32-bit tables of the same
    processor, which Docker's own profile has, a call by one of them ends the process.
    """
    rules = [
        # The agent stops a session by ptrace; our own filter refuses it to programs.
        {"names": [*ALLOWED.split(), "ptrace"], "action": "SCMP_ACT_ALLOW"},
        _allow("clone", {"value": sum(CLONE_NEW_FLAGS), "op": "SCMP_CMP_MASKED_EQ"}),
        _allow("personality", {"value": 0, "op": "SCMP_CMP_EQ"}),
        # Its flags lie behind a pointer: to callers it does not exist.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        _allow("socket", {"value": int(socket.AF_UNIX), "op": "SCMP_CMP_EQ"}),
    ]
    for family in (int(socket.AF_INET), int(socket.AF_INET6)):
        for protocol in SOCKETS[family][1]:
            of_protocol: Mapping[str, int | str] = {
                "index": 2,
                "value": protocol,
                "op": "SCMP_CMP_EQ",
            }
            rules.append(_allow("socket", {"value": family, "op": "SCMP_CMP_EQ"}, of_protocol))
    return json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": rules})


def _allow(name: str, *arguments: Mapping[str, int | str]) -> dict[str, Any]:
    return {
        "names": [name],
        "action": "SCMP_ACT_ALLOW",
        "args": [{"index": 0} | dict(a) for a in arguments],
    }
