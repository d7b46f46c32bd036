"""The one place that starts untrusted programs: into a cell, captured, under every limit."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import trio

from executor import network
from executor.engine.box import Box, BoxPlace, Exit, Layout, LostError, OpenBox, Order
from executor.engine.engine import Completed, Observe, OnOutput
from executor.engine.layers import for_run, with_room
from executor.engine.orders import pack_run
from executor.instance.lock import remove
from executor.model import Result, SandboxError, SandboxUnavailableError, Status
from executor.project.commit_service import with_commit
from executor.request import ANALYZE, NO_NETWORK, Profile, ProjectAccess
from executor.run.capture import READ_BYTES, Capture
from executor.run.progress import ListedRun, RunRecord, status_of, watch_room
from executor.run.refusals.collecting import RunFacts, may_be_refused, with_refusals

if TYPE_CHECKING:
    from executor.project.commit_service import CommitService
    from executor.project.store.manifest import Commit
    from executor.project.view.record import Record

DRAIN_S_MAX = 0.2  # how long output may arrive after the program has ended
STOP_S_MAX = 1.0  # how long the supervisor may take to end a run and report,
LIVE_STOP_S_MAX = 20.0  # and to check a live project for the run's changes
NO_VIEW = "changes of a run cannot be kept apart from the project, so nothing ran"


class Runner:
    """The placement of jobs in boxes made by `box`, of the spawner or another back end."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that a run needs
        self,
        placement: BoxPlace,
        box: OpenBox,
        spool_folder: Path,
        inline_bytes: int,
        concurrency: int,
        door: CommitService,
    ) -> None:
        self.placement = placement
        self.box = box
        self.door = door
        self.spools = spool_folder
        self.inline_bytes = inline_bytes
        self._concurrency = concurrency
        self._turns = WeakValueDictionary[str, trio.CapacityLimiter]()
        self._numbers = count(1)  # of runs
        self.running: dict[int, ListedRun] = {}

    async def run(
        self,
        make_job: Callable[[Layout], Order],
        on_output: OnOutput | None = None,
        *,
        profile: Profile = ANALYZE,
        owner: str | None = "",
        observe: Observe | None = None,
    ) -> Completed:
        """Run one job, in its turn among those of its `owner`; without one, at once. Cancelling
        ends everything it started.

        Raises:
            RequestError: the profile is not possible for this project here.
            SandboxUnavailableError: the server has lost its temporary folder.
            OSError: its output cannot be spooled.
        """
        async with self.turn(owner):
            with self.progress(profile, on_output) as progress:
                if observe:
                    observe(progress)
                record = None
                if profile.project is ProjectAccess.COMMIT:
                    record = await self.record(profile, whole=not self.placement.can.copy_on_write)
                layout = await self.layout(profile, record)
                result = await self._run(make_job(layout), progress, layout, record)
        return progress.complete(result)

    def turn(self, owner: str | None) -> contextlib.AbstractAsyncContextManager[None]:
        """Return the turn of a client's runs, since no client delays another; without one, none."""
        if owner is None:
            return contextlib.nullcontext()
        return self._turns.setdefault(owner, trio.CapacityLimiter(self._concurrency))

    @property
    def is_busy(self) -> bool:
        """Return whether a client's next run would have to wait."""
        return any(turn.available_tokens < 1 for turn in self._turns.values())

    async def record(self, profile: Profile, *, whole: bool = True) -> Record | None:
        """Record the project now, if its changes are to be committed: see `CommitService`.

        Raises:
            RequestError: it is too large.
            SandboxUnavailableError: it can't be read.
        """
        if profile.project is not ProjectAccess.COMMIT:
            return None
        try:
            return await trio.to_thread.run_sync(partial(self.door.record, whole=whole))
        except SandboxError as error:
            raise SandboxUnavailableError(str(error), "Make it readable to this user.") from error

    async def layout(
        self, profile: Profile, record: Record | None, *, session: bool = False
    ) -> Layout:
        """Return the folders of a box; see `BoxPlace.layout`."""
        make = partial(self.placement.layout, profile, record, session=session)
        return await trio.to_thread.run_sync(make)

    @contextlib.contextmanager
    def progress(self, profile: Profile, on_output: OnOutput | None) -> Iterator[RunRecord]:
        """Make the record of a new run, which is active until the block ends."""
        number = next(self._numbers)
        outputs = {
            name: Capture(self.spools / f"{number}.{name}", self.inline_bytes)
            for name in ("stdout", "stderr")
        }
        isolation = for_run(self.placement.isolation, profile)
        folder = self.spools / f"{number}.artifacts"
        progress = RunRecord(number, profile.name, isolation, outputs, folder, on_output)
        self.running[number] = progress
        try:
            yield progress
        finally:
            del self.running[number]
            for capture in outputs.values():
                capture.close()

    @contextlib.contextmanager
    def list_run(self, run: ListedRun) -> Iterator[int]:
        """List a run of another machine as active until the block ends; yield its number."""
        number = next(self._numbers)
        self.running[number] = run
        try:
            yield number
        finally:
            del self.running[number]

    async def stop(self, number: int) -> bool:
        """End a run, whose result reports it; return whether there was a run of that number."""
        progress = self.running.get(number)
        if progress is not None:
            await progress.stop(Status.CANCELLED)
        return progress is not None

    async def _run(
        self, job: Order, progress: RunRecord, layout: Layout, record: Record | None
    ) -> Result:
        progress.label, progress.limits = job.label, job.limits
        if job.diagnosis:
            progress.take("stderr", job.diagnosis)
        consumed = None
        try:
            async with self.box(job, layout) as (cell, group):
                progress.meter = group
                check_view(cell, layout, record)
                if record is not None:
                    await trio.to_thread.run_sync(record.settle)
                progress.isolation = with_room(progress.isolation, cell.layers, job.profile)
                async with watch_room(layout, cell, progress):
                    is_bounded = group is not None and group.enforces
                    end = await _follow(job, cell, progress, without_cgroup=not is_bounded)
                progress.meter = None
                if progress.is_lost:
                    progress.is_lost = False
                    again = replace(job, may_be_prewarmed=False, diagnosis=b"")
                    return await self._run(again, progress, layout, record)
                consumed = group.consumption() if group else None
                if cell.handed_over:
                    await progress.keep_artifacts(cell)
                result = progress.result(status_of(end, progress.stopped, consumed), end, consumed)
                result = replace(result, persists=job.profile.project is ProjectAccess.LIVE)
                # Only if its supervisor saw that every process of the run is dead.
                if end is not None and record is not None:
                    done = await self.commit(
                        cell, layout, record, job.profile, job.label, is_over=True
                    )
                    result = with_commit(result, done, stage=job.profile.stage)
                ended = result, end, consumed
                if may_be_refused(ended):
                    result = await with_refusals(ended, self.facts(job.profile, layout, job))
        except SandboxError as error:
            progress.failure = str(error)
            return progress.result(Status.SANDBOX_ERROR)
        return result

    def facts(self, profile: Profile, layout: Layout, job: Order) -> RunFacts:
        """Return the facts of a run in a box of this layout."""
        copies = self.placement.can.copy_on_write
        binds = (*job.binds, *(target for _, target in job.shown))
        return RunFacts(profile, layout, job.cwd, self.placement.search, copies, binds)

    async def commit(  # noqa: PLR0913 - all that a commit needs
        self,
        cell: Box,
        layout: Layout,
        record: Record,
        profile: Profile,
        label: str,
        *,
        is_over: bool = False,
    ) -> Commit:
        """Commit the changes in a box's view to the project, or hold them for review.

        If the box `is_over`, the content of the view is not needed afterwards.

        Raises:
            SandboxError: no change could be committed.
        """
        from executor.project.view.comparison import of_upper  # noqa: PLC0415 - most commit nothing

        if layout.work_copy is not None:
            read_changes = layout.work_copy.changes
        elif (upper := cell.take_upper()) is not None:
            room = layout.room if is_over else ""
            read_changes = partial(of_upper, upper, record, room)
        else:
            raise SandboxError("the run's changes were lost with its sandbox")
        call = partial(self.door.commit, read_changes, record, label, stage=profile.stage)
        return await self.through_door(call)

    async def through_door(self, call: Callable[..., Commit]) -> Commit:
        """Make a commit by the commit service, which reads repositories in boxes. Wait for it.

        Raises:
            SandboxError: no change could be committed.
        """

        # Loaded here because only commits need it.
        from executor.run.commits import BoxReader, open_place  # noqa: PLC0415

        def commit() -> Commit:
            place = open_place(self.placement.temporary)
            try:
                return call(read=BoxReader(self, place))
            finally:
                remove(place)

        # Half a commit would be undone, but a whole one is what was requested.
        with trio.CancelScope(shield=True):
            done: Commit = await trio.to_thread.run_sync(commit)
        return done


