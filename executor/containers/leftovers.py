"""What dead servers left on an engine and on this host, by their labels and locks."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from pathlib import Path

import trio

from base.locks import is_held
from executor.containers import host
from executor.containers.engine import DockerEngine, EngineError

INSTANCE, INSTANCES, MACHINE = "ctxmode.instance", "ctxmode.instances", "ctxmode.machine"
PROJECT = "ctxmode.config.project"
SWEEP_S_MAX = 10.0


def labels(instance: str, instances: Path, project: Path) -> dict[str, str]:
    """What everything bears that this server makes.

    The folder of the locks and the machine are told too: an engine may serve many.
    """
    return {
        INSTANCE: instance,
        INSTANCES: str(instances),
        MACHINE: machine(),
        PROJECT: str(project),
    }


def machine() -> str:
    """A name for this machine that no other has, and that tells nothing of it."""
    try:
        identity = Path("/etc/machine-id").read_text().strip()
    except OSError:
        identity = ""
    return hashlib.sha256(f"{identity} {socket.gethostname()}".encode()).hexdigest()[:16]


def is_alive(instance: str, instances: Path) -> bool:
    """Whether a server of that id holds its lock; one whose lock is gone has ended in order."""
    try:
        return is_held(instances / f"{instance}.lock")
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not ours to judge


async def sweep(engine: DockerEngine, instances: Path) -> list[str]:
    """Remove what dead servers of this folder of locks left; the ids of the containers.

    Nothing without our label is touched, and nothing of a living server. A container that never
    came to start can't be removed by some engines: after `SWEEP_S_MAX` the rest is left to the
    next start.

    Raises:
        EngineError: the engine does not answer.
    """
    filters = {"label": [f"{INSTANCES}={instances}", f"{MACHINE}={machine()}"]}
    removed: list[str] = []

    async def remove(container: str) -> None:
        with contextlib.suppress(EngineError):
            await engine.call("remove_container", container, v=True, force=True)
            removed.append(container)

    found = await engine.call("containers", all=True, filters=filters)
    with trio.move_on_after(SWEEP_S_MAX):
        async with trio.open_nursery() as nursery:
            for container in found:
                if not is_alive(container["Labels"][INSTANCE], instances):
                    nursery.start_soon(remove, container["Id"])
    volumes = (await engine.call("volumes", filters=filters)).get("Volumes") or ()
    for volume in volumes:
        if not is_alive(volume["Labels"][INSTANCE], instances):
            with contextlib.suppress(EngineError):
                await engine.call("remove_volume", volume["Name"])
    return removed


def sweep_mounts(instances: Path) -> None:
    """Take away the binds that dead servers of this folder of locks left on this host."""
    for base in host.MOUNTS.glob(f"{host.PREFIX}*"):
        owner = base / "owner"
        with contextlib.suppress(OSError):
            ours = owner.read_text() == str(instances)
            if ours and not is_alive(base.name.removeprefix(host.PREFIX), instances):
                host.take_away(base)
