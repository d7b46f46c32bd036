"""The container's first process: says hello, then supervises or looks around as it is told.

As process 1 of its namespace it gets no signal that it has not asked for, however sent, and it is
closed to ptrace and /proc: nothing in the container can end it, read it or speak in its place. When
it ends the kernel ends all the rest. gVisor grants process 1 none of that. There it starts as root
and works as the programs' user, who can't signal a process whose real user is root.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

from executor.spawner.confine import landlock_abi
from executor.spawner.kernel import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, prctl, reason
from executor.spawner.oom_score import score
from executor.spawner.wire import Description, send

from .discovery import discover
from .exposure import list_exposed
from .frames import MESSAGE, PROTOCOL, frame, pack
from .messages import FromAgent, Hello
from .multiplexer import SERVER_OUT, Multiplexer
from .supervision import supervise

FAREWELL_S_MAX = 10.0


def main() -> None:
    """Serve the one server that is attached; end with it."""
    if len(sys.argv) > 1:
        _work_as(*map(int, sys.argv[1:]))
    score.open()
    prctl("dumpable", PR_SET_DUMPABLE, 0)
    prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    hello: Hello = {
        "protocol": PROTOCOL,
        "landlock": max(landlock_abi(), 0),
        "pid": os.getpid(),
        "uid": os.geteuid(),
        "exposed": list_exposed(),
    }
    os.write(SERVER_OUT, frame(MESSAGE, 0, pack({"hello": hello})))
    moving = threading.Thread(target=Multiplexer(ours).serve, daemon=True)
    moving.start()
    try:
        _obey(theirs)
    except Exception as error:  # an end without a reason would look like a kill
        send(theirs, {"error": reason(error)})
    finally:
        theirs.close()
        moving.join(FAREWELL_S_MAX)
        os._exit(0)


def _work_as(user: int, group: int) -> None:
    """Own nothing and do nothing as root, but stay able to be it, and so closed to the user."""
    os.setgroups([group])
    os.setresgid(group, group, group)
    os.seteuid(user)


def _obey(control: socket.socket) -> None:
    """One order decides what this container is for."""
    order, fds, _, _ = socket.recv_fds(control, 64, 2)
    if order == b"discover":
        found: FromAgent = {"discovered": discover()}
        send(control, found)
    elif order == b"cell" and fds:
        supervise(control, Description(fds[0]), *fds[1:])
