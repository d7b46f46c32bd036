"""The one place that starts untrusted programs: into a cell, captured, under every limit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import trio

from executor import artifacts, cgroup, network, outcome
from executor.capture import READ_BYTES, Capture
from executor.cells import Cell, Exit
from executor.description import RunSpec, anonymous_file, pack_cell, pack_run
from executor.errors import SandboxError
from executor.layers import for_run
from executor.model import Artifact, ChangedFile, Isolation, Limits, Result, Status, Usage
from executor.placement import Layout, Placement
from executor.profile import ANALYZE, Profile
from runtimes import Step

DRAIN_S_MAX = 0.2  # how long output may still come once the program has ended
STOP_S_MAX = 1.0  # how long the supervisor may take to end a run and report
BURIAL_S_MAX = 10.0
PIPE_BYTES = 1024 * 1024

OnOutput = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A program ready to be placed: all that the sandbox needs to know of it."""

    steps: tuple[Step, ...]
    cwd: str
    env: Mapping[str, str]
    limits: Limits
    files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    stdin: bytes | None = None
    artifacts: tuple[str, ...] = ()
    profile: Profile = ANALYZE
    label: str = ""  # what it is called while it runs


@dataclass(frozen=True, slots=True)
class Completed:
    """A result and the files that hold its whole streams (mode 0600, the caller's to delete).

    A spool of None means that the stream is whole in the result.
    """

    result: Result
    stdout_spool: Path | None = None
    stderr_spool: Path | None = None


class Runner:
    """Places jobs. Its clean-up runs behind the answers, in `clean_up`."""

    def __init__(
        self,
        placement: Placement,
        hierarchy: cgroup.Hierarchy | None,
        spool_folder: Path,
        inline_bytes: int,
        concurrency: int,
    ) -> None:
        self.placement = placement
        self._hierarchy = hierarchy
        self._spools = spool_folder
        self._inline_bytes = inline_bytes
        self._slots = trio.CapacityLimiter(concurrency)
        self._last = 0  # the number of the latest run
        self.running: dict[int, _Run] = {}
        self._dead, self._to_bury = trio.open_memory_channel[_Remains](1 << 16)

    async def run(
        self,
        make_job: Callable[[Layout], Job],
        on_output: OnOutput | None = None,
        *,
        profile: Profile = ANALYZE,
    ) -> Completed:
        """Run one job, waiting for its turn. Cancelling ends everything that it started.

        Raises:
            RequestError: the profile can't be given for this project here.
            OSError: its output can't be spooled.
        """
        async with self._slots:
            self._last += 1
            number = self._last
            captures = {
                name: Capture(self._spools / f"{number}.{name}", self._inline_bytes)
                for name in ("stdout", "stderr")
            }
            try:
                layout = await trio.to_thread.run_sync(self.placement.layout, profile)
                run = self.running[number] = _Run(number, make_job(layout), captures, on_output)
                result = await self._run(run, layout)
            finally:
                self.running.pop(number, None)
                for capture in captures.values():
                    capture.close()
        return Completed(result, captures["stdout"].spool, captures["stderr"].spool)

    async def stop(self, number: int) -> bool:
        """End a run, whose result says so; whether there was one of that number."""
        run = self.running.get(number)
        if run is not None:
            await run.stop(Status.CANCELLED)
        return run is not None

    async def _run(
        self,
        run: _Run,
        layout: Layout,
    ) -> Result:
        folder = self._spools / f"{run.number}.artifacts"
        isolation = for_run(self.placement.isolation, run.job.profile)
        consumed = None
        try:
            async with self._cell(run, layout) as (cell, group):
                end = await run.through(cell, without_cgroup=group is None)
                consumed = group.consumption() if group else None
                if cell.handed_over:
                    run.artifacts = await trio.to_thread.run_sync(
                        artifacts.store, cell.handed_over, cell.take_fds(), folder
                    )
        except SandboxError as error:
            run.failure = str(error)
            return _result(run, isolation, Status.SANDBOX_ERROR, None, None)
        if end is None:
            status = outcome.status_of_lost(run.stopped, consumed)
        else:
            status = outcome.status_of(end, run.stopped, consumed)
        result = _result(run, isolation, status, end, consumed)
        return await trio.to_thread.run_sync(_committed, result, layout)

    @contextlib.asynccontextmanager
    async def _cell(
        self, run: _Run, layout: Layout
    ) -> AsyncIterator[tuple[Cell, cgroup.Group | None]]:
        """A ready cell in its control group; on the way out it is ended and handed to clean-up."""
        remains = _Remains(layout)
        job = run.job
        try:
            if self._hierarchy:
                remains.group = await trio.to_thread.run_sync(
                    cgroup.make_group, self._hierarchy, str(run.number), job.limits
                )
            spec = self.placement.cell(job.profile, job.limits, job.binds, layout)
            remains.cell = await self.placement.spawner.start_cell(
                pack_cell(spec), self.placement.tier
            )
            if remains.group:
                await trio.to_thread.run_sync(remains.group.add, remains.cell.pid)
            await remains.cell.ready()
            yield remains.cell, remains.group
        except OSError as error:
            raise SandboxError(f"control group: {error}") from error
        finally:
            if remains.cell:
                remains.cell.end()
            self._dead.send_nowait(remains)

    async def clean_up(self) -> None:
        """Take away what ended runs left on the host, for as long as the runner is in use."""
        async for remains in self._to_bury:
            with trio.CancelScope(shield=True), trio.move_on_after(BURIAL_S_MAX):
                await _bury(remains)

    def close(self) -> None:
        """No more runs; `clean_up` ends when it has caught up."""
        self._dead.close()


