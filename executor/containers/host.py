"""Folders and binds on this host for containers, and the remains of dead servers.

As real root the project is bound with its owner's ID mapped to the containers' user, as the spawner
does for cells. Writes of runs go to a separate tmpfs, sized in bytes and files. Any other user's
containers run as that user, and their writes go to an ordinary folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio

from base import process
from base.process import mounts_below
from executor.containers.create import ContainerSpec, Mount, overlay_volume
from executor.containers.engine import DockerEngine, EngineError
from executor.engine import box
from executor.engine.box import ROOM_BYTES, ROOM_INODES, UNPRIVILEGED_ID
from executor.engine.layers import SHOWS_NOTHING
from executor.instance.lock import Instance, is_alive, remove
from executor.model import SandboxError
from executor.request import ProjectAccess
from executor.spawner.changes import ReportedChanges, Snapshot, look, of_overlay
from executor.spawner.kernel import MS_NODEV, MS_NOSUID, StepError, detach, mount
from executor.spawner.tree import has_no_room
from executor.spawner.view import FOLDER

# They are not covered as secrets are: gVisor can't start where something is mounted on a socket
# that someone listens at, and waits for ever on a FIFO.


def leave_out(names: Iterable[str], lower: Path, upper: Path) -> None:
    """Mark paths below `lower` as deleted in an overlay's new upper folder.

    The folders above them look as they did.

    Raises:
        OSError: the file system or the kernel (before Linux 5.8, without root) has no such marks.
    """
    folders = []
    for name in names:
        above = Path(name).parent
        for folder in reversed((above, *above.parents)):
            if not os.path.lexists(upper / folder):
                (upper / folder).mkdir()
                folders.append(folder)
        os.mknod(upper / name, stat.S_IFCHR, os.makedev(0, 0))
    gives = process.holds(process.CHOWN)
    for folder in reversed(folders):  # what is put into one changes its times
        info = os.lstat(lower / folder)
        if gives:
            os.chown(upper / folder, info.st_uid, info.st_gid)
        shutil.copystat(lower / folder, upper / folder, follow_symlinks=False)


def is_special(path: str) -> bool:
    """Return whether a path is a socket, FIFO or device; a link is none."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


MAPPING_S_MAX = 30.0
MOUNTS = Path("/run")  # no person's folder, and none that anything empties
PREFIX = "ctxmode-mounts-"
EXECUTOR = Path(__file__).parents[1]
MAPPING = """\
import sys
sys.path.append(sys.argv[1])
from spawner.staging import bind_mapped
bind_mapped()
"""


@dataclass(frozen=True, slots=True)
class Upper:
    """The place of the writes of one copy-on-write container."""

    folder: Path
    lower: str
    volume: Mount
    is_mounted: bool
    before: Snapshot  # its initial content

    def changes(self) -> tuple[ReportedChanges, bool]:
        """Return the changes, once no process can write any more; and whether it is full."""
        upper, lower = os.open(self.folder / "upper", FOLDER), os.open(self.lower, FOLDER)
        try:
            return of_overlay(upper, lower, self.before), has_no_room(upper)
        finally:
            os.close(upper)
            os.close(lower)

    def remove(self) -> None:
        if self.is_mounted:
            unmount(self.folder)
        else:
            remove(self.folder)


