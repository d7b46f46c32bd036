"""What lies on this host for containers of an engine that shares its file systems.

As real root the project is bound with its owner's id mapped to the containers' user, as the spawner
does for cells. What runs write to it goes to a tmpfs of their own, sized in bytes and files. Any
other user's containers run as that user, and what they write lies in an ordinary folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from base import capabilities
from base.mounts import mounts_below
from executor.containers.absence import leave_out
from executor.containers.create import ContainerSpec, Mount, overlay_volume
from executor.engine import rootfs
from executor.engine.layers import SHOWS_NOTHING
from executor.engine.rootfs import ROOM_BYTES, ROOM_INODES, UNPRIVILEGED_ID
from executor.errors import SandboxError
from executor.instance.lock import Instance
from executor.instance.removal import remove
from executor.profile import ProjectAccess
from executor.spawner.changes import ReportedChanges, Snapshot, look, of_overlay
from executor.spawner.kernel import MS_NODEV, MS_NOSUID, StepError, detach, mount
from executor.spawner.tree import has_no_room
from executor.spawner.view import FOLDER

MAPPING_S_MAX = 30.0
MOUNTS = Path("/run")  # no person's folder, and none that anything empties
PREFIX = "ctxmode-mounts-"
EXECUTOR = Path(__file__).parents[1]
MAPPING = "import sys; sys.path.append(sys.argv[1]); from spawner.mapping import main; main()"


@dataclass(frozen=True, slots=True)
class Upper:
    """Where the writes of one copy-on-write container go; `before` is what was in it at first."""

    folder: Path
    lower: str
    volume: Mount
    is_mounted: bool
    before: Snapshot

    def changes(self) -> tuple[ReportedChanges, bool]:
        """What was written, when nothing runs that could write on; and whether it is full."""
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
    """Made by `opened` only. `sources` says where the engine finds a path of this host."""

    user: tuple[int, int]
    base: Path  # of the folders that are made for each container
    as_root: bool
    project: Path
    sources: Mapping[str, str] = field(default_factory=dict)
    live: str = ""

    @property
    def accounts(self) -> tuple[Path, ...]:
        """The container's own /etc files, where its user is not the image's."""
        return () if self.as_root else (self.base / "passwd", self.base / "group")

    def empty_in_place_of(self, path: str) -> str:
        """What is shown in place of a secret: nothing, to nobody."""
        return str(self.base / ("empty-folder" if os.path.isdir(path) else "empty-file"))

    def source(self, path: str) -> str:
        """Where the engine finds a path, or what it lies below."""
        for top in (path, *map(str, Path(path).parents)):
            if top in self.sources:
                return self.sources[top] + path[len(top) :]
        return path

    def make_upper(self, spec: ContainerSpec, labels: Mapping[str, str]) -> Upper:
        """Room for one container's writes to the project.

        Raises:
            SandboxError: it could not be mounted, or what has to be absent left out.
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
    """What the upper folder holds once `names` are left out of the view."""
    if not names:
        return {}
    leave_out(names, Path(lower), upper)
    fd = os.open(upper, FOLDER)
    try:
        return look(fd) or {}
    finally:
        os.close(fd)


def can_overlay(project: Path) -> bool:
    """Whether a path can be named among an overlay's options."""
    return not set(",:\\") & set(str(project))


@contextlib.contextmanager
def open_host(
    instance: Instance, project: Path, shown: Sequence[str], layers: str
) -> Iterator[EngineHost]:
    """What this host gives to containers; `shown` are further paths they may be given.

    Below the folder `layers` are those of packages. Where its ids can't be mapped, it is shown
    with the modes that its files have.

    Raises:
        SandboxError: as root, ids could not be mapped.
    """
    as_root = os.geteuid() == 0
    if as_root and not capabilities.holds(capabilities.SYS_ADMIN):
        raise SandboxError(SHOWS_NOTHING)
    base = MOUNTS / f"{PREFIX}{instance.id}" if as_root else instance.temporary / "containers"
    base.mkdir(mode=0o711, parents=True)
    base.chmod(0o711)
    (base / "empty-file").touch(0o000)
    (base / "empty-folder").mkdir(0o000)
    (base / "owner").write_text(str(instance.folder))
    for path, content in rootfs.account_files(os.getuid(), os.getgid()).items():
        (base / Path(path).name).write_bytes(content)
    try:
        if as_root:
            user = (UNPRIVILEGED_ID, UNPRIVILEGED_ID)
            sources, live = _map_binds(base, project, shown, user, layers)
            yield EngineHost(user, base, as_root, project, sources, live)
        else:
            yield EngineHost((os.getuid(), os.getgid()), base, as_root, project, {}, str(project))
    finally:
        take_away(base)


def _map_binds(
    base: Path, project: Path, shown: Sequence[str], user: tuple[int, int], layers: str
) -> tuple[dict[str, str], str]:
    """Where each path is bound, its owner being `user` there; the project also writably."""
    paths = [str(project), *(path for path in dict.fromkeys(shown) if path != str(project))]
    sources = {path: str(base / f"shown-{number}") for number, path in enumerate(paths)}
    live, mapped_layers = str(base / "live"), str(base / "layers")
    asked = {
        "user": user,
        "binds": [(path, target, True) for path, target in sources.items()]
        + [(str(project), live, False)],
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
    return sources, live


def take_away(base: Path) -> None:
    """Unmount all below `base` and remove its empty folders: never what is in them.

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
    """Take a mount and the empty folder under it away, as far as that can be done."""
    with contextlib.suppress(StepError):
        detach(str(path))
    with contextlib.suppress(OSError):
        path.rmdir() if path.is_dir() else path.unlink()
