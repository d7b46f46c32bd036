"""The spawner's main loop: set up once, then fork a cell for every request."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from typing import NoReturn

from .cell import supervise
from .kernel import (
    CLONE_ALL_NEW,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    StepError,
    clone,
    prctl,
    reason,
)
from .messages import SetUp, SetUpAnswer
from .population import Population
from .staging import leave_root, stage
from .wire import CELL, MESSAGE_BYTES_MAX, NAMESPACED_CELL, send


def serve(fd: int) -> None:
    """Answer the server until it closes its end; with this process every cell ends."""
    requests = socket.socket(fileno=fd)
    try:
        answer = _set_up(json.loads(requests.recv(MESSAGE_BYTES_MAX)))
    except Exception as error:  # whatever it is, the server waits for an answer
        send(requests, {"error": reason(error)})
        return
    send(requests, answer)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps cells
    sys.meta_path.clear()  # a cell's files are its programs': nothing of them becomes our code
    gc.collect()
    gc.freeze()  # a child should not copy pages only to look for garbage in them
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 1)
        if message not in (CELL, NAMESPACED_CELL) or len(fds) != 1:
            return
        _start_cell(requests, message == NAMESPACED_CELL, *fds)


def _set_up(setup: SetUp) -> SetUpAnswer:
    staged: dict[str, str] = {}
    refused: dict[str, str] = {}
    if setup["leave_root"]:
        uid, gid = setup["leave_root"]
        if setup["stage"]:
            staged, refused = stage(setup["stage"], uid, gid)
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
        except OSError as error:  # more descriptors are on their way than this user may have
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            send(control, {"unmade": reason(error)})
        finally:
            os.close(pidfd)


def _be_cell(requests: socket.socket, control: socket.socket, namespaces: bool) -> NoReturn:
    """In the new process: never return into the spawner's loop."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.close()
        supervise(control, namespaces)
    except BaseException as error:  # an end without a reason would look like a kill
        if not namespaces:  # none ends with this process
            with contextlib.suppress(StepError):
                Population().end_all()
        send(control, {"error": reason(error)})
    finally:
        os._exit(0)
