"""A sandbox as the server asks for it: what is placed in it, its folders, how its runs end."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from executor.instance.lock import remove
from executor.model import MIB, Limits, SandboxError
from executor.request import ANALYZE, Profile
from runtimes import PrewarmPlan, Step

if TYPE_CHECKING:
    from executor.engine.tiers import Capabilities
    from executor.instance.control import PrewarmReport
    from executor.model import Isolation
    from executor.project.view.record import Record
    from executor.project.view.search import ProjectSearch
    from executor.project.view.work_copy import WorkCopy
    from executor.request import Profile
    from executor.spawner.messages import FromSupervisor, HandedOver, Layers
    from runtimes import Candidate


# Folders that hold programs and libraries and nothing of any user.
SYSTEM_FOLDERS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
)
# Configuration that runtimes read. Nothing that names users, hosts, keys or credentials.
ETC_ENTRIES = tuple(Path(__file__).with_name("etc_entries.txt").read_text("utf-8").split())
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
LINKS = (
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("/proc/self/mounts", "/etc/mtab"),
    ("/tmp", "/var/tmp"),
)
_LED_THROUGH = ("/", "/etc", "/nix", "/gnu")
USER = "sandbox"
HOSTNAME = "sandbox"
HOME = "/home/sandbox"
JOB = "/job"
SCRATCH = "/tmp"
SHARED_MEMORY = "/dev/shm"
# An uid and gid that Debian's policy reserves and no package or person gets: what real root's
# cells run as on the host.
UNPRIVILEGED_ID = 65_432
JOB_BYTES = 64 * MIB
# For a run's changes of a project if they can't be on disk.
ROOM_BYTES, ROOM_INODES = 2048 * MIB, 400_000


# Where the cell's supervisor is asked for names and has none: `executor.spawner.refusal_counts`.
NAME_SERVICE = {
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/resolv.conf": b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
}


SystemEntries = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""The host's system as a cell shows it: folders and files that exist here as themselves, and
(target, link) of symbolic ones, as on a merged /usr."""


def system_entries() -> SystemEntries:
    """Return the present entries, looked up once for every state of their folders."""
    return _look_up(tuple(map(_last_change, _LED_THROUGH)))


