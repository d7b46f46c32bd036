"""What comes of attacks in containers with gVisor's kernel, where that differs from Linux's.

gVisor answers system calls itself: what it lacks can't be attacked, what it shows is its own.
It has no Landlock, counts no files in a tmpfs, and lets everybody read some of /proc. What these
expect was seen of Debian's release of 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from executor import Limits, Status
from tests.escapes import layers_off as off
from tests.escapes.attack import Attack, Control, Expected, NotStopped, Stopped
from tests.escapes.counters import JUDGED, UNTOLD
from tests.escapes.processes import TRACE_CALLS

NO_FILTER = (off.seccomp,)
ABSENT = "(ENOENT|EACCES|EPERM|ENOSYS)"
NOWHERE = "(ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|EPERM|EPIPE|ENOSYS)"
OUTWARD = ("tcp out", "tcp metadata", "tcp 6", "udp out", "udp broadcast", "udp 6", "icmp")
TERMINAL_CALLS = ("TIOCSTI", "TIOCLINUX", "TIOCSETD", "TIOCSTI with high bits")
RARE = ("userfaultfd", "memfd_secret", "fanotify_init", "keyctl", "personality")
MEMORY = "sampling of the container kernel's allocated memory, then the memory control group"
PROCESSES = "RLIMIT_NPROC in the container's kernel"
OWN_COUNTS = "gVisor's own counts, none of the machine's"
LIMITED = (Status.PROCESS_LIMIT, Status.NONZERO_EXIT, Status.TIMED_OUT)


def _lines(names: tuple[str, ...], answer: str) -> tuple[str, ...]:
    return tuple(f"^{name} {answer}$" for name in names)


# (what stops it, what its output shows, the controls if they are others)
Row = tuple[str, tuple[str, ...]] | tuple[str, tuple[str, ...], tuple[Control, ...]]
STOPPED: Mapping[str, Row] = MappingProxyType(
    {
        "A21": (
            "gVisor has one class of scheduling, and its priorities reach no processor",
            (
                "^SCHED_FIFO (EPERM|EINVAL)$",
                "^SCHED_RR (EPERM|EINVAL)$",
                "^SCHED_DEADLINE (EPERM|EINVAL|ENOSYS)$",
                "^real-time io (EPERM|ENOSYS)$",
                "^more open files EPERM$",
            ),
            (Control(("^nice 5 done$",)),),
        ),
        "A22": (
            "RLIMIT_CORE, and gVisor writes none",
            ("^limit stands$", "^signal 11 core False$", r"^files \[\]$"),
            (),
        ),
        "A27": (
            "gVisor's own processes",
            _lines(
                ("look at victim", "look at server", "stop victim", "kill victim"),
                "(ESRCH|EPERM)",
            ),
        ),
        "A29": (
            "gVisor closes memory; the addresses of process 1's memory and its environment, "
            "without user data, can be read",
            ("^init mem (EACCES|EPERM)$", "^parent mem (EACCES|EPERM)$", "^own environment done$"),
            (),
        ),
        "A30": (
            "seccomp",
            (
                *(f"^{call} {who} EPERM$" for call in TRACE_CALLS for who in ("sibling", "init")),
                "^advise (EPERM|ENOSYS)$",
            ),
            (Control(("^seize sibling done$", "^seize init EPERM$"), NO_FILTER),),
        ),
        "A32": (
            "gVisor's own /proc and /sys, without them",
            (
                "^/proc/sys/kernel/core_pattern E",
                "^/proc/sys/kernel/modprobe E",
                "^/sys/kernel/uevent_helper E",
                "^/proc/sys/fs/binfmt_misc/register E",
                "^mount binfmt_misc EPERM$",
            ),
        ),
        "A33": (
            "gVisor's own /sys, without them; seccomp",
            ("^files found: False$", "^mount version 1 EPERM$", "^mount version 2 EPERM$"),
        ),
        "A34": (
            "seccomp",
            ("^unshare EPERM$", "^clone EPERM$", "^clone3 ENOSYS$"),
            (Control(("^unshare done$", "^clone done$"), NO_FILTER),),
        ),
        "A36": (
            "seccomp",
            ("^setns EPERM$", "^setns to one's own EPERM$"),
            (Control(("^new done$",), NO_FILTER),),
        ),
        "A37": (
            "no_new_privs, no capability",
            ("^CapEff:\t0+$", "^CapPrm:\t0+$", "^CapBnd:\t0+$", "^AT_EUID: +[1-9]"),
            (Control(("^su was secure$",), outside="cell"),),
        ),
        "A38": (
            "gVisor's own devices; seccomp",
            (
                *_lines(("mknod null", "mknod mem", "mknod disk"), "EPERM"),
                "^open (mem|kmsg|kvm) (ENOENT|EACCES)$",
                "^open null done$",
            ),
        ),
        "A42": (
            "seccomp, and gVisor has none",
            ("^vsock SOCK_STREAM EAFNOSUPPORT$",),
            (),
        ),
        "A44": (
            "seccomp",
            _lines((*RARE, "bpf", "io_uring_enter", "init_module", "kexec_load"), "EPERM"),
            (Control(_lines(RARE, "(?!EPERM).*"), NO_FILTER),),
        ),
        "A45": (
            "gVisor has the native table alone; seccomp",
            ("^int 0x80: (signal 31|signal 11|exit 1)$", "^x32: (signal 31|exit 2)$"),
            (),
        ),
        "A46": (
            "seccomp, own session; terminals are the container's own",
            _lines(TERMINAL_CALLS, "EPERM"),
            (Control(_lines(TERMINAL_CALLS, "(ENOTTY|EINVAL)"), NO_FILTER),),
        ),
        "A55": (
            "a job folder of root's, no descriptor",
            (
                "^overwrite the script E(ROFS|ACCES)$",
                "^add a file E(ROFS|ACCES)$",
                "^remove the script E(ROFS|ACCES|BUSY|PERM)$",
                "^rename the folder E",
                "^replace the folder E",
                "^write to the parent's descriptors E(ACCES|PERM|NOENT|NXIO)$",
            ),
        ),
        "A57": (
            "own root",
            (*_lines(("in root", "magic link", "symbolic link"), ABSENT), "^inside True$"),
        ),
        "A59": (
            "absent, not merely forbidden; what there is of /var is the image's own",
            (
                "^home secret ENOENT$",
                "^home .ssh/id_ed25519 ENOENT$",
                "^home .netrc ENOENT$",
                "^home other-project/main.py ENOENT$",
                "^list home ENOENT$",
                "^the server's data ENOENT$",
                "^/etc/shadow (ENOENT|EACCES)$",
                "^/etc/machine-id (ENOENT|EACCES)$",
            ),
        ),
        "A61": (
            "a view is written to; a repository is committed as one unit, hooks never",
            ("^exchange -1 (16|22)$", "^done$"),
        ),
        "A74": (
            "gVisor's own network, with nothing but its loopback",
            (
                *_lines(tuple(way for way in OUTWARD if way != "icmp"), NOWHERE),
                "^tcp loopback ECONNREFUSED$",
                "^icmp EPROTONOSUPPORT$",
                "^raw ESOCKTNOSUPPORT$",
            ),
        ),
        "A75": (
            "gVisor's own network, with nothing but its loopback",
            ("^lookup EHOSTUNREACH$", f"^by hand {NOWHERE}$", "^over tcp ECONNREFUSED$"),
        ),
        "A79": (
            "seccomp, no capability, gVisor's own network",
            (
                *_lines(("netlink", "packet", "alg", "xdp", "vsock"), "EAFNOSUPPORT"),
                *_lines(("take lo down", "add address", "add route"), "(EPERM|ENOTTY|EINVAL)"),
                r"^devices \['lo'\]$",
            ),
        ),
        "X81 inotify": (OWN_COUNTS, ("^instances 300 all$", "^watches 17000 all$")),
        "X81 locked": (OWN_COUNTS, ("^locked 40 all$",)),
        "X81 signals": (
            OWN_COUNTS,
            ("^signals 32 EAGAIN$",),
            (Control(("^signals 5000 all$",), outside="cell"),),
        ),
        "X83": (
            "seccomp",
            (*JUDGED, *UNTOLD),
            (Control(("^netlink events done$",), NO_FILTER),),
        ),
        "A91": (
            "seccomp, no capability",
            _lines(("clock_settime", "settimeofday", "adjtimex", "set monotonic"), "EPERM"),
            (Control(("^read done$",), NO_FILTER),),
        ),
        "X02": (
            "gVisor's own processes",
            (
                *_lines(("renice victim", "pin victim", "limits of victim"), "ESRCH"),
                "^oom score of victim ENOENT$",
            ),
        ),
        "X05": ("every process of the container is killed", ("^dumpable off 0$",)),
        "X10": (
            "gVisor closes /proc/self/mem",
            ("^write a read-only mapping E", "^map it shared and writable E", "as before$"),
            (),
        ),
        "X32": (
            "gVisor's own objects",
            (
                *_lines(
                    ("segment", "remove segment", "raise semaphore", "set semaphore"), "EINVAL"
                ),
                *_lines(("send message", "take message"), "EINVAL"),
                *_lines(("unlink", "open"), "ENOSYS"),
            ),
        ),
        "X11": (
            "its mounts do not show the host",
            (r"^propagation \[\]$", "^trusted E", "^whiteout E"),
        ),
    }
)
# What stops it is another layer, and its signs are the same.
LAYERS: Mapping[str, str] = MappingProxyType(
    {
        "A2": PROCESSES,
        "A3": PROCESSES,
        "A4": MEMORY,
        "A6": "sized tmpfs mounts",
        "A7": MEMORY,
        "A7 shm": MEMORY,
        "A27 all": "gVisor's own processes",
        "A31": "gVisor's own /proc, without them",
        "A41": "gVisor's own network",
        "A49": "the supervisor's real user is the container's root; seccomp",
        "X03": "gVisor's own processes",
        "X30": "gVisor's own processes",
        "X31": "gVisor's own processes",
        "X33": "gVisor's own network",
        "X08": "read-only mounts, file ownership",
    }
)
OTHER: Mapping[str, Expected] = MappingProxyType(
    {
        "A1": Stopped(
            PROCESSES,
            ("(Cannot fork|fork: retry: Resource temporarily unavailable)",),
            LIMITED,
            controls=(Control(("^all exploded$",), limits=Limits(wall_s=60, processes=400)),),
        ),
        "X81 pipes": Stopped(
            OWN_COUNTS,
            ("^large True the last has 1048576$",),
            controls=(Control(("^large True the last has (4096|8192)$",), outside="cell"),),
        ),
        "X81 epoll": Stopped(
            OWN_COUNTS,
            ("^epoll watches 100000 all$",),
            controls=(Control(("^epoll watches 100000 all$",), outside="cell"),),
        ),
        "X81 locks": Stopped(
            OWN_COUNTS,
            ("^locks 50000 all$",),
            controls=(Control(("^locks 50000 all$",), outside="cell"),),
        ),
        "A14": NotStopped(
            "gVisor's tmpfs counts bytes, not files; what they cost is the container's memory",
            ("^files done$",),
        ),
        "X07": NotStopped(
            "the numbers of process 1's descriptors can be listed; its stream can't be opened, "
            "nor its root and folder",
            ("^folder root (EACCES|EPERM)$", "^folder cwd (EACCES|EPERM)$", "^folder fd done$"),
        ),
    }
)

# The same as in another column: for A5 each process alone is within the limit; and there are no
# labels of files, so none that an overlay would obey.
AS_IN: Mapping[str, str] = MappingProxyType({"A5": "A without cgroup", "X52": "A"})


def expected(attack: Attack) -> Expected | None:
    """What must come of an attack there; None where it is the same as with Linux's kernel."""
    if attack.id in OTHER:
        return OTHER[attack.id]
    usual = attack.expected("C, runsc")
    assert isinstance(usual, Stopped) or attack.id not in (*STOPPED, *LAYERS), attack.id
    if isinstance(usual, Stopped) and attack.id in LAYERS:
        return replace(usual, by_gvisor=LAYERS[attack.id])
    if isinstance(usual, Stopped) and attack.id in STOPPED:
        by, why, *controls = STOPPED[attack.id]
        found = replace(usual, by_gvisor=by, why=why)
        return replace(found, controls=controls[0]) if controls else found
    if attack.id == "A25":  # at a leap the container is lost, and with it which step it was
        assert isinstance(usual, Stopped)
        return replace(usual, after=None)
    if attack.id in AS_IN:
        return attack.expected(AS_IN[attack.id])
    return None
