"""Attacks on what the kernel counts for the whole machine or for a user, and on unknown calls."""

from __future__ import annotations

import ctypes
import errno
import resource

import trio

from executor import Limits, Request, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import STARTED, Attack, Control, NotStopped, Stopped, python, shell
from tests.escapes.network import ask_online

NO_FILTER = (off.seccomp,)

# Takes up to so many of something, and prints how many there were, and why no more.
TAKE = """
def take(name, most, act):
    taken, why = 0, "all"
    try:
        while taken < most:
            act()
            taken += 1
    except OSError as error:
        why = errno.errorcode.get(error.errno, error.errno)
    print(name, taken, why, flush=True)
"""

ASYNCHRONOUS = python("""
context = ctypes.c_ulong()
attempt("set up", kernel, NR.io_setup, 1024, ctypes.byref(context))
attempt("submit", kernel, NR.io_submit, context.value, 0, 0)
attempt("take down", kernel, NR.io_destroy, context.value)
""")

WATCHES = python(f"""
{TAKE}
made = []
take("instances", 300, lambda: made.append(kernel(NR.inotify_init1, 0)))
os.chdir(os.environ["TMPDIR"])
def watch():
    os.mkdir(str(len(folders)))
    kernel(NR.inotify_add_watch, made[0], str(len(folders)).encode(), 2)
    folders.append(1)
folders = []
take("watches", 17_000, watch)
""")

SIGNALS = python(f"""
{TAKE}
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
queued = struct.pack("=iiii", 40, 0, -1, 0) + bytes(112)
take("signals", 5000, lambda: kernel(NR.rt_sigqueueinfo, os.getpid(), 40, queued))
timer = ctypes.c_int()
take("timers", 5000, lambda: kernel(NR.timer_create, 1, 0, ctypes.byref(timer)))
""")

LOCKED = python(f"""
{TAKE}
def lock():
    segment = kernel(NR.shmget, 0, 65536, 0o1600)
    segments.append(segment)
    kernel(NR.shmctl, segment, 11, 0)
segments = []
take("locked", 40, lock)
for segment in segments:
    attempt("remove", kernel, NR.shmctl, segment, 0, 0)
""")

QUEUES = python(f"""
{TAKE}
def open_queue():
    name = f"/escapes-{{os.getpid()}}-{{len(queues)}}".encode()
    queue = libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "")
    queues.append(name)
queues = []
take("queues", 20, open_queue)
for name in queues:
    libc.mq_unlink(name)
""")

PIPES = python("""
import fcntl
pipes = []
for _ in range(100):
    pipes.append(os.pipe())
    try:
        fcntl.fcntl(pipes[-1][1], fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
sizes = [fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) for _, writer in pipes]
print("large", sum(size == 1 << 20 for size in sizes) >= 60, "the last has", sizes[-1])
""")

EPOLL = python(f"""
import select
{TAKE}
events = [os.eventfd(0) for _ in range(2000)]
polls = [select.epoll() for _ in range(50)]
pairs = ((poll, event) for poll in polls for event in events)
take("epoll watches", 100_000, lambda: (lambda poll, event: poll.register(event, 1))(*next(pairs)))
""")

LOCKS = python(f"""
import fcntl
{TAKE}
os.chdir(os.environ["TMPDIR"])
files = [os.open(f"locked {{n}}", os.O_CREAT | os.O_RDWR) for n in range(100)]
places = ((file, at) for at in range(0, 1000, 2) for file in files)
def lock(file, at):
    fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, at, 1, 0))
take("locks", 50_000, lambda: lock(*next(places)))
""")

