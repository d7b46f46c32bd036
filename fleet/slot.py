"""A place in which a worker runs one order at a time: a folder for its project, and an engine."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from base.locks import hold_lock
from executor.instance.temporary import remove
from executor.model import Request
from executor.opening import open_engine
from executor.profile import ANALYZE
from executor.service import LocalEngine
from executor.settings import Settings
from fleet.blob_cache import BlobCache, make_own
from fleet.layout import renew
from fleet.tree import Digest, build
from policy.rules import Rules

SLOTS_MAX = 4_096
ENTERED = 0o711
"""Of the folders on the way to a project: programs are another user's where the worker is root."""
_EMPTY = build(())
_NOTHING = {"shell": ":"}
"""What is run ahead in languages where `0` alone is no program."""
_WARM_RUNS = 2
"""How often a language is run ahead: from the second time on the pool keeps a cell for it."""


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """Settings that a worker is opened with.

    `folder` is the worker's own; programs have to be able to enter it. `keys` lists the fronts that
    are served, `rules` is the operator's file; both are read anew for each order. `warm` are
    languages that are made ready ahead.
    """

    folder: Path
    keys: Path
    rules: Path | None = None
    name: str = field(default_factory=socket.gethostname)
    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)
    home: Path = field(default_factory=Path.home)
    settings: Settings = field(default_factory=Settings)
    warm: tuple[str, ...] = ()

    @property
    def state_dir(self) -> Path:
        """Where its engines keep what they do."""
        return self.folder / "state"


@dataclass(slots=True, eq=False)
class Slot:
    """One slot; `root` is the tree that lies in its project's folder."""

    project: Path
    root: Digest
    engine: LocalEngine
    used_at: float = 0.0
    is_broken: bool = False
    is_done: trio.Event = field(default_factory=trio.Event)

    def bring_to(self, root: Digest, cache: BlobCache) -> None:
        """Make the project's folder that of another tree. A slot where that fails is broken.

        Raises:
            BlobError, TreeError, OSError: see `layout.renew`.
        """
        if root == self.root:
            return
        try:
            renew(self.project, self.root, root, cache)
        except BaseException:
            self.is_broken = True
            raise
        self.root = root


@contextlib.contextmanager
def claim_place(slots: Path) -> Iterator[Path]:
    """A folder below `slots` that no other process has, emptied, for as long as the block lasts.

    Raises:
        OSError: it can't be written, or all are taken.
    """
    make_own(slots, ENTERED)
    with contextlib.ExitStack() as stack:
        for number in range(SLOTS_MAX):
            try:
                stack.enter_context(hold_lock(slots / f"{number}.lock", wait_s=0))
            except BlockingIOError:
                continue
            yield slots / str(number)
            return
    raise OSError(f"all {SLOTS_MAX:,} slots in {slots} are taken")


@contextlib.asynccontextmanager
async def open_slot(place: Path, terms: WorkerTerms, cache: BlobCache) -> AsyncIterator[Slot]:
    """A slot with an empty project, at a place that was claimed; it is removed on the way out.

    Raises:
        SandboxUnavailableError: nothing here isolates programs; it says what would help.
        OSError: the folder can't be written.
    """
    project = place / "project"
    await trio.to_thread.run_sync(_empty, place, project, cache)
    settings = replace(terms.settings, storage=terms.state_dir)
    try:
        async with open_engine(
            project=project,
            state_dir=terms.state_dir,
            rules=Rules,
            home=terms.home,
            settings=settings,
        ) as engine:
            slot = Slot(project, _EMPTY.root, engine)
            await _warm(engine, terms.warm)
            yield slot
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(remove, place)


def _empty(place: Path, project: Path, cache: BlobCache) -> None:
    remove(place)
    place.mkdir(mode=ENTERED)
    os.chmod(place, ENTERED)
    project.mkdir()
    cache.add(_EMPTY.root, [_EMPTY.encoded])


async def _warm(engine: LocalEngine, languages: tuple[str, ...]) -> None:
    """Run what does nothing, so that the first order of a language finds it proven and started."""
    judged = engine.under(Rules(), ANALYZE)
    for name in languages:
        report = await engine.language(name)
        for _ in range(_WARM_RUNS if report.runnable else 0):
            await judged.run(Request(name, code=_NOTHING.get(name, "0")))
