"""The spawner: forks sandboxed cells on request. One file, standard library only, no threads.

Started as `python -I -S spawner.py FD`, FD being one end of a SOCK_SEQPACKET pair. The server
itself never forks: a threaded, large process forks slowly and unsafely, this one does neither.

Protocol. The first message is the set-up (JSON); the answer says where its paths were staged.
Every later message carries two descriptors, a cell description and the cell's own control
socket. On that socket the spawner says {"pid": N} (with a pidfd) and the cell's supervisor
{"ready": layers}; the server sends a run description (with stdin, stdout, stderr), later perhaps
"kill"; the supervisor ends with {"exit": …} or {"error": …}. Descriptions come in sealed-off
files, JSON behind an 8-byte length and then raw blobs, so that no size limit of a socket applies.
Nothing of this is inherited by the program, which owns just descriptors 0, 1 and 2.

The layout of `Cell` and `Run` descriptions is `executor/description.py`.
"""

import array
import ctypes
import errno
import fcntl
import gc
import json
import os
import platform
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time

ARM = platform.machine() == "aarch64"
SYS_CLONE, SYS_PIVOT_ROOT, SYS_CAPSET = (220, 41, 91) if ARM else (56, 155, 126)
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_CLOSE_RANGE, SYS_MOUNT_SETATTR = 428, 429, 436, 442
SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 444, 445, 446
CLONE_NEWNS, CLONE_NEWUSER, CLONE_PIDFD = 0x00020000, 0x10000000, 0x1000
# user, mount, pid, net, ipc, uts, cgroup
CLONE_ALL_NEW = CLONE_NEWUSER | CLONE_NEWNS | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
CLONE_ALL_NEW |= 0x02000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE, MNT_DETACH = 0x2, 0x4, 0x4000, 1 << 18, 2
OPEN_TREE_CLONE, AT_RECURSIVE, AT_EMPTY_PATH = 1, 0x8000, 0x1000
MOVE_MOUNT_F_EMPTY_PATH = 4
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_IDMAP = 0x1, 0x2, 0x4, 0x00100000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 28, 36, 38, 47
SECBITS_LOCKED = 0b11101111  # noroot, no setuid fixup, no ambient raise; all locked
TICK_S = 0.1
END_S_MAX = 5.0
REPORTED_CHANGES_MAX = 500
REPORTED_BYTES_MAX = 60_000  # below what one SEQPACKET message carries
WALK_DEPTH_MAX = 128

libc = ctypes.CDLL(None, use_errno=True)
# Through PyDLL the lock of the interpreter stays held across clone(), so that parent and child
# both go on as its owner, exactly as after os.fork().
libc_locked = ctypes.PyDLL(None, use_errno=True)


class StepError(Exception):
    """One step of making a cell failed: which, and the kernel's reason."""


def checked(result, step):
    if result < 0:
        code = ctypes.get_errno()
        raise StepError(f"{step}: {os.strerror(code)} ({errno.errorcode.get(code, code)})")
    return result


def syscall(step, number, *args):
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return checked(libc.syscall(ctypes.c_long(number), *wide), step)


def prctl(step, option, a=0, b=0):
    wide = [ctypes.c_ulong(x) if isinstance(x, int) else x for x in (a, b, 0, 0)]
    return checked(libc.prctl(option, *wide), step)


def mount(source, target, kind, flags=0, data=""):
    encoded = [os.fsencode(x) for x in (source, target, kind, data)]
    checked(
        libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), f"mount {kind} on {target}"
    )


def open_tree(path, recursive=True):
    """A detached copy of the mount at `path`, as a descriptor."""
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return syscall(f"open_tree {path}", SYS_OPEN_TREE, -100, os.fsencode(path), flags)


def set_attributes(tree, attributes, userns=0, recursive=True):
    spec = struct.pack("=QQQQ", attributes, 0, 0, userns)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    syscall("mount_setattr", SYS_MOUNT_SETATTR, tree, b"", flags, spec, len(spec))


def attach(tree, target):
    flags = MOVE_MOUNT_F_EMPTY_PATH
    syscall(f"move_mount {target}", SYS_MOVE_MOUNT, tree, b"", -100, os.fsencode(target), flags)
    os.close(tree)