IN_FLIGHT = python(f"""
{TAKE}
pairs = []
def pass_on():
    pairs.append(socket.socketpair())
    socket.send_fds(pairs[-1][0], [b"x"], [0] * 250)
take("messages of 250 descriptors", 60, pass_on)
time.sleep(60)
""")
# What programs of the same user are left with that may have no more open than is usual.
PASS_ONE = python("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
ours, theirs = socket.socketpair()
attempt("pass one", socket.send_fds, ours, [b"x"], [0])
""")

# Beyond the table of Linux 6.18, in its gaps, and of x32. The last are left out of our own table.
UNKNOWN = (423, 470, 471, 500, 512, 543, 1023, 100_000)
X32 = {"getpid": 39, "setup": 543}
LEFT_OUT = {"setxattrat": 463, "removexattrat": 466, "file_setattr": 469}
CALLS = python(
    "\n".join(
        f'attempt("{name}", kernel, {number}, -1, 0, 0, 0, 0, 0)'
        for name, number in {**{f"call {n}": n for n in UNKNOWN}, **LEFT_OUT}.items()
    )
    + f"""
for name, number in {X32}.items():
    pid = child(lambda: attempt(name + " of x32", kernel, 0x40000000 | number, -1, 0))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        print(name, "of x32 signal", os.WTERMSIG(status), flush=True)
"""
)

SOCKETS = python("""
for name, family in {"4": socket.AF_INET, "6": socket.AF_INET6}.items():
    for kind, (type_, protocol) in {"tcp": (1, 6), "udp": (2, 17), "plain": (1, 0),
                                    "udp-lite": (2, 136), "mptcp": (1, 262), "sctp": (1, 132),
                                    "sctp by type": (5, 0), "ping": (2, 1), "icmp 6": (2, 58),
                                    "raw": (3, 6), "packet": (10, 0)}.items():
        attempt(kind + name, socket.socket, family, type_, protocol)
attempt("udp-lite by high bits", kernel, NR.socket, 1 << 32 | 2, 1 << 32 | 2, 1 << 32 | 136)
for name, protocol in {"route": 0, "diagnostics": 4, "xfrm": 6, "audit": 9, "netfilter": 12,
                       "events": 15, "generic": 16}.items():
    attempt("netlink " + name, socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, protocol)
try:
    print("interfaces", [name for _, name in socket.if_nameindex()])
except OSError as error:
    print("interfaces", errno.errorcode[error.errno])
""")
USUAL = tuple(f"{kind}{name}" for kind in ("tcp", "udp", "plain") for name in "46")
STRANGE = tuple(
    f"{kind}{name}"
    for kind in ("udp-lite", "mptcp", "sctp", "sctp by type", "ping", "icmp 6", "raw", "packet")
    for name in "46"
)
NETLINK = ("diagnostics", "xfrm", "audit", "netfilter", "events", "generic")
JUDGED = (
    *(f"^{name} done$" for name in USUAL),
    *(f"^{name} (EPROTONOSUPPORT|ESOCKTNOSUPPORT)$" for name in STRANGE),
    "^udp-lite by high bits EPROTONOSUPPORT$",
    *(f"^netlink {name} EPROTONOSUPPORT$" for name in NETLINK),
)
TOLD = ("^netlink route done$", r"^interfaces \['lo'\]$")
UNTOLD = ("^netlink route EAFNOSUPPORT$", "^interfaces EAFNOSUPPORT$")
# Each with what a kernel has that was built with all of it.
WITHOUT_JUDGING = Control(
    ("^udp-lite4 done$", "^udp-lite by high bits done$", "^netlink events done$"), NO_FILTER
)


async def _an_allowed_name_opens_no_other_protocol(arena: Arena) -> None:
    """Where a profile permits a network it is the proxy's, in a namespace that has nothing else."""
    interfaces = UNTOLD if arena.tier == "C" else TOLD
    await ask_online(arena, ["example.com"], SOCKETS, (*JUDGED, *interfaces))


async def _descriptors_in_flight_keep_no_run_from_starting(arena: Arena) -> None:
    full = trio.Event()

    def see(*_: object) -> None:
        full.set()

    async def hold() -> None:
        request = Request(IN_FLIGHT.language, arena.text(IN_FLIGHT).replace(f"{STARTED}", ""))
        await arena.executor.run(request, on_output=see)

    await arena.run(shell("true"))  # its toolchain is found
    with trio.fail_after(50):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold)
            await full.wait()
            if not arena.has_gvisor:  # the control: the user's are used up
                said = ""
                while "pass one ETOOMANYREFS" not in said:
                    said = await arena.outside(PASS_ONE, "cell")
            for _ in range(3):
                result = await arena.run(shell("echo next"))
                assert (result.status, result.stdout.text) == (Status.OK, f"{STARTED}\nnext\n")
            nursery.cancel_scope.cancel()


