"""Attacks on the kernel's own surface: namespaces, mounts, capabilities, rare system calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    Program,
    Stopped,
    Words,
    c,
    python,
    shell,
)

NO_FILTER = (off.seccomp,)
# Each with arguments that can do no harm: without the filter the call reaches the kernel, which
# succeeds or finds fault with them. EPERM is the filter's answer, or that of a missing capability.
RARE_CALLS = {
    "io_uring_enter": "-1, 0, 0, 0, 0, 0",
    "io_uring_register": "-1, 0, 0, 0",
    "bpf": "9999, 0, 0",
    "perf_event_open": "0, 0, 0, 0, 0",
    "userfaultfd": "1",
    "memfd_secret": "0",
    "fanotify_init": "0x200, 0",
    "modify_ldt": "0, 0, 0",
    "keyctl": "0, -3, 0",
    "add_key": "b'user', b'x', b'y', 1, -3",
    "request_key": "b'user', b'x', 0, 0",
    "open_by_handle_at": "-100, 0, 0",
    "name_to_handle_at": "-100, b'/nonexistent', 0, 0, 0",
    "init_module": "0, 0, b''",
    "finit_module": "-1, 0, 0",
    "kexec_load": "0, 99, 0, 0x1000",
    "kexec_file_load": "-1, -1, 0, 0, 0",
    "iopl": "0",
    "ioperm": "0, 1, 0",
    "quotactl": "0, 0, 0, 0",
    "personality": "0x0400000",
    "move_pages": "0, 0, 0, 0, 0, 0",
    "process_mrelease": "-1, 0",
}
# The kernel asks for a capability before it looks at anything else: only root gets further.
ROOTS_CALLS = {
    "reboot": "0, 0, 0, 0",
    "swapon": "0, 0",
    "swapoff": "0",
    "acct": "b'/nonexistent'",
}
# Younger than many a libseccomp, which then knows no name for them: by number, alike everywhere.
YOUNG_CALLS = {"statmount": 457, "listmount": 458, "open_tree_attr": 467}


def _calls(table: dict[str, str]) -> Program:
    return python("\n".join(f'attempt("{n}", kernel, NR.{n}, {a})' for n, a in table.items()))


def _each(names: object, answer: str) -> tuple[str, ...]:
    return tuple(f"^{name} {answer}$" for name in names)  # type: ignore[attr-defined]


def _is_root(arena: Arena) -> bool:
    return arena.is_root


NESTED = python("""
NEWUSER = 0x10000000
os.waitpid(child(lambda: attempt("unshare", kernel, NR.unshare, NEWUSER)), 0)
def cloned():
    pid = kernel(NR.clone, NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone", cloned)
def cloned3():
    arguments = struct.pack("=8Q", NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = kernel(NR.clone3, arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
attempt("clone3", cloned3)
""")

MOUNTS = python("""
NEWUSER, NEWNS = 0x10000000, 0x20000
os.chdir(os.environ["TMPDIR"])
os.mkdir("at")
attempt("unshare", kernel, NR.unshare, NEWUSER | NEWNS)
attempt("mount", kernel, NR.mount, b"x", b"at", b"tmpfs", 0, 0)
attempt("bind", kernel, NR.mount, b"/usr", b"at", 0, 0x1000, 0)
attempt("umount2", kernel, NR.umount2, b"at", 2)
tree = attempt("open_tree", kernel, NR.open_tree, -100, b"/usr", 1)
attempt("mount_setattr", kernel, NR.mount_setattr, tree or 0, b"", 0x1000,
        struct.pack("=4Q", 1, 0, 0, 0), 32)
attempt("move_mount", kernel, NR.move_mount, tree or 0, b"", -100, b"at", 4)
made = attempt("fsopen", kernel, NR.fsopen, b"tmpfs", 0)
attempt("fsconfig", kernel, NR.fsconfig, made or 0, 6, 0, 0, 0)
attempt("fsmount", kernel, NR.fsmount, made or 0, 0, 0)
attempt("fspick", kernel, NR.fspick, -100, b"at", 0)
attempt("chroot", kernel, NR.chroot, b"at")
""")
MOUNT_CALLS = (
    "mount", "bind", "umount2", "open_tree", "mount_setattr", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "chroot",
)  # fmt: skip

SETNS = python("""
attempt("open the namespace of process 1", os.open, "/proc/1/ns/net", os.O_RDONLY)
attempt("setns", kernel, NR.setns, -1, 0)
attempt("new", kernel, NR.unshare, 0x10000000 | 0x04000000)
own = attempt("open one's own", os.open, "/proc/self/ns/uts", os.O_RDONLY)
attempt("setns to one's own", kernel, NR.setns, -1 if own is None else own, 0)
""")

# The dynamic linker prints what the kernel told it, unless the program runs with more rights.
SETUID = shell("""
grep -E '^(NoNewPrivs|Cap(Inh|Prm|Eff|Bnd|Amb)):' /proc/self/status
LD_SHOW_AUXV=1 su --version | grep -E 'AT_(E?UID|SECURE|.*util-linux)' || echo "su was secure"
""")

FOREIGN_CALLS = c(r"""
static void shown(const char *name, int pid)
{
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) printf("%s: signal %d\n", name, WTERMSIG(status));
    else printf("%s: exit %d\n", name, WEXITSTATUS(status));
}
int main(void)
{
    int pid = fork();
    if (pid == 0) {
        long got;
        __asm__ volatile("int $0x80" : "=a"(got) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
        _exit(got == getpid() ? 0 : 1);
    }
    shown("int 0x80", pid);
    pid = fork();
    if (pid == 0) _exit(syscall(0x40000000L | 39) == getpid() ? 0 : errno == ENOSYS ? 2 : 1);
    shown("x32", pid);
    return 0;
}
""")

TIOCSTI = python("""
import fcntl
for name in ("/dev/ptmx", "/dev/pts/ptmx", "/dev/tty", "/dev/tty0", "/dev/console"):
    attempt("open " + name, os.open, name, os.O_RDWR | os.O_NOCTTY)
for name, request in {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423}.items():
    attempt(name, fcntl.ioctl, 0, request, b"x")
# A filter that compares 64 bits of a 32-bit argument lets this by.
attempt("TIOCSTI with high bits", kernel, NR.ioctl, 0, 0x5412 | 1 << 32, b"x")
""")
NO_TERMINAL = tuple(
    f"^open /dev/{n} (ENOENT|EACCES|ENXIO)$" for n in ("ptmx", "pts/ptmx", "tty", "tty0", "console")
)
TERMINAL_CALLS = ("TIOCSTI", "TIOCLINUX", "TIOCSETD", "TIOCSTI with high bits")

DEVICES = python("""
import stat
os.chdir(os.environ["TMPDIR"])
attempt("mknod null", os.mknod, "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
attempt("mknod mem", os.mknod, "mem", stat.S_IFCHR | 0o666, os.makedev(1, 1))
attempt("mknod disk", os.mknod, "disk", stat.S_IFBLK | 0o666, os.makedev(254, 0))
attempt("mknod fifo", os.mknod, "fifo", stat.S_IFIFO | 0o666)
for name in ("mem", "kmem", "port", "kmsg", "fuse", "kvm", "net/tun", "vda", "sda", "dri/card0",
             "vhost-vsock", "loop-control", "mapper/control", "uinput", "snapshot", "hpet"):
    attempt("open " + name, os.open, "/dev/" + name, os.O_RDONLY)
attempt("open null", os.open, "/dev/null", os.O_RDONLY)
attempt("open what is there", os.open, "/dev/" + "@device@", os.O_RDONLY)
""")

PROC_WRITES = python("""
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
             "/proc/sys/vm/drop_caches", "/proc/self/comm", "/proc/self/oom_score_adj"):
    attempt(path, os.open, path, os.O_WRONLY)
""")
PROC_FILES = ("sys/kernel/core_pattern", "sys/kernel/modprobe", "sysrq-trigger",
              "sys/vm/drop_caches")  # fmt: skip

TAKEOVERS = python("""
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
             "/proc/sys/kernel/hotplug", "/sys/kernel/uevent_helper",
             "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/debug", "/sys/module"):
    attempt(path, os.open, path, os.O_WRONLY if not os.path.isdir(path) else os.O_RDONLY)
attempt("mount binfmt_misc", kernel, NR.mount, b"x", b"/proc/sys/fs/binfmt_misc", b"binfmt_misc",
        0, 0)
""")

CGROUPS = python("""
attempt("list", os.listdir, "/sys/fs/cgroup")
def write_limits():
    found = [os.path.join(folder, name) for folder, _, names in os.walk("/sys/fs/cgroup")
             for name in names if name in ("memory.limit_in_bytes", "memory.max", "release_agent")]
    print("files found:", bool(found))
    for path in found:
        os.close(os.open(path, os.O_WRONLY))
attempt("write limits", write_limits)
os.chdir(os.environ.get("TMPDIR", "/tmp"))
attempt("unshare", kernel, NR.unshare, 0x10000000 | 0x20000 | 0x02000000)
attempt("mount version 1", kernel, NR.mount, b"x", b".", b"cgroup", 0, b"rdma")
attempt("mount version 2", kernel, NR.mount, b"x", b".", b"cgroup2", 0, 0)
""")

CLOCKS = python("""
attempt("clock_settime", time.clock_settime, time.CLOCK_REALTIME, 0)
attempt("settimeofday", kernel, NR.settimeofday, struct.pack("=qq", 0, 0), 0)
attempt("clock_adjtime", kernel, NR.clock_adjtime, 0, bytes(208))
attempt("adjtimex", kernel, NR.adjtimex, struct.pack("=Ixxxxq", 1, 0) + bytes(192))
attempt("set monotonic", kernel, NR.clock_settime, 1, bytes(16))
attempt("read", time.clock_gettime, time.CLOCK_REALTIME)
""")


@contextlib.contextmanager
def _device(_: Arena) -> Iterator[Words]:
    """A device node of this machine that is none of those a cell has."""
    known = ("kmsg", "ptmx", "tty", "console")
    yield {"device": next(name for name in known if Path("/dev", name).exists())}


FOREIGN = Stopped(
    "seccomp",
    ("^int 0x80: signal 31$", "^x32: (signal 31|exit 2)$"),
    controls=(Control(("^int 0x80: (exit 0|signal 11)$",), NO_FILTER),),
)

ATTACKS = (
    Attack(
        "A31",
        "write to /proc/sys and /proc/sysrq-trigger",
        Stopped(
            "Landlock, the cell's own user namespace",
            _each((f"/proc/{name}" for name in PROC_FILES), "(EACCES|EROFS|ENOENT|EPERM)"),
            controls=(
                Control(
                    ("^/proc/self/comm done$", "^/proc/self/oom_score_adj done$"), (off.landlock,)
                ),
                Control(
                    ("^/proc/sys/kernel/core_pattern done$",), outside="server", where=_is_root
                ),
            ),
            by_c="Landlock, a read-only /proc/sys, no capability",
        ),
        PROC_WRITES,
    ),
    Attack(
        "A32",
        "take over core_pattern, modprobe, uevent_helper, binfmt_misc",
        Stopped(
            "Landlock, of /sys no more than two files to read (R)",
            (
                "^/proc/sys/kernel/core_pattern E",
                "^/proc/sys/kernel/modprobe E",
                "^/sys/kernel/uevent_helper (ENOENT|EACCES)",
                "^/proc/sys/fs/binfmt_misc/register E",
                "^/sys/module (ENOENT|EACCES)$",
                "^mount binfmt_misc EPERM$",
            ),
            controls=(
                Control(("^/sys/module done$",), outside="server"),
                Control(
                    ("^/proc/sys/kernel/core_pattern done$",), outside="server", where=_is_root
                ),
            ),
            by_c="Landlock, read-only /proc/sys and /sys",
        ),
        TAKEOVERS,
    ),
    Attack(
        "A33",
        "loosen one's own control group, release_agent, mount a cgroup file system",
        Stopped(
            "cgroup namespace, of /sys no more than two files to read (R), seccomp",
            (
                "^list (ENOENT|EACCES)$",
                "^files found: False$",
                "^mount version 1 EPERM$",
                "^mount version 2 EPERM$",
            ),
            controls=(
                Control(("^list done$", "^files found: True$"), outside="server"),
                Control(("^unshare (done|ENOSPC)$",), NO_FILTER),
            ),
            by_c="Landlock, read-only /sys, seccomp",
        ),
        CGROUPS,
    ),
    Attack(
        "A34",
        "a nested user namespace: unshare, clone, clone3",
        Stopped(
            "seccomp",
            ("^unshare EPERM$", "^clone EPERM$", "^clone3 ENOSYS$"),
            controls=(Control(("^unshare done$", "^clone done$", "^clone3 done$"), NO_FILTER),),
        ),
        NESTED,
        b=Stopped(
            "seccomp",
            ("^unshare EPERM$", "^clone EPERM$", "^clone3 ENOSYS$"),
            # The machine forbids them, too, but with an answer of its own.
            controls=(Control(("^unshare ENOSPC$", "^clone ENOSPC$"), NO_FILTER),),
        ),
    ),
    Attack(
        "A35",
        "mount, bind, umount, open_tree, move_mount, fsopen, mount_setattr, chroot",
        Stopped(
            "seccomp",
            ("^unshare EPERM$", *_each(MOUNT_CALLS, "EPERM")),
            controls=(Control(_each(MOUNT_CALLS, "done"), outside="cell"),),
        ),
        MOUNTS,
        b=Stopped(
            "seccomp",
            ("^unshare EPERM$", *_each(MOUNT_CALLS, "EPERM")),
            controls=(Control(("^unshare ENOSPC$", "^fsconfig EINVAL$"), NO_FILTER),),
        ),
    ),
    Attack(
        "A36",
        "setns into a namespace of the host or of process 1",
        Stopped(
            "seccomp, pid 1 closed to others",
            (
                "^open the namespace of process 1 (EACCES|EPERM)$",
                "^setns EPERM$",
                "^setns to one's own EPERM$",
            ),
            controls=(
                Control(("^setns EBADF$", "^new done$", "^setns to one's own done$"), NO_FILTER),
            ),
        ),
        SETNS,
        b=Stopped(
            "seccomp, Landlock",
            ("^open the namespace of process 1 (EACCES|EPERM)$", "^setns EPERM$"),
            controls=(Control(("^setns EBADF$",), NO_FILTER),),
        ),
    ),
    Attack(
        "A37",
        "gain rights from setuid files and file capabilities",
        Stopped(
            "no_new_privs, no capability",
            (
                "^NoNewPrivs:\t1$",
                "^CapEff:\t0+$",
                "^CapPrm:\t0+$",
                "^CapBnd:\t0+$",
                "^AT_EUID: +[1-9]",
            ),
            controls=(Control(("^NoNewPrivs:\t0$", "^su was secure$"), outside="cell"),),
        ),
        SETUID,
        b=Stopped(
            "no_new_privs, no capability",
            ("^NoNewPrivs:\t1$", "^CapEff:\t0+$", "^CapPrm:\t0+$", "^AT_EUID: +[1-9]"),
            controls=(Control(("^NoNewPrivs:\t0$",), outside="cell"),),
        ),
    ),
    Attack(
        "A38",
        "device nodes: make them, open those of the machine",
        Stopped(
            "own /dev, Landlock, no capability",
            (
                "^mknod null EPERM$",
                "^mknod mem EPERM$",
                "^mknod disk EPERM$",
                "^open (mem|kmsg|kvm) (ENOENT|EACCES)$",
                "^open what is there (ENOENT|EACCES)$",
                "^open null done$",
            ),
            controls=(
                Control(("^mknod fifo done$",)),
                Control(
                    ("^mknod null done$", "^open what is there done$"),
                    outside="server",
                    where=_is_root,
                ),
            ),
        ),
        DEVICES,
        setup=_device,
    ),
    Attack(
        "A43",
        "io_uring, which does what the filter would not see",
        Stopped(
            "seccomp",
            ("^setup EPERM$",),
            controls=(Control(("^setup done$",), NO_FILTER),),
        ),
        python('attempt("setup", kernel, NR.io_uring_setup, 8, bytes(120))'),
    ),
    Attack(
        "A44",
        "rare system calls: bpf, perf, keyrings, handles, modules, kexec, userfaultfd …",
        Stopped(
            "seccomp",
            _each((*RARE_CALLS, *ROOTS_CALLS), "EPERM"),
            controls=(
                Control(_each(RARE_CALLS, "(?!EPERM).*"), NO_FILTER),
                Control(_each(ROOTS_CALLS, "(?!EPERM).*"), outside="server", where=_is_root),
            ),
        ),
        _calls(RARE_CALLS | ROOTS_CALLS),
    ),
    Attack(
        "A45",
        "system calls of a foreign ABI: i386, x32",
        FOREIGN,
        FOREIGN_CALLS,
    ),
    Attack(
        "A46",
        "put keystrokes into a terminal: TIOCSTI, TIOCLINUX, a separate terminal",
        Stopped(
            "seccomp, no terminal, own session",
            (*NO_TERMINAL, *_each(TERMINAL_CALLS, "EPERM")),
            controls=(Control(_each(TERMINAL_CALLS, "ENOTTY"), NO_FILTER),),
        ),
        TIOCSTI,
    ),
    Attack(
        "A91",
        "set the clocks",
        Stopped(
            "seccomp, no capability",
            (
                "^clock_settime EPERM$",
                "^settimeofday EPERM$",
                "^clock_adjtime EPERM$",
                "^adjtimex EPERM$",
                "^set monotonic EPERM$",
            ),
            controls=(
                Control(
                    ("^clock_adjtime done$", "^set monotonic EINVAL$", "^read done$"), NO_FILTER
                ),
            ),
        ),
        CLOCKS,
    ),
    Attack(
        "X01",
        "system calls younger than the libseccomp that builds the filter",
        Stopped(
            "seccomp",
            _each(YOUNG_CALLS, "EPERM"),
            controls=(Control(("^statmount (?!EPERM)", "^open_tree_attr (?!EPERM)"), NO_FILTER),),
        ),
        python(
            "\n".join(
                f'attempt("{n}", kernel, {nr}, -1, 0, 0, 0, 0)' for n, nr in YOUNG_CALLS.items()
            )
        ),
    ),
)