async def _follow(
    job: Order, cell: Box, progress: RunRecord, *, without_cgroup: bool
) -> Exit | None:
    """Feed a run in a ready cell, drain it, and stop it at its limits; return how it ended.

    Return None if the program could not be started or its cell was lost: see the progress.
    """
    progress.cell = cell
    async with trio.open_nursery() as outside:
        allowed, listeners = job.profile.network, cell.take_fds()
        if allowed != NO_NETWORK or listeners:
            gate = network.ProxyGate(allowed, connections=progress.connections)
            open_network(listeners, gate, outside)
        readers = await cell.start(pack_run(job, without_cgroup=without_cgroup), job.stdin)
        progress.started_at = time.monotonic()
        if progress.stopped:  # while the cell was being made
            await cell.stop()
        async with trio.open_nursery() as nursery:
            for name, reader in readers.items():
                nursery.start_soon(_drain, job, progress, name, reader)
            end = await _wait_for_end(job, cell, progress)
            progress.wall_s = time.monotonic() - progress.started_at
            # Every process of the run is dead: the rest in the pipes comes at once.
            drain_s_max = 0 if end and end.leaves_open else DRAIN_S_MAX
            nursery.cancel_scope.deadline = trio.current_time() + drain_s_max
        outside.cancel_scope.cancel()
    return end


