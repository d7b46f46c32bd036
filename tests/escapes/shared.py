"""Attacks on what is found by a number or a name alone, and is the host's without namespaces."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import select
import socket
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from executor import Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, Stopped, Words, python
from tests.escapes.inherited import NO_FILTER
from tests.escapes.processes import KILL, NOBODY, OWNERS, _victim, _victim_lives, _victim_was_hit

JUDGED = "calls that name a process are judged (seccomp, the supervisor)"

# What they already have, so that the control harms nobody: by number and by 64-bit registers of which the kernel reads 32.
BY_NUMBER = python("""
HIGH, LIMIT_CPU = 1 << 32, 0
one = struct.pack("=QQ", @soft@, @hard@)
limits = lambda pid: kernel(NR.prlimit64, pid, LIMIT_CPU, one, 0)
policy = struct.pack("=I", 0)
attributes = struct.pack("=IIQiIQQQ", 48, 0, 0x18, 0, 0, 0, 0, 0)  # keep all
mask = (2**1024 - 1).to_bytes(128, "little")
for name, pid in {"server": @server@, "victim": @victim@, "parent": os.getppid()}.items():
    attempt("limit " + name, limits, pid)
    attempt("limit by high bits " + name, limits, pid | HIGH)
    attempt("renice " + name, kernel, NR.setpriority, 0, pid, @nice@)
    attempt("renice by high bits " + name, kernel, NR.setpriority, HIGH, pid, @nice@)
    attempt("pin " + name, kernel, NR.sched_setaffinity, pid, 128, mask)
    attempt("policy of " + name, kernel, NR.sched_setscheduler, pid, 0, policy)
    attempt("parameters of " + name, kernel, NR.sched_setparam, pid, policy)
    attempt("attributes of " + name, kernel, NR.sched_setattr, pid, attributes, 0)
    attempt("io of " + name, kernel, NR.ioprio_set, 1, pid, 0)
    attempt("pages of " + name, kernel, NR.migrate_pages, pid, 64, bytes(8), bytes(8))
    attempt("core of " + name, kernel, NR.prctl, 62, 2, pid, 0, 0)
    attempt("core by high bits of " + name, kernel, NR.prctl, 62 | HIGH, 2, pid, 0, 0)
attempt("user", kernel, NR.setpriority, 2, 0, @nice@)
attempt("user by high bits", kernel, NR.setpriority, 2 | HIGH, 0, @nice@)
attempt("user by number", kernel, NR.setpriority, 2, os.getuid(), @nice@)
attempt("io of user", kernel, NR.ioprio_set, 3, os.getuid(), 0)
group = os.getpgid(@victim@) if os.path.exists("/proc/@victim@") else @victim@
attempt("group of victim", kernel, NR.setpriority, 1, group, @nice@)
attempt("io of the group of victim", kernel, NR.ioprio_set, 2, group, 0)
def in_another_thread():
    import threading
    threads = [threading.Thread(target=attempt, args=("limit by a thread", limits, @server@))]
    threads[0].start(); threads[0].join()