@dataclass(slots=True)
class EngineHost:
    """The engine's host. It is made by `opened` only."""

    user: tuple[int, int]
    base: Path  # of the folders that are made for each container
    as_root: bool
    project: Path
    sources: Mapping[str, str] = field(default_factory=dict)  # where the engine finds paths of it

    @property
    def accounts(self) -> tuple[Path, ...]:
        """Return the container's own /etc files, if its user is not the image's."""
        return () if self.as_root else (self.base / "passwd", self.base / "group")

    def empty_in_place_of(self, path: str) -> str:
        """Return the stand-in for a secret: empty, and readable by nobody."""
        return str(self.base / ("empty-folder" if os.path.isdir(path) else "empty-file"))

    def source(self, path: str) -> str:
        """Return the path at which the engine finds a path, or a folder above it."""
        return box.find_bound(path, self.sources)

    def make_upper(self, spec: ContainerSpec, labels: Mapping[str, str]) -> Upper:
        """Make room for one container's writes to the project.

        Raises:
            SandboxError: it could not be mounted, or hidden paths could not be left out.
        """
        folder = Path(tempfile.mkdtemp(dir=self.base))
        if self.as_root:
            size, files = spec.limits.scratch_bytes, spec.limits.scratch_inodes
            if spec.access == ProjectAccess.COMMIT.value:
                size, files = max(size, ROOM_BYTES), max(files, ROOM_INODES)
            options = f"size={size},nr_inodes={files},mode=755"
            try:
                mount("tmpfs", str(folder), "tmpfs", MS_NOSUID | MS_NODEV, options)
            except StepError as error:
                folder.rmdir()
                raise SandboxError(str(error)) from error
        folder.chmod(0o711)
        upper, work = folder / "upper", folder / "work"
        for path in (upper, work):
            path.mkdir()
        info = os.stat(self.source(str(self.project)))
        upper.chmod(info.st_mode & 0o7777)
        if self.as_root:
            os.chown(upper, info.st_uid, info.st_gid)
        lower = self.source(str(self.project))
        try:
            before = _without(spec.absent, lower, upper)
        except OSError as error:
            unmount(folder) if self.as_root else remove(folder)
            raise SandboxError(f"sockets and FIFOs of the project: {error}") from error
        closed = spec.access == ProjectAccess.READ_ONLY.value
        volume = overlay_volume(lower, str(folder), spec.project, labels, read_only=closed)
        return Upper(folder, lower, volume, self.as_root, before)


def _without(names: Sequence[str], lower: str, upper: Path) -> Snapshot:
    """Return the content of the upper folder once `names` are left out of the view."""
    if not names:
        return {}
    leave_out(names, Path(lower), upper)
    fd = os.open(upper, FOLDER)
    try:
        return look(fd) or {}
    finally:
        os.close(fd)


def can_overlay(project: Path) -> bool:
    """Return whether a path can be written among an overlay's options."""
    return not set(",:\\") & set(str(project))


@contextlib.contextmanager
def open_host(
    instance: Instance, project: Path, shown: Sequence[str], layers: str
) -> Iterator[EngineHost]:
    """Open this host's folders for containers; `shown` are additional paths they may show.

    The folder `layers` has those of packages. If its IDs cannot be mapped, it is shown with the
    modes of its files.

    Raises:
        SandboxError: as root, IDs could not be mapped.
    """
    as_root = os.geteuid() == 0
    if as_root and not process.holds(process.SYS_ADMIN):
        raise SandboxError(SHOWS_NOTHING)
    base = MOUNTS / f"{PREFIX}{instance.id}" if as_root else instance.temporary / "containers"
    base.mkdir(mode=0o711, parents=True)
    base.chmod(0o711)
    (base / "empty-file").touch(0o000)
    (base / "empty-folder").mkdir(0o000)
    (base / "owner").write_text(str(instance.folder))
    for path, content in box.account_files(os.getuid(), os.getgid()).items():
        (base / Path(path).name).write_bytes(content)
    try:
        if as_root:
            user = (UNPRIVILEGED_ID, UNPRIVILEGED_ID)
            sources = _map_binds(base, project, shown, user, layers)
            yield EngineHost(user, base, as_root, project, sources)
        else:
            yield EngineHost((os.getuid(), os.getgid()), base, as_root, project)
    finally:
        take_away(base)


