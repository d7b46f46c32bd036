"""Typed messages between the server and a spawner or supervisor, and how they are packed.

Both ends have the same version. So has a container's agent: its digest is in the image's name.
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
"""Offset and size in the part after the JSON of a description."""
File = tuple[str, int, int, int]
"""Path, mode, and the offset and size of the content."""
Change = tuple[str, str, int | None]
"""Path relative to the project, what happened to it, and its size."""

Notice = tuple[int, str, int]
"""Number of the call, or 0 for a name look-up; the call's target or the name, and the count."""
SetUp = tuple[list[str], tuple[int, int] | None]
"""First message to a spawner: paths for use in cells, and the user and group to become."""
StepMessage = tuple[list[str], str, bool]
"""A program of a run: its arguments, its phase, and whether it is heavy."""
PrewarmMessage = tuple[str, list[str], str]
"""An interpreter's wait for its program: the path of its gate, the files that only its start needs,
and the variables that it sets when it continues."""
Scratch = tuple[int, int, list[tuple[str, str, int]]]
"""Sized tmpfs of a cell: bytes, inodes, and the name, path and mode of each folder."""
ConsumptionMessage = tuple[int | None, int, int]
"""Counts of a container's control group: peak memory in bytes, kills, and forks refused."""
HandedOver = tuple[list[tuple[str, int]], list[tuple[str, str]]]
"""Names and sizes of the files sent as descriptors; files that are not returned, with reasons."""


class ArtifactsAsked(TypedDict):
    """The files to return."""

    artifacts: list[str]
    cwd: str
    artifact_bytes: int
    packed: NotRequired[tuple[str, list[str]]]  # a folder, and names of entries; none: all


class RunDescription(ArtifactsAsked):
    """A run: its programs, files, links and limits."""

    steps: list[StepMessage]
    env: dict[str, str]
    files: list[File]
    links: list[tuple[str, str]]
    rlimits: list[tuple[int, int]]
    cpu_s: float
    memory_bytes: int | None
    prewarm: NotRequired[PrewarmMessage | None]


class ProjectMessage(TypedDict):
    """The project as a cell shows it. In containers it is mounted already."""

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
    """The part of a description that cells and containers share."""

    namespaces: bool
    session: bool
    job: str
    scratch_folder: str
    access: list[tuple[str, str]]
    deny_tcp: bool
    seccomp: Blob
    notices: Blob
    heavy_notices: Blob
    # Refused calls that are reported to the supervisor: the refusing filter without them, for use
    # if they are reported, and the error of each.
    told: NotRequired[tuple[Blob, list[tuple[int, int]]]]
    project: NotRequired[ProjectMessage]
    scopes_signals: NotRequired[bool]
    judged: NotRequired[tuple[Blob, list[tuple[int, str]]]]  # a filter, and each call's kind
    # In a container: its sized folders, the entries of /etc that programs read, and whether the
    # agent returns changes. Under gVisor it has its own kernel.
    scratch_folders: NotRequired[list[str]]
    etc: NotRequired[list[str]]
    return_changes: NotRequired[bool]
    own_kernel: NotRequired[bool]


class CellDescription(BoxDescription):
    """A cell. The keys that are not required describe the file tree of one with namespaces."""

    uid: int
    gid: int
    outer_uid: int
    outer_gid: int
    hostname: str
    root_bytes: NotRequired[int]
    job_bytes: NotRequired[int]
    binds: NotRequired[list[tuple[str, str, int]]]
    shown: NotRequired[list[tuple[str, str]]]  # read-only, without links on the source's path
    symlinks: NotRequired[list[tuple[str, str]]]
    files: NotRequired[list[File]]
    scratch: NotRequired[Scratch]
    listen: NotRequired[list[int]]
    names: NotRequired[bool]


class Begin(TypedDict):
    """The project of a session as shown from this call on."""

    secrets: list[str]  # this and the next: paths that a run does not see
    special: list[str]
    renew: bool  # show the host's present files
    keep: bool  # and what programs wrote


class Layers(TypedDict, total=False):
    """The layers in force in a ready box."""

    landlock: int
    copy_on_write: bool | str
    room: str


class End(TypedDict):
    """The end of a step."""

    phase: str
    exit_code: int | None
    signal: int | None


class Report(TypedDict):
    """A run's or call's changes to the project, and the resources it used."""

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
    """The report of a single run."""


class FromSupervisor(TypedDict, total=False):
    """Any message about a box from a spawner, supervisor or agent: each has some of the keys."""

    # The spawner answers its set-up with these four, or an error: where each path was staged, or
    # why its ids are not mapped, and the spawner's user and group.
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
# Every later message asks for a cell, with or without namespaces, and brings its control socket. On
# that socket the spawner sends {"pid": N} (with a pidfd) or {"unmade": reason}. When the server
# sends `make` with a description, the cell's supervisor answers {"ready": layers}. The server sends
# `run` with a description and stdin, stdout, stderr, and later perhaps `stop`; the supervisor ends
# with {"exit": …} or {"error": …}. With `hold` before `run`, what is known of the run and its three
# descriptors come earlier; the supervisor sends {"held": bytes of memory} when the program waits,
# and {"lost": why} instead of an exit if it was gone when `run` came. In a session `begin`, `run`,
# `interrupt` and `report` are sent any number of times, each with a description; the supervisor
# sends {"begun": folders}, {"run": N, "exit": …} and {"report": …}, last {"ended": …}. If changes
# are committed, the descriptor of the view's upper layer comes with {"exit"}, {"report"} and
# {"ended"}.
#
# All sockets are SOCK_SEQPACKET. Descriptions come as files in memory, so that no socket's size
# limit applies: an 8-byte length, JSON, raw blobs. The program inherits none of this. It has only
# descriptors 0, 1 and 2, so whatever it prints is output, never protocol. (A session's interpreter
# has two more, for the messages of `executor.sessions.call`.)

D_co = TypeVar("D_co", bound=Mapping[str, object], covariant=True)
MESSAGE_BYTES_MAX = 1 << 20
CELL, NAMESPACED_CELL = b"cell", b"cell with namespaces"


class Description(Generic[D_co]):
    """A description: its JSON, and its blobs by reference."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        (length,) = struct.unpack("=Q", os.pread(fd, 8, 0))
        self._blobs = 8 + length
        self._data: D_co = json.loads(self._read(8, length))

    @property
    def data(self) -> D_co:
        """Return the JSON of the description."""
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
    """Send a message. If the server is gone, ignore that: the caller ends as well.

    Raises:
        OSError: the kernel does not deliver it.
    """
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(control, [json.dumps(message).encode()], fds)