async def _drain(job: Order, progress: RunRecord, name: str, reader: int) -> None:
    output_bytes = job.limits.output_bytes
    async with trio.lowlevel.FdStream(reader) as stream:
        try:
            while chunk := await stream.receive_some(READ_BYTES):
                progress.take(name, chunk)
                if progress.output_bytes <= output_bytes or progress.stopped:
                    continue
                if job.drain:
                    progress.discard(output_bytes)
                else:
                    await progress.stop(Status.OUTPUT_LIMIT)
        except trio.Cancelled:
            # The program's output is never lost.
            progress.take_rest(name, reader, output_bytes, drain=job.drain)
            raise


async def _wait_for_end(job: Order, cell: Box, progress: RunRecord) -> Exit | None:
    """Return the run's end, forced at its deadline."""
    try:
        with trio.move_on_after(job.limits.wall_s):
            return await cell.exit()
        await progress.stop(Status.TIMED_OUT)
        is_live = job.profile.project is ProjectAccess.LIVE
        with trio.move_on_after(LIVE_STOP_S_MAX if is_live else STOP_S_MAX):
            return await cell.exit()
        progress.failure = "the supervisor did not report in time and was killed"
    except LostError:
        progress.is_lost = True
    except SandboxError as error:
        progress.failure = str(error)
    return None


def open_network(listeners: Sequence[int], gate: network.ProxyGate, outside: trio.Nursery) -> None:
    """Serve the sockets that listen inside a cell, in the order of the profile's ports."""
    for port, fd in zip(gate.allowlist.listen, listeners, strict=True):
        listener = trio.socket.from_stdlib_socket(socket.socket(fileno=fd))
        if port == network.PROXY_PORT:
            outside.start_soon(network.serve, listener, gate)
        else:
            outside.start_soon(network.forward, listener, port, gate)


def check_view(cell: Box, layout: Layout, record: Record | None) -> None:
    """Check that changes can be committed.

    Raises:
        SandboxError: the project could only be shown read-only.
    """
    why = cell.layers.get("copy_on_write", True)
    if record is not None and layout.work_copy is None and why is not True:
        raise SandboxError(f"{NO_VIEW}: {why or 'it can only be shown read-only here'}")