@dataclass(slots=True)
class _Remains:
    """What a run leaves on the host."""

    layout: Layout
    cell: Cell | None = None
    group: cgroup.Group | None = None


async def _bury(remains: _Remains) -> None:
    if remains.cell:
        await remains.cell.ended()
    while remains.group and not remains.group.remove():  # noqa: ASYNC110 - the kernel tells nobody
        await trio.sleep(0.01)
    if remains.layout.host_folder:
        await trio.to_thread.run_sync(remains.layout.remove)


class _Run:
    """One run in a ready cell: feed it, drain it, stop it at its limits."""

    def __init__(
        self,
        number: int,
        job: Job,
        captures: Mapping[str, Capture],
        on_output: OnOutput | None,
    ) -> None:
        self.number = number
        self.job = job
        self.captures = captures
        self.stopped: Status | None = None
        self.failure = ""
        self.artifacts: tuple[Artifact, ...] = ()
        self.gate = network.Gate(job.profile.network)
        self.wall_s = 0.0
        self.started_at = time.monotonic()
        self._on_output = on_output
        self._cell: Cell | None = None

    async def through(self, cell: Cell, *, without_cgroup: bool) -> Exit | None:
        """Until the program has ended and its output is collected.

        None if the program could not be started or its cell was lost: see `failure`.
        """
        self._cell = cell
        async with trio.open_nursery() as outside:
            self._open_network(cell.take_fds(), outside)
            readers = await self._start(cell, without_cgroup)
            self.started_at = time.monotonic()
            if self.stopped:  # while the cell was being made
                await cell.stop()
            async with trio.open_nursery() as nursery:
                for name, reader in readers.items():
                    nursery.start_soon(self._drain, name, reader)
                end = await self._end(cell)
                self.wall_s = time.monotonic() - self.started_at
                # Every process of the run is dead: what is still in the pipes comes at once.
                nursery.cancel_scope.deadline = trio.current_time() + DRAIN_S_MAX
            outside.cancel_scope.cancel()
        return end

    async def stop(self, reason: Status) -> None:
        """Have the program ended; the first reason stands."""
        self.stopped = self.stopped or reason
        if self._cell:
            await self._cell.stop()

    def _open_network(self, listeners: Sequence[int], outside: trio.Nursery) -> None:
        """Serve the sockets that listen inside the cell, in the order of the profile's ports."""
        for port, fd in zip(self.job.profile.network.listen, listeners, strict=True):
            listener = trio.socket.from_stdlib_socket(socket.socket(fileno=fd))
            if port == network.PROXY_PORT:
                outside.start_soon(network.serve, listener, self.gate)
            else:
                outside.start_soon(network.forward, listener, port, self.gate)

    async def _start(self, cell: Cell, without_cgroup: bool) -> dict[str, int]:
        """Hand the run over; the reading ends of its output pipes by name."""
        job = self.job
        spec = RunSpec(
            job.steps,
            job.env,
            job.cwd,
            job.limits,
            job.files,
            job.links,
            job.artifacts,
            without_cgroup,
        )
        stdin = _stdin(job.stdin)
        readers, writers = {}, []
        for name in self.captures:
            readers[name], writer = _pipe()
            writers.append(writer)
        try:
            await cell.run(pack_run(spec), (stdin, writers[0], writers[1]))
        except BaseException:
            for reader in readers.values():
                os.close(reader)
            raise
        finally:
            for fd in (stdin, *writers):
                os.close(fd)
        return readers

    async def _drain(self, name: str, reader: int) -> None:
        async with trio.lowlevel.FdStream(reader) as stream:
            try:
                while chunk := await stream.receive_some(READ_BYTES):
                    self._take(name, chunk)
                    if self._over_output_limit and not self.stopped:
                        await self.stop(Status.OUTPUT_LIMIT)
            except trio.Cancelled:
                # A busy server may be late, but what the program wrote is never lost.
                self._take_rest(name, reader)
                raise

    def _take(self, name: str, chunk: bytes) -> None:
        self.captures[name].feed(chunk)
        if self._on_output:
            self._on_output(name, chunk)

    def _take_rest(self, name: str, reader: int) -> None:
        """What is in the pipe at this moment, without waiting for more."""
        with contextlib.suppress(BlockingIOError):
            while not self._over_output_limit and (chunk := os.read(reader, READ_BYTES)):
                self._take(name, chunk)

    @property
    def _over_output_limit(self) -> bool:
        total = sum(capture.bytes_total for capture in self.captures.values())
        return total > self.job.limits.output_bytes

    async def _end(self, cell: Cell) -> Exit | None:
        """The run's end, brought about at its deadline."""
        try:
            with trio.move_on_after(self.job.limits.wall_s):
                return await cell.exit()
            await self.stop(Status.TIMED_OUT)
            with trio.move_on_after(STOP_S_MAX):
                return await cell.exit()
            self.failure = "the supervisor did not report in time and was killed"
        except SandboxError as error:
            self.failure = str(error)
        return None


