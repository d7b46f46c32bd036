"""The spawner's main loop, and one cell from its first process to its report."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import struct
import sys
from functools import partial
from typing import NoReturn

from . import artifacts, changes, refusal_counts, reported_calls, session, tree
from .confine import landlock_abi
from .kernel import (
    CLONE_ALL_NEW,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    StepError,
    clone,
    prctl,
    reason,
)
from .messages import (
    CELL,
    MESSAGE_BYTES_MAX,
    NAMESPACED_CELL,
    CellDescription,
    Description,
    FromSupervisor,
    Layers,
    RunDescription,
    RunReport,
    SetUp,
    send,
)
from .population import Population
from .proc import score
from .refusal_counts import INSTANCES_MAX, WATCHES_MAX
from .staging import leave_root, stage
from .supervisor import (
    PrewarmedProgram,
    Supervisor,
    measure,
    outcome,
    read_confinement,
)

COUNTS = {"instances": INSTANCES_MAX, "watches": WATCHES_MAX}
SIOCSIFADDR = 0x8916
RUN_FDS = 4  # the description, stdin, stdout, stderr


def supervise(control: socket.socket, namespaces: bool) -> None:
    """Receive the cell's description, set the cell up, receive its run, run it, report.

    Raises:
        StepError, OSError: the cell could not be set up or the program not be started.
    """
    if namespaces:
        # The spawner ends the cell by ending this process: the namespace dies with it. In tier B
        # this process must outlive the spawner to end the program; it sees the closed socket.
        prctl("pdeathsig", PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    message, fds, _, _ = socket.recv_fds(control, 64, 1)
    if message != b"make" or len(fds) != 1:
        return  # it was not needed
    cell: Description[CellDescription] = Description(fds[0])
    # All of the cell exists before its run is known: a pool holds such cells ready.
    handles, listeners = _make(cell)
    layers: Layers = {
        "landlock": max(landlock_abi(), 0),
        "copy_on_write": handles.copy_on_write,
        "room": handles.room,
    }
    send(control, {"ready": layers}, [listener.fileno() for listener in listeners])
    for listener in listeners:
        listener.close()
    if cell.data["session"]:
        session.serve(control, cell, handles)
        return
    message, fds, _, _ = socket.recv_fds(control, 64, RUN_FDS)
    held = None
    if message == b"hold":
        confine = partial(read_confinement, cell)
        held = PrewarmedProgram(
            Description(fds[0]), fds[1:], confine, reported_calls.of_cell(cell.data, handles)
        )
        send(control, {"held": held.resident_bytes()})
        held.attend(control)
        message, fds, _, _ = socket.recv_fds(control, 64, RUN_FDS)
    if message != b"run" or len(fds) != (1 if held else RUN_FDS):
        return  # the server is gone or has changed its mind
    _run(control, cell, handles, Description(fds[0]), held or fds[1:])


def _run(
    control: socket.socket,
    cell: Description[CellDescription],
    handles: tree.Handles,
    run: Description[RunDescription],
    by: PrewarmedProgram | list[int],
) -> None:
    """Run once: by the program that is held for it, or by one started with these descriptors."""
    if isinstance(by, PrewarmedProgram):
        if not by.is_alive():
            send(control, {"lost": "it ended while it waited"})
            return
        supervisor, stdio = by.release(control, run), by.stdio
        _guard_again(cell.data)
    else:
        tree.place_files(run)
        confinement, made = (
            read_confinement(cell, run.data),
            reported_calls.of_cell(cell.data, handles),
        )
        supervisor, stdio = Supervisor(control, run.data, confinement, by, made), by
    # Closed before any program of the run starts: one that could write there would choose what the
    # next step, or an interpreter that opens its source late, executes.
    if cell.data["namespaces"]:
        tree.make_read_only(cell.data["job"])
    # After our last write to the project and before the program's first: what differs afterwards
    # is the run's own work.
    before = changes.look_at_project(cell.data, handles)
    if isinstance(by, PrewarmedProgram):
        by.go(run)
    phase, status = supervisor.run_steps()
    for fd in stdio:
        os.close(fd)  # when the program's copies are closed too, the server sees end of file
    # Before the listing: a process left alive could change a file after it was reported.
    supervisor.end_all()
    changed = changes.list_changes(cell.data, handles, before)
    report: RunReport = {
        **outcome(phase, status),
        **measure(supervisor, changed),
        "leaves_open": supervisor.is_still,
        "scratch_full": tree.is_full(handles),
    }
    artifacts.hand_over(control, cell.data, run.data)
    given = changes.hand_over_upper(cell.data, handles)
    send(control, {"exit": report, "upper": bool(given)}, given)
    if cell.data["namespaces"]:
        control.recv(64)  # until the server ends the cell: its teardown must not delay the answer


def _guard_again(cell: CellDescription) -> None:
    """Mask the secrets of a directly bound project again.

    If a host program replaced a file by renaming, the mount over the old file is gone with it.
    """
    if cell["project"]["mode"] != "cow":
        tree.hide("", cell["project"], tree.mount_points())


def _make(cell: Description[CellDescription]) -> tuple[tree.Handles, list[socket.socket]]:
    """Make the cell's file tree, and sockets that listen inside it for the server to serve."""
    if not cell.data["namespaces"]:
        prctl("dumpable", PR_SET_DUMPABLE, 1)  # else we could not open our /proc/self
        score.open()
        prctl("dumpable", PR_SET_DUMPABLE, 0)
        prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)
        return tree.Handles(), []
    # First: a process whose ids are not mapped cannot create files in the file systems that are
    # mounted next (EOVERFLOW).
    _become_user(cell.data)
    socket.sethostname(cell.data["hostname"])
    # Before the sockets: 127.0.0.1 cannot be bound while its interface is down. The sockets exist
    # before any program does, so that none can take their ports.
    _loopback_up()
    listeners = [socket.create_server(("127.0.0.1", port)) for port in cell.data["listen"]]
    names = refusal_counts.serve_names() if cell.data.get("names") else None
    handles = tree.build(cell)
    handles.names = names
    return handles, listeners