in_another_thread()
os.waitpid(child(lambda: attempt("limit by a child", limits, @server@)), 0)
""")
FOREIGN_CALLS = ("limit", "limit by high bits", "renice", "renice by high bits", "pin",
                 "policy of", "parameters of", "attributes of", "io of", "pages of",
                 "core of", "core by high bits of")  # fmt: skip
GROUP_CALLS = ("user", "user by high bits", "user by number", "io of user", "group of victim",
               "io of the group of victim", "limit by a thread", "limit by a child")  # fmt: skip

OWN_PROCESSES = python("""
import resource, subprocess, threading
sleeper = subprocess.Popen(["sleep", "600"])
for name, pid in {"self": 0, "own": os.getpid(), "child": sleeper.pid}.items():
    attempt("limit " + name, resource.prlimit, pid, resource.RLIMIT_NOFILE, (64, 64))
    attempt("renice " + name, os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt("pin " + name, os.sched_setaffinity, pid, os.sched_getaffinity(0))
    attempt("policy of " + name, os.sched_setscheduler, pid, os.SCHED_BATCH, os.sched_param(0))
    attempt("io of " + name, kernel, NR.ioprio_set, 1, pid, 3 << 13)
for name, group in {"self": 0, "own": os.getpgid(0)}.items():
    attempt("group " + name, os.setpriority, os.PRIO_PGRP, group, 19)
    attempt("io of group " + name, kernel, NR.ioprio_set, 2, group, 3 << 13)
attempt("nobody", os.setpriority, os.PRIO_PROCESS, 1 << 22, 19)
attempt("look", os.kill, sleeper.pid, 0)
attempt("end", os.killpg, os.getpgid(0), 0)
sleeper.kill()
print("ended by", -sleeper.wait())
thread = threading.Thread(target=lambda: attempt(
    "pin thread", os.sched_setaffinity, threading.get_native_id(), os.sched_getaffinity(0)))
thread.start(); thread.join()
cpu = min(os.sched_getaffinity(0))  # the first may be no one's that runs this
os.environ |= {"CPU": str(cpu), "MASK": format(1 << cpu, "x")}
for command in ("prlimit --nofile=32 true", "nice -n 9 true", "taskset -c $CPU true", "ionice -c 3 true",
                "chrt --batch 0 true", "renice -n 19 $$", "taskset -p $MASK $$", "timeout 5 true"):
    print(command, subprocess.run(["sh", "-c", command], capture_output=True).returncode, flush=True)
""")
OWN_LINES = (
    *(
        f"^{call} {who} done$"
        for call in ("limit", "renice", "pin", "policy of", "io of")
        for who in ("self", "own", "child")
    ),
    *(f"^{call} {who} done$" for call in ("group", "io of group") for who in ("self", "own")),
    "^nobody ESRCH$",
    "^look done$",
    "^end done$",
    "^ended by 9$",
    "^pin thread done$",
    *(
        rf"^{command} 0$"
        for command in (
            "prlimit --nofile=32 true", "nice -n 9 true", r"taskset -c \$CPU true",
            "ionice -c 3 true", "chrt --batch 0 true", r"renice -n 19 \$\$", r"taskset -p \$MASK \$\$",
            "timeout 5 true",
        )
    ),
)  # fmt: skip

LACKING_IN_GVISOR = ("^policy of", "^io of", "^ionice", "^chrt")

SIGNALS = python("""
for name, pid in {"victim": @victim@, "server": @server@}.items():
    attempt("kill " + name, os.kill, pid, 0)
    attempt("tkill " + name, kernel, NR.tkill, pid, 0)
    attempt("tgkill " + name, kernel, NR.tgkill, pid, pid, 0)
    attempt("queue " + name, kernel, NR.rt_sigqueueinfo, pid, 0, struct.pack("=iiii", 0, 0, -1, 0) + bytes(112))
    attempt("queue for a thread of " + name, kernel, NR.rt_tgsigqueueinfo, pid, pid, 0,
            struct.pack("=iiii", 0, 0, -1, 0) + bytes(112))
    folder = attempt("folder of " + name, os.open, f"/proc/{pid}", os.O_RDONLY)
    attempt("by folder " + name, kernel, NR.pidfd_send_signal, -1 if folder is None else folder, 0, 0, 0)
    opened = attempt("open " + name, os.pidfd_open, pid)
    attempt("by descriptor " + name, kernel, NR.pidfd_send_signal, -1 if opened is None else opened, 0, 0, 0)
os.waitpid(child(lambda: attempt("kill all", os.kill, -1, 0)), 0)
attempt("kill victim for good", os.kill, @victim@, signal.SIGKILL)
""")
SIGNAL_CALLS = ("kill", "tkill", "tgkill", "queue", "queue for a thread of")

SEGMENTS = python("""
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
def read():
    at = libc.shmat(@segment@, None, 0)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "")
    print("read", ctypes.string_at(at, 32).rstrip(b"\\0").decode(), flush=True)
attempt("segment", read)
attempt("remove segment", kernel, NR.shmctl, @segment@, 0, 0)
attempt("raise semaphore", kernel, NR.semop, @semaphores@, struct.pack("=HhH", 0, 1, 0), 1)
attempt("set semaphore", kernel, NR.semctl, @semaphores@, 0, 16, 9)
attempt("send message", kernel, NR.msgsnd, @queue@, struct.pack("=q8s", 1, b"planted"), 8, 0o4000)
attempt("take message", kernel, NR.msgrcv, @queue@, bytes(64), 8, 0, 0o4000)
attempt("remove queue", kernel, NR.msgctl, @queue@, 0, 0)
attempt("unlink", kernel, NR.mq_unlink, b"@name@")
attempt("open", kernel, NR.mq_open, b"@name@", os.O_RDWR, 0, 0)
""")
SEGMENT_CALLS = ("segment", "remove segment", "raise semaphore", "set semaphore", "send message",
                 "take message", "remove queue")  # fmt: skip
QUEUES = ("^unlink ENOSYS$", "^open ENOSYS$")

DATAGRAMS = python("""
def send(kind, name):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.sendto(b"planted", name)
def connected(kind, name):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    theirs.close()
    ours.connect(name)
    ours.send(b"planted")
