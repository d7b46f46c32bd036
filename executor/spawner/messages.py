"""The messages between the server and a spawner or supervisor, typed, and how they are packed.

Both ends are of one version: the agent of a container is too, since images are named by its digest.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Generic, NotRequired, TypedDict, TypeVar

from .kernel import StepError

Blob = tuple[int, int]
"""Offset and size behind the JSON of a description."""
File = tuple[str, int, int, int]
"""Path, mode, and the offset and size of its content."""
Change = tuple[str, str, int | None]
"""Path relative to the project, what happened to it, and its size."""

Notice = tuple[int, str, int]
"""The number of a call, or 0 for a name that was looked up; what it was for, and how often."""
SetUp = tuple[list[str], tuple[int, int] | None]
"""The first message to a spawner: paths that cells may be given, and for whom it leaves root."""
StepMessage = tuple[list[str], str, bool]
"""One program of a run: its arguments, its phase, and whether it is heavy."""
PrewarmMessage = tuple[str, list[str], str]
"""How an interpreter waits for its program: the path of its gate, the files that only its start
needs, and the variables that it takes on when it goes."""
Scratch = tuple[int, int, list[tuple[str, str, int]]]
"""The sized tmpfs of a cell: bytes, inodes, and each folder by its name, its path and mode."""
ConsumptionMessage = tuple[int | None, int, int]
"""The counts of a container's control group: peak memory in bytes, kills, and forks refused."""
HandedOver = tuple[list[tuple[str, int]], list[tuple[str, str]]]
"""The names and sizes of the files behind the descriptors; what is not handed back, with why."""


class ArtifactsAsked(TypedDict):
    """The files to hand back."""

    artifacts: list[str]
    cwd: str
    artifact_bytes: int
    packed: NotRequired[tuple[str, list[str]]]  # a folder, and which of its entries, or all


class RunDescription(ArtifactsAsked):
    """What to run."""

    steps: list[StepMessage]
    env: dict[str, str]
    files: list[File]
    links: list[tuple[str, str]]
    rlimits: list[tuple[int, int]]
    cpu_s: float
    memory_bytes: int | None
    prewarm: NotRequired[PrewarmMessage | None]


class ProjectMessage(TypedDict):
    """How the project is shown. In containers it is mounted already."""

    secrets: list[str]  # this and the next: paths that a run does not see
    special: list[str]
    target: str
    mode: str
    commit: bool
    source: NotRequired[str]
    room: NotRequired[str]
    room_bytes: NotRequired[int]
    room_inodes: NotRequired[int]


class BoxDescription(TypedDict):
    """What every box is told of itself."""

    namespaces: bool
    session: bool
    job: str
    scratch_folder: str
    access: list[tuple[str, str]]
    deny_tcp: bool
    seccomp: Blob
    notices: Blob
    heavy_notices: Blob
    # The refused calls of which the supervisor is told: what remains of the refusing filter where
    # it is, and the error of each.
    told: NotRequired[tuple[Blob, list[tuple[int, int]]]]
    project: NotRequired[ProjectMessage]
    scopes_signals: NotRequired[bool]
    judged: NotRequired[tuple[Blob, list[tuple[int, str]]]]  # a filter, and calls by their kinds
    # Of a container: its sized folders, the entries of /etc that programs read, and whether the
    # agent hands changes back. It has a kernel of its own under gVisor.
    scratch_folders: NotRequired[list[str]]
    etc: NotRequired[list[str]]
    return_changes: NotRequired[bool]
    own_kernel: NotRequired[bool]


class CellDescription(BoxDescription):
    """A cell. What is not required describes the file tree of one with namespaces."""

    uid: int
    gid: int
    outer_uid: int
    outer_gid: int
    hostname: str
    root_bytes: NotRequired[int]
    job_bytes: NotRequired[int]
    binds: NotRequired[list[tuple[str, str, int]]]
    shown: NotRequired[list[tuple[str, str]]]  # read-only, and reached through no link
    symlinks: NotRequired[list[tuple[str, str]]]
    files: NotRequired[list[File]]
    scratch: NotRequired[Scratch]
    listen: NotRequired[list[int]]
    names: NotRequired[bool]


