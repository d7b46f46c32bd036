"""Tier C: where runs are placed when their boxes are containers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from base import process
from executor.containers import project_transfer
from executor.containers.box import Container, ContainerBox
from executor.containers.create import ContainerSpec, has_own_kernel, of_box
from executor.containers.host import EngineHost, is_special
from executor.engine import box as rootfs
from executor.engine import seccomp
from executor.engine.box import Box, Exit, Layout, Meter, Order, Prewarming
from executor.engine.orders import Packed
from executor.engine.tiers import TIERS, Capabilities
from executor.instance.lock import own_folder
from executor.model import Isolation
from executor.project.view import work_copy
from executor.project.view.record import Record
from executor.project.view.search import Guarded, ProjectSearch
from executor.project.view.work_copy import WorkCopy
from executor.request import Profile, ProjectAccess
from executor.spawner.messages import BoxDescription, Layers

ARCHIVE, COPY = "project.tar", "copy"
WRITABLE = (rootfs.SCRATCH, rootfs.HOME, rootfs.SHARED_MEMORY, *rootfs.DEVICES)

ACCOUNTS = ("passwd", "group", "nsswitch.conf", "hosts", "mtab")

ImageOf = Callable[[str], str]  # a language's image, by its reference


class Leases(Prewarming, Protocol):
    """The pool that containers come from."""

    def lease(self, spec: ContainerSpec) -> AbstractAsyncContextManager[Container]:
        """Lease a container for one run or session, and dispose of it at the end.

        Raises:
            SandboxError: none could be made.
        """


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """The way in which runs of one project become containers."""

    isolation: Isolation
    search: ProjectSearch
    temporary: Path
    repository: tuple[str, ...]
    image_of: ImageOf
    runtime: str
    user: tuple[int, int]
    host: EngineHost | None  # None: projects travel
    pool: Leases

    @property
    def can(self) -> Capabilities:
        """Return the capabilities of containers."""
        return TIERS[self.isolation.tier]

    @property
    def project(self) -> Path:
        return self.search.project

    def layout(
        self, profile: Profile, record: Record | None = None, *, session: bool = False
    ) -> Layout:
        """Return the folders of one box, and if the project is copied, the copy to send.

        `record` is of the project that changes are committed to. A session then works on a copy:
        only the engine could mount a new overlay, and not in a running container.

        Raises:
            RequestError: it is too large for that.
            SandboxUnavailableError: see `executor.instance.lock.own_folder`.
        """
        if self.host is not None and (record is None or not session):
            return Layout(project=str(self.project))
        base = Path(tempfile.mkdtemp(dir=own_folder(self.temporary)))
        layout = Layout(project=str(self.project), host_folder=str(base))
        try:
            if record is not None:
                (base / COPY).mkdir(mode=0o700)
                owner = self.user if self.host else (os.geteuid(), os.getegid())
                if process.holds(process.CHOWN):
                    os.chown(base / COPY, *owner)
                copy = work_copy.make(record, base / COPY, owner)
                layout = replace(layout, work_copy=copy, is_in_place=True)
            if self.host is None:
                project_transfer.pack(self.search, base / ARCHIVE)
        except BaseException:
            layout.remove()
            raise
        return layout

    def shortfall(self) -> str:
        """Return why no stronger tier is used, and the fix: the end of a sentence."""
        return (
            f"and programs run in containers here (tier {self.isolation.tier}). To fix it, "
            "leave out isolation = container, or use another profile."
        )

    @property
    def travels(self) -> bool:
        """Return whether containers get a copy of the project, because it cannot be mounted."""
        return self.host is None

    def image(self, language: str) -> str:
        """Return the image of a box of this language."""
        return self.image_of(language)

    def share(self, language: str, other: str) -> bool:
        """Return whether one box can serve programs of both."""
        return self.image_of(language) == self.image_of(other)

    @contextlib.asynccontextmanager
    async def open_box(
        self, job: Order, layout: Layout, *, session: bool = False
    ) -> AsyncIterator[tuple[Box, Meter | None]]:
        """Open a container for a job; end it after the block, and remove it in the background.

        Raises:
            SandboxError: none could be made; the message has a remedy.
        """
        stack = contextlib.AsyncExitStack()
        try:
            spec = await trio.to_thread.run_sync(self.spec, job, layout.work_copy)
            archive = None
            if self.host is None and job.substitute is not None:
                folder, project = self.temporary / job.substitute, str(self.project)
                pack = partial(project_transfer.pack_instead, folder, job.shown, project)
                archive = await trio.to_thread.run_sync(pack)
            elif self.host is None:
                archive = await trio.Path(str(layout.host_folder), ARCHIVE).read_bytes()
            container = await stack.enter_async_context(self.pool.lease(spec))
        except BaseException:
            await _remove(layout)
            raise
        # Its programs may be at work in the folders of the layout until it has ended.
        container.remove_layout = layout.remove
        async with stack:
            box = ContainerBox(container, self.temporary / "sockets")
            box.layers = self._room(spec)
            if layout.work_copy is not None and self.host is None:
                box.bring_back = partial(_bring_back, layout.work_copy.folder)
            stack.callback(box.end)
            packed = self._cell(spec, session)
            await box.begin(packed, archive, job.profile.network.listen)
            yield box, box

    def _room(self, spec: ContainerSpec) -> Layers:
        """Return the place of writes to the project, in the words of a cell's supervisor."""
        if self.host is None:
            return {"room": "on a sized tmpfs"}
        if spec.overlay:
            unsized = "whose size is not enforced"
            return {"copy_on_write": True, "room": "" if self.host.as_root else unsized}
        return {}

    def spec(self, job: Order, copy: WorkCopy | None = None) -> ContainerSpec:
        """Return the container that a job needs, with the project's present files, or a copy.

        One with folders of this job alone is not prewarmed, since others need different folders.
        """
        spec = self._showing_project(job, copy)
        if self.host is None or not (job.shown or job.substitute):
            return spec
        shown = ((self.host.source(path), target) for path, target in job.shown)
        return replace(spec, read_only=(*spec.read_only, *shown), once=True)

    def _showing_project(self, job: Order, copy: WorkCopy | None) -> ContainerSpec:
        access = job.profile.project
        spec = ContainerSpec(
            image=self.image_of(job.language),
            runtime=self.runtime,
            user=self.user,
            project=str(self.project),
            access=access.value,
            shipped=self.host is None,
            limits=of_box(job.limits),
        )
        if self.host is None:
            return spec
        if job.substitute is not None:
            instead = (str(self.temporary / job.substitute), str(self.project))
            return replace(spec, read_only=(instead, *self._accounts(self.host)))
        if copy is not None:
            shown = tuple(self._find_shown(job.profile, self.host))
            return replace(spec, read_only=shown, writable=((str(copy.folder), str(self.project)),))
        hidden = self.search.find_guarded(job.profile.sockets)
        return self._add_mounts(spec, hidden, job.profile, self.host)

    def _find_shown(self, profile: Profile, host: EngineHost) -> Iterator[tuple[str, str]]:
        """Yield the paths of this host that are shown in addition to the project."""
        yield from ((host.source(path), path) for path in self.repository)
        denies = self.search.denies
        yield from rootfs.list_shown(profile.read, rootfs.HOME, denies, host.source)
        yield from self._accounts(host)

    def _accounts(self, host: EngineHost) -> Iterator[tuple[str, str]]:
        yield from ((str(path), f"/etc/{path.name}") for path in host.accounts)

    def _add_mounts(
        self, spec: ContainerSpec, hidden: Guarded, profile: Profile, host: EngineHost
    ) -> ContainerSpec:
        """Add the project and all other shown paths of this host to the spec."""
        project = str(self.project)
        read_only = list(self._find_shown(profile, host))
        absent = [name for name in hidden.paths if is_special(f"{project}/{name}")]
        overlay = bool(absent) or profile.project is not ProjectAccess.READ_ONLY
        covered = [f"{project}/{name}" for name in hidden.paths if name not in absent]
        read_only += [(host.empty_in_place_of(path), path) for path in covered]
        if not overlay:
            read_only.append((host.source(project), project))
        return replace(
            spec,
            read_only=tuple(read_only),
            overlay=overlay,
            absent=tuple(absent),
            state=self.search.identities(),
        )

    def _cell(self, spec: ContainerSpec, session: bool) -> bytes:
        """Describe the box for the agent; see `executor.cells.description.pack_cell`."""
        commits = spec.access == ProjectAccess.COMMIT.value
        read_only = spec.access == ProjectAccess.READ_ONLY.value
        writable = WRITABLE if read_only else (*WRITABLE, spec.project)
        shown = (spec.project, *(target for _, target in spec.read_only))
        own_kernel = has_own_kernel(spec.runtime)
        filter_program = seccomp.program(own_kernel=own_kernel, counted=not own_kernel)
        renames = spec.overlay and not own_kernel
        notices = seccomp.notices(renames=renames, counted=not own_kernel)
        packed = Packed()
        told = packed.blob(notices)
        description: BoxDescription = {
            "namespaces": False,
            "session": session,
            "job": rootfs.JOB,
            "scratch_folder": rootfs.SCRATCH,
            "scratch_folders": [rootfs.SCRATCH, rootfs.HOME, rootfs.SHARED_MEMORY]
            + [spec.project] * spec.shipped,
            "access": [
                *((path, "rw") for path in writable),
                *((path, "r") for path in shown),
            ],
            "etc": [*rootfs.ETC_ENTRIES, *ACCOUNTS],
            "deny_tcp": False,
            "own_kernel": own_kernel,
            "seccomp": packed.blob(filter_program),
            "notices": told,
            "heavy_notices": told,
            "project": {
                "target": spec.project,
                # Changes of a transferred copy are found as in a live project.
                "mode": "live" if spec.shipped and not session else "read_only",
                "commit": False,
                "secrets": [],
                "special": [],
            },
            "return_changes": commits and spec.shipped,
        }
        return packed.pack(description)


async def _remove(layout: Layout) -> None:
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(layout.remove)


async def _bring_back(copy: Path, archive: int, end: Exit) -> None:
    changed = list(end.changed)
    await trio.to_thread.run_sync(project_transfer.bring_back, archive, changed, copy)
