"""Control of a server by other processes of the same user: list its programs and stop them.

A socket next to the instance's lock, in a folder that only its user may enter, takes JSON lines:
{"do": "list"}, {"do": "pools"} or {"do": "stop", "run": number}. The answer is one JSON line.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import trio

if TYPE_CHECKING:
    from executor.run.progress import ListedRun
    from executor.run.runner import Runner

LINE_BYTES_MAX = 4096
ANSWER_BYTES_MAX = 1 << 20
ANSWER_S_MAX = 5.0


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """An active program."""

    instance: str  # the server
    number: int
    label: str
    profile: str
    wall_s: float
    tier: str = ""
    output_bytes: int = 0
    peak_memory_bytes: int | None = None
    wall_s_max: float | None = None
    output_bytes_max: int | None = None
    memory_bytes_max: int | None = None
    place: str = ""  # the other machine, if any

    @property
    def id(self) -> str:
        """Return the ID shown to users."""
        return f"{self.instance}/{self.number}"


@dataclass(frozen=True, slots=True)
class PrewarmReport:
    """Prewarmed members of one server for one kind of run: number, memory, use.

    Attributes:
        instance: the server's ID; "" within the server itself.
        hits: runs that found an idle member.
        misses: runs that found none.
        trouble: why the last member could not be made.
    """

    instance: str
    label: str
    idle: int
    bytes: int
    hits: int
    misses: int
    trouble: str = ""


Desk = tuple["Runner", Callable[[], Iterable[PrewarmReport]]]
"""The data that a server reports: its runs, and its prewarmed members."""
T = TypeVar("T", RunningProgram, PrewarmReport)


async def serve(
    path: Path, desk: Desk, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Answer until cancelled; started once it can be asked."""
    with _reachable(path) as name, trio.socket.socket(socket.AF_UNIX) as listener:
        await listener.bind(name)
        os.chmod(path, 0o600)
        listener.listen()
        task_status.started()
        async with trio.open_nursery() as nursery:
            while True:
                client, _ = await listener.accept()
                nursery.start_soon(_answer, trio.SocketStream(client), desk)


async def list_running(instances: Path) -> list[RunningProgram]:
    """List the active programs of the user's servers, skipping servers that don't answer."""
    found = await _all_told(instances, "list", "running", RunningProgram)
    return sorted(found, key=lambda running: (running.instance, running.number))


async def list_prewarmed(instances: Path) -> list[PrewarmReport]:
    """List the prewarmed members of the user's servers, by server, the kind used last first."""
    found = await _all_told(instances, "pools", "pools", PrewarmReport)
    return sorted(found, key=lambda kept: kept.instance)


async def _all_told(instances: Path, question: str, answered: str, row: type[T]) -> list[T]:
    found: list[T] = []

    async def ask(path: Path) -> None:
        # A server of an older version knows fewer requests.
        with contextlib.suppress(OSError, ValueError, KeyError, trio.TooSlowError):
            answer = await _ask(path, {"do": question})
            found.extend(_read_known(row, path.stem, entry) for entry in answer[answered])

    async with trio.open_nursery() as nursery:
        for path in await trio.to_thread.run_sync(lambda: sorted(instances.glob("*.sock"))):
            nursery.start_soon(ask, path)
    return found


async def stop(instances: Path, identity: str) -> bool:
    """Stop a program; return whether one with that ID was active."""
    instance, _, number = identity.rpartition("/")
    path = instances / f"{instance}.sock"
    if not number.isdigit() or path.parent != instances:
        return False
    try:
        return bool((await _ask(path, {"do": "stop", "run": int(number)}))["stopped"])
    except (OSError, ValueError, trio.TooSlowError):
        return False


async def _answer(client: trio.SocketStream, desk: Desk) -> None:
    async with client:
        with contextlib.suppress(trio.BrokenResourceError), trio.move_on_after(ANSWER_S_MAX):
            answer = await _carry_out(await _line(client, LINE_BYTES_MAX), desk)
            await client.send_all(json.dumps(answer).encode() + b"\n")


async def _carry_out(line: bytes, desk: Desk) -> dict[str, Any]:
    try:
        request = json.loads(line)
        wanted, (runner, pools) = request["do"], desk
        if wanted == "list":
            running = runner.running
            return {"running": [_entry(number, run) for number, run in running.items()]}
        if wanted == "pools":
            kept = map(asdict, pools())
            return {"pools": [{k: v for k, v in p.items() if k != "instance"} for p in kept]}
        if wanted == "stop":
            return {"stopped": await runner.stop(int(request["run"]))}
    except (ValueError, KeyError, TypeError):
        pass
    return {"error": 'ask {"do": "list"}, {"do": "pools"} or {"do": "stop", "run": number}'}


def _entry(number: int, run: ListedRun) -> dict[str, Any]:
    limits = run.limits
    return {
        "number": number,
        "label": run.label,
        "profile": run.profile,
        "wall_s": round(time.monotonic() - run.started_at, 3),
        "tier": run.isolation.tier,
        "output_bytes": run.output_bytes,
        "peak_memory_bytes": _peak_memory(run),
        "wall_s_max": limits and limits.wall_s,
        "output_bytes_max": limits and limits.output_bytes,
        "memory_bytes_max": limits and limits.memory_bytes,
        "place": run.place,
    }


def _peak_memory(run: ListedRun) -> int | None:
    try:
        return run.meter.consumption().peak_memory_bytes if run.meter else None
    except OSError:  # the run is just being removed
        return None


def _read_known(row: type[T], instance: str, entry: Mapping[str, Any]) -> T:
    """Build a row from a server's answer, without keys that only another version knows."""
    known = {field.name for field in fields(row)}
    return row(instance, **{k: v for k, v in entry.items() if k in known})


async def _ask(path: Path, request: dict[str, Any]) -> dict[str, Any]:
    with trio.fail_after(ANSWER_S_MAX), _reachable(path) as name:
        async with await trio.open_unix_socket(name) as stream:
            await stream.send_all(json.dumps(request).encode() + b"\n")
            answer = json.loads(await _line(stream, ANSWER_BYTES_MAX))
    if not isinstance(answer, dict):
        raise ValueError("not an answer")
    return answer


async def _line(stream: trio.SocketStream, bytes_max: int) -> bytes:
    data = b""
    while b"\n" not in data and len(data) <= bytes_max:
        chunk = await stream.receive_some()
        if not chunk:
            break
        data += chunk
    return data


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """Yield a short name for the socket: the kernel takes 107 bytes, and folders may be deep."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