def read_description(fd):
    """The JSON of a description and a function that fetches one of its blobs."""
    (length,) = struct.unpack("=Q", os.pread(fd, 8, 0))
    data = json.loads(pread_all(fd, length, 8))
    return data, lambda offset, size: pread_all(fd, size, 8 + length + offset)


def pread_all(fd, size, offset):
    parts = []
    while size > 0:
        part = os.pread(fd, min(size, 1 << 20), offset)
        if not part:
            raise StepError("a description is shorter than it says")
        parts.append(part)
        size -= len(part)
        offset += len(part)
    return b"".join(parts)


def send(control, message, fds=()):
    try:
        socket.send_fds(control, [json.dumps(message).encode()], list(fds))
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # the server is gone; with this process goes everything in its namespace


# --- the file system of a cell (tier A) ------------------------------------------------------


def make_parents(path):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)


def make_target(path, like):
    """An empty file or folder at `path` to mount `like` (a descriptor) on."""
    make_parents(path)
    if stat.S_ISDIR(os.fstat(like).st_mode):
        os.makedirs(path, mode=0o755, exist_ok=True)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def bind(tree, target, attributes):
    make_target(target, tree)
    set_attributes(tree, attributes)
    attach(tree, target)


def build_root(cell, blob, layers):
    """Make the cell's file tree on an empty tmpfs and move into it.

    Returns a descriptor of the scratch tmpfs and those of the project's upper and lower
    folders (None without copy-on-write). Every source is opened before anything is covered.
    """
    trees = [
        (open_tree(source), target, attributes) for source, target, attributes in cell["binds"]
    ]
    project = cell["project"]
    lower = open_tree(project["source"]) if project else None
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    root = next(d for d in ("/tmp", "/run", "/mnt", "/var") if os.path.isdir(d))
    size = f"size={cell['root_bytes']},nr_inodes=16384,mode=755"
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for target, link in cell["symlinks"]:
        make_parents(root + link)
        os.symlink(target, root + link)
    for path, mode, offset, length in cell["files"]:
        write_file(root + path, mode, blob(offset, length))
    scratch = mount_scratch(root, cell["scratch"])
    for tree, target, attributes in trees:
        bind(tree, root + target, attributes)
    os.makedirs(root + "/proc", exist_ok=True)
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | 0x8)
    os.makedirs(root + cell["job"], exist_ok=True)
    mount(
        "tmpfs",
        root + cell["job"],
        "tmpfs",
        MS_NOSUID | MS_NODEV,
        f"size={cell['job_bytes']},mode=755",
    )
    upper = mount_project(root, project, lower, scratch, layers) if project else (None, None)
    checked(libc.umount2(os.fsencode(root + "/.scratch"), MNT_DETACH), "umount scratch")
    os.rmdir(root + "/.scratch")
    os.chdir(root)
    syscall("pivot_root", SYS_PIVOT_ROOT, b".", b".")
    checked(libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")
    top = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    set_attributes(top, ATTR_RDONLY, recursive=False)
    os.close(top)
    return scratch, *upper


def write_file(path, mode, content):
    make_parents(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as out:
        out.write(content)
        os.fchmod(out.fileno(), mode)


def mount_scratch(root, scratch):
    """One sized tmpfs holds all that the program may write: the sum is what is limited."""
    base = root + "/.scratch"
    os.mkdir(base)
    size = f"size={scratch['bytes']},nr_inodes={scratch['inodes']},mode=755"
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for name, target, mode in scratch["folders"]:
        os.mkdir(f"{base}/{name}")
        os.chmod(f"{base}/{name}", mode)
        bind(open_tree(f"{base}/{name}"), root + target, ATTR_NOSUID | ATTR_NODEV)
    return os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def mount_project(root, project, lower, scratch, layers):
    """The project at its own path: copy-on-write, read-only or live. Returns (upper, lower)."""
    target = root + project["target"]
    read_only = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV
    os.makedirs(target, exist_ok=True)
    if project["mode"] != "cow":
        live = project["mode"] == "live"
        bind(lower, target, ATTR_NOSUID | ATTR_NODEV if live else read_only)
        for path in project["protected"] if live else ():
            if os.path.lexists(target + path) and not os.path.islink(target + path):
                bind(open_tree(target + path), target + path, read_only)
        return None, None
    base, below = root + "/.scratch", root + "/.lower"
    os.mkdir(below)
    set_attributes(lower, read_only)
    attach(lower, below)
    for name in ("upper", "work"):
        os.mkdir(f"{base}/{name}")
    options = f"lowerdir={below},upperdir={base}/upper,workdir={base}/work,userxattr"
    try:
        mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, options)
        layers["copy_on_write"] = True
    except StepError as error:
        layers["copy_on_write"] = f"{error}; the project is read-only"
        bind(open_tree(below), target, read_only)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    below_fd = os.open(below, flags)
    checked(libc.umount2(os.fsencode(below), MNT_DETACH), "umount lower")
    os.rmdir(below)
    if layers["copy_on_write"] is not True:
        return None, None
    return os.open("upper", flags, dir_fd=scratch), below_fd


def loopback_up():
    """127.0.0.1 of the cell's own, empty network: programs may talk to themselves."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS


# --- what the program's process takes on just before exec ----------------------------------------


def landlock_abi():
    return libc.syscall(
        ctypes.c_long(SYS_LANDLOCK_CREATE), None, ctypes.c_long(0), ctypes.c_long(1)
    )


def restrict_files(rules, deny_tcp):
    """Landlock: every right of this kernel's ABI is handled; `rules` grant (path, "r", "rw" or "list").

    Read includes execute. Signals and abstract sockets end at the sandbox's edge (ABI 6).
    """
    abi = landlock_abi()
    file_bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)
    every = (1 << file_bits) - 1
    net = 3 if abi >= 4 and deny_tcp else 0
    attributes = struct.pack("=QQQ", every, net, 3 if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = syscall("landlock ruleset", SYS_LANDLOCK_CREATE, attributes, size, 0)
    read_rights = 0b1101  # execute, read file, read folder
    on_files = 0b111 | 1 << 14 | 1 << 15  # what may be granted on something that is no folder
    for path, access in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what isn't there can't be reached either
        rights = {"r": read_rights, "list": 0b1000, "rw": every}[access]
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= on_files & every
        rule = struct.pack("=Qi", rights, fd)
        syscall(f"landlock rule {path}", SYS_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(fd)
    syscall("landlock restrict", SYS_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def drop_capabilities():
    libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)  # clear all; absent before Linux 4.3
    libc.prctl(PR_SET_SECUREBITS, SECBITS_LOCKED, 0, 0, 0)  # needs CAP_SETPCAP: not in tier B
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("=Ii", 0x20080522, 0)
    syscall("capset", SYS_CAPSET, header, bytes(24))


def install_filter(program):
    buffer = ctypes.create_string_buffer(program, len(program))
    address = ctypes.addressof(buffer)
    fprog = struct.pack("@HxxxxxxQ", len(program) // 8, address)
    prctl("seccomp", PR_SET_SECCOMP, 2, fprog)


def enter_program(step, run, cell, seccomp, stdio, error_pipe):
    """In the program's process: take on every restriction, then exec. Never returns."""
    try:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE and SIGXFSZ
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.setsid()
        os.umask(0o022)
        for target, source in enumerate(stdio):
            os.dup2(source, target)
        if error_pipe != 3:
            os.dup2(error_pipe, 3, inheritable=False)
        syscall("close_range", SYS_CLOSE_RANGE, 4, 0xFFFFFFFF, 0)
        prefer_as_oom_victim()
        os.chdir(run["cwd"])
        for name, value in run["rlimits"]:
            _, hard = resource.getrlimit(name)
            ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (ceiling, ceiling))
        prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
        if landlock_abi() > 0:
            restrict_files(cell["access"], cell["deny_tcp"])
        drop_capabilities()
        install_filter(seccomp)
        os.execve(step["argv"][0], step["argv"], run["env"])
    except OSError as error:
        text = f"{step['argv'][0]}: {error.strerror}"
        os.write(3, text.encode())
    except StepError as error:
        os.write(3, str(error).encode())
    finally:
        os._exit(126)