def _map_binds(
    base: Path, project: Path, shown: Sequence[str], user: tuple[int, int], layers: str
) -> dict[str, str]:
    """Return where each path is bound, read-only and with its owner as `user`."""
    paths = [str(project), *(path for path in dict.fromkeys(shown) if path != str(project))]
    sources = {path: str(base / f"shown-{number}") for number, path in enumerate(paths)}
    mapped_layers = str(base / "layers")
    asked = {
        "user": user,
        "binds": [(path, target, True) for path, target in sources.items()],
        "optional": [(layers, mapped_layers, True)],
    }
    command = [sys.executable, "-I", "-S", "-c", MAPPING, str(EXECUTOR)]
    done = subprocess.run(
        command,
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=MAPPING_S_MAX,
        check=False,
        env={},
        cwd="/",
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise SandboxError(f"the project's owner can't be mapped: {said[-300:]}")
    if os.path.exists(mapped_layers):
        sources[layers] = mapped_layers
    return sources


def take_away(base: Path) -> None:
    """Unmount all below `base` and remove its empty folders, never their content.

    A project may still be bound here, which no recursive removal must ever meet.
    """
    for path in sorted(mounts_below(str(base)), reverse=True):
        unmount(Path(path))
    if mounts_below(str(base)):
        return
    for folder, _, files in os.walk(base, topdown=False):
        for name in files:
            if folder == str(base):  # our own: what programs write lies deeper, and was unmounted
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def unmount(path: Path) -> None:
    """Remove a mount and the empty folder under it, if possible."""
    with contextlib.suppress(StepError):
        detach(str(path))
    with contextlib.suppress(OSError):
        path.rmdir() if path.is_dir() else path.unlink()


INSTANCE, INSTANCES, MACHINE = "ctxmode.instance", "ctxmode.instances", "ctxmode.machine"
PROJECT = "ctxmode.config.project"
SWEEP_S_MAX = 10.0


def list_labels(instance: str, instances: Path, project: Path) -> dict[str, str]:
    """Return the labels of everything that this server makes.

    They include the folder of the locks and the machine: an engine may serve many.
    """
    return {
        INSTANCE: instance,
        INSTANCES: str(instances),
        MACHINE: machine(),
        PROJECT: str(project),
    }


def machine() -> str:
    """Return a unique name for this machine that reveals nothing about it."""
    try:
        identity = Path("/etc/machine-id").read_text().strip()
    except OSError:
        identity = ""
    return hashlib.sha256(f"{identity} {socket.gethostname()}".encode()).hexdigest()[:16]


async def sweep(engine: DockerEngine, instances: Path) -> list[str]:
    """Remove the containers and volumes of dead servers of this folder; return the containers' IDs.

    Only resources with our label and of dead servers are removed. Some engines cannot remove
    a container that never started: after `SWEEP_S_MAX` the rest is left to the next start.

    Raises:
        EngineError: the engine does not answer.
    """
    filters = {"label": [f"{INSTANCES}={instances}", f"{MACHINE}={machine()}"]}
    removed: list[str] = []

    async def remove(container: str) -> None:
        with contextlib.suppress(EngineError):
            await engine.call("remove_container", container, v=True, force=True)
            removed.append(container)

    found = await engine.call("containers", all=True, filters=filters)
    with trio.move_on_after(SWEEP_S_MAX):
        async with trio.open_nursery() as nursery:
            for container in found:
                if not is_alive(instances, container["Labels"][INSTANCE]):
                    nursery.start_soon(remove, container["Id"])
    volumes = (await engine.call("volumes", filters=filters)).get("Volumes") or ()
    for volume in volumes:
        if not is_alive(instances, volume["Labels"][INSTANCE]):
            with contextlib.suppress(EngineError):
                await engine.call("remove_volume", volume["Name"])
    return removed


def sweep_mounts(instances: Path) -> None:
    """Take away the binds that dead servers of this folder of locks left on this host."""
    for base in MOUNTS.glob(f"{PREFIX}*"):
        owner = base / "owner"
        with contextlib.suppress(OSError):
            ours = owner.read_text() == str(instances)
            if ours and not is_alive(instances, base.name.removeprefix(PREFIX)):
                take_away(base)
