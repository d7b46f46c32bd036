"""Attacks that try to starve the machine of processes, memory or time."""

from __future__ import annotations

import resource
from collections.abc import Callable

from executor import Limits, Result, Status
from executor.spawner.confine import SENT_AT_ONCE
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    Stopped,
    c,
    perl,
    python,
    shell,
)
from tests.escapes.space import MEMORY, MIB, ROOMY
from tests.processes import alive

LIMITED = (Status.PROCESS_LIMIT, Status.NONZERO_EXIT)


def _at_most(processes: int) -> Callable[[Arena, Result], None]:
    def check(arena: Arena, result: Result) -> None:
        peak = result.usage.peak_processes
        assert peak is not None
        assert peak <= processes
        assert not alive(arena.words["mark"])

    return check


def _nothing_left(arena: Arena, _: Result) -> None:
    assert not alive(arena.words["mark"])


# Bounded: 2⁷ processes at most, each gone in seconds, whatever the limit.
FORK_BOMB = shell("""
bomb() {
    [ "$1" -eq 0 ] && return
    bomb $(($1 - 1)) & bomb $(($1 - 1)) &
    wait
    sleep 0.3
}
bomb 6 && echo "all exploded"
""")

THREAD_BOMB = python("""
import threading
stop, made = threading.Event(), 0
try:
    for made in range(150):
        threading.Thread(target=stop.wait, daemon=True).start()
except RuntimeError as error:
    print("refused:", error)
else:
    print("all started")
stop.set()
sys.stdout.flush()
os._exit(1 if made < 149 else 0)
""")

FORK_AND_DETACH = perl(r"""
use POSIX;
for (1 .. 150) {
    my $pid = fork();
    if (!defined $pid) { print "refused: " . ($! == EAGAIN ? "EAGAIN" : $!) . "\n"; exit 1 }
    if ($pid == 0) {
        POSIX::setsid();
        my $inner = fork();
        if (!defined $inner) { POSIX::_exit($! == EAGAIN ? 11 : 1) }
        if ($inner == 0) { exec("/bin/sleep", "@mark@") }
        POSIX::_exit(0);
    }
    waitpid($pid, 0);
    if ($? >> 8 == 11) { print "refused: EAGAIN\n"; exit 1 }
}
print "all forked\n";
""")

TOUCH_MEMORY = python("""
held = []
try:
    for _ in range(16):
        held.append(bytearray(b"x" * (16 << 20)))
except MemoryError:
    print("MemoryError", flush=True)
    os._exit(1)
print("held", len(held) * 16, "MiB")
""")

MANY_HOLDERS = python("""
ready, held = os.pipe()
def hold():
    content = bytearray(b"x" * (32 << 20))
    os.write(held, b"x")
    time.sleep(20)
for _ in range(8):
    child(hold)
os.set_blocking(ready, False)
holding = 0
while holding < 8:
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid:
        print("a child was killed by", status)
        sys.exit(1)
    try:
        holding += len(os.read(ready, 8))
    except BlockingIOError:
        time.sleep(0.01)
print("all held", flush=True)
""")

SPIN = python("""
def spin():
    while time.process_time() < 1:
        pass
children = [child(spin) for _ in range(os.cpu_count() or 1)]
for pid in children:
    os.waitpid(pid, 0)
print("spun")
""")

SLEEP = shell("sleep 4; echo awake")

STUBBORN = shell("trap '' TERM INT HUP QUIT; kill -STOP 0; sleep @mark@")

PRIORITIES = python("""
attempt("nice -5", os.nice, -5)
attempt("SCHED_FIFO", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
attempt("SCHED_RR", os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1))
deadline = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, 10**6, 10**7, 10**7)
attempt("SCHED_DEADLINE", kernel, NR.sched_setattr, 0, deadline, 0)
attempt("real-time io", kernel, NR.ioprio_set, 1, 0, 1 << 13)
attempt("more open files", kernel, NR.prlimit64, 0, 7, struct.pack("=QQ", 10**6, 10**6), 0)
attempt("nice 5", os.nice, 5)
attempt("SCHED_IDLE", os.sched_setscheduler, 0, os.SCHED_IDLE, os.sched_param(0))
""")

