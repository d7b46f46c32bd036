"""A cell for a session: any number of runs, one call after the other, until the server ends it.

The server sends `begin` before a call and `report` after it. In between, `run` starts a program,
and `interrupt` interrupts one; a run's end is reported when it happens, under the run's number.
Processes that a call leaves running stay, but are stopped until the next call: so every change to
the project, and every use of the machine, belongs to a call.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from dataclasses import dataclass

from . import artifacts, changes, reported_calls, tree
from .kernel import StepError
from .messages import (
    ArtifactsAsked,
    Begin,
    BoxDescription,
    Description,
    FromSupervisor,
    Report,
    RunDescription,
    send,
)
from .population import Population, has_children
from .supervisor import find_exceeded, launch, outcome, read_confinement

FDS_MAX = 16


def serve(control: socket.socket, cell: Description[BoxDescription], handles: tree.Handles) -> None:
    """Follow the server's orders until it sends `stop` or is gone; then end everything and report.

    Raises:
        StepError: a process could not be ended.
    """
    session = _Session(control, cell, handles)
    while session.go_on():
        pass
    session.end()


@dataclass(slots=True)
class _SessionRun:
    """A run that has not ended."""

    number: int
    run: Description[RunDescription]
    stdio: list[int]
    step: int = 0
    main: int = -1  # the process of its present step

    def close(self) -> None:
        """Leave its descriptors to the program alone, so that the server sees their end."""
        while self.stdio:
            os.close(self.stdio.pop())


class _Session:
    def __init__(
        self, control: socket.socket, cell: Description[BoxDescription], handles: tree.Handles
    ) -> None:
        self._control = control
        self._cell = cell
        self._handles = handles
        self._population = Population()
        self._population.own_kernel = cell.data.get("own_kernel", False)
        self._notices = reported_calls.of_cell(cell.data, handles)
        for fd in (control.fileno(), self._notices.fd):
            self._population.poller.register(fd, select.POLLIN)
        self._running: list[_SessionRun] = []
        self._runs = 0
        self._limits: RunDescription | None = None  # the first run's are the session's
        self._reason: str | None = None
        self._before: changes.Snapshot | None = {}
        self._cpu_before_s = 0.0

    def go_on(self) -> bool:
        """Do one turn: ended processes, then orders. Return False when the session is over."""
        ready = self._population.wait()
        ended = dict(self._population.reap())
        self._notices.settle(ended)
        if self._notices.fd in ready:
            self._notices.serve()
        for pid, status in ended.items():
            for running in self._running:
                if running.main == pid:
                    self._step_ended(running, status)
                    break
        if self._limits:
            self._reason = find_exceeded(self._population, self._limits)
        return not self._reason and (self._obey() if self._control.fileno() in ready else True)

    def end(self) -> None:
        """Kill all processes, and report."""
        cpu_s, _ = self._population.measure()
        self._population.end_all()
        given = changes.hand_over_upper(self._cell.data, self._handles)
        send(self._control, {"ended": self._report(cpu_s), "upper": bool(given)}, given)

    def _obey(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._control, 64, FDS_MAX)
        if not fds:
            return False
        if message == b"begin":
            self._begin(Description[Begin](fds[0]).data)
        elif message == b"report":
            self._report_call(Description[ArtifactsAsked](fds[0]).data)
        elif message == b"interrupt":
            self._interrupt(Description[dict[str, int]](fds[0]).data["run"])
        else:
            self._start(Description(fds[0]), fds[1:])
        os.close(fds[0])
        return True

    def _begin(self, told: Begin) -> None:
        """Show the project as it is now, and hide secrets that it got since the last call."""
        folders = self._folders()
        renewed = False
        if "project" in self._cell.data:
            guarded = self._cell.data["project"]
            guarded["secrets"] = told["secrets"]
            guarded["special"] = told["special"]
            view = self._handles.view
            if view is not None and told["renew"]:
                if self._cell.data["project"]["commit"]:
                    view.secrets = self._cell.data["project"]["secrets"]
                view.renew(keep=told["keep"])
                renewed = True
            covered = frozenset[str]() if renewed else tree.mount_points()
            covered |= view.stood_in_at() if view else frozenset()
            tree.hide("", self._cell.data["project"], covered)
        self._before = changes.look_at_project(self._cell.data, self._handles)
        self._population.peak_processes = 1
        self._notices.refused.begin(is_empty=not has_children())
        self._cpu_before_s, _ = self._population.measure()
        begun = {str(n): f for n, f in folders if renewed and os.path.isdir(f)}
        send(self._control, {"begun": begun})
        self._population.continue_all()

    def _folders(self) -> list[tuple[int, str]]:
        """Return where each run's process is, by the run's number."""
        found = []
        for running in self._running:
            with contextlib.suppress(OSError):
                found.append((running.number, os.readlink(f"/proc/{running.main}/cwd")))
        return found

    def _report_call(self, asked: ArtifactsAsked) -> None:
        """Report; from here on everything is stopped, so that no file changes during the look."""
        unstopped = self._stop()
        cpu_s, _ = self._population.measure()
        report: Report = {**self._report(cpu_s), "unstopped": unstopped}
        artifacts.hand_over(self._control, self._cell.data, asked)
        given = changes.hand_over_upper(self._cell.data, self._handles)
        send(self._control, {"report": report, "upper": bool(given)}, given)

    def _stop(self) -> str:
        """Stop all processes, or end them; return why they had to be ended, or nothing."""
        try:
            with tree.as_root():
                self._population.stop_all()
        except StepError as error:
            self._population.end_all()
            return str(error)
        return ""

    def _interrupt(self, number: int) -> None:
        """Interrupt as Ctrl-C at a terminal: the run's process and those still in its group."""
        for running in self._running:
            if running.number == number and running.main > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.main, signal.SIGINT)

    def _start(self, run: Description[RunDescription], stdio: list[int]) -> None:
        self._limits = self._limits or run.data
        self._runs += 1
        running = _SessionRun(self._runs, run, stdio)
        self._running.append(running)
        try:
            tree.place_files(run)
        except OSError as error:
            self._finish(running, {"error": str(error)})
        else:
            self._start_step(running)

    def _start_step(self, running: _SessionRun) -> None:
        run = running.run.data
        last = running.step == len(run["steps"]) - 1
        confinement = read_confinement(self._cell, run)
        try:
            step = run["steps"][running.step]
            launched = launch(step, run, confinement, running.stdio, self._notices, last=last)
            self._population.ask(launched.judge)
            running.main = launched.arrive()
        except (StepError, OSError) as error:
            self._finish(running, {"error": str(error)})
        else:
            if last:
                running.close()

    def _step_ended(self, running: _SessionRun, status: int) -> None:
        steps = running.run.data["steps"]
        _, phase, _ = steps[running.step]
        running.step += 1
        if status == 0 and running.step < len(steps):
            self._start_step(running)
        else:
            self._finish(running, {"end": outcome(phase, status)})

    def _finish(self, running: _SessionRun, end: FromSupervisor) -> None:
        self._running.remove(running)
        running.close()
        tree.remove_files(running.run)
        send(self._control, {**end, "run": running.number})

    def _report(self, cpu_s: float) -> Report:
        """Report the call's changes to the project, and the resources it used."""
        changed = changes.list_changes(self._cell.data, self._handles, self._before)
        return {
            "reason": self._reason,
            "cpu_s": max(0.0, cpu_s - self._cpu_before_s),
            "peak_memory_bytes": self._population.peak_memory_bytes,
            "peak_processes": self._population.peak_processes,
            "scratch_full": tree.is_full(self._handles),
            "changed": changed.listed,
            "changed_omitted": changed.omitted,
            "refused": self._notices.refused.counts,
            "refused_omitted": self._notices.refused.omitted,
        }