def prefer_as_oom_victim():
    """When memory runs out, the kernel should end the program, not its supervisor."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b"700")
        os.close(fd)
    except OSError:
        pass  # a matter of which error is reported, not of what is confined


# --- the supervisor: pid 1 of the cell (tier A), a subreaper (tier B) ------------------------------


class Supervisor:
    """Runs the steps of one run, watches limits that nothing else does, reaps and ends everything."""

    def __init__(self, control, cell, run, seccomp, stdio):
        self.control, self.cell, self.run = control, cell, run
        self.seccomp, self.stdio = seccomp, stdio
        self.reason = None  # why the run was ended from here
        self.cpu_s = 0.0
        self.peak_bytes = 0
        self.peak_processes = 1
        self.status = None
        self.next_sample = time.monotonic() + TICK_S
        self.wakeup, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run_steps(self):
        """(phase, wait status) of the step that decided the run.

        Raises:
            StepError: a program could not be started.
        """
        steps = self.run["steps"]
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            self.status = None
            self.main = self.start(step, last)
            self.watch()
            if self.status != 0 or self.reason or last:
                return step["phase"], self.status
        raise StepError("a run without steps")

    def start(self, step, last):
        reader, writer = os.pipe2(os.O_CLOEXEC)
        stdio = self.stdio
        if not last:  # a compiler reads nothing, and all it says is diagnosis
            stdio = (os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), stdio[2], stdio[2])
        pid = os.fork()
        if pid == 0:
            enter_program(step, self.run, self.cell, self.seccomp, stdio, writer)
        os.close(writer)
        if not last:
            os.close(stdio[0])
        failure = os.read(reader, 4096)
        os.close(reader)
        if failure:
            raise StepError(failure.decode(errors="replace"))
        return pid

    def watch(self):
        """Until the step's process has ended and been reaped, or everything was told to end."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup, select.POLLIN)
        ended_at = None
        while self.status is None:
            for fd, _ in poll.poll(TICK_S * 1000):
                if fd == self.wakeup:
                    os.read(self.wakeup, 4096)
                else:
                    self.control.recv(64)  # an order or the server's end: both mean stop
                    poll.unregister(self.control)
                    self.reason = self.reason or "asked"
            self.reap()
            if time.monotonic() >= self.next_sample:
                self.sample()
            if self.reason and self.status is None:
                self.kill_all()
                ended_at = ended_at or time.monotonic()
                if time.monotonic() - ended_at > END_S_MAX:
                    raise StepError("the program could not be ended")

    def reap(self):
        """Collect what has ended; whether any child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * 1024)
            if pid == self.main:
                self.status = status

    def sample(self):
        """Limits that no kernel mechanism sums over a tree: cpu, and memory without a cgroup."""
        self.next_sample = time.monotonic() + TICK_S
        cpu_s, resident, count = self.cpu_s, 0, 0
        for pid in self.members():
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it has just ended
            count += 1
            cpu_s += sum(map(int, fields[11:15])) / CLOCK_TICKS
            resident += int(fields[21]) * PAGE_BYTES
        self.peak_processes = max(self.peak_processes, count)
        self.peak_bytes = max(self.peak_bytes, resident)
        if cpu_s > self.run["cpu_s"]:
            self.reason = self.reason or "cpu"
        if self.run["memory_bytes"] and resident > self.run["memory_bytes"]:
            self.reason = self.reason or "memory"

    def members(self):
        """Every process of the run but this one."""
        me = os.getpid()
        if me == 1:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return descendants(me)

    def kill_all(self):
        if os.getpid() == 1:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass
            return
        for pid in self.members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def end_all(self):
        """Nothing of the run is left when this returns."""
        deadline = time.monotonic() + END_S_MAX
        while time.monotonic() < deadline:
            self.kill_all()
            if not self.reap():
                return
            time.sleep(0.001)
        raise StepError("processes of the run could not be ended")


CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def descendants(pid):
    """All processes below `pid`: with a subreaper at the top none can leave the tree."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    found, frontier = [], {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        found.extend(frontier)
    return found