CORE = python("""
import resource
os.chdir(os.environ["TMPDIR"])
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    print("limit raised")
except (ValueError, OSError):
    print("limit stands")
pid = child(lambda: os.kill(os.getpid(), signal.SIGSEGV))
_, status = os.waitpid(pid, 0)
print("signal", os.WTERMSIG(status), "core", os.WCOREDUMP(status))
print("files", [name for name in os.listdir(".") if "core" in name])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGSEGV)
""")

COMPILE_BOMB = c(
    '#pragma message "attack started"\n#include "/dev/zero"\nint main(void) { return 0; }'
)

STORM = c(r"""
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/time.h>
static volatile long count;
static void tick(int number)
{
    struct itimerval calm = {{0, 0}, {0, 0}};  // else nothing but the handler would ever run
    if (++count == 1000 + 0 * number) setitimer(ITIMER_REAL, &calm, NULL);
}
int main(void)
{
    struct itimerval storm = {{0, 1}, {0, 1}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &storm, NULL);
    while (count < 1000) ;
    puts("signals: many");
    int made = 0, last = 0;
    while (made < 600 && last >= 0) {
        last = made % 3 == 0 ? epoll_create1(0) : eventfd(0, 0);
        made++;
    }
    puts(last >= 0 ? "descriptors all made" : errno == EMFILE ? "descriptors EMFILE" : "?");
    return 0;
}
""")


async def _lower_hard_limits_stand(arena: Arena) -> None:
    """A server under low hard limits clamps what it asks for, and says no nonsense."""
    ask = shell("ulimit -n; ulimit -Hs")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert (await arena.run(ask)).stdout.text.split()[2] == "4096"
    assert hard > 4096
    from tests.escapes.server import in_a_server

    said = await in_a_server(
        arena,
        """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
        resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 4 << 20))
        """,
        """
        result = (await executor.run(Request("shell", "echo attack started; ulimit -n"))).result
        print(result.status.value, result.stdout.text.split())
        """,
    )
    # A container is the engine's child, not the server's, and has the request's own limit.
    # Some are left to whoever starts programs: `executor.spawner.confine`.
    stands = "4096" if arena.tier == "C" else str(512 - SENT_AT_ONCE)
    assert said == f"ok ['attack', 'started', '{stands}']\n"


def _peak_is_known(_: Arena, result: Result) -> None:
    assert result.usage.peak_memory_bytes
    assert result.usage.peak_memory_bytes < 128 * MIB


def _died_by(result: Result, number: int) -> None:
    assert (result.signal, result.exit_code) == (number, None)


def _failed_to_compile(result: Result) -> None:
    assert result.phase == "compile"