def _has_younger_calls(arena: Arena) -> bool:
    """Whether the kernel under attack has those that are left out."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(ctypes.c_long(LEFT_OUT["setxattrat"]), ctypes.c_long(-1), *[ctypes.c_long(0)] * 5)
    return not arena.has_gvisor and ctypes.get_errno() != errno.ENOSYS


def _without(*limits: int) -> tuple[off.Edit, ...]:
    return tuple(off.rlimit(number) for number in limits)


ATTACKS = (
    Attack(
        "X80",
        "take all asynchronous I/O of the machine (aio-max-nr)",
        Stopped(
            "seccomp: no such call",
            (
                "^set up ENOSYS$",
                "^submit ENOSYS$",
                "^take down ENOSYS$",
            ),
            controls=(Control(("^set up done$", "^take down done$"), NO_FILTER),),
        ),
        ASYNCHRONOUS,
    ),
    Attack(
        "X81 inotify",
        "inotify's instances and watches, limited per user",
        Stopped(
            "a count of the cell's own user namespace",
            ("^instances 32 EMFILE$", "^watches 16384 ENOSPC$"),
            controls=(Control(("^instances (?!32 )", "^watches 17000 all$"), outside="cell"),),
            by_b="the supervisor counts the calls (seccomp)",
            by_c="the supervisor counts the calls (seccomp)",
        ),
        WATCHES,
        limits=Limits(wall_s=60),
    ),
    Attack(
        "X81 signals",
        "pending signals and timers, limited per user",
        Stopped(
            "RLIMIT_SIGPENDING",
            ("^signals 1024 EAGAIN$", "^timers 0 EAGAIN$"),
            controls=(Control(("^signals 5000 all$",), _without(resource.RLIMIT_SIGPENDING)),),
        ),
        SIGNALS,
    ),
    Attack(
        "X81 locked",
        "locked memory, limited per user",
        Stopped(
            "RLIMIT_MEMLOCK",
            ("^locked 16 ENOMEM$",),
            controls=(Control(("^locked (?!16 )",), _without(resource.RLIMIT_MEMLOCK)),),
        ),
        LOCKED,
        b=Stopped(
            "seccomp",
            ("^locked 0 EACCES$",),
            controls=(Control(("^locked 16 ENOMEM$",), NO_FILTER),),
        ),
    ),
    Attack(
        "X81 queues",
        "message queues, which a user has so many bytes of",
        Stopped(
            "seccomp: no such call",
            ("^queues 0 ENOSYS$",),
            controls=(
                Control(("^queues (?!0 ENOSYS)",), NO_FILTER),  # Landlock closes them, too
                Control(("^queues (?!0 )",), outside="cell"),
            ),
        ),
        QUEUES,
    ),
    Attack(
        "X81 pipes",
        "pipe buffers, which a user has 64 MiB of",
        NotStopped(
            "other pipes of an ordinary user are small then; root's runs are another user's",
            ("^large True the last has (4096|8192)$",),
        ),
        PIPES,
    ),
    Attack(
        "X81 epoll",
        "epoll's watches, limited per user",
        NotStopped(
            "counted for an ordinary user; RLIMIT_NOFILE and the memory control group bound a part",
            ("^epoll watches 100000 all$",),
        ),
        EPOLL,
    ),
    Attack(
        "X81 locks",
        "locks on parts of files, which are memory of the kernel",
        NotStopped(
            "no limit counts them: some 190 bytes each, until the processor time is up",
            ("^locks 50000 all$",),
        ),
        LOCKS,
    ),
    Attack(
        "X81 passed",
        "descriptors in flight, until no other run can be given its own",
        Stopped("RLIMIT_NOFILE: the starter of runs may have more in flight than the runs"),
        scenario=_descriptors_in_flight_keep_no_run_from_starting,
    ),
    Attack(
        "X82",
        "calls that are younger than the filter, in gaps of the table, of x32",
        Stopped(
            "seccomp: no such call",
            (
                *(f"^{name} ENOSYS$" for name in (*(f"call {n}" for n in UNKNOWN), *LEFT_OUT)),
                *(f"^{name} of x32 (ENOSYS|signal 31)$" for name in X32),  # by Docker's filter
            ),
            controls=(
                Control(
                    tuple(f"^{name} (?!ENOSYS)" for name in ("setxattrat", "removexattrat")),
                    NO_FILTER,
                    where=_has_younger_calls,
                ),
            ),
        ),
        CALLS,
    ),
    Attack(
        "X83",
        "UDP-Lite, MPTCP, SCTP, ping and raw sockets; netlink but for interfaces",
        Stopped("seccomp, network namespace", (*JUDGED, *TOLD), controls=(WITHOUT_JUDGING,)),
        SOCKETS,
        b=Stopped(
            "seccomp refuses every socket",
            tuple(
                f"^{name} EACCES$"
                for name in (*USUAL, *STRANGE, "netlink route", *(f"netlink {n}" for n in NETLINK))
            ),
            controls=(WITHOUT_JUDGING,),
        ),
        c=Stopped("seccomp", (*JUDGED, *UNTOLD), controls=(WITHOUT_JUDGING,)),
    ),
    Attack(
        "X83 online",
        "the same where a profile permits a network; other interfaces than the box's own",
        Stopped("seccomp, network namespace", by_b="no profile has a network in tier B"),
        scenario=_an_allowed_name_opens_no_other_protocol,
    ),
)
