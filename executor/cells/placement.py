"""The description of a tier's cells, for one project."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from executor.cells.cell import Spawner
from executor.cells.description import CellSpec
from executor.engine import box, seccomp
from executor.engine.box import UNPRIVILEGED_ID, Layout, Order
from executor.engine.tiers import TIERS, Capabilities
from executor.instance.lock import own_folder
from executor.model import Isolation
from executor.project.view.search import Guarded, ProjectSearch
from executor.request import NO_NETWORK, Profile, ProjectAccess
from executor.spawner.confine import landlock_abi

if TYPE_CHECKING:
    from executor.project.view.record import Record


DESCRIBED_MAX = 16  # descriptions of cells that are kept


@dataclass(frozen=True, slots=True)
class Placement:
    """The tier in use, and how a cell of it is described."""

    tier: str
    isolation: Isolation
    search: ProjectSearch
    spawner: Spawner
    temporary: Path  # where tier B's cells have their folders, and others what they are shown
    # The folder of a worktree's git data, as found when the project was opened: a `.git` file
    # that a run writes later must not choose what the next run sees.
    repository: tuple[str, ...]
    rooms: Path | None = None  # where layouts may have their rooms
    travels: bool = False
    can: Capabilities = field(init=False)  # of the tier's cells
    project: Path = field(init=False)
    _described: dict[object, tuple[object, CellSpec]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "can", TIERS[self.tier])
        object.__setattr__(self, "project", self.search.project)

    def layout(
        self, profile: Profile, record: Record | None = None, *, session: bool = False
    ) -> Layout:
        """Return the folders of one cell. Tier B has no own file system: they are on the host.

        `record` is of the project that is to be committed to.

        Raises:
            RequestError: the profile needs a copy of the project, which is too large.
            SandboxUnavailableError: see `executor.instance.lock.own_folder`.
        """
        del session
        if self.can.own_file_system:
            layout = Layout(project=str(self.project))
            return layout if record is None else self._with_room(layout)
        base = tempfile.mkdtemp(dir=own_folder(self.temporary))
        layout = Layout(f"{base}/job", f"{base}/tmp", f"{base}/tmp/home", str(self.project), base)
        owner = (self.spawner.uid, self.spawner.gid)
        copy = Path(base, self.project.name or "project")
        os.chmod(base, 0o711)  # noqa: S103 - the names below are its own user's
        for folder in (layout.job, layout.scratch, layout.home, copy):
            os.mkdir(folder, 0o700)
            os.chown(folder, *owner)
        if record is None:
            return layout
        from executor.project.view import work_copy  # noqa: PLC0415 - only what is committed needs one

        try:
            return replace(layout, work_copy=work_copy.make(record, copy, owner))
        except BaseException:
            layout.remove()
            raise

    def _with_room(self, layout: Layout) -> Layout:
        # A room whose IDs can't be mapped is another user's: changes stay in memory.
        if self.rooms is None or str(self.rooms) in self.spawner.refused:
            return layout
        self.rooms.mkdir(mode=0o700, exist_ok=True)
        room = tempfile.mkdtemp(dir=self.rooms)
        return replace(layout, room=room, host_folder=room)

    def shortfall(self) -> str:
        """Return why no stronger tier is used, and the fix: the end of a sentence."""
        lacking = self.isolation.layers["namespaces"]
        return (
            f"and this machine gives tier {self.tier}: {lacking.reason}. To fix it, "
            f"{lacking.remedy}."
        )

    def image(self, language: str) -> str:
        """Return "": cells have no image."""
        del language
        return ""

    def share(self, language: str, other: str) -> bool:
        """Return True: every cell can serve programs of both languages."""
        del language, other
        return True

    def cell(self, order: Order, layout: Layout, *, session: bool = False) -> CellSpec:
        """Return the description of a cell for an order; one for a session serves many runs.

        It is kept for the next order like this one, with the paths to guard as they are then.

        Raises:
            RequestError: what to guard in the project can't be found out.
        """
        profile, access = order.profile, order.profile.project
        if not self.can.copy_on_write or str(self.project) in self.spawner.refused:
            access = ProjectAccess.READ_ONLY
        guarded = self.search.find_guarded(profile.sockets, everywhere=access is ProjectAccess.LIVE)
        what = profile, order.limits, order.binds, order.shown, order.substitute, layout, session
        seen = guarded, box.system_entries()
        # Paths of a profile and of a folder that is shown as it is may change at any time.
        is_fixed = self.can.namespaces and not profile.read and layout.work_copy is None
        if is_fixed and what in self._described and self._described[what][0] == seen:
            return self._described[what][1]
        spec = self._describe(order, access, guarded, layout, session=session)
        if is_fixed and not layout.room:
            if len(self._described) >= DESCRIBED_MAX:
                self._described.clear()
            self._described[what] = seen, spec
        return spec

    def _describe(
        self,
        order: Order,
        access: ProjectAccess,
        guarded: Guarded,
        layout: Layout,
        *,
        session: bool,
    ) -> CellSpec:
        """Describe a cell with this access to the project."""
        project, profile = str(self.project), order.profile
        # Nothing may still be written (as by io_submit) when what changed reaches the project.
        persists = access in {ProjectAccess.COMMIT, ProjectAccess.LIVE}
        exits = self.can.sees_exits and not session and not persists
        renames = access in {ProjectAccess.COPY_ON_WRITE, ProjectAccess.COMMIT}
        find_staged = partial(box.find_bound, bound=self.spawner.staged)
        # In tier B the one listener that a program can have is asked about other calls, too.
        told = seccomp.build_told(namespaces=self.can.namespaces)
        is_told = told is not None and self.can.namespaces
        report = partial(seccomp.notices, renames=renames, refused=is_told)
        spec = CellSpec(
            namespaces=self.can.namespaces,
            uid=self.spawner.uid or UNPRIVILEGED_ID,
            gid=self.spawner.gid or UNPRIVILEGED_ID,
            outer_uid=self.spawner.uid,
            outer_gid=self.spawner.gid,
            project=project,
            project_source=self.spawner.source(project),
            access=access,
            seccomp=seccomp.program(namespaces=self.can.namespaces),
            notices=report(),
            heavy_notices=report(exits=exits),
            names=self.can.namespaces,
            told=told,
            judged=None if self.can.namespaces else seccomp.build_judged(_landlock_abi()),
            binds=(
                *((self.spawner.source(path), path) for path in not_of_the_system(order.binds)),
                *((self.spawner.source(path), path) for path in self.repository),
                *box.list_shown(profile.read, layout.home, self.search.denies, self.spawner.source),
            ),
            limits=order.limits,
            job=layout.job,
            scratch=layout.scratch,
            home=layout.home,
            guarded=guarded,
            shown=tuple((find_staged(path), target) for path, target in order.shown),
            room=find_staged(layout.room),
            readable=() if self.can.namespaces else self._readable(layout),
            listen=() if profile.network == NO_NETWORK else profile.network.listen,
            session=session,
        )
        if order.substitute is None:
            return spec
        return replace(
            spec,
            project_source=find_staged(f"{self.temporary}/{order.substitute}"),
            access=ProjectAccess.READ_ONLY,
            binds=tuple(bind for bind in spec.binds if bind[1] not in self.repository),
            guarded=Guarded(),
        )

    def _readable(self, layout: Layout) -> tuple[tuple[str, str], ...]:
        """Return tier B's grants of the project: a whole copy, else everything except secrets.

        Links to an environment and its scripts use the path in the project, not in a copy.
        """
        if not layout.work_copy:
            return list_readable(self.search)
        copied = layout.work_copy.at_start
        marks = (path for path in copied if f"/{path}".endswith("/pyvenv.cfg"))
        environments = [self.project / Path(path).parent for path in marks]
        return ((str(layout.work_copy.folder), "rw"), *list_readable(self.search, environments))


@functools.cache
def _landlock_abi() -> int:
    return landlock_abi()  # the kernel's answer never changes


def not_of_the_system(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that the system folders of a cell don't show anyway."""
    paths = tuple(paths)
    shown = box.system_entries()[0] if paths else ()
    for path in paths:
        if not any(path == folder or path.startswith(f"{folder}/") for folder in shown):
            yield path