def _stdin(content: bytes | None) -> int:
    if content is None:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return anonymous_file(content)


def _pipe() -> tuple[int, int]:
    """A pipe with room for bursts, as far as the user's allowance goes."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reader, writer


def _committed(result: Result, layout: Layout) -> Result:
    """The result, once what was done to a copy of the project is brought into the project."""
    if layout.work_copy is None:
        return result
    commit = layout.work_copy.commit()
    conflicts = ", ".join(commit.conflicts)
    left = f"not written, because they were changed meanwhile: {conflicts}" if conflicts else ""
    return replace(
        result,
        changed_files=commit.changed,
        undone_paths=commit.undone,
        message="; ".join(filter(None, (result.message, left))),
    )


def _result(
    run: _Run,
    isolation: Isolation,
    status: Status,
    end: Exit | None,
    consumed: cgroup.Consumption | None,
) -> Result:
    measured = end.peak_memory_bytes if end else None
    if consumed and consumed.peak_memory_bytes is not None:
        measured = consumed.peak_memory_bytes
    usage = Usage(
        wall_s=run.wall_s,
        cpu_s=end.cpu_s if end else 0.0,
        peak_memory_bytes=measured,
        peak_processes=end.peak_processes if end else None,
    )
    changed = tuple(ChangedFile(*change) for change in end.changed) if end else ()
    return Result(
        status=status,
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        stdout=run.captures["stdout"].stream(),
        stderr=run.captures["stderr"].stream(),
        usage=usage,
        isolation=isolation,
        artifacts=run.artifacts,
        changed_files=changed,
        connections=tuple(run.gate.connections),
        changed_files_omitted=end.changed_omitted if end else 0,
        undone_paths=tuple(end.undone) if end else (),
        phase=end.phase if end else "run",
        message=run.failure,
        profile=run.job.profile.name,
    )