ATTACKS = (
    Attack(
        "A1",
        "fork bomb",
        Stopped(
            "pids control group",
            ("(Cannot fork|fork: retry: Resource temporarily unavailable)",),
            (*LIMITED, Status.TIMED_OUT),  # bash tries again and again
            after=_at_most(40),
            controls=(Control(("^all exploded$",), limits=Limits(wall_s=20, processes=400)),),
        ),
        FORK_BOMB,
        limits=Limits(wall_s=2, processes=40),
        rlimits=Stopped(
            "RLIMIT_NPROC",
            ("(Cannot fork|fork: retry: Resource temporarily unavailable)",),
            (*LIMITED, Status.TIMED_OUT),  # bash tries again and again
            controls=(Control(("^all exploded$",), limits=Limits(wall_s=20, processes=400)),),
        ),
    ),
    Attack(
        "A2",
        "thread bomb",
        Stopped(
            "pids control group",
            ("^refused: can't start new thread$",),
            LIMITED,
            controls=(Control(("^all started$",), limits=Limits(wall_s=20, processes=400)),),
            by_rlimits="RLIMIT_NPROC",
        ),
        THREAD_BOMB,
        limits=Limits(wall_s=5, processes=40),
    ),
    Attack(
        "A3",
        "fork bomb of detached grandchildren in separate sessions",
        Stopped(
            "process limit, pid namespace or kill loop",
            ("^refused: EAGAIN$",),
            LIMITED,
            after=_nothing_left,
            controls=(
                Control(
                    ("^all forked$",), limits=Limits(wall_s=20, processes=400), after=_nothing_left
                ),
            ),
            by_rlimits="RLIMIT_NPROC, pid namespace",
            by_b="RLIMIT_NPROC, subreaper and kill loop",
        ),
        FORK_AND_DETACH,
        limits=Limits(wall_s=5, processes=40),
    ),
    Attack(
        "A4",
        "touch more memory than allowed",
        Stopped(
            "memory control group",
            status=Status.MEMORY_LIMIT,
            after=_peak_is_known,
            controls=(Control(("^held 256 MiB$",), limits=ROOMY),),
        ),
        TOUCH_MEMORY,
        limits=MEMORY,
        rlimits=Stopped(
            "RLIMIT_DATA, sampling",
            status=(Status.MEMORY_LIMIT, Status.NONZERO_EXIT),
            after=_peak_is_known,
            controls=(Control(("^held 256 MiB$",), limits=ROOMY),),
        ),
    ),
    Attack(
        "A5",
        "share the memory out among many processes",
        Stopped(
            "memory control group",
            ("^a child was killed by 9$",),
            status=Status.MEMORY_LIMIT,
            controls=(Control(("^all held$",), limits=ROOMY),),
        ),
        MANY_HOLDERS,
        limits=Limits(wall_s=6, memory_bytes=128 * MIB),
        rlimits=Stopped(
            "sampling of the whole tree",
            status=Status.MEMORY_LIMIT,
            controls=(Control(("^all held$",), limits=ROOMY),),
        ),
    ),
    Attack(
        "A10",
        "spin on every processor",
        Stopped(
            "the supervisor's sum over the tree",
            status=Status.CPU_LIMIT,
            controls=(Control(("^spun$",), limits=Limits(wall_s=30)),),
        ),
        SPIN,
        limits=Limits(wall_s=30, cpu_s=0.5),
    ),
    Attack(
        "A11",
        "sleep beyond the deadline",
        Stopped(
            "deadline",
            status=Status.TIMED_OUT,
            controls=(Control(("^awake$",), limits=Limits(wall_s=30)),),
        ),
        SLEEP,
        limits=Limits(wall_s=2),
    ),
    Attack(
        "A21",
        "real-time scheduling, negative nice, real-time input and output",
        Stopped(
            "no capability",
            (
                "^nice -5 (EPERM|EACCES)$",
                "^SCHED_FIFO EPERM$",
                "^SCHED_RR EPERM$",
                "^SCHED_DEADLINE EPERM$",
                "^real-time io EPERM$",
                "^more open files EPERM$",
            ),
            controls=(Control(("^nice 5 done$", "^SCHED_IDLE done$")),),
        ),
        PRIORITIES,
    ),
    Attack(
        "A22",
        "leave a core dump",
        Stopped(
            "RLIMIT_CORE",
            ("^limit stands$", "^signal 11 core False$", r"^files \[\]$"),
            status=Status.SIGNALLED,
            after=lambda _, result: _died_by(result, 11),
            controls=(
                Control(
                    ("^limit raised$", "^signal 11 core True$"),
                    (off.rlimit(resource.RLIMIT_CORE),),
                    status=Status.SIGNALLED,
                    where=lambda _: resource.getrlimit(resource.RLIMIT_CORE)[1] != 0,
                ),
            ),
        ),
        CORE,
    ),
    Attack(
        "A24",
        "limits above the host's hard limits",
        Stopped("clamped to what the host allows", by_c="the container's own limits"),
        scenario=_lower_hard_limits_stand,
    ),
    Attack(
        "A25",
        "compile bomb",
        Stopped(
            "the same limits for compilers",
            status=(Status.MEMORY_LIMIT, Status.TIMED_OUT, Status.NONZERO_EXIT),
            after=lambda _, result: _failed_to_compile(result),
            controls=(Control(("^compiled$",), program=c('int main(void) { puts("compiled"); }')),),
        ),
        COMPILE_BOMB,
        limits=Limits(wall_s=5, memory_bytes=256 * MIB),
    ),
    Attack(
        "A26",
        "storms of signals; timers, epoll, eventfd without end",
        Stopped(
            "RLIMIT_NOFILE",
            ("^signals: many$", "^descriptors EMFILE$"),
            controls=(Control(("^descriptors all made$",), limits=Limits(wall_s=10)),),
        ),
        STORM,
        limits=Limits(wall_s=10, open_files=200),
    ),
)