for name, place in {"path": "@path@", "abstract": "\\0@abstract@"}.items():
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
        attempt(f"send to {name} {int(kind)}", send, kind, place)
        attempt(f"connect to {name} {int(kind)}", connected, kind, place)
attempt("connect a stream", connected, socket.SOCK_STREAM, "@path@")
def pair():
    ours, theirs = socket.socketpair()
    ours.send(b"said")
    print("heard", theirs.recv(9), flush=True)
attempt("pair", pair)
""")


@contextlib.contextmanager
def _limited_victim(arena: Arena) -> Iterator[Words]:
    soft, hard = (value % 2**64 for value in resource.getrlimit(resource.RLIMIT_CPU))
    with _victim(arena) as words:
        yield {**words, "soft": str(soft), "hard": str(hard), "nice": str(os.nice(0))}


@contextlib.contextmanager
def _objects(arena: Arena) -> Iterator[Words]:
    """System V objects and a message queue, made by the user whom programs run as."""
    name = f"escapes-{secrets.token_hex(6)}"
    script = MAKER.replace("@canary@", arena.canary).replace("@name@", name)
    user = arena.cell_uid if arena.is_root else None
    with subprocess.Popen(
        ["/usr/bin/python3", "-I", "-c", script],
        user=user, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as maker:  # fmt: skip
        assert maker.stdin is not None
        assert maker.stdout is not None
        ids = dict(
            zip(("segment", "semaphores", "queue"), maker.stdout.readline().split(), strict=True)
        )
        yield ids | {"name": name}
        maker.stdin.close()


MAKER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
ids = [libc.shmget(0, 4096, 0o1600), libc.semget(0, 1, 0o1600), libc.msgget(0, 0o1600)]
at = libc.shmat(ids[0], None, 0)
ctypes.memmove(at, b"@canary@", len("@canary@"))
libc.msgsnd(ids[2], b"\\1" + bytes(7) + b"untaken", 7, 0o4000)
libc.mq_open(b"/@name@", 0o102, 0o600, None)
print(*ids, flush=True)
sys.stdin.read()
libc.shmctl(ids[0], 0, None); libc.semctl(ids[1], 0, 0); libc.msgctl(ids[2], 0, None)
libc.mq_unlink(b"/@name@")
"""


def _objects_stand(arena: Arena, _: Result) -> None:
    """The host's are there, with what was in them."""
    for kind, word in {"shm": "segment", "sem": "semaphores", "msg": "queue"}.items():
        lines = [line.split() for line in Path("/proc/sysvipc", kind).read_text().splitlines()]
        (found,) = [dict(zip(lines[0], line, strict=True)) for line in lines
                    if line[1] == arena.words[word]]  # fmt: skip
        assert found.get("qnum", "1") == "1", found


@contextlib.contextmanager
def _listener(arena: Arena) -> Iterator[Words]:
    """Datagram sockets of the host: one with a path that anybody may write to, one without."""
    abstract = f"escapes-{secrets.token_hex(6)}"
    with arena.open_folder() as folder, contextlib.ExitStack() as stack:
        places = (str(folder / "log"), f"\0{abstract}")
        listening = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in places]
        for one, place in zip(listening, places, strict=True):
            stack.enter_context(one).bind(place)
        os.chmod(places[0], 0o777)
        _LISTENING[arena.canary] = listening
        yield {"path": places[0], "abstract": abstract}
        del _LISTENING[arena.canary]


_LISTENING: dict[str, list[socket.socket]] = {}


def _nothing_arrived(arena: Arena, _: Result) -> None:
    assert not select.select(_LISTENING[arena.canary], [], [], 0)[0]


def _something_arrived(arena: Arena, _: Result) -> None:
    (first, *_), _, _ = select.select(_LISTENING[arena.canary], [], [], 10)
    assert first.recv(99) == b"planted"


async def _older_landlock_lets_no_signal_out(arena: Arena) -> None:
    """The kernel before 6.12 scopes no signal: in tier B each is judged, in others none arrives."""
    with _victim(arena) as words:
        arena.words |= words
        old = (off.older_landlock,)
        result = await arena.run(SIGNALS, old)
        said = result.stdout.text
        for line in _signal_lines(arena):
            assert re.search(line, said, re.MULTILINE), f"no {line} in\n{said}"
        result = await arena.run(OWNERS, old)
        _victim_lives(arena, result)
        result = await arena.run(KILL, old)
        _victim_lives(arena, result)
        result = await arena.run(OWN_PROCESSES, old)
        lacking = LACKING_IN_GVISOR if arena.has_gvisor else ()
        for line in (line for line in OWN_LINES if not line.startswith(lacking)):
            assert re.search(line, result.stdout.text, re.MULTILINE), line
        # The control: without the judgement, or without any sandbox.
        if arena.tier == "B":
            result = await arena.run(OWNERS, (off.signal_scope, off.judging))
            _victim_was_hit(arena, result)
    with _victim(arena) as words:
        arena.words |= words
        if arena.tier == "B":
            said = (await arena.run(SIGNALS, (off.signal_scope, off.judging))).stdout.text
        else:
            said = await arena.outside(SIGNALS, "cell")
        assert "kill victim for good done" in said
        assert "by folder victim done" in said