def _become_user(cell: CellDescription) -> None:
    """Map the one uid and gid of this process into its new user namespace."""
    prctl("dumpable", PR_SET_DUMPABLE, 1)  # else we could not write to our /proc/self
    # In this order: without privileges the kernel takes a gid_map only once setgroups is denied.
    texts = {
        "setgroups": "deny",
        "uid_map": f"{cell['uid']} {cell['outer_uid']} 1",
        "gid_map": f"{cell['gid']} {cell['outer_gid']} 1",
    }
    for name, text in texts.items():
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError as error:
            raise StepError(f"write {name}: {error.strerror}") from error
    score.open()
    for name, most in COUNTS.items():
        with contextlib.suppress(OSError), open(f"/proc/sys/user/max_inotify_{name}", "w") as file:
            file.write(str(most))
    # Blocks ptrace and /proc/1/mem: without Yama, having the same uid would be enough.
    prctl("dumpable", PR_SET_DUMPABLE, 0)


def _loopback_up() -> None:
    """Bring up 127.0.0.1 of the cell's own, empty network: programs may talk to themselves.

    glibc considers an address family unusable if netlink lists only 127.0.0.1 or ::1 for it (its
    `check_pf.c`), and then resolves not even these (AI_ADDRCONFIG). So each gets another address.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        up_and_running = 0x1 | 0x40
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", up_and_running))  # SIOCSIFFLAGS
        another = struct.pack("16sHH4s8x", b"lo:2", socket.AF_INET, 0, bytes((127, 0, 0, 2)))
        fcntl.ioctl(probe, SIOCSIFADDR, another)
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        another = socket.inet_pton(socket.AF_INET6, "fe80::1")
        fcntl.ioctl(probe, SIOCSIFADDR, another + struct.pack("=Ii", 128, 1))  # lo is always 1


def serve(fd: int) -> None:
    """Answer the server until it closes its end; every cell ends with this process."""
    requests = socket.socket(fileno=fd)
    try:
        answer = _set_up(json.loads(requests.recv(MESSAGE_BYTES_MAX)))
    except Exception as error:  # of whatever kind: the server waits for an answer
        send(requests, {"error": reason(error)})
        return
    send(requests, answer)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps cells
    sys.meta_path.clear()  # programs can write a cell's files: we must not import any of them
    gc.collect()
    gc.freeze()  # a child should not copy pages just because it collects garbage
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 1)
        if message not in (CELL, NAMESPACED_CELL) or len(fds) != 1:
            return
        _start_cell(requests, message == NAMESPACED_CELL, *fds)


def _set_up(setup: SetUp) -> FromSupervisor:
    staged: dict[str, str] = {}
    refused: dict[str, str] = {}
    paths, identity = setup
    if identity:
        uid, gid = identity
        if paths:
            # As root, which `leave_root` gives up for good.
            staged, refused = stage(paths, uid, gid)
        leave_root(uid, gid)
    prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
    prctl("dumpable", PR_SET_DUMPABLE, 0)
    return {"staged": staged, "refused": refused, "uid": os.geteuid(), "gid": os.getegid()}


def _start_cell(requests: socket.socket, namespaces: bool, control_fd: int) -> None:
    with socket.socket(fileno=control_fd) as control:
        try:
            pid, pidfd = clone(CLONE_ALL_NEW if namespaces else 0)
        except (StepError, MemoryError) as error:
            send(control, {"unmade": reason(error)})
            return
        if pid == 0:
            _be_cell(requests, control, namespaces)
        try:
            send(control, {"pid": pid}, [pidfd])
        except OSError as error:  # more descriptors are in flight than this user may have
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            send(control, {"unmade": reason(error)})
        finally:
            os.close(pidfd)


def _be_cell(requests: socket.socket, control: socket.socket, namespaces: bool) -> NoReturn:
    """Run the cell in the new process: never return into the spawner's loop."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.close()
        supervise(control, namespaces)
    except BaseException as error:  # without a reason it would look like a kill
        if not namespaces:  # then no process ends with this one
            with contextlib.suppress(StepError):
                Population().end_all()
        send(control, {"error": reason(error)})
    finally:
        os._exit(0)