def changed_files(upper, lower):
    """What a copy-on-write run did to the project, read off the overlay's upper folder."""
    changes, size, omitted = [], 0, 0
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            found = list(entries(upper, lower, folder))
        except OSError:  # a path longer than the kernel takes
            omitted += 1
            continue
        for path, kind, length in found:
            if kind == "folder":
                if path.count("/") < WALK_DEPTH_MAX:
                    pending.append(path)
                else:
                    omitted += 1
                continue
            size += len(path) + 40
            if len(changes) < REPORTED_CHANGES_MAX and size < REPORTED_BYTES_MAX:
                changes.append((path, kind, length))
            else:
                omitted += 1
    return sorted(changes), omitted


def entries(upper, lower, folder):
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(folder or ".", flags, dir_fd=upper)
    with os.scandir(fd) as found:
        names = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
    os.close(fd)
    for name, info in names:
        path = f"{folder}/{name}" if folder else name
        existed = exists_below(lower, path)
        if stat.S_ISDIR(info.st_mode):
            yield path, "folder", None
            if not existed:
                yield path + "/", "created", None
        elif stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
            yield path, "deleted", None
        else:
            yield path, "modified" if existed else "created", info.st_size


def exists_below(lower, path):
    try:
        os.stat(path, dir_fd=lower, follow_symlinks=False)
    except OSError:
        return False
    return True


