"""The verbs `ps list`, `ps top` and `ps stop`: list, watch or stop running programs."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import trio
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ctxmode import launch
from ctxmode.errors import ContextModeError, UsageError, unknown_id
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.highlight import one_line, size
from ctxmode.render.terminal import console
from ctxmode.shared_instance.processes import end_instances
from executor.instance import control

REFRESH_S = 1.0
ROWS_WITH_KEYS = 9

Stopped: TypeAlias = Annotated[str | None, Arg("stop this program", "ID")]


def list_programs(asker: Asker, *, stop: Stopped = None) -> Answer:
    """List running programs and their limits."""
    if stop is not None:
        return stop_program(asker, stop)
    running = launch.run_in_trio(partial(control.list_running, _find_instances(asker)))
    data = {"running": [{"id": one.id, **asdict(one)} for one in running]}
    return Answer(data, show=lambda: console().print(screen(running)))


def watch_programs(
    asker: Asker,
    *,
    once: Annotated[bool, Arg("show once and exit")] = False,
    stop: Stopped = None,
) -> Answer:
    """Watch running programs, and stop them."""
    if stop is None and asker.wants_data and not once:
        raise UsageError("--json needs --once", "Use: context-mode ps --json")
    if stop is not None or once or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return list_programs(asker, stop=stop)
    launch.run_in_trio(partial(_watch, _find_instances(asker), console()))
    return Answer({})


def stop_program(
    asker: Asker,
    identity: Annotated[str, Arg("a running program's ID, or a part of it", "ID")] = "",
    *,
    instance: Annotated[bool, Arg("end the shared instance, after its active runs")] = False,
) -> Answer:
    """Stop a running program. Raise UsageError if no program matches, or several do, and
    ContextModeError if it has already ended."""
    if instance == bool(identity):
        raise UsageError(
            "name a program or --instance", "Use: context-mode ps stop ID, or --instance."
        )
    if instance:
        ended = end_instances(asker.config.state_dir)
        text = f"ended the shared instance, process {', '.join(map(str, ended))}"
        return Answer({"ended": ended}, text if ended else "no shared instance runs")
    stopped = launch.run_in_trio(partial(_stop, _find_instances(asker), identity))
    text = f"stopped {stopped.id} ({one_line(stopped.label)})"
    return Answer({"id": stopped.id, "label": stopped.label}, text)


OPERATIONS: dict[str, Operation] = {
    "list": list_programs,
    "top": watch_programs,
    "stop": stop_program,
}


def _find_instances(asker: Asker) -> Path:
    return asker.config.state_dir / "instances"


async def _stop(instances: Path, identity: str) -> control.RunningProgram:
    running = await control.list_running(instances)
    exact = [one for one in running if one.id == identity]
    found = exact or [one for one in running if identity and identity in one.id]
    if len(found) != 1:
        matches = (one.id for one in found)
        raise unknown_id("running program", identity, matches, is_empty=not running)
    if not await control.stop(instances, found[0].id):
        raise ContextModeError(
            f"{found[0].id} has already ended", "List running programs: context-mode ps"
        )
    return found[0]


def screen(running: Sequence[control.RunningProgram]) -> Table | str:
    """Return a table of running programs with their use and limits."""
    if not running:
        return "nothing runs now"
    table = Table(box=None, pad_edge=False, expand=True)
    is_elsewhere = any(one.place for one in running)
    titles = ("", "id", "time, s", "memory", "output", "profile", "tier")
    for title in (*titles, *(("on",) if is_elsewhere else ())):
        table.add_column(title, no_wrap=True)
    table.add_column("program", overflow="ellipsis", no_wrap=True, ratio=1)
    for number, one in enumerate(running, start=1):
        table.add_row(
            str(number) if number <= ROWS_WITH_KEYS else "",
            one.id,
            f"{one.wall_s:.0f}" + (f" / {one.wall_s_max:.0f}" if one.wall_s_max else ""),
            _describe_use(one.peak_memory_bytes, one.memory_bytes_max),
            _describe_use(one.output_bytes, one.output_bytes_max),
            one.profile,
            one.tier,
            *((one_line(one.place or "this machine"),) if is_elsewhere else ()),
            Text(one_line(one.label)),
        )
    return table


def _describe_use(amount: int | None, most: int | None) -> str:
    used = "?" if amount is None else size(amount)
    return f"{used} / {size(most)}" if most else used


async def _watch(instances: Path, out: Console) -> None:
    shown: list[control.RunningProgram] = []

    async def refresh() -> None:
        with Live(console=out, screen=True, auto_refresh=False) as live:
            while True:
                shown[:] = await control.list_running(instances)
                live.update(screen(shown), refresh=True)
                await trio.sleep(REFRESH_S)

    with _keys() as keys:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(refresh)
            async with trio.lowlevel.FdStream(keys) as stream:
                async for pressed in stream:
                    if b"q" in pressed or b"\x03" in pressed:
                        break
                    for key in pressed.decode(errors="replace"):
                        if key.isdecimal() and 1 <= int(key) <= len(shown):
                            await control.stop(instances, shown[int(key) - 1].id)
            nursery.cancel_scope.cancel()


@contextlib.contextmanager
def _keys() -> Iterator[int]:
    """Open the terminal so that each key is read at once."""
    terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield terminal
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
