"""A session: one box that serves several calls, with the interpreters that stay alive in it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import trio

from executor import network
from executor.cells.placement import list_readable
from executor.engine.box import Box, Consumption, Exit, Meter, Order
from executor.engine.layers import with_room
from executor.engine.orders import pack_asked, pack_interrupted, pack_run, pipe
from executor.model import Limits, PackagesError, RequestError, Result, SandboxError, Status
from executor.project.commit_service import with_commit
from executor.request import CheckedRequest, Profile, ProjectAccess
from executor.run.execution import Execution, label, make_order
from executor.run.progress import RunRecord, status_of, watch_room
from executor.run.refusals.collecting import with_refusals
from executor.run.runner import LIVE_STOP_S_MAX, Runner, check_view
from executor.sessions.call import (
    FAREWELL_S_MAX,
    SessionDescriptors,
    SessionPackages,
    Turn,
    make_program,
)
from executor.sessions.view import SessionView
from executor.spawner.messages import End

CPU_S_MAX = 3600.0  # of all calls together, unless the first one sets it
# The descriptors of an interpreter's process, in their order.
DESCRIPTORS = ("stdin", "stdout", "stderr", "requests", "answers")
ENDINGS = {
    Status.TIMED_OUT: "a call ran into its deadline",
    Status.OUTPUT_LIMIT: "a call printed too much",
    Status.DISK_LIMIT: "a call wrote too much",
    Status.CANCELLED: "a call was stopped",
    Status.CPU_LIMIT: "its processor time is used up",
    Status.MEMORY_LIMIT: "it had no memory left",
}


class Session:
    """A session, made for its first call. `over` is why it serves no more, and empty until then."""

    def __init__(
        self,
        runner: Runner,
        binds: tuple[str, ...],
        first: CheckedRequest,
        packages: SessionPackages | None,
    ) -> None:
        self.lock = trio.Lock()
        self.over = ""
        self.opened_at = self.used_at = trio.current_time()
        self.owner = first.request.owner
        self.profile = first.profile
        self.gate = network.ProxyGate(first.profile.network)
        self.scope = trio.CancelScope()  # of the part that serves it from outside
        self._runner = runner
        self._binds = binds
        self._language = first.language.name
        self._limits = first.limits
        if first.request.limits is None:
            self._limits = replace(first.limits, cpu_s=CPU_S_MAX)
        self._cell: Box | None = None
        self._group: Meter | None = None
        self._consumed: Consumption | None = None  # after the last call
        self._stack = contextlib.AsyncExitStack()
        self._channels: dict[str, SessionDescriptors] = {}
        self._ended: list[SessionDescriptors] = []  # to be closed once all their output is read
        self._known: set[str] = set()  # every interpreter that was ever started
        self._grants: object = None
        self._runs = 0
        self._calls = 0
        self._turn: Turn | None = None  # the active call, as far as it has run
        self._view = SessionView(runner, first.profile)
        self._packages = packages

    @property
    def losses(self) -> str:
        """Return what its next caller must repeat, apart from files that programs left here."""
        return "; name its packages again" if self._packages else ""

    def check(self, call: Execution) -> None:
        """Check that this call can be served here.

        Raises:
            RequestError: the call needs another box than the session has.
        """
        hint, asked = "Use another session name, or fresh: true.", call.checked
        if asked.profile != self.profile:
            own, given = self.profile.name, asked.profile.name
            raise RequestError(f"the session has profile {own}, the call has {given}", hint)
        if asked.request.limits is not None and _of_the_box(asked.limits) != _of_the_box(
            self._limits
        ):
            raise RequestError("the limits of a running session cannot be changed", hint)
        wanted = self._packages.wanted if self._packages else None
        if asked.packages is not None and asked.packages != wanted:
            own = self._packages.wanted.label if self._packages else "none"
            raise RequestError(f"a session's first call names its packages; these are {own}", hint)
        if not self._runner.placement.share(self._language, asked.language.name):
            own, given = self._language, asked.language.name
            raise RequestError(
                f"the session's container has {own}, and {given} is in another image", hint
            )
        channel = self._channels.get(call.interpreter)
        env = dict(asked.request.env)
        if channel and env and env != dict(channel.env):
            raise RequestError("the environment of a running interpreter cannot be changed", hint)

    async def is_outdated(self) -> bool:
        """Return whether it may see too much or too little of the project as it is now.

        An overlay and a copy are guarded again before each call. Landlock's grants stay as they
        were when a program started, and a container's mounts as they were when it started.
        """
        if self._runner.placement.can.copy_on_write or self._calls == 0 or self._view.is_copy:
            return False
        return bool(await trio.to_thread.run_sync(self._grant) != self._grants)

    async def have_packages(self) -> None:
        """Fetch the packages of the first call, before it. If that fails, the session is over.

        Raises:
            PackagesError: they cannot be fetched, or the fetch was not approved.
        """
        if self._packages is None or self.over:
            return
        try:
            await self._packages.have(self._stack)
        except BaseException:
            self.over = "its packages could not be fetched"
            raise

    async def call(
        self,
        call: Execution,
        progress: RunRecord,
        attend: Callable[[tuple[Session, list[int]]], None],
    ) -> Result:
        """Serve one call. Cancelling it ends the session.

        `attend` gets the box's listening sockets, once.

        Raises:
            PackagesError: its packages were changed on disk.
            OSError: the output cannot be spooled.
        """
        progress.label = label(call.checked)
        if self._calls:
            progress.session = "continued"
        progress.session = progress.session or "started"
        self._calls += 1
        try:
            if self._packages:
                await self._packages.verify(in_full=self._persists)
            if self._calls == 1:
                attend((self, await self._open()))
            result = await self._serve(call, progress)
        except SandboxError as error:
            progress.failure = str(error)
            self.over = "its sandbox was lost"
            result = progress.result(Status.SANDBOX_ERROR)
        except PackagesError:
            self.over = "its packages were changed on disk"
            raise
        except BaseException:
            self.over = "a call was cancelled"
            raise
        finally:
            self.used_at = trio.current_time()
            if self.over:
                await self.close()
        result = replace(result, packages=self._packages.word if self._packages else None)
        if self.over:
            return replace(result, session=f"ended: {self.over}{self.losses}")
        return result

    async def interrupt(self) -> bool:
        """Interrupt what runs here, as Ctrl-C does; return whether anything runs.

        Raises:
            SandboxError: the box is gone.
        """
        if self._turn is None or self._cell is None:
            return False
        await self._cell.order(b"interrupt", pack_interrupted(self._turn.run))
        return True

    async def close(self) -> None:
        """End everything in the box."""
        self.over = self.over or "it was closed"
        self.scope.cancel()
        with trio.CancelScope(shield=True):
            is_live = self.profile.project is ProjectAccess.LIVE
            with trio.move_on_after(LIVE_STOP_S_MAX if is_live else FAREWELL_S_MAX):
                await self._farewell()
            for channel in (*self._channels.values(), *self._ended):
                channel.close()
            self._channels.clear()
            await self._stack.aclose()
            if self._packages:
                await self._packages.drop_broken()

    async def _open(self) -> list[int]:
        placement = self._runner.placement
        await self._view.open()
        if not placement.can.copy_on_write and not self._view.is_copy:
            self._grants = await trio.to_thread.run_sync(self._grant)
        opened = self._runner.box(self._job(), self._view.layout, session=True)
        cell, self._group = await self._stack.enter_async_context(opened)
        self._cell = cell
        check_view(cell, self._view.layout, self._view.record)
        return cell.take_fds()

    def _job(self) -> Order:
        return Order(
            *((), "/", {}, self._limits),
            binds=self._binds,
            profile=self._profile_of_box(),
            language=self._language,
            shown=self._packages.shown if self._packages else (),
        )

    @property
    def _persists(self) -> bool:
        """Return whether changes here reach the project."""
        return self.profile.project in {ProjectAccess.COMMIT, ProjectAccess.LIVE}

    def _profile_of_box(self) -> Profile:
        if self._view.is_read_only:
            return replace(self.profile, project=ProjectAccess.READ_ONLY)
        return self.profile

    def _grant(self) -> object:
        """Return what may be read of the project, and which files that is exactly."""
        search = self._runner.placement.search
        if self._runner.placement.can.own_file_system:
            return search.identities()
        grants = list_readable(search)
        return [(grant, os.stat(grant[0]).st_ino) for grant in grants if os.path.exists(grant[0])]

    async def _serve(self, call: Execution, progress: RunRecord) -> Result:
        assert self._cell is not None
        cell, group = self._cell, self._group
        folders = await self._begin(cell, progress)
        # Between two calls everything is stopped: the last look is still valid.
        before = self._consumed or (group.consumption() if group else None)
        channel = await self._channel(cell, call, progress)
        turn = Turn(cell, channel, call.checked.limits, progress, self._forget)
        progress.limits = replace(
            call.checked.limits,
            memory_bytes=self._limits.memory_bytes,
            processes=self._limits.processes,
        )
        progress.started_at = time.monotonic()
        self._turn = turn
        program = make_program(call, self._view.layout, self._calls)
        if program and not program[0] and (folder := folders.get(str(channel.run))):
            program = (folder, *program[1:])  # it is still in the earlier view
        try:
            async with watch_room(self._view.layout, cell, progress):
                await turn.through(program)
        finally:
            self._turn = None
        progress.wall_s = time.monotonic() - progress.started_at
        end = await self._end(call, turn, progress)
        while self._ended:
            self._ended.pop().close()
        await progress.keep_artifacts(cell)
        self._consumed = group.consumption() if group else None
        consumed = self._consumed.since(before) if self._consumed and before else None
        status = status_of(end, progress.stopped, consumed)
        if progress.failure and not progress.stopped:
            status = Status.SANDBOX_ERROR
        if turn.ended is not None or turn.failure:
            self.over = ENDINGS.get(status, turn.failure or "its supervisor was lost")
        elif end is not None and end.unstopped:
            self.over = f"its processes could not be stopped between calls: {end.unstopped}"
        result = progress.result(status, end, consumed)
        if self.profile.project is ProjectAccess.LIVE:
            result = replace(result, persists=True)
        elif end is not None and self._view.record is not None:
            done = await self._view.commit(cell, label(call.checked))
            result = with_commit(result, done, stage=False)
        layout = self._view.layout
        job = replace(self._job(), cwd=layout.inside(call.checked.cwd))
        facts = self._runner.facts(self.profile, layout, job)
        return await with_refusals((result, end, consumed), facts)

    async def _begin(self, cell: Box, progress: RunRecord) -> Mapping[str, str]:
        """Wake the box up, with the view and the guard of the project as it is now.

        If the view had to be renewed, return the folders of interpreters by their numbers.

        Raises:
            SandboxError: the box is gone, or the view could not be renewed.
        """
        order, note = await self._view.begin()
        await cell.order(b"begin", order)
        while "begun" not in (message := await cell.message()):
            if "run" not in message:
                raise SandboxError(message.get("error", "the session's supervisor was killed"))
            self._forget(message["run"])  # it had ended when all was stopped
        progress.note = note or progress.note
        progress.isolation = with_room(progress.isolation, cell.layers, self.profile)
        self.gate.connections = progress.connections
        progress.cell = cell
        return dict(message["begun"])

    async def _end(self, call: Execution, turn: Turn, progress: RunRecord) -> Exit | None:
        """Return how the call ended, with its changes to the project and its use of the machine."""
        cwd = self._view.layout.inside(call.checked.cwd)
        asked = pack_asked(call.checked.request.artifacts, cwd, call.checked.limits.artifact_bytes)
        report = await turn.report(asked)
        progress.failure = turn.failure
        if report is None:
            return None
        fate: End = {"phase": "run", "exit_code": turn.answer, "signal": None}
        if turn.end is not None:
            fate = turn.end.get("end", fate)
            progress.failure = turn.end.get("error", "")
            if call.driver is not None:
                progress.session = "interpreter ended: the next call starts another, files are kept"
        end = Exit(**fate, **report)
        return replace(end, reason=end.reason or "asked") if turn.ended is not None else end

    async def _channel(self, cell: Box, call: Execution, progress: RunRecord) -> SessionDescriptors:
        """Return the interpreter for this call, or a separate run."""
        channel = self._channels.get(call.interpreter)
        if channel is not None:
            return channel
        if call.driver is not None and call.interpreter in self._known:
            progress.session = "continued, with a new interpreter"
        self._runs += 1
        layout = self._view.layout
        layout = replace(layout, job=f"{layout.job}/{self._runs}")
        equipped = self._packages.equip(call.candidate) if self._packages else call.candidate
        channel = await self._start(
            cell,
            call,
            make_order(call.checked, equipped, layout, is_driven=call.driver is not None),
        )
        if call.driver is None:
            self._ended.append(channel)
        else:
            self._known.add(call.interpreter)
            self._channels[call.interpreter] = channel
        return channel

    async def _start(self, cell: Box, call: Execution, job: Order) -> SessionDescriptors:
        names = ("stdout", "stderr", "answers") if call.driver else ("stdout", "stderr")
        ours, theirs = {}, {"stdin": os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)}
        for name in names:
            ours[name], theirs[name] = pipe(cell.owner)
        if call.driver:
            theirs["requests"], ours["requests"] = pipe(cell.owner)
        order = [name for name in DESCRIPTORS if name in theirs]
        without_cgroup = not (self._group and self._group.enforces)
        packed = pack_run(job, without_cgroup=without_cgroup)
        try:
            await cell.order(b"run", packed, [theirs[name] for name in order])
        except BaseException:
            for fd in ours.values():
                os.close(fd)
            raise
        finally:
            for fd in theirs.values():
                os.close(fd)
        streams = {name: trio.lowlevel.FdStream(fd) for name, fd in ours.items()}
        outputs = {name: streams.pop(name) for name in ("stdout", "stderr")}
        return SessionDescriptors(
            self._runs, outputs, env=dict(call.checked.request.env), **streams
        )

    def _forget(self, run: int) -> None:
        """Remove an interpreter that has ended."""
        for name, channel in list(self._channels.items()):
            if channel.run == run:
                del self._channels[name]
                self._ended.append(channel)

    async def _farewell(self) -> None:
        if self._cell is None:
            return
        await self._cell.stop()
        while "ended" not in (message := await self._cell.message()) and message:
            pass


def _of_the_box(limits: Limits) -> Limits:
    """Return the limits of all calls together: others may differ from call to call."""
    return replace(limits, wall_s=1, cpu_s=1, output_bytes=1, artifact_bytes=1)