# --- one cell, from clone to report ------------------------------------------------------------------


def become_user(cell):
    """Map the one uid and gid of this process into its new user namespace."""
    prctl("dumpable", PR_SET_DUMPABLE, 1)  # /proc/self must be ours for the writes below
    uid, gid = os.geteuid(), os.getegid()  # read before the map exists: the overflow id
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{cell['uid']} {cell['outer_uid']} 1"),
        ("gid_map", f"{cell['gid']} {cell['outer_gid']} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError as error:
            raise StepError(f"write {name} as {uid}:{gid}: {error.strerror}") from error
    prctl("dumpable", PR_SET_DUMPABLE, 0)


def supervise(control, cell, blob):
    """Make the cell, wait for its run, run it, report. Ends the process."""
    layers, handles = {"landlock": max(landlock_abi(), 0)}, (None, None, None)
    prctl("pdeathsig", PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    if cell["tier"] == "A":
        become_user(cell)
        socket.sethostname(cell["hostname"])
        loopback_up()
        handles = build_root(cell, blob, layers)
    else:
        prctl("dumpable", PR_SET_DUMPABLE, 0)
        prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)
    send(control, {"ready": layers})
    message, fds, _, _ = socket.recv_fds(control, 64, 4)
    if message != b"run" or len(fds) != 4:
        os._exit(0)  # the server closed the socket or changed its mind
    run, run_blob = read_description(fds[0])
    for path, mode, offset, length in run["files"]:
        write_file(path, mode, run_blob(offset, length))
    for link, target in run["links"]:
        make_parents(link)
        os.symlink(target, link)
    if cell["tier"] == "A":
        job = os.open(cell["job"], os.O_PATH | os.O_CLOEXEC)
        set_attributes(job, ATTR_RDONLY, recursive=False)
        os.close(job)
    seccomp = blob(*cell["seccomp"])
    supervisor = Supervisor(control, cell, run, seccomp, tuple(fds[1:]))
    phase, status = supervisor.run_steps()
    for fd in fds[1:]:
        os.close(fd)  # with the program's own copies gone, the server sees end of file
    supervisor.end_all()
    send(control, {"exit": report(supervisor, phase, status, *handles)})


def report(supervisor, phase, status, scratch, upper, lower):
    full = False
    if scratch is not None:
        space = os.fstatvfs(scratch)
        full = space.f_bavail == 0 or space.f_favail == 0
    changes, omitted = changed_files(upper, lower) if upper is not None else ([], 0)
    return {
        "phase": phase,
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "reason": supervisor.reason,
        "cpu_s": supervisor.cpu_s,
        "peak_memory_bytes": supervisor.peak_bytes,
        "peak_processes": supervisor.peak_processes,
        "scratch_full": full,
        "changed": changes,
        "changed_omitted": omitted,
    }


def clone(flags):
    """fork() into new namespaces: (pid, pidfd) in the parent, (0, -1) in the child."""
    pidfd = array.array("i", [-1])
    address, _ = pidfd.buffer_info()
    wide = [
        ctypes.c_long(x)
        for x in (SYS_CLONE, flags | CLONE_PIDFD | signal.SIGCHLD, 0, address, 0, 0)
    ]
    return checked(libc_locked.syscall(*wide), "clone"), pidfd[0]


def start_cell(requests, description, control_fd):
    with socket.socket(fileno=control_fd) as control:
        try:
            cell, blob = read_description(description)
            pid, pidfd = clone(CLONE_ALL_NEW if cell["tier"] == "A" else 0)
        except (StepError, OSError, ValueError, KeyError) as error:
            send_quietly(control, {"error": str(error)})
            return
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            try:
                supervise(control, cell, blob)
            except (StepError, OSError, ValueError, KeyError, MemoryError) as error:
                send(control, {"error": str(error) or type(error).__name__})
            finally:
                os._exit(0)
        send_quietly(control, {"pid": pid}, [pidfd])
        os.close(pidfd)


def send_quietly(control, message, fds=()):
    try:
        socket.send_fds(control, [json.dumps(message).encode()], list(fds))
    except OSError:
        pass  # the server gave this cell up; its supervisor sees the same and ends


# --- set-up: staging as real root, then leaving root for good --------------------------------------


def stage(paths, uid, gid):
    """Re-bind `paths` in a private mount namespace so that `uid` reaches them as their owner does.

    Returns {path: staged path} and {path: why its ids could not be mapped}.
    """
    checked(libc.unshare(CLONE_NEWNS), "unshare mount namespace")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    trees, refused = {}, {}
    for path in paths:
        owner = os.stat(path)
        try:
            trees[path] = idmapped(path, owner, uid, gid)
        except StepError as error:
            refused[path] = str(error)
            trees[path] = open_tree(path)
    base = next(d for d in ("/tmp", "/run", "/mnt", "/var") if os.path.isdir(d))
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=711")
    staged = {}
    for number, (path, tree) in enumerate(trees.items()):
        staged[path] = f"{base}/{number}"
        make_target(staged[path], tree)
        attach(tree, staged[path])
    return staged, refused


def idmapped(path, owner, uid, gid):
    """A detached copy of the mount where `owner`'s files are `uid`'s and all others unchanged."""
    userns = user_namespace(swap(owner.st_uid, uid), swap(owner.st_gid, gid))
    try:
        for recursive in (True, False):
            tree = open_tree(path, recursive)
            try:
                set_attributes(tree, ATTR_IDMAP, userns, recursive)
                return tree
            except StepError:
                os.close(tree)
                if not recursive:
                    raise
    finally:
        os.close(userns)
    raise StepError("unreachable")


def swap(a, b):
    """A map of all 16-bit ids to themselves, but `a` and `b` to each other."""
    if a == b:
        return "0 0 65536"
    low, high = min(a, b), max(a, b)
    lines = [f"{low} {high} 1", f"{high} {low} 1"]
    for start, end in ((0, low), (low + 1, high), (high + 1, 65536)):
        if end > start:
            lines.append(f"{start} {start} {end - start}")
    return "\n".join(lines)


def user_namespace(uid_map, gid_map):
    """A descriptor of a user namespace with these maps, held by no process."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid, pidfd = clone(CLONE_NEWUSER)
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent is done with this process
        os._exit(0)
    os.close(reader)
    try:
        for name, text in (("uid_map", uid_map), ("gid_map", gid_map)):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(text)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepError(f"id map: {error.strerror}") from error
    finally:
        os.close(writer)
        os.close(pidfd)
        os.waitpid(pid, 0)


def leave_root(uid, gid):
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def set_up(setup):
    """Do what only the start may do; the answer to the server."""
    staged, refused = {}, {}
    try:
        if setup["leave_root"]:
            uid, gid = setup["leave_root"]
            if setup["stage"]:
                staged, refused = stage(setup["stage"], uid, gid)
            leave_root(uid, gid)
        prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)
        prctl("dumpable", PR_SET_DUMPABLE, 0)
    except (StepError, OSError) as error:
        return {"error": str(error)}
    return {"staged": staged, "refused": refused, "uid": os.geteuid(), "gid": os.getegid()}


def main():
    requests = socket.socket(fileno=int(sys.argv[1]))
    answer = set_up(json.loads(requests.recv(1 << 20)))
    send(requests, answer)
    if "error" in answer:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # cells are reaped by the kernel
    gc.collect()
    gc.freeze()  # children should not copy pages just to look for garbage
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 2)
        if message != b"cell" or len(fds) != 2:
            return  # end of file: the server is gone, and with this process every cell
        start_cell(requests, *fds)
        os.close(fds[0])


if __name__ == "__main__":
    main()
