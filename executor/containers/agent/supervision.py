"""A box made of the whole container: the server's orders, and the spawner's supervisor for them."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import tarfile
from collections.abc import Sequence
from typing import cast

from executor.spawner import artifacts, changes, reported_calls, session, tree
from executor.spawner.cell import RUN_FDS
from executor.spawner.confine import Confinement
from executor.spawner.kernel import StepError, open_absolute, open_beneath
from executor.spawner.messages import (
    BoxDescription,
    Description,
    RunDescription,
    RunReport,
    send,
)
from executor.spawner.supervisor import Supervisor, measure, outcome
from executor.spawner.view import FOLDER

from .messages import AgentOrder, unpack

NO_CHANGE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


Opened = tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, socket.socket]]]
"""The agent's ends of an order's descriptors: those that the program reads and writes, by the
numbers of their channels; and listeners by port."""


def carry_out(content: bytes, control: socket.socket) -> Opened:
    """Pass an order on, its descriptors being made here.

    Raises:
        OSError: the supervisor is gone, or there are no descriptors left.
    """
    said, blob = unpack(content)
    order = cast("AgentOrder", said)  # the server is trusted
    opened: Opened = ([], [], [])
    if order["order"] == "stop":
        control.send(b"stop")
        return opened
    read, written, listeners = opened
    size: int = order["size"]
    fds = [_in_memory(blob[:size])]
    rest = blob[size:]
    for number, kind in order["channels"]:
        if kind == "read":
            reader, writer = os.pipe2(os.O_CLOEXEC)
            read.append((number, writer))
            fds.append(reader)
        elif kind == "written":
            reader, writer = os.pipe2(os.O_CLOEXEC)
            written.append((number, reader))
            fds.append(writer)
        elif isinstance(kind, int):
            fds.append(_in_memory(rest[:kind]) if kind else _nothing())
            rest = rest[kind:]
    for port in order.get("listen", ()):
        listeners.append((port, _listener(port)))
    socket.send_fds(control, [order["order"].encode()], fds)
    for fd in fds:
        os.close(fd)
    return opened


def _in_memory(content: bytes) -> int:
    fd = os.memfd_create("ctxmode", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, NO_CHANGE)  # whoever may open it by /proc
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _listener(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    return listener


# What programs are not even to read of the image: what a cell has not, either.
HIDDEN = frozenset({"boot", "etc", "media", "mnt", "root", "run", "srv", "sys", "var"})


def supervise(control: socket.socket, cell: Description[BoxDescription], files: int = -1) -> None:
    """Wait for a run, run it, report; a session's box serves many runs.

    `files` is an archive of the project, if none is mounted.

    Raises:
        StepError, OSError: the program could not be started or ended.
    """
    os.umask(0o022)
    given = cell.data
    if files >= 0:
        _unpack(files, given["project"]["target"])
        os.close(files)
    given["access"] = [*_readable(given["etc"]), *given["access"]]
    send(control, {"ready": {}})
    scratch = [os.open(path, FOLDER) for path in given["scratch_folders"]]
    if given["session"]:
        session.serve(control, cell, tree.Handles(scratch[0]))
        return
    message, fds, _, _ = socket.recv_fds(control, 64, RUN_FDS)
    if message != b"run" or len(fds) != RUN_FDS:
        return  # the server is gone or has changed its mind
    run: Description[RunDescription] = Description(fds[0])
    tree.place_files(run)
    before = changes.look_at_project(given, tree.Handles())
    confinement = Confinement(
        given["access"],
        False,
        run.data["rlimits"],
        cell.blob(given["seccomp"]),
        cell.blob(given["notices"]),
        cell.blob(given["heavy_notices"]),
    )
    watched = reported_calls.of_cell(given, tree.Handles())
    supervisor = Supervisor(control, run.data, confinement, fds[1:], watched)
    supervisor.population.own_kernel = given["own_kernel"]
    phase, status = supervisor.run_steps()
    for fd in fds[1:]:
        os.close(fd)  # when the program's copies are gone too, end of file is seen
    supervisor.population.end_all()
    changed = changes.list_changes(given, tree.Handles(), before)
    report: RunReport = {
        **outcome(phase, status),
        **measure(supervisor, changed),
        "scratch_full": any(map(tree.has_no_room, scratch)),
    }
    artifacts.hand_over(control, given, run.data)
    if given["return_changes"]:
        _hand_over(control, given["project"]["target"], changed.listed)
    send(control, {"exit": report})


def _readable(etc: list[str]) -> list[tuple[str, str]]:
    """Landlock's grants of the image: programs, libraries, and some of /etc."""
    names = sorted(set(os.listdir("/")) - HIDDEN)
    return [*((f"/{name}", "r") for name in names), *((f"/etc/{name}", "r") for name in etc)]


def _unpack(source: int, folder: str) -> None:
    """Put an archive that the server made into `folder`.

    Raises:
        OSError: there is no room for it.
    """
    with open(os.dup(source), "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for member in tar:
            tar.extract(member, folder, set_attrs=True, numeric_owner=False)


def _hand_over(
    control: socket.socket, folder: str, changed: Sequence[tuple[str, str, object]]
) -> None:
    """Pack and send the files at the changed paths. No process is alive to write to them."""
    top = open_absolute(folder, FOLDER)
    try:
        paths = (path.rstrip("/") for path, _, _ in changed)
        fd = artifacts.pack(top, (path for path in paths if _is_plain(top, path)))
    finally:
        os.close(top)
    send(control, {"changes": len(changed)}, [fd])
    os.close(fd)


def _is_plain(top: int, path: str) -> bool:
    """Return whether a file, a folder or a link is there."""
    try:
        entry = open_beneath(top, path, artifacts.ITSELF)
    except StepError:
        return False
    try:
        mode = os.fstat(entry).st_mode
    finally:
        os.close(entry)
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
