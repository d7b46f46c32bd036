"""Attacks that fill memory file systems and disks, with bytes, files or folders."""

from __future__ import annotations

from pathlib import Path

import trio

from executor import Limits, Request, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    NotApplicable,
    NotStopped,
    Stopped,
    c,
    python,
    shell,
)

MIB = 1024 * 1024

NO_CGROUP_SCRATCH = "the scratch folder is the host's: one file's size is limited, their sum is not"

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


async def _second_run_has_the_whole_quota(arena: Arena) -> None:
    limits = Limits(wall_s=10, scratch_bytes=8 * MIB)
    twice = shell("head -c 6000000 /dev/zero > $TMPDIR/a; head -c 6000000 /dev/zero > $TMPDIR/b")
    crowded = await arena.run(twice, limits=limits)
    assert crowded.status is Status.DISK_LIMIT  # within one run it is too much
    once = shell("head -c 6000000 /dev/zero > $TMPDIR/a && echo all written")
    for _ in range(3):
        assert "all written" in (await arena.run(once, limits=limits)).stdout.text


async def _no_trace_of_deep_folders(arena: Arena) -> None:
    """What a run leaves on the host is gone soon, however deep; and the next run works."""
    result = await arena.run(DEEP, limits=Limits(wall_s=60))
    assert result.status is Status.OK, result.stderr.text
    assert "deep 6000" in result.stdout.text
    assert (await arena.run(shell("echo next"))).stdout.text.endswith("next\n")
    with trio.move_on_after(60):
        while _host_folders(arena):  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.05)
    assert not _host_folders(arena)


async def _locked_folders_are_cleaned_up(arena: Arena) -> None:
    lock = shell("""
    cd $TMPDIR; mkdir -p a/b/c d; echo x > a/b/c/f; echo x > d/f
    chmod 000 a/b/c/f a/b/c a/b a; chmod 555 d; chmod 000 "$TMPDIR" 2>/dev/null
    cat a/b/c/f 2>&1; rm -f d/f 2>&1
    """)
    result = await arena.run(lock)
    assert "attack started" in result.stdout.text
    assert result.stdout.text.count("ermission denied") == 2  # the control: it is really locked
    seen: list[bool] = []  # and where anything lies on the host, it is seen while the run lasts
    request = Request("shell", "echo x; sleep 0.1")
    await arena.executor.run(request, on_output=lambda *_: seen.append(bool(_host_folders(arena))))
    assert seen == [arena.tier == "B"]
    assert (await arena.run(shell("echo next"))).stdout.text.endswith("next\n")
    with trio.move_on_after(60):
        while _host_folders(arena):  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.05)
    assert not _host_folders(arena)


def _host_folders(arena: Arena) -> set[Path]:
    """Folders on the host that hold what this server's runs may write (tier B)."""
    temporary = arena.executor._runner.placement.temporary
    return set(temporary.iterdir()) if temporary.exists() else set()


def swap_is_off(_: Arena) -> bool:
    return len(Path("/proc/swaps").read_text().splitlines()) < 2


MEMORY = Limits(wall_s=20, memory_bytes=64 * MIB)

ROOMY = Limits(wall_s=20, memory_bytes=1024 * MIB)


def _is_empty(folder: Path) -> None:
    assert not list(folder.iterdir())


ATTACKS = (
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
            by_c="sized tmpfs mounts, memory control group",
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
        rlimits=NotStopped("only control groups count memfd", ("^filled$",)),
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
            status=Status.MEMORY_LIMIT,
            controls=(Control(("^filled$",), limits=ROOMY),),
        ),
        b=Stopped(
            "seccomp",
            ("^shmget (EPERM|Permission denied)$",),
            status=Status.NONZERO_EXIT,
            controls=(Control(("^filled$",), (off.seccomp,), limits=ROOMY),),
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
        Stopped("a separate tmpfs"),
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
        "folders 6,000 deep, to break the clean-up",
        Stopped("nothing is left on the host"),
        scenario=_no_trace_of_deep_folders,
    ),
    Attack(
        "A70",
        "files and folders locked against clean-up",
        Stopped("nothing is left on the host"),
        scenario=_locked_folders_are_cleaned_up,
    ),
)
