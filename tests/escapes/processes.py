"""Attacks on other processes, and on the run's own end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from executor import Limits, Result, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena, end, end_survivors, gone
from tests.escapes.attack import (
    Attack,
    Control,
    NotStopped,
    Stopped,
    Words,
    perl,
    python,
    shell,
)
from tests.escapes.inherited import NO_FILTER
from tests.processes import DEADLINE_S, alive


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _settles_in(pid: int, *states: str) -> str:
    """The state in which a process is, as soon as it is one of these, or after all patience."""
    deadline = time.monotonic() + DEADLINE_S
    while (state := _state(pid)) not in states and time.monotonic() < deadline:
        time.sleep(0.01)
    return state


@contextlib.contextmanager
def _victim(arena: Arena) -> Iterator[Words]:
    with arena.victim() as process:
        yield {"victim": str(process.pid)}


def _victim_lives(arena: Arena, _: Result) -> None:
    state = _settles_in(int(arena.words["victim"]), "S", "T", "Z", "X")
    assert state == "S", f"the victim is in state {state}"
    assert os.getpriority(os.PRIO_PROCESS, int(arena.words["victim"])) == os.nice(0)


def _victim_was_hit(arena: Arena, _: Result) -> None:
    # A signal sent is not yet a process ended.
    assert _settles_in(int(arena.words["victim"]), "Z", "X") in ("Z", "X")


KILL = python("""
for name, pid in {"victim": @victim@, "server": @server@}.items():
    attempt("look at " + name, os.kill, pid, 0)
attempt("stop victim", os.kill, @victim@, signal.SIGSTOP)
attempt("kill victim", os.kill, @victim@, signal.SIGKILL)
try:
    attempt("kill by descriptor", signal.pidfd_send_signal, os.pidfd_open(@victim@), signal.SIGKILL)
except OSError as error:
    print("kill by descriptor", errno.errorcode[error.errno])
attempt("kill the group of victim", os.killpg, @victim@, signal.SIGKILL)
""")

KILL_ALL = python("""
sleeper = child(lambda: time.sleep(30))
pid = child(lambda: attempt("kill all", os.kill, -1, signal.SIGKILL))
_, status = os.waitpid(sleeper, 0)
print("sleeper:", os.WTERMSIG(status), flush=True)
""")

LOOK = python("""
seen = [name for name in os.listdir("/proc") if name.isdigit()]
print("processes:", "few" if len(seen) < 6 else "many")
def read(path):
    with open(path, "rb") as file:
        print("content", file.read().replace(b"\\0", b" ")[:2000])
attempt("command of victim", read, "/proc/@victim@/cmdline")
attempt("environment of victim", read, "/proc/@victim@/environ")
attempt("environment of server", read, "/proc/@server@/environ")
attempt("folder of victim", os.listdir, "/proc/@victim@/cwd")
attempt("memory of victim", os.open, "/proc/@victim@/mem", os.O_RDWR)
attempt("map of victim", read, "/proc/@victim@/maps")
attempt("files of victim", os.readlink, "/proc/@victim@/fd/0")
""")

UNREADABLE = ("environment of victim", "environment of server", "folder of victim",
              "memory of victim", "map of victim", "files of victim")  # fmt: skip

PARENTS = python("""
for who, name in {"init": "1", "parent": str(os.getppid())}.items():
    for file in ("mem", "environ", "maps", "syscall", "stack", "personality"):
        attempt(who + " " + file, os.open,
                f"/proc/{name}/{file}", os.O_RDWR if file == "mem" else os.O_RDONLY)
    for folder in ("root", "cwd", "fd", "task/" + name + "/fd"):
        attempt("folder " + folder, os.listdir, f"/proc/{name}/{folder}")
    attempt("link exe", os.readlink, f"/proc/{name}/exe")
attempt("own memory", os.open, "/proc/self/mem", os.O_RDWR)
attempt("own environment", os.open, "/proc/self/environ", os.O_RDONLY)
""")

PARENT_FILES = tuple(
    f"^{who} {file} (EACCES|EPERM|ENOENT|ESRCH)$"
    for who in ("init", "parent")
    for file in ("mem", "environ", "maps")
)

PARENT_FOLDERS = tuple(f"^folder {name} (EACCES|EPERM|ENOENT)$" for name in ("root", "cwd", "fd"))

TRACE = python("""
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_DETACH = 16, 0x4206, 17
sibling = child(lambda: time.sleep(20))
buffer = ctypes.create_string_buffer(b"secret")
there = struct.pack("=QQ", ctypes.addressof(buffer), 6)
for name, pid in {"sibling": sibling, "init": os.getppid()}.items():
    attempt("seize " + name, kernel, NR.ptrace, PTRACE_SEIZE, pid, 0, 0)
    attempt("read " + name, kernel, NR.process_vm_readv, pid, there, 1, there, 1, 0)
    attempt("write " + name, kernel, NR.process_vm_writev, pid, there, 1, there, 1, 0)
    fd = attempt("open " + name, os.pidfd_open, pid)
    attempt("steal from " + name, kernel, NR.pidfd_getfd, -1 if fd is None else fd, 1, 0)
    attempt("compare " + name, kernel, NR.kcmp, os.getpid(), pid, 1, 0, 0)
    attempt("migrate " + name, kernel, NR.move_pages, pid, 0, 0, 0, 0, 0)