class Begin(TypedDict):
    """What a session's project is to look like from a call on."""

    secrets: list[str]  # this and the next: paths that a run does not see
    special: list[str]
    renew: bool  # show the host's present files
    keep: bool  # and what was written


class Layers(TypedDict, total=False):
    """What a ready box has in force."""

    landlock: int
    copy_on_write: bool | str
    room: str


class End(TypedDict):
    """How a step ended."""

    phase: str
    exit_code: int | None
    signal: int | None


class Report(TypedDict):
    """What a run or a call did to the project, and took of the machine."""

    reason: str | None
    cpu_s: float
    peak_memory_bytes: int
    peak_processes: int
    scratch_full: bool
    changed: list[Change]
    changed_omitted: int
    refused: NotRequired[list[Notice]]
    refused_omitted: NotRequired[int]
    leaves_open: NotRequired[bool]
    unstopped: NotRequired[str]


class RunReport(End, Report):
    """The end of a single run."""


class FromSupervisor(TypedDict, total=False):
    """Everything that a spawner, supervisor or agent says of a box; each message has some of it."""

    # The spawner's answer to its set-up is these four, or an error: where it reaches each path, or
    # why it does not, and as whom it works.
    staged: dict[str, str]
    refused: dict[str, str]
    uid: int
    gid: int
    pid: int
    unmade: str
    ready: Layers
    error: str
    held: int
    lost: str
    exit: RunReport
    end: End  # of one run of a session
    upper: bool  # the last descriptor is a view's upper layer
    artifacts: list[tuple[str, int]]
    skipped: list[tuple[str, str]]
    changes: int
    begun: dict[str, str]
    run: int
    report: Report
    ended: Report
    consumption: ConsumptionMessage
    fds: list[int]


# The first message to the spawner is the set-up (JSON); the answer says where paths were staged.
# Every later message asks for a cell, with namespaces or without, and brings its control socket. On
# that socket the spawner says {"pid": N} (with a pidfd) or {"unmade": reason}; when the server
# sends `make` with a description, the cell's supervisor says {"ready": layers}; the server sends
# `run` with a description and stdin, stdout, stderr, later perhaps `stop`; the supervisor ends with
# {"exit": …} or {"error": …}. With `hold` before `run`, what is known of the run and its three
# descriptors come ahead; the supervisor says {"held": bytes of memory} when the program waits, and
# {"lost": why} in place of an exit if it was gone when `run` came. In a session `begin`, `run`,
# `interrupt` and `report` come again and again, each with a description; the supervisor says
# {"begun": folders}, {"run": N, "exit": …} and {"report": …}, at last {"ended": …}. Where changes
# are committed, the descriptor of the view's upper layer comes with {"exit"}, {"report"} and
# {"ended"}.
#
# All sockets are SOCK_SEQPACKET. Descriptions come as files in memory, so that no socket's size
# limit applies: an 8-byte length, JSON, raw blobs. None of it is inherited by the program, which
# owns just descriptors 0, 1 and 2: whatever it prints is output, never protocol. (A session's
# interpreter has two more, for what `executor.sessions.call` says.)

D_co = TypeVar("D_co", bound=Mapping[str, object], covariant=True)
MESSAGE_BYTES_MAX = 1 << 20
CELL, NAMESPACED_CELL = b"cell", b"cell with namespaces"


class Description(Generic[D_co]):
    """The JSON of a description, and its blobs by reference."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        (length,) = struct.unpack("=Q", os.pread(fd, 8, 0))
        self._blobs = 8 + length
        self._data: D_co = json.loads(self._read(8, length))

    @property
    def data(self) -> D_co:
        """The description proper."""
        return self._data

    def blob(self, where: Blob) -> bytes:
        offset, size = where
        return self._read(self._blobs + offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            part = os.pread(self._fd, min(size, 1 << 20), offset)
            if not part:
                raise StepError("a description is shorter than it says")
            parts.append(part)
            size -= len(part)
            offset += len(part)
        return b"".join(parts)


def send(control: socket.socket, message: FromSupervisor, fds: Sequence[int] = ()) -> None:
    """Tell the server; if it is gone there is nobody to tell, and the caller ends as well.

    Raises:
        OSError: the kernel does not pass it on.
    """
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(control, [json.dumps(message).encode()], fds)