def _signal_lines(arena: Arena) -> Iterator[str]:
    for who in ("victim", "server"):
        yield from (f"^{call} {who} {NOBODY}$" for call in SIGNAL_CALLS)
        yield f"^by folder {who} (EBADF|EPERM|ENOSYS)$"
        yield f"^by descriptor {who} (EBADF|EPERM|ENOSYS)$"
    yield f"^kill victim for good {NOBODY}$"
    if arena.tier == "B":
        yield "^kill all EPERM$"


def _each(names: Iterable[str], answer: str) -> tuple[str, ...]:
    return tuple(f"^{name} {answer}$" for name in names)


ATTACKS = (
    Attack(
        "X30",
        "limit, renice, pin the server by its number, by groups, users and spare bits of registers",
        Stopped(
            "pid namespace",
            _each((f"{c} server" for c in FOREIGN_CALLS), "(ESRCH|EPERM|EINVAL|ENODEV|ENOSYS)"),
            after=_victim_lives,
            controls=(Control(("^limit victim done$", "^pin victim done$"), outside="cell"),),
        ),
        BY_NUMBER,
        setup=_limited_victim,
        b=Stopped(
            JUDGED,
            (
                *_each(
                    (f"{c} {w}" for c in FOREIGN_CALLS for w in ("server", "victim", "parent")),
                    "EPERM",
                ),
                *_each(GROUP_CALLS, "EPERM"),
            ),
            after=_victim_lives,
            controls=(
                Control(
                    (
                        "^limit victim done$",
                        "^limit by high bits victim done$",
                        "^renice victim done$",
                        "^pin victim done$",
                        "^policy of victim done$",
                        "^io of victim done$",
                        "^limit server done$",
                    ),
                    (off.judging,),
                ),
                Control(OWN_LINES, program=OWN_PROCESSES),
            ),
        ),
    ),
    Attack(
        "X31",
        "signals where Landlock is too old to keep them in: kill, tgkill, queues, descriptors, owners",
        Stopped("pid namespace", by_b="each signal is judged (seccomp, the supervisor)"),
        scenario=_older_landlock_lets_no_signal_out,
    ),
    Attack(
        "X32",
        "System V objects and message queues of the user, by their numbers and names",
        Stopped(
            "ipc namespace",
            (*_each(SEGMENT_CALLS, "(EINVAL|EIDRM|ENOENT)"), *QUEUES),
            after=_objects_stand,
            controls=(
                Control(
                    (
                        "^segment done$",
                        "^read @canary@$",
                        "^raise semaphore done$",
                        "^send message done$",
                        "^unlink done$",
                    ),
                    outside="cell",
                ),
            ),
        ),
        SEGMENTS,
        setup=_objects,
        b=Stopped(
            "seccomp",
            (*_each(SEGMENT_CALLS, "EACCES"), *QUEUES),
            after=_objects_stand,
            controls=(
                Control(
                    (
                        "^segment done$",
                        "^read @canary@$",
                        "^raise semaphore done$",
                        "^send message done$",
                        "^unlink done$",
                    ),
                    NO_FILTER,
                ),
            ),
        ),
    ),
    Attack(
        "X33",
        "reach a datagram socket of the host from one half of a socketpair",
        Stopped(
            "network and mount namespaces",
            ("^send to (path|abstract) 2 (ENOENT|ECONNREFUSED|EPERM)$", "^pair done$"),
            after=_nothing_arrived,
            controls=(
                Control(("^send to path 2 done$",), outside="cell", after=_something_arrived),
            ),
        ),
        DATAGRAMS,
        setup=_listener,
        b=Stopped(
            "seccomp",
            (
                *(
                    f"^(send|connect) to {n} {k} EACCES$"
                    for n in ("path", "abstract")
                    for k in (2, 3, 2050)
                ),
                "^connect a stream EACCES$",
                "^pair done$",
            ),
            after=_nothing_arrived,
            controls=(Control(("^send to path 2 done$",), NO_FILTER, after=_something_arrived),),
        ),
    ),
)
