"""Orders to the supervisor of a box and its answers, in JSON and blobs; a run's descriptors."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from executor.model import SandboxError
from executor.project.view.search import Guarded
from executor.spawner import messages
from executor.spawner.messages import RunDescription
from runtimes import PrewarmPlan

if TYPE_CHECKING:
    from executor.engine.box import Order

D = TypeVar("D", bound=Mapping[str, object])


def read_message(data: bytes, shape: type[D]) -> D:
    """Parse the JSON of one message by its shape.

    Raises:
        SandboxError: it is not JSON, or has a field that the shape lacks or of another type.
    """
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SandboxError("a supervisor sent an invalid message; its box is ended") from error
    return check_message(said, shape)


def check_message(said: object, shape: type[D]) -> D:
    """Check a message whose JSON was parsed.

    Raises:
        SandboxError: it has a field that the shape lacks or that is of another type.
    """
    try:
        known = json.loads(json.dumps(msgspec.convert(said, shape)))  # with lists again
    except msgspec.ValidationError as error:
        raise SandboxError(f"a supervisor's message is malformed: {error}") from error
    if known != said:  # msgspec leaves out what the shape does not know
        raise SandboxError(
            f"a supervisor's message is malformed at {_find_stranger(said, known)!r}"
        )
    return cast("D", said)


def _find_stranger(said: object, known: object) -> str:
    """Return the path of the first field that is only in the message."""
    if not isinstance(said, dict) or not isinstance(known, dict):
        return ""
    for name, value in said.items():
        if name not in known:
            return str(name)
        if value != known[name]:
            below = _find_stranger(value, known[name])
            return f"{name}.{below}" if below else str(name)
    return ""


PIPE_BYTES = 1024 * 1024
OUTPUTS = ("stdout", "stderr")


def pipe(owner: tuple[int, int]) -> tuple[int, int]:
    """Make a pipe with room for bursts, if the user's limits allow it.

    The program owns it, and may open it by name, as in `echo >/dev/stderr`.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.fchown(writer, *owner)
    with contextlib.suppress(OSError):
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reader, writer


def anonymous_file(content: bytes) -> int:
    """Open an unnamed file in memory with this content, at its start."""
    fd = os.memfd_create("ctxmode", os.MFD_CLOEXEC)
    with open(os.dup(fd), "wb") as out:
        out.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def start_with_pipes(
    run: Callable[[bytes, Sequence[int]], Awaitable[None]],
    packed: bytes,
    stdin: bytes | None,
    owner: tuple[int, int],
) -> dict[str, int]:
    """Start a run with pipes for its output; their reading ends by name.

    Raises:
        SandboxError: the box is gone.
    """
    readers, writers = {}, []
    if stdin is None:
        source = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    else:
        source = anonymous_file(stdin)
    for name in OUTPUTS:
        readers[name], writer = pipe(owner)
        writers.append(writer)
    try:
        await run(packed, (source, *writers))
    except BaseException:
        for reader in readers.values():
            os.close(reader)
        raise
    finally:
        for fd in (source, *writers):
            os.close(fd)
    return readers


LOCKED_BYTES_MAX, PENDING_SIGNALS_MAX = 1 << 20, 1024


@dataclass(frozen=True, slots=True)
class Packed:
    """A description under construction: JSON in front, blobs behind."""

    _blobs: bytearray = field(default_factory=bytearray)

    def blob(self, content: bytes) -> tuple[int, int]:
        offset = len(self._blobs)
        self._blobs.extend(content)
        return offset, len(content)

    def pack(self, description: Mapping[str, object]) -> bytes:
        text = json.dumps(description).encode()
        return struct.pack("=Q", len(text)) + text + bytes(self._blobs)


Prewarm = tuple[str, list[str], str]
"""The gate at which a program waits, files that are there only before, and changed variables."""


def pack_run(
    order: Order, *, without_cgroup: bool = False, prewarm: Prewarm | None = None
) -> bytes:
    """Return the description of a run.

    Without a control group the supervisor sums memory, and the kernel counts processes by uid.
    """
    packed, limits = Packed(), order.limits
    rlimits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        # A backstop of the supervisor's sum over the tree, which is the limit proper.
        (resource.RLIMIT_CPU, int(limits.cpu_s) + 1),
        # What the kernel counts by user: a part of what a user has by default (getrlimit(2)).
        (resource.RLIMIT_MEMLOCK, LOCKED_BYTES_MAX),
        (resource.RLIMIT_SIGPENDING, PENDING_SIGNALS_MAX),
    ]
    if without_cgroup:
        rlimits.append((resource.RLIMIT_DATA, limits.memory_bytes))
        rlimits.append((resource.RLIMIT_NPROC, limits.processes))
    description: RunDescription = {
        "steps": [(list(step.argv), step.phase, step.heavy) for step in order.steps],
        "env": dict(order.env),
        "cwd": order.cwd,
        "files": [(path, 0o755, *packed.blob(data)) for path, data in order.files.items()],
        "links": list(order.links.items()),
        "artifacts": list(order.artifacts),
        "artifact_bytes": limits.artifact_bytes,
        "rlimits": rlimits,
        "cpu_s": limits.cpu_s,
        "memory_bytes": limits.memory_bytes if without_cgroup else None,
    }
    if prewarm is not None:
        description["prewarm"] = prewarm
    elif order.packed is not None:
        folder, names = order.packed
        description["packed"] = (folder, list(names))
    return packed.pack(description)


def pack_hold(order: Order, plan: PrewarmPlan | None, *, without_cgroup: bool) -> bytes:
    """Return the description of a program that waits for its run: the part known so far.

    An interpreter that can be started early waits at a gate; any other program waits for its exec.
    """
    if plan is None:
        order = replace(order, files={}, links={})
        return pack_run(order, without_cgroup=without_cgroup)
    job = plan.job_dir
    started = replace(
        order,
        steps=plan.steps,
        env={**order.env, **plan.env},
        files={f"{job}/{name}": content for name, content in plan.files.items()},
        links={},
    )
    changed = (f"{name}={order.env[name]}\n" for name in plan.env if name in order.env)
    only_before = [f"{job}/{name}" for name in plan.only_before]
    prewarm = f"{job}/{plan.gate}", only_before, "".join(changed)
    return pack_run(started, without_cgroup=without_cgroup, prewarm=prewarm)


def pack_begin(guarded: Guarded, *, renew: bool, keep: bool) -> bytes:
    """Return the description of a session's project from this call on.

    To `renew` the view shows the host's present files, and to `keep` also those written here.
    """
    begin: messages.Begin = {
        "secrets": list(guarded.secrets),
        "special": list(guarded.special),
        "renew": renew,
        "keep": keep,
    }
    return Packed().pack(begin)


def pack_interrupted(run: int) -> bytes:
    """Return the order that interrupts a run of a session."""
    return Packed().pack({"run": run})


def pack_asked(artifacts: Sequence[str], cwd: str, artifact_bytes: int) -> bytes:
    """Return the requests for a session's report."""
    asked: messages.ArtifactsAsked = {
        "artifacts": list(artifacts),
        "cwd": cwd,
        "artifact_bytes": artifact_bytes,
    }
    return Packed().pack(asked)