def _last_change(folder: str) -> int:
    """Return when an entry was last added to or removed from a folder; 0 if it is missing."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _look_up(changed: tuple[int, ...]) -> SystemEntries:
    paths = (*SYSTEM_FOLDERS, *(f"/etc/{name}" for name in ETC_ENTRIES))
    links = tuple((os.readlink(path), path) for path in paths if os.path.islink(path))
    binds = (path for path in paths if os.path.exists(path) and not os.path.islink(path))
    return tuple(binds), (*links, *LINKS)


def account_files(uid: int, gid: int) -> dict[str, bytes]:
    """Return the cell's own /etc files: one user, one group, no name service, no foreign host."""
    texts = {
        "/etc/passwd": f"{USER}:x:{uid}:{gid}:{USER}:{HOME}:/bin/sh\n",
        "/etc/group": f"{USER}:x:{gid}:\n",
        "/etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    return {path: text.encode() for path, text in texts.items()}


SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def list_shown(
    paths: Sequence[str], home: str, denies: Callable[[str], bool], locate: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield where the paths that a profile shows are found, by `locate`, and their places in a box:
    those below the user's home are below the box's."""
    for path in paths:
        source = os.path.realpath(os.path.expanduser(path))
        target = f"{home}/{path[2:]}" if path.startswith("~/") else path
        if os.path.exists(source) and not denies(source):
            yield locate(source), target


def existing(paths: Iterable[str]) -> list[str]:
    """List the paths that exist, as given and with links resolved: boxes use either."""
    called = [os.path.expanduser(path) for path in paths]
    both = dict.fromkeys((*called, *map(os.path.realpath, called)))
    return [path for path in both if os.path.exists(path)]


def find_bound(path: str, bound: Mapping[str, str]) -> str:
    """Return where a path is found that is bound itself, or by a folder above it."""
    for top in (path, *map(str, Path(path).parents)):
        if top in bound:
            return bound[top] + path[len(top) :]
    return path


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of a cell, as the program sees them."""

    job: str = JOB
    scratch: str = SCRATCH
    home: str = HOME
    project: str = ""
    host_folder: str | None = None
    room: str = ""  # on the host, where a view's upper layers lie that are to be committed
    work_copy: WorkCopy | None = None
    is_in_place: bool = False  # the copy is shown at the project's path

    def inside(self, path: str) -> str:
        """Return a path of the project as the program sees it."""
        if self.work_copy is None or self.is_in_place:
            return path
        return os.path.normpath(self.work_copy.folder / os.path.relpath(path, self.project))

    def place(self, candidate: Candidate) -> Candidate:
        """Return a toolchain as the program sees it: one of the project may be in its copy."""
        top = f"{self.project.rstrip('/')}/"
        return candidate._replace(
            paths={
                role: self.inside(path) if path.startswith(top) else path
                for role, path in candidate.paths.items()
            }
        )

    def remove(self) -> None:
        """Remove all that was made on the host, whatever a program did to it."""
        if self.host_folder:
            remove(Path(self.host_folder))


@dataclass(frozen=True, slots=True)
class Order:
    """A program ready to be placed, with all data that the sandbox needs.

    Paths of `files` and `links` are absolute, in the job folder.
    """

    steps: tuple[Step, ...]
    cwd: str
    env: Mapping[str, str]
    limits: Limits
    files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    stdin: bytes | None = None
    drain: bool = False  # beyond its limit, output is counted and discarded
    artifacts: tuple[str, ...] = ()
    # A folder of the scratch, of which these entries, or all, are handed back as one bundle.
    packed: tuple[str, tuple[str, ...]] | None = None
    profile: Profile = ANALYZE
    label: str = ""  # its name while it runs
    language: str = ""  # by the name of its row
    substitute: str | None = None  # a folder of `temporary` that is shown in the project's place
    shown: tuple[tuple[str, str], ...] = ()  # (path on the host, path in the cell), read-only
    prewarm: PrewarmPlan | None = None  # how its interpreter is started before its text is known
    may_be_prewarmed: bool = True  # whether it may run where something has waited for it
    diagnosis: bytes = b""  # what an earlier compilation said, repeated on stderr
    whole: Limits | None = None  # before compiling had its share of `limits`


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a run's deciding step, as its supervisor saw it."""

    phase: str
    exit_code: int | None
    signal: int | None
    reason: str | None
    cpu_s: float
    peak_memory_bytes: int
    peak_processes: int
    scratch_full: bool
    changed: Sequence[tuple[str, str, int | None]]
    changed_omitted: int
    leaves_open: bool = False  # its ends of the pipes, though it writes nothing there any more
    # What its calls and look-ups were refused, as the supervisor counted it.
    refused: Sequence[tuple[int, str, int]] = ()
    refused_omitted: int = 0
    unstopped: str = ""  # why a session's processes had to be ended instead of stopped


class LostError(SandboxError):
    """A program that was held for its run was gone when the run came; nothing was started."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """The use of a group's processes, and their refusals."""

    peak_memory_bytes: int | None
    oom_kills: int
    fork_refusals: int

    def since(self, before: Consumption) -> Consumption:
        """Return the use after an earlier look; the peak is of the whole time."""
        return Consumption(
            self.peak_memory_bytes,
            self.oom_kills - before.oom_kills,
            self.fork_refusals - before.fork_refusals,
        )


class Box(Protocol):
    """One sandbox, from its making until all in it is gone. See `executor.cells.cell.Cell`."""

    handed_over: HandedOver | None
    layers: Layers

    @property
    def owner(self) -> tuple[int, int]:
        """Return the uid and gid on this host that must own the ends of pipes."""

    async def start(self, packed: bytes, stdin: bytes | None) -> dict[str, int]:
        """Start the run; the reading ends of its output pipes by name.

        Raises:
            SandboxError: the box is gone.
        """

    async def order(self, name: bytes, packed: bytes, fds: Sequence[int] = ()) -> None: ...

    async def stop(self) -> None: ...

    async def exit(self) -> Exit: ...

    async def message(self) -> FromSupervisor:
        """Return the supervisor's next message; None if it is gone."""

    def take_fds(self) -> list[int]: ...

    def take_upper(self) -> int | None:
        """Return a view's upper layer if its content is to be committed; the caller closes it."""

    def end(self) -> None: ...

    async def wait_ended(self) -> None: ...


class Meter(Protocol):
    """The counter of a box's consumption."""

    @property
    def enforces(self) -> bool:
        """Return whether memory and processes are refused at their limits, not merely counted."""

    def consumption(self) -> Consumption: ...


class BoxPlace(Protocol):
    """The place of runs: the tier in use, and the folders of its boxes."""

    @property
    def can(self) -> Capabilities:
        """Return the capabilities of the tier's boxes."""

    @property
    def isolation(self) -> Isolation: ...

    @property
    def project(self) -> Path: ...

    @property
    def search(self) -> ProjectSearch:
        """Return the search for paths that boxes do not show, or may not change."""

    @property
    def temporary(self) -> Path:
        """Return a folder of the host for temporary files of runs."""

    def shortfall(self) -> str:
        """Return why no stronger tier is used, and the fix: the end of a sentence."""

    @property
    def travels(self) -> bool:
        """Return whether boxes get a copy of the project, because it cannot be mounted."""

    def layout(
        self, profile: Profile, record: Record | None = None, *, session: bool = False
    ) -> Layout:
        """Return the folders of a box, or of a session's.

        `record` is of the project that changes are committed to.
        """

    def image(self, language: str) -> str:
        """Return the image of a box of this language; "" if it shows this machine's system."""

    def share(self, language: str, other: str) -> bool:
        """Return whether one box can serve programs of both languages."""


class OpenBox(Protocol):
    """A function that makes the box of a job and its meter."""

    def __call__(
        self, job: Order, layout: Layout, *, session: bool = False
    ) -> AbstractAsyncContextManager[tuple[Box, Meter | None]]: ...


class Prewarming(Protocol):
    """The pool of a back end."""

    @property
    def state(self) -> tuple[PrewarmReport, ...]:
        """Return the prewarmed boxes, the purpose used last first."""
