"""A run during its time on the server, its one status, and its result."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from executor.engine.box import Box, Consumption, Exit, Layout, Meter
from executor.engine.engine import Completed, OnOutput
from executor.model import (
    MIB,
    Artifact,
    ChangedFile,
    Connection,
    Isolation,
    Limits,
    Result,
    Status,
    Stream,
    Usage,
    readable,
)
from executor.project.view.record import CHANGED_BYTES_MAX, CHANGES_MAX, INTERVAL_S
from executor.run.capture import READ_BYTES, Capture, store_artifacts

# Reasons why the supervisor itself ended a run.
SUPERVISOR_REASONS = {
    "cpu": Status.CPU_LIMIT,
    "memory": Status.MEMORY_LIMIT,
    "processes": Status.PROCESS_LIMIT,
}
# Signals by which the kernel enforces a limit. Any program can send them to itself, so the result
# reports them as signals and explains them.
LIMIT_SIGNALS: Mapping[int, str] = {
    signal.SIGXCPU: "SIGXCPU, which the kernel sends at the limit of processor time",
    signal.SIGXFSZ: "SIGXFSZ, which the kernel sends at the limit of a file's size",
}


def status_of(end: Exit | None, stopped: Status | None, consumed: Consumption | None) -> Status:
    """Return the status of a run that was started; `end` is None if its supervisor died with it.

    `stopped` is why the server ended it, if it did. A program that reached a limit, handled it and
    exited 0 is ok; for one that failed, the limit is the cause.
    """
    if end is None:
        if stopped:
            return stopped
        return Status.MEMORY_LIMIT if consumed and consumed.oom_kills else Status.SANDBOX_ERROR
    forced = SUPERVISOR_REASONS.get(end.reason or "", stopped if end.reason else None)
    if forced:
        return forced
    if end.exit_code == 0:
        return Status.OK
    return _limit_met(end, consumed) or (Status.SIGNALLED if end.signal else Status.NONZERO_EXIT)


def _limit_met(end: Exit, consumed: Consumption | None) -> Status | None:
    if consumed and consumed.oom_kills:
        return Status.MEMORY_LIMIT
    if end.scratch_full:
        return Status.DISK_LIMIT
    if consumed and consumed.fork_refusals:
        return Status.PROCESS_LIMIT
    return None


def limits_met(
    status: Status, end: Exit | None, consumed: Consumption | None, limits: Limits | None
) -> str:
    """Return the refusals at limits that the status does not name; "" if nothing was counted.

    A child of the run may have reached the limit although the program itself exited 0.
    """
    met = []
    if consumed and consumed.oom_kills and status is not Status.MEMORY_LIMIT:
        whom = _count(consumed.oom_kills, "process of the run was", "processes of the run were")
        of = f" ({limits.memory_bytes / MIB:,.0f} MiB)" if limits else ""
        met.append(f"{whom} ended at the memory limit{of}")
    if consumed and consumed.fork_refusals and status is not Status.PROCESS_LIMIT:
        what = _count(consumed.fork_refusals, "start of a process was", "starts of processes were")
        of = f"{limits.processes} processes" if limits else "processes"
        met.append(f"{what} refused at the limit of {of}")
    if end and end.scratch_full and status is not Status.DISK_LIMIT:
        met.append("the scratch folder was full at the end of the run")
    return "; ".join(met)


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


class ListedRun(Protocol):
    """A run as lists show it; `place` is where it runs, if not on this machine."""

    label: str
    place: str
    isolation: Isolation
    started_at: float
    meter: Meter | None

    @property
    def profile(self) -> str:
        """Return the name of its profile."""

    @property
    def limits(self) -> Limits | None:
        """Return the limits that are in force."""

    @property
    def output_bytes(self) -> int:
        """Return the number of bytes that it has printed."""

    async def stop(self, reason: Status) -> None:
        """Request its end; the first reason is kept."""


@dataclass(slots=True)
class RunRecord:
    """One run's record."""

    number: int  # unique among all runs of this server
    profile: str
    isolation: Isolation
    outputs: Mapping[str, Capture]
    artifact_folder: Path
    on_output: OnOutput | None = None
    stopped: Status | None = None  # why the server ended it
    failure: str = ""
    is_lost: bool = False  # something held for this run was gone: nothing has been started
    note: str = ""  # additions to the result's message
    wall_s: float = 0.0
    artifacts: tuple[Artifact, ...] = ()
    connections: list[Connection] = field(default_factory=list)
    session: str | None = None
    label: str = ""  # its name in lists
    started_at: float = field(default_factory=time.monotonic)
    cell: Box | None = None
    meter: Meter | None = None  # the counter of its consumption
    limits: Limits | None = None
    place: str = ""

    @property
    def elapsed_s(self) -> float:
        """Return how long the run has taken so far, or took."""
        return self.wall_s or time.monotonic() - self.started_at

    @property
    def output_bytes(self) -> int:
        return sum(capture.bytes_total for capture in self.outputs.values())

    def take(self, name: str, chunk: bytes) -> None:
        """Add the next bytes of one stream.

        Raises:
            OSError: they can't be spooled.
        """
        capture = self.outputs[name]
        capture.feed(chunk)
        if self.on_output and not capture.discarding:
            self.on_output(name, chunk)

    def take_rest(self, name: str, reader: int, bytes_max: int, *, drain: bool = False) -> None:
        """Read the present content of a pipe, without waiting for more.

        Output beyond a run's `bytes_max` is left there, or counted and discarded with `drain`.
        """
        with contextlib.suppress(BlockingIOError):
            while self.output_bytes <= bytes_max or drain:
                chunk = os.read(reader, READ_BYTES)
                if not chunk:
                    return
                self.take(name, chunk)
                if drain and self.output_bytes > bytes_max:
                    self.discard(bytes_max)

    def discard(self, bytes_max: int) -> None:
        """Count later output without storing it."""
        if not self.note:
            self.note = f"output beyond {bytes_max:,} bytes was counted and discarded"
        for capture in self.outputs.values():
            capture.discarding = True

    async def stop(self, reason: Status) -> None:
        """Request the program's end; the first reason is kept."""
        self.stopped = self.stopped or reason
        if self.cell:
            await self.cell.stop()

    async def keep_artifacts(self, cell: Box) -> None:
        """Copy the files that the cell returned, if any.

        Raises:
            OSError: they cannot be stored.
        """
        if cell.handed_over:
            self.artifacts = await trio.to_thread.run_sync(
                store_artifacts, cell.handed_over, cell.take_fds(), self.artifact_folder
            )
            cell.handed_over = None

    def result(
        self, status: Status, end: Exit | None = None, consumed: Consumption | None = None
    ) -> Result:
        """Return the result; `end` is None if the supervisor died before its report."""
        meaning = LIMIT_SIGNALS.get(end.signal, "") if end and end.signal else ""
        met = limits_met(status, end, consumed, self.limits)
        measured = end.peak_memory_bytes if end else None
        if consumed and consumed.peak_memory_bytes is not None:
            measured = consumed.peak_memory_bytes
        usage = Usage(
            wall_s=self.wall_s,
            cpu_s=end.cpu_s if end else 0.0,
            peak_memory_bytes=measured,
            peak_processes=end.peak_processes if end else None,
        )
        return Result(
            status=status,
            exit_code=end.exit_code if end else None,
            signal=end.signal if end else None,
            stdout=self.outputs["stdout"].stream(),
            stderr=self.outputs["stderr"].stream(),
            usage=usage,
            isolation=self.isolation,
            artifacts=self.artifacts,
            # As text: a program may choose names that are not text.
            changed_files=tuple(
                ChangedFile(readable(path), change, size)
                for path, change, size in (end.changed if end else ())
            ),
            connections=tuple(self.connections),
            changed_files_omitted=end.changed_omitted if end else 0,
            phase=end.phase if end else "run",
            message="; ".join(filter(None, (self.failure or meaning or self.note, met))),
            profile=self.profile,
            session=self.session,
        )

    def stream(self, name: str) -> Stream:
        """Return the output of the run so far."""
        return self.outputs[name].stream()

    def complete(self, result: Result) -> Completed:
        return Completed(result, self.outputs["stdout"].spool, self.outputs["stderr"].spool)


