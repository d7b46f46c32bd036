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
from pathlib import Path

import runtimes
from executor.spawner.confine import landlock_abi, leave_root
from executor.spawner.kernel import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, prctl, reason
from executor.spawner.messages import Description, send
from executor.spawner.proc import score

from .messages import MESSAGE, PROTOCOL, FoundCandidate, FromAgent, Hello, frame, pack
from .multiplexer import SERVER_OUT, Multiplexer
from .supervision import supervise

FAREWELL_S_MAX = 10.0
STREAM = (0, 1, 2)


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
        "exposed": _list_exposed(),
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
    """Read one order, which decides the purpose of this container."""
    order, fds, _, _ = socket.recv_fds(control, 64, 2)
    if order == b"discover":
        found: FromAgent = {"discovered": _discover()}
        send(control, found)
    elif order == b"cell" and fds:
        supervise(control, Description(fds[0]), *fds[1:])


def _discover() -> dict[str, list[FoundCandidate]]:
    """Find the candidates of every language, as `executor.containers.toolchains` reads them."""
    search_path = os.environ.get("PATH", os.defpath).split(":")
    home = Path("/home/sandbox")
    found: dict[str, list[FoundCandidate]] = {}
    for row in runtimes.LANGUAGES:
        candidates, _ = runtimes.discover(row, search_path, None, home, dict(os.environ))
        found[row.name] = [
            {
                "toolchain": candidate.toolchain.name,
                "paths": dict(candidate.paths),
                "real_paths": dict(candidate.real_paths),
                "fingerprint": list(candidate.fingerprint),
                "env": dict(candidate.env),
            }
            for candidate in candidates
        ]
    return found


def _list_exposed() -> list[int]:
    """Return the standard descriptors that a process of the programs' user can open.

    That is tried out, as no version tells it.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            leave_root()
            os.write(writer, bytes(number for number in STREAM if _opens(number)))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as told:
        found = list(told.read())
    _, status = os.waitpid(child, 0)
    return found if status == 0 else list(STREAM)


def _opens(descriptor: int) -> bool:
    for mode in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(f"/proc/{os.getppid()}/fd/{descriptor}", mode | os.O_NONBLOCK))
        except OSError:
            continue
        return True
    return False
