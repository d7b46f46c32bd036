"""Attacks that try to starve the machine, or the server, of something."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import trio

from executor import Limits, Request, Result, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena, alive
from tests.escapes.attack import (
    Attack,
    Control,
    NotApplicable,
    NotStopped,
    Stopped,
    c,
    perl,
    python,
    shell,
)

MIB = 1024 * 1024
LIMITED = (Status.PROCESS_LIMIT, Status.NONZERO_EXIT)
NO_CGROUP_SCRATCH = "the scratch folder is the host's: one file's size is limited, their sum is not"


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
FILL_TMPFS = python("""
def fill(path):
    with open(path, "wb", buffering=0) as out:
        for _ in range(16):
            out.write(b"x" * (1 << 20))
for folder in (os.environ["TMPDIR"], "/dev/shm", "/dev", "/", os.environ["HOME"]):
    attempt(folder, fill, folder + "/filler")
    attempt("again", os.unlink, folder + "/filler") if folder == "/dev/shm" else None
""")
MEMORY_BY_MEMFD = python("""
def fill():
    fd = os.memfd_create("filler")
    for _ in range(256):
        os.write(fd, b"x" * (1 << 20))
attempt("memfd", fill)
print("filled", flush=True)
""")
MEMORY_BY_SHM = c(r"""
#include <sys/shm.h>
int main(void)
{
    size_t size = 256 << 20;
    int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
    if (id < 0) { printf("shmget %s\n", errno == EPERM ? "EPERM" : strerror(errno)); return 1; }
    char *at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    for (size_t i = 0; i < size; i += 4096) at[i] = 1;
    puts("filled");
    return 0;
}
""")
PIPES = python("""
import fcntl
count = 0
try:
    while count < 400:
        reader, writer = os.pipe()
        count += 1
except OSError as error:
    print("pipes", errno.errorcode[error.errno])