def list_readable(
    search: ProjectSearch, tops: Iterable[Path] | None = None
) -> tuple[tuple[str, str], ...]:
    """List Landlock grants for the project except its secrets (tier B can hide nothing).

    With `tops`, folders of it, they cover only those. A folder without secrets anywhere below is
    granted whole ("r"); any other is only listed ("list") and its entries are granted one by one.
    """
    project, hidden = search.project, search.find_guarded(everywhere=True)
    secrets = {f"{project}/{path}" for path in hidden.paths}
    above = {str(parent) for path in secrets for parent in Path(path).parents}
    # A folder that is hidden as a whole is not listed, though there is a socket in it.
    tainted = {path for path in above if secrets.isdisjoint(_at_or_above(path))}
    grants: list[tuple[str, str]] = []
    for top in (project,) if tops is None else tops:
        if not secrets.isdisjoint(_at_or_above(str(top))):
            continue
        if str(top) not in tainted:
            grants.append((str(top), "r"))
        for folder in sorted(path for path in tainted if Path(path).is_relative_to(top)):
            grants.append((folder, "list"))
            with os.scandir(folder) as entries:
                # Never a link: granting one would grant its target.
                open_entries = (e for e in entries if not e.is_symlink())
                grants += [(e.path, "r") for e in open_entries if e.path not in secrets | tainted]
    return tuple(dict.fromkeys(grants))


def _at_or_above(path: str) -> set[str]:
    return {path, *map(str, Path(path).parents)}