own = attempt("open oneself", os.pidfd_open, os.getpid())
attempt("advise", kernel, NR.process_madvise, -1 if own is None else own, there, 1, 20, 0)
os.kill(sibling, signal.SIGKILL)
""")

TRACE_CALLS = ("seize", "read", "write", "steal from", "compare", "migrate")

DAEMONS = perl(r"""
use POSIX;
$SIG{TERM} = $SIG{HUP} = $SIG{INT} = "IGNORE";
for (1 .. 3) {
    if (fork() == 0) {
        POSIX::setsid();
        if (fork() == 0) { exec("/bin/sleep", "@mark@") }
        POSIX::_exit(0);
    }
}
system("nohup /bin/sleep @mark@ >/dev/null 2>&1 &");
system("setsid /bin/sleep @mark@ </dev/null >/dev/null 2>&1 &");
1 while wait() > 0;
for my $path ("/var/spool/cron/crontabs", "/etc/cron.d", "/var/spool/at", "/run/systemd/private",
    "/etc/systemd/system", "@home@/.config/autostart", "/etc/init.d", "/etc/rc.local") {
    my $made = open(my $file, ">", "$path/planted");
    print "$path " . ($made ? "written" : $!{ENOENT} ? "ENOENT" : $!{EACCES} ? "EACCES"
        : $!{EROFS} ? "EROFS" : $!{ENOTDIR} ? "ENOTDIR" : $!) . "\n";
}
print "daemons away\n";
""")

DEADLINE = perl(r"""
if (fork() == 0) { setpgrp; $SIG{TERM} = "IGNORE"; exec("/bin/sleep", "@mark@") }
$SIG{$_} = "IGNORE" for qw(TERM INT HUP QUIT XCPU ALRM);
print "waiting\n";
sleep 600;
""")


def _no_daemons(arena: Arena, _: Result) -> None:
    assert not alive(arena.words["mark"])


def _daemons_to_end(arena: Arena, _: Result) -> None:
    end_survivors(arena.words["mark"])


KILL_INIT = python("""
attempt("init", os.kill, os.getppid(), signal.SIGKILL)
attempt("stop init", os.kill, os.getppid(), signal.SIGSTOP)
attempt("one", os.kill, 1, signal.SIGKILL)
attempt("restart", kernel, NR.reboot, 0xfee1dead, 672274793, 0x01234567, 0)
pid = child(lambda: time.sleep(30))
attempt("child", os.kill, pid, signal.SIGKILL)
os.waitpid(pid, 0)
sys.stdout.flush()
os._exit(77)
""")


def _ended_with_77(_: Arena, result: Result) -> None:
    assert (result.exit_code, result.signal) == (77, None)


async def _stubborn_programs_end_in_time(arena: Arena) -> None:
    from tests.escapes.resources import STUBBORN

    with trio.fail_after(DEADLINE_S):
        result = await arena.run(STUBBORN, limits=Limits(wall_s=2))
    assert "attack started" in result.stdout.text
    assert result.status is Status.TIMED_OUT
    assert await gone(arena.words["mark"])
    # The control: SIGTERM, which most runners send first, moves nothing.
    script = arena.text(STUBBORN)
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"attack started\n"
        with trio.fail_after(DEADLINE_S):
            while _state(process.pid) != "T":  # noqa: ASYNC110 - nobody tells
                await trio.sleep(0.01)
        os.killpg(process.pid, signal.SIGTERM)
        assert _state(process.pid) == "T"
        os.killpg(process.pid, signal.SIGKILL)


async def _a_held_output_delays_nothing(arena: Arena) -> None:
    hold = shell("setsid sleep @mark@ & setsid sleep @mark@ >/dev/null & echo hi")
    with trio.fail_after(DEADLINE_S):
        result = await arena.run(hold, limits=Limits(wall_s=60))
    assert (result.status, result.stdout.text) == (Status.OK, "attack started\nhi\n")
    assert await gone(arena.words["mark"])

    def naive() -> None:  # the control: whoever reads to the end waits for the grandchild
        with subprocess.Popen(
            ["/bin/sh", "-c", arena.text(hold)], stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.communicate(timeout=0.5)
            end(alive(arena.words["mark"]))

    await trio.to_thread.run_sync(naive)


COMM = python("""
PR_SET_NAME = 15
for name in (b") R 1 1 1", b"a) Z 0 0 (", b"\\n1 (x) S 2"):
    pid = os.fork()
    if pid == 0:
        libc.prctl(PR_SET_NAME, name, 0, 0, 0)
        while time.process_time() < 0.7:
            pass
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print("spun", flush=True)
""")

HIDDEN = python("""
PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 4, 1, 36
print("dumpable off", libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
print("subreaper", libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
def hide():
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "@mark@"])
    time.sleep(600)