else:
    print("pipes all opened")
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
SLEEP = shell("sleep 1; echo awake")
STUBBORN = shell("trap '' TERM INT HUP QUIT; kill -STOP 0; sleep @mark@")
SPARSE = python("""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.chdir(os.environ["TMPDIR"])
attempt("truncate scratch", lambda: os.truncate(os.open("hole", os.O_CREAT | os.O_WRONLY), 1 << 40))
attempt("truncate project", lambda: os.truncate(
    os.open("@project@/hole", os.O_CREAT | os.O_WRONLY), 1 << 40))
def write():
    with open("real", "wb", buffering=0) as out:
        for _ in range(12):
            assert out.write(b"x" * (1 << 20)), "short"
def fill():
    for number in range(32):
        with open(f"part{number}", "wb", buffering=0) as out:
            out.write(b"x" * 1_000_000)
attempt("one file", write)
attempt("many files", fill)
""")
INODES = python("""
os.chdir(os.environ["TMPDIR"])
def fill():
    for number in range(2000):
        os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
attempt("files", fill)
""")
DEEP = python("""
deep = 0
os.chdir(os.environ["TMPDIR"])
for name in ("d", "n" * 255):
    for _ in range(3000):
        os.mkdir(name)
        os.chdir(name)
        deep += 1
print("deep", deep)
""")
FLOOD = shell("head -c 40000000 /dev/zero | tr '\\0' a; head -c 40000000 /dev/zero | tr '\\0' b >&2")
LONG_LINE = shell("head -c 20000000 /dev/zero | tr '\\0' a")
DEAF = shell("head -c 10000000 /dev/zero | tr '\\0' a; echo; echo finished")
FILES = python("""
opened = []
try:
    for _ in range(600):
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("open", errno.errorcode[error.errno])
else:
    print("all opened")
""")
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
HUGE_ARGUMENTS = python("""
attempt("argument", os.execve, "/bin/true", ["x" * 3_000_000], {})
attempt("environment", os.execve, "/bin/true", ["x"], {"A": "x" * 3_000_000})
attempt("many", os.execve, "/bin/true", ["x" * 100_000] * 100, {})
os.execve("/bin/echo", ["echo", "x" * 100_000], {})
""")
COMPILE_BOMB = c('#pragma message "attack started"\n#include "/dev/zero"\nint main(void) { return 0; }')
STORM = c(r"""
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/time.h>
static volatile long count;
static void tick(int number)
{
    struct itimerval calm = {{0, 0}, {0, 0}};  // else nothing but the handler would ever run
    if (++count == 10000 + 0 * number) setitimer(ITIMER_REAL, &calm, NULL);
}
int main(void)
{
    struct itimerval storm = {{0, 1}, {0, 1}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &storm, NULL);
    while (count < 10000) ;
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


async def _second_run_has_the_whole_quota(arena: Arena) -> None:
    limits = Limits(wall_s=10, scratch_bytes=8 * MIB)
    twice = shell("head -c 6000000 /dev/zero > $TMPDIR/a; head -c 6000000 /dev/zero > $TMPDIR/b")
    crowded = await arena.run(twice, limits=limits)
    assert crowded.status is Status.DISK_LIMIT  # within one run it is too much
    once = shell("head -c 6000000 /dev/zero > $TMPDIR/a && echo all written")
    for _ in range(3):
        assert "all written" in (await arena.run(once, limits=limits)).stdout.text


async def _deaf_programs_do_not_deadlock(arena: Arena) -> None:
    stdin = os.urandom(10_000_000)
    result = await arena.run(DEAF, limits=Limits(wall_s=30), stdin=stdin)
    assert result.status is Status.OK
    assert result.stdout.bytes_total == len("attack started\n") + 10_000_000 + len("\nfinished\n")
    assert result.stdout.tail.endswith("finished\n")
    # The control: whoever waits for the end before reading waits for ever.
    naive = ["head", "-c", "10000000", "/dev/zero"]
    with subprocess.Popen(naive, stdout=subprocess.PIPE) as process:
        try:
            await trio.to_thread.run_sync(lambda: process.wait(0.5))
            raise AssertionError("the pipe held it all")
        except subprocess.TimeoutExpired:
            process.kill()


async def _unread_input_is_no_error(arena: Arena) -> None:
    result = await arena.run(shell("exec 0<&-; exit 7"), stdin=os.urandom(10_000_000))
    assert (result.status, result.exit_code) == (Status.NONZERO_EXIT, 7)
    assert "attack started" in result.stdout.text
    assert result.message == ""

    def naive() -> None:  # the control: writing to a program that does not read fails
        with subprocess.Popen(["/bin/true"], stdin=subprocess.PIPE) as process:
            process.communicate(b"x")
            assert process.stdin is not None

    await trio.to_thread.run_sync(naive)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        os.write(writer, b"x")
        raise AssertionError("a pipe without a reader took it")
    except BrokenPipeError:
        os.close(writer)


async def _a_huge_program_travels_as_a_file(arena: Arena) -> None:
    result = await arena.run(HUGE_ARGUMENTS)
    for name in ("argument", "environment", "many"):
        assert f"{name} E2BIG" in result.stdout.text
    assert result.stdout.bytes_total > 100_000  # the control: what fits is passed
    large = await arena.run(shell(f"true '{'x' * 3_000_000}'\necho huge and fine"))
    assert large.stdout.text.endswith("huge and fine\n")


async def _descriptors_of_the_server(arena: Arena) -> None:
    await arena.run(shell("true"))
    before = len(os.listdir("/proc/self/fd"))
    result = await arena.run(FILES, limits=Limits(wall_s=10, open_files=64))
    assert "attack started" in result.stdout.text
    assert "open EMFILE" in result.stdout.text
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # at most the last cell's burial
    allowed = await arena.run(FILES, limits=Limits(wall_s=10, open_files=1024))
    assert "all opened" in allowed.stdout.text


async def _no_trace_of_deep_folders(arena: Arena) -> None:
    """What a run leaves on the host is gone soon, however deep; and the next run works."""
    before = _host_folders()
    result = await arena.run(DEEP, limits=Limits(wall_s=20))
    assert result.status is Status.OK, result.stderr.text
    assert "deep 6000" in result.stdout.text
    assert (await arena.run(shell("echo next"))).stdout.text.endswith("next\n")
    with trio.move_on_after(10):
        while _host_folders() - before:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.05)
    assert not _host_folders() - before


async def _locked_folders_are_cleaned_up(arena: Arena) -> None:
    before = _host_folders()
    lock = shell("""
    cd $TMPDIR; mkdir -p a/b/c d; echo x > a/b/c/f; echo x > d/f
    chmod 000 a/b/c/f a/b/c a/b a; chmod 555 d; chmod 000 "$TMPDIR" 2>/dev/null
    cat a/b/c/f 2>&1; rm -f d/f 2>&1
    """)
    result = await arena.run(lock)
    assert "attack started" in result.stdout.text
    assert result.stdout.text.count("ermission denied") == 2  # the control: it is really locked
    assert (await arena.run(shell("echo next"))).stdout.text.endswith("next\n")
    with trio.move_on_after(10):
        while _host_folders() - before:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.05)
    assert not _host_folders() - before


def _host_folders() -> set[Path]:
    """Folders on the host that hold what tier B's runs may write."""
    import tempfile

    return set(Path(tempfile.gettempdir()).glob("ctxmode-*"))


async def _lower_hard_limits_stand(arena: Arena) -> None:
    """A server under low hard limits clamps what it asks for, and says no nonsense."""
    ask = shell("ulimit -n; ulimit -Hs")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
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
    assert said == "ok ['attack', 'started', '512']\n"


def swap_is_off(_: Arena) -> bool:
    return len(Path("/proc/swaps").read_text().splitlines()) < 2


def _peak_is_known(_: Arena, result: Result) -> None:
    assert result.usage.peak_memory_bytes
    assert result.usage.peak_memory_bytes < 128 * MIB


MEMORY = Limits(wall_s=20, memory_bytes=64 * MIB)
ROOMY = Limits(wall_s=20, memory_bytes=1024 * MIB)

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
        ),
        THREAD_BOMB,
        limits=Limits(wall_s=5, processes=40),
    ),
    Attack(
        "A3",
        "fork bomb of detached grandchildren in sessions of their own",
        Stopped(
            "process limit, pid namespace or kill loop",
            ("^refused: EAGAIN$",),
            LIMITED,
            after=_nothing_left,
            controls=(
                Control(("^all forked$",), limits=Limits(wall_s=20, processes=400),
                        after=_nothing_left),
            ),
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
        "A6",
        "memory through every tmpfs",
        Stopped(
            "one sized tmpfs",
            (
                "^/tmp ENOSPC$",
                "^/dev/shm ENOSPC$",
                "^/dev (EROFS|EACCES)$",
                "^/ (EROFS|EACCES)$",
                "^/home/sandbox ENOSPC$",
            ),
            controls=(
                Control(
                    ("^/tmp done$", "^/dev/shm done$", "^/home/sandbox done$"),
                    limits=Limits(wall_s=10, scratch_bytes=80 * MIB),
                ),
            ),
        ),
        FILL_TMPFS,
        limits=Limits(wall_s=10, scratch_bytes=8 * MIB),
        b=NotStopped(
            NO_CGROUP_SCRATCH,
            ("^.*/tmp done$", "^/dev/shm (EACCES|ENOENT)$", "^/dev EACCES$", "^/ EACCES$"),
        ),
    ),
    Attack(
        "A7",
        "memory in memfd, which no process's size shows",
        Stopped(
            "memory control group",
            status=Status.MEMORY_LIMIT,
            controls=(Control(("^filled$",), limits=ROOMY),),
        ),
        MEMORY_BY_MEMFD,
        limits=MEMORY,
        rlimits=NotStopped(
            "what lies in memfd is counted by control groups only", ("^filled$",)
        ),
    ),
    Attack(
        "A7 shm",
        "memory in System V segments",
        Stopped(
            "memory control group",
            status=Status.MEMORY_LIMIT,
            controls=(Control(("^filled$",), limits=ROOMY),),
        ),
        MEMORY_BY_SHM,
        limits=MEMORY,
        rlimits=Stopped(
            "sampling of the whole tree",
            status=(Status.MEMORY_LIMIT),
            controls=(Control(("^filled$",), limits=ROOMY),),
        ),
    ),
    Attack(
        "A7 pipes",
        "memory in pipe buffers",
        Stopped(
            "RLIMIT_NOFILE",
            ("^pipes EMFILE$",),
            controls=(Control(("^pipes all opened$",), limits=Limits(wall_s=10)),),
        ),
        PIPES,
        limits=Limits(wall_s=10, open_files=128),
    ),
    Attack(
        "A8",
        "use up the next run's tmpfs",
        Stopped("a tmpfs of its own"),
        scenario=_second_run_has_the_whole_quota,
        b=NotStopped(NO_CGROUP_SCRATCH, ("^all written$",)),
        program=shell(
            "for n in 1 2 3; do head -c 6000000 /dev/zero > $TMPDIR/$n; done && echo all written"
        ),
        limits=Limits(wall_s=10, scratch_bytes=8 * MIB),
    ),
    Attack(
        "A9",
        "swap out what memory.max counts",
        NotApplicable("this machine has no swap", swap_is_off),
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
        limits=Limits(wall_s=0.4),
    ),
    Attack(
        "A13",
        "sparse and real files beyond every size",
        Stopped(
            "RLIMIT_FSIZE, sized tmpfs",
            ("^truncate scratch EFBIG$", "^truncate project EFBIG$", "^many files ENOSPC$"),
            after=lambda arena, _: _is_empty(arena.project),
            controls=(
                Control(
                    ("^truncate scratch done$", "^one file done$", "^many files done$"),
                    limits=Limits(wall_s=10, file_bytes=1 << 41),
                ),
            ),
        ),
        SPARSE,
        limits=Limits(wall_s=10, file_bytes=10 * MIB, scratch_bytes=16 * MIB),
        b=NotStopped(
            NO_CGROUP_SCRATCH,
            ("^truncate scratch EFBIG$", "^truncate project EACCES$", "^many files done$"),
        ),
    ),
    Attack(
        "A14",
        "more files than the file system has room for",
        Stopped(
            "inodes of the sized tmpfs",
            ("^files ENOSPC$",),
            controls=(Control(("^files done$",), limits=Limits(wall_s=10)),),
        ),
        INODES,
        limits=Limits(wall_s=10, scratch_inodes=500),
        b=NotStopped("the scratch folder is the host's: files are not counted", ("^files done$",)),
    ),
    Attack(
        "A15",
        "folders 6,000 deep, for whoever cleans up",
        Stopped("nothing is left on the host"),
        scenario=_no_trace_of_deep_folders,
    ),
    Attack(
        "A16",
        "flood of output on both streams",
        Stopped(
            "output limit",
            status=Status.OUTPUT_LIMIT,
            after=lambda _, result: _bounded(result, MIB),
            controls=(
                Control((), limits=Limits(wall_s=20, output_bytes=100 * MIB), after=lambda _, r: (
                    _counted(r, 40_000_015, 40_000_000))),
            ),
        ),
        FLOOD,
        limits=Limits(wall_s=20, output_bytes=MIB),
    ),
    Attack(
        "A17",
        "one line of 20 MB",
        Stopped(
            "bounded capture",
            after=lambda _, result: _counted(result, 20_000_015, 0),
            controls=(Control(("^short and whole$",), program=shell("echo short and whole")),),
        ),
        LONG_LINE,
        limits=Limits(wall_s=20),
    ),
    Attack(
        "A18",
        "write 10 MB and never read 10 MB of input",
        Stopped("both pipes drained from the start, input as a file"),
        scenario=_deaf_programs_do_not_deadlock,
    ),
    Attack(
        "A19",
        "end at once with 10 MB of input unread",
        Stopped("input as a file"),
        scenario=_unread_input_is_no_error,
    ),
    Attack(
        "A20",
        "open files until none is left",
        Stopped("RLIMIT_NOFILE"),
        scenario=_descriptors_of_the_server,
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
        "A23",
        "arguments, environments and programs of megabytes",
        Stopped("programs travel as files"),
        scenario=_a_huge_program_travels_as_a_file,
    ),
    Attack(
        "A24",
        "limits above the host's hard limits",
        Stopped("clamped to what the host allows"),
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
            controls=(
                Control(("^descriptors all made$",), limits=Limits(wall_s=10)),
            ),
        ),
        STORM,
        limits=Limits(wall_s=10, open_files=200),
    ),
    Attack(
        "A70",
        "files and folders locked against whoever cleans up",
        Stopped("nothing is left on the host"),
        scenario=_locked_folders_are_cleaned_up,
    ),
)


def _is_empty(folder: Path) -> None:
    assert not list(folder.iterdir())


def _bounded(result: Result, limit: int) -> None:
    total = result.stdout.bytes_total + result.stderr.bytes_total
    assert limit < total < 80_000_000
    for stream in (result.stdout, result.stderr):
        shown = len(stream.head.encode()) + len(stream.tail.encode())
        assert shown <= 4096
        assert shown + stream.bytes_omitted == stream.bytes_total


def _counted(result: Result, stdout: int, stderr: int) -> None:
    assert (result.stdout.bytes_total, result.stderr.bytes_total) == (stdout, stderr)
    assert len(result.stdout.text) < 5000


def _died_by(result: Result, number: int) -> None:
    assert (result.signal, result.exit_code) == (number, None)


def _failed_to_compile(result: Result) -> None:
    assert result.phase == "compile"