# A folder is measured when the file system has lost this part of the room left to the run,
WALK_AT = 4
WALK_S_MAX = 2.0  # or after this time: someone else may have freed as much in the meantime.


@contextlib.asynccontextmanager
async def watch_room(layout: Layout, cell: Box, progress: RunRecord) -> AsyncIterator[None]:
    """Stop a run that changes more of the project than can be committed, if that is on disk."""
    copy, room = layout.work_copy, cell.layers.get("room")
    if copy is not None and not room:
        bounded = partial(watch, str(copy.folder), beyond=copy.size)
    elif layout.room and room == "on disk":
        bounded = partial(watch, layout.room)
    else:
        yield
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bounded, partial(progress.stop, Status.DISK_LIMIT))
        yield
        nursery.cancel_scope.cancel()


async def watch(
    folder: str,
    stop: Callable[[], Awaitable[None]],
    beyond: Callable[[], tuple[int, int]] | None = None,
) -> None:
    """Call `stop` when a folder holds more than can be committed; until cancelled.

    `beyond` gives the bytes and entries that it holds at first, which do not count.
    """
    free, free_files = _free(folder)
    left = left_files = own_bytes = own_entries = 0
    walked_at = -WALK_S_MAX
    if beyond is not None:
        own_bytes, own_entries = await trio.to_thread.run_sync(beyond)
        left, left_files, walked_at = CHANGED_BYTES_MAX, CHANGES_MAX, trio.current_time()
    bytes_max, entries_max = own_bytes + CHANGED_BYTES_MAX, own_entries + CHANGES_MAX
    while True:
        now_free, now_files = _free(folder)
        lost = free - now_free > left // WALK_AT or free_files - now_files > left_files // WALK_AT
        if lost or trio.current_time() - walked_at > WALK_S_MAX:
            measure = partial(_measure, folder, bytes_max, entries_max)
            used, entries = await trio.to_thread.run_sync(measure, abandon_on_cancel=True)
            walked_at, free, free_files = trio.current_time(), now_free, now_files
            left, left_files = bytes_max - used, entries_max - entries
            if left < 0 or left_files < 0:
                await stop()
                return
        await trio.sleep(INTERVAL_S)


def _free(folder: str) -> tuple[int, int]:
    """Return the free bytes and files of the file system, which takes no time to ask."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return 0, 0
    return space.f_bavail * space.f_frsize, space.f_favail


def _measure(folder: str, bytes_max: int, entries_max: int) -> tuple[int, int]:
    """Return bytes on disk and entries below a folder that a program may be writing to."""
    used = entries = 0
    pending = [folder]
    while pending and entries <= entries_max and used <= bytes_max:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    info = entry.stat(follow_symlinks=False)
                    entries += 1
                    used += info.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:  # removed since, or closed by the program
            continue
    return used, entries