child(hide)
time.sleep(600)
""")

PRIORITY = python("""
attempt("renice victim", os.setpriority, os.PRIO_PROCESS, @victim@, 19)
attempt("pin victim", os.sched_setaffinity, @victim@, [0])
attempt("io of victim", kernel, NR.ioprio_set, 1, @victim@, 3 << 13)
attempt("limits of victim", kernel, NR.prlimit64, @victim@, 7, struct.pack("=QQ", 1, 1), 0)
attempt("oom score of victim", os.open, "/proc/@victim@/oom_score_adj", os.O_WRONLY)
attempt("own", os.setpriority, os.PRIO_PROCESS, 0, 19)
""")

OWNERS = python("""
import fcntl
F_SETOWN, F_SETSIG = 8, 10
reader, writer = os.pipe()
attempt("owner", fcntl.fcntl, reader, F_SETOWN, @victim@)
fcntl.fcntl(reader, F_SETSIG, signal.SIGKILL)
fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
os.write(writer, b"x")
attempt("open", os.pidfd_open, @victim@)
attempt("own", fcntl.fcntl, reader, F_SETOWN, os.getpid())
""")

NOBODY = "(ESRCH|EPERM)"

ATTACKS = (
    Attack(
        "A12",
        "ignore signals, stop one's own process group",
        Stopped("SIGKILL to all of the run"),
        scenario=_stubborn_programs_end_in_time,
    ),
    Attack(
        "A27",
        "signal the server and other processes of the user",
        Stopped(
            "pid namespace, Landlock's signal scope",
            (
                f"^look at victim {NOBODY}$",
                f"^look at server {NOBODY}$",
                f"^stop victim {NOBODY}$",
                f"^kill victim {NOBODY}$",
                "^kill by descriptor (ESRCH|EPERM|EINVAL)$",
                f"^kill the group of victim {NOBODY}$",
            ),
            after=_victim_lives,
            controls=(Control(("^kill victim done$",), outside="cell", after=_victim_was_hit),),
            by_b="Landlock's signal scope",
        ),
        KILL,
        setup=_victim,
    ),
    Attack(
        "A27 all",
        "kill -9 -1",
        Stopped(
            "pid namespace, Landlock's signal scope",
            after=_victim_lives,
            # It hits what is the run's own, this program included or not.
            status=(Status.OK, Status.SIGNALLED),
            controls=(
                Control(
                    ("^sleeper: 9$",),
                    program=python(
                        "pid = child(lambda: time.sleep(30))\nos.kill(pid, 9)\n"
                        "print('sleeper:', os.WTERMSIG(os.waitpid(pid, 0)[1]))"
                    ),
                ),
            ),
        ),
        KILL_ALL,
        setup=_victim,
    ),
    Attack(
        "A28",
        "see the machine's processes, their arguments and environments",
        Stopped(
            "pid namespace",
            (
                "^processes: few$",
                "^command of victim ENOENT$",
                *(f"^{name} ENOENT$" for name in UNREADABLE),
            ),
            controls=(
                Control(
                    ("^processes: many$", "^command of victim done$", "content.*@canary@"),
                    outside="cell",
                ),
            ),
        ),
        LOOK,
        setup=_victim,
        b=NotStopped(
            "names and arguments of all processes are visible; environments, memory and files "
            "of the user's own stay closed (Landlock)",
            (
                "^processes: many$",
                "^command of victim done$",
                *(f"^{name} (EACCES|EPERM)$" for name in UNREADABLE),
            ),
        ),
    ),
    Attack(
        "A29",
        "read and write the memory of process 1 or the parent",
        Stopped(
            "a supervisor closed to ptrace, Landlock",
            (*PARENT_FILES, "^own environment done$"),
            controls=(Control(("^own memory done$",), (off.landlock,)),),
        ),
        PARENTS,
    ),
    Attack(
        "A30",
        "ptrace, process_vm_writev, pidfd_getfd, kcmp on siblings and the parent",
        Stopped(
            "seccomp",
            (
                *(f"^{call} {who} EPERM$" for call in TRACE_CALLS for who in ("sibling", "init")),
                "^advise EPERM$",
            ),
            controls=(
                Control(
                    (
                        *(f"^{call} sibling done$" for call in TRACE_CALLS),
                        "^advise (done|EINVAL)$",
                        "^seize init EPERM$",
                    ),
                    NO_FILTER,
                ),
            ),
        ),
        TRACE,
    ),
    Attack(
        "A47",
        "live on: daemons, nohup, cron, at, systemd, autostart",
        Stopped(
            "pid namespace, absent folders",
            (
                "^daemons away$",
                "^/var/spool/cron/crontabs E",
                "^/etc/cron.d E",
                "^/etc/systemd/system E",
                "^.*/autostart E",
            ),
            after=_no_daemons,
            controls=(Control(("^daemons away$",), outside="cell", after=_daemons_to_end),),
        ),
        DAEMONS,
        b=Stopped(
            "subreaper and kill loop, Landlock",
            (
                "^daemons away$",
                "^/var/spool/cron/crontabs E",
                "^/etc/cron.d E",
                "^/etc/systemd/system E",
                "^.*/autostart E",
            ),
            after=_no_daemons,
            controls=(Control(("^daemons away$",), outside="cell", after=_daemons_to_end),),
        ),
    ),
    Attack(
        "A47 deadline",
        "live on after the deadline",
        Stopped(
            "all of the run is killed",
            ("^waiting$",),
            status=Status.TIMED_OUT,
            after=_no_daemons,
            controls=(Control(("^ended of itself$",), program=shell("echo ended of itself")),),
        ),
        DEADLINE,
        limits=Limits(wall_s=2),
    ),
    Attack(
        "A48",
        "a grandchild that holds the output open",
        Stopped("the run's end closes its pipes"),
        scenario=_a_held_output_delays_nothing,
    ),
    Attack(
        "A49",
        "kill or stop the supervisor, restart the namespace",
        Stopped(
            "Landlock's signal scope, seccomp",
            ("^init EPERM$", "^stop init EPERM$", "^one EPERM$", "^restart EPERM$"),
            status=Status.NONZERO_EXIT,
            after=_ended_with_77,
            controls=(Control(("^child done$",), status=Status.NONZERO_EXIT),),
        ),
        KILL_INIT,
    ),
    Attack(
        "X02",
        "renice, pin, limit other processes of the user",
        Stopped(
            "pid namespace",
            (
                "^renice victim ESRCH$",
                "^pin victim ESRCH$",
                "^io of victim ESRCH$",
                "^limits of victim ESRCH$",
                "^oom score of victim ENOENT$",
            ),
            after=_victim_lives,
            controls=(Control(("^renice victim done$", "^pin victim done$"), outside="cell"),),
        ),
        PRIORITY,
        setup=_victim,
        b=Stopped(
            "calls that name a process are judged (seccomp, the supervisor)",
            (
                "^renice victim EPERM$",
                "^pin victim EPERM$",
                "^io of victim EPERM$",
                "^limits of victim EPERM$",
                "^oom score of victim EACCES$",
                "^own done$",
            ),
            after=_victim_lives,
            controls=(
                Control(
                    ("^renice victim done$", "^pin victim done$", "^io of victim done$"),
                    (off.judging,),
                ),
            ),
        ),
    ),
    Attack(
        "X03",
        "have the kernel send the signal: F_SETOWN, F_SETSIG, pidfd",
        Stopped(
            "pid namespace, Landlock's signal scope",
            ("^own done$",),
            after=_victim_lives,
            controls=(Control((), outside="cell", after=_victim_was_hit),),
        ),
        OWNERS,
        setup=_victim,
    ),
    Attack(
        "X04",
        "process names that break what reads /proc",
        Stopped(
            "the stat line is read from its last parenthesis",
            status=Status.CPU_LIMIT,
            controls=(Control(("^spun$",), limits=Limits(wall_s=30)),),
        ),
        COMM,
        limits=Limits(wall_s=30, cpu_s=0.6),
    ),
    Attack(
        "X05",
        "hide from the supervisor: not dumpable, a separate subreaper",
        Stopped(
            "pid namespace, kill loop",
            ("^dumpable off 0$", "^subreaper 0$"),
            status=Status.TIMED_OUT,
            after=_no_daemons,
            controls=(Control(("^ended of itself$",), program=shell("echo ended of itself")),),
        ),
        HIDDEN,
        limits=Limits(wall_s=2),
    ),
    Attack(
        "X07",
        "list the folders of process 1 through /proc",
        Stopped(
            "a supervisor closed to ptrace",
            (*PARENT_FOLDERS, "^link exe (EACCES|EPERM|ENOENT)$"),
            controls=(Control(("^own environment done$",)),),
        ),
        PARENTS,
    ),
)
