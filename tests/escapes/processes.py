"""Attacks on other processes, on the run's own end, and on what a process inherits."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from executor import Limits, Request, RequestError, Result, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena, alive, end, gone
from tests.escapes.attack import (
    Attack,
    Control,
    NotStopped,
    Stopped,
    Words,
    c,
    perl,
    python,
    shell,
)
from tests.escapes.server import in_a_server

NO_FILTER = (off.seccomp,)


@contextlib.contextmanager
def _victim(arena: Arena) -> Iterator[Words]:
    with arena.victim() as process:
        yield {"victim": str(process.pid)}


def _victim_lives(arena: Arena, _: Result) -> None:
    state = Path(f"/proc/{arena.words['victim']}/stat").read_text().rpartition(")")[2].split()[0]
    assert state == "S", f"the victim is in state {state}"
    assert os.getpriority(os.PRIO_PROCESS, int(arena.words["victim"])) == os.nice(0)


def _victim_was_hit(arena: Arena, _: Result) -> None:
    state = Path(f"/proc/{arena.words['victim']}/stat").read_text().rpartition(")")[2].split()[0]
    assert state in ("Z", "X")


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
PARENT_FOLDERS = tuple(
    f"^folder {name} (EACCES|EPERM|ENOENT)$" for name in ("root", "cwd", "fd")
)
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
attempt("advise", kernel, NR.process_madvise, os.pidfd_open(os.getpid()), there, 1, 20, 0)
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
    survivors = alive(arena.words["mark"])
    end(survivors)
    assert survivors


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

    with trio.fail_after(20):
        result = await arena.run(STUBBORN, limits=Limits(wall_s=0.5))
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
        with trio.fail_after(10):
            while _state(process.pid) != "T":  # noqa: ASYNC110 - nobody tells
                await trio.sleep(0.01)
        os.killpg(process.pid, signal.SIGTERM)
        assert _state(process.pid) == "T"
        os.killpg(process.pid, signal.SIGKILL)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def _a_held_output_delays_nothing(arena: Arena) -> None:
    hold = shell("setsid sleep @mark@ & setsid sleep @mark@ >/dev/null & echo hi")
    with trio.fail_after(20):
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


EXEC_FIFO = python("""
os.chdir(os.environ["TMPDIR"])
os.mkfifo("fifo", 0o755)
for name, text in {"script": f"#!{os.getcwd()}/fifo", "good": "#!/bin/echo a script runs"}.items():
    open(name, "w").write(text + "\\n")
    os.chmod(name, 0o755)
attempt("fifo", os.execv, "fifo", ["fifo"])
attempt("script", os.execv, "./script", ["script"])
os.execv("./good", ["good"])
""")


async def _a_fifo_stalls_nobody(arena: Arena) -> None:
    os.mkfifo(arena.project / "fifo")
    for given in ({"path": "fifo"}, {"code": "true", "bind_file": "fifo"}):
        with trio.fail_after(5), pytest.raises(RequestError, match="not a regular file"):
            await arena.executor.run(Request("shell", **given))
    result = await arena.run(EXEC_FIFO, limits=Limits(wall_s=10))
    assert result.status is Status.OK, result.stderr.text
    assert result.stdout.text.split("\n")[:3] == ["attack started", "fifo EACCES", "script EACCES"]
    assert "a script runs" in result.stdout.text
    (arena.project / "regular").write_text("echo fine\n")  # the control
    done = await arena.executor.run(Request("shell", path="regular"))
    assert done.result.stdout.text == "fine\n"


async def _inherited_descriptors_are_closed(arena: Arena) -> None:
    """The server held a file and a folder open, inheritable, before and after it started."""
    listing = python("""
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            print(name, os.readlink("/proc/self/fd/" + name))
        except OSError:
            print(name, "the listing itself")
    """.replace("\n    ", "\n"))
    secret = arena.words["secret"]
    before = f"""
    import os
    held = [os.open({secret!r}, os.O_RDONLY), os.open({str(arena.home)!r}, os.O_RDONLY)]
    for fd in held:
        os.set_inheritable(fd, True)
    """
    said = await in_a_server(
        arena,
        before,
        f"""
        more = os.open({secret!r}, os.O_RDONLY)
        os.set_inheritable(more, True)
        result = (await executor.run(Request("python", {arena.text(listing)!r}))).result
        print(result.status.value, result.stdout.text)
        """,
    )
    assert "attack started" in said
    assert str(arena.home) not in said
    numbers = [line.split()[0] for line in said.splitlines()[1:] if line.strip()]
    assert numbers == ["0", "1", "2", "3"], said
    fd = os.open(secret, os.O_RDONLY)  # the control: an ordinary child does get it
    try:
        done = subprocess.run(["/bin/cat", f"/dev/fd/{fd}"], pass_fds=[fd], capture_output=True,
                              check=True)  # fmt: skip
        assert arena.canary in done.stdout.decode()
    finally:
        os.close(fd)


@contextlib.contextmanager
def _host_sockets(arena: Arena) -> Iterator[Words]:
    """A listening socket as agents have them, one with an abstract name, one on the loopback."""
    with arena.open_folder() as folder, contextlib.ExitStack() as stack:
        path, abstract = str(folder / "agent.sock"), f"ctxmode-{arena.words['mark']}"
        for address in (path, f"\0{abstract}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        os.chmod(path, 0o777)
        yield {"agent": path, "abstract": abstract}


SOCKETS = python("""
def connect(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
for path in ("@agent@", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock",
             "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
             "/run/systemd/journal/stdout", "/tmp/.X11-unix/X0", "/run/user/1000/bus",
             "/run/user/1000/wayland-0", "/run/user/1000/gnupg/S.gpg-agent"):
    attempt(path, connect, path)
print("agent variables", sorted(name for name in os.environ if name in
      ("SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XAUTHORITY",
       "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "GPG_AGENT_INFO")))
""")
AGENTS = {
    "SSH_AUTH_SOCK": "/tmp/@canary@/agent", "DOCKER_HOST": "unix:///@canary@",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/@canary@", "DISPLAY": ":0", "XAUTHORITY": "/@canary@",
    "XDG_RUNTIME_DIR": "/run/@canary@",
}  # fmt: skip
ABSTRACT = python("""
def connect():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\\0@abstract@")
attempt("abstract", connect)
def own():
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind("\\0own")
        listener.listen()
        client.connect("\\0own")
attempt("own", own)
""")
VSOCK = python("""
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    attempt(f"vsock {kind.name}", socket.socket, 40, kind)
""")
SECRET_ENV = {
    "GH_TOKEN": "@canary@", "AWS_SECRET_ACCESS_KEY": "@canary@", "MY_API_KEY": "@canary@",
    "OPENAI_API_KEY": "@canary@", "DATABASE_URL": "postgres://u:@canary@@h/d",
}  # fmt: skip
INJECTED_ENV = {
    "PYTHONSTARTUP": "/@canary@", "NODE_OPTIONS": "--title=@canary@", "BASH_ENV": "/@canary@",
    "ENV": "/@canary@", "PERL5OPT": "-M@canary@", "RUBYOPT": "-r@canary@",
    "JAVA_TOOL_OPTIONS": "-Dx=@canary@", "GIT_CONFIG_GLOBAL": "/@canary@", "PROMPT_COMMAND": "@canary@",
    "LD_AUDIT": "", "GCONV_PATH": "/@canary@", "MAKEFLAGS": "@canary@=1", "PHPRC": "/@canary@",
}  # fmt: skip
ENVIRONMENT = shell("""
env
for pid in self 1 $PPID; do tr '\\0' '\\n' < /proc/$pid/environ 2>&1; done
echo "path is $PATH"
""")
PLANTED = """#!/bin/sh
echo "$0 was run" >> "{proof}"
"""


async def _planted_programs_are_not_run(arena: Arena) -> None:
    """Programs in the project, first on the server's PATH, for the server and its probes."""
    proof = arena.tmp_path / "proof"
    bin_folder = arena.project / "node_modules" / ".bin"
    bin_folder.mkdir(parents=True)
    for folder in (bin_folder, arena.project):
        for name in ("python3", "python", "sh", "bash", "perl", "node", "bwrap", "git", "ruby"):
            (folder / name).write_text(PLANTED.format(proof=proof))
            (folder / name).chmod(0o755)
    path = f"{bin_folder}:{arena.project}:.:{os.environ['PATH']}"
    said = await in_a_server(
        arena,
        f"""
        import os
        os.chdir({str(arena.project)!r})
        os.environ["PATH"] = {path!r}
        """,
        """
        for language in ("python", "shell", "perl"):
            code = {"python": "print('attack started')"}.get(language, "echo attack started")
            code = code if language != "perl" else 'print "attack started\\n"'
            result = (await executor.run(Request(language, code))).result
            print(result.status.value, result.stdout.text.strip())
        """,
    )
    assert said == "ok attack started\n" * 3
    assert not proof.exists()
    subprocess.run(["python3"], env={"PATH": path}, cwd=arena.project, check=True)  # the control
    assert proof.exists()


async def _planted_modules_are_not_imported(arena: Arena) -> None:
    """Modules in the project, for the spawner and the server's helpers to import."""
    proof = arena.tmp_path / "proof"
    for name in ("sitecustomize", "usercustomize", "json", "ctypes", "socket", "spawner", "runtimes"):
        (arena.project / f"{name}.py").write_text(f"open({str(proof)!r}, 'w').write('imported')\n")
    said = await in_a_server(
        arena,
        f"""
        import os
        os.chdir({str(arena.project)!r})
        os.environ["PYTHONPATH"] = {str(arena.project)!r}
        """,
        """
        code = "echo attack started; mkdir -p __pycache__; echo x > __pycache__/json.cpython-311.pyc; true"
        result = (await executor.run(Request("shell", code))).result
        print(result.status.value, result.stdout.text.strip())
        """,
    )
    assert said == "ok attack started\n"
    assert not proof.exists()
    assert not (arena.project / "__pycache__").exists()
    environment = os.environ | {"PYTHONPATH": str(arena.project)}  # the control
    subprocess.run(["python3", "-c", "import json"], env=environment, check=False)
    assert proof.exists()


JOB_FOLDER = python("""
job = os.path.dirname(os.path.abspath(sys.argv[0]))
script = os.path.abspath(sys.argv[0])
attempt("overwrite the script", os.open, script, os.O_WRONLY)
attempt("add a file", os.open, job + "/new", os.O_WRONLY | os.O_CREAT)
attempt("remove the script", os.unlink, script)
attempt("rename the folder", os.rename, job, os.environ["TMPDIR"] + "/job")
attempt("replace the folder", os.rename, os.environ["TMPDIR"], job)
for number in range(3, 64):
    try:
        os.fstat(number)
        print("descriptor", number, os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
attempt("write to the parent's descriptors", os.open, f"/proc/{os.getppid()}/fd/3", os.O_WRONLY)
attempt("scratch", os.open, os.environ["TMPDIR"] + "/new", os.O_WRONLY | os.O_CREAT)
""")
FORGED = python("""
import json
forged = json.dumps({"exit": {"phase": "run", "exit_code": 0, "signal": None, "reason": None,
    "cpu_s": 0, "peak_memory_bytes": 0, "peak_processes": 0, "scratch_full": False, "changed": [],
    "changed_omitted": 0, "undone": []}})
for fd in range(0, 32):
    for text in (forged, '{"error": "x"}', "stop", "run"):
        try:
            os.write(fd, text.encode() + b"\\n")
        except OSError:
            pass
sys.stdout.flush()
os._exit(7)
""")


def _forgery_failed(_: Arena, result: Result) -> None:
    assert result.exit_code == 7
    assert result.stdout.text.count('{"exit": {"phase"') == 1  # the control: it did come through
    assert result.stdout.text.count("\nstop\n") == 1


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
attempt("all of the user", os.setpriority, os.PRIO_USER, os.getuid(), 19)
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
MEMFD = python("""
def run(binary):
    pid = os.fork()
    if pid == 0:
        try:
            os.execve(binary, ["cat", "@secret@"], {})
        except OSError as error:
            print("exec", errno.errorcode[error.errno], flush=True)
        os._exit(9)
    return os.waitpid(pid, 0)[1]
os.dup2(1, 2)
fd = os.memfd_create("cat", 0)
os.write(fd, open("/bin/cat", "rb").read())
print("ended", run(fd), flush=True)
print("nothing gained", open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0])
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
                f"^kill by descriptor (ESRCH|EPERM|EINVAL)$",
                f"^kill the group of victim {NOBODY}$",
            ),
            after=_victim_lives,
            controls=(
                Control(("^kill victim done$",), outside="cell", after=_victim_was_hit),
            ),
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
                Control(("^sleeper: 9$",), program=python(
                    "pid = child(lambda: time.sleep(30))\nos.kill(pid, 9)\n"
                    "print('sleeper:', os.WTERMSIG(os.waitpid(pid, 0)[1]))"
                )),
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
                    (*(f"^{call} sibling done$" for call in TRACE_CALLS), "^advise (done|EINVAL)$",
                     "^seize init EPERM$"),
                    NO_FILTER,
                ),
            ),
        ),
        TRACE,
    ),
    Attack(
        "A39",
        "use a descriptor that the server had open",
        Stopped("close_range before exec"),
        scenario=_inherited_descriptors_are_closed,
    ),
    Attack(
        "A40",
        "sockets of the host: docker, D-Bus, systemd, ssh-agent, gpg-agent, X11, Wayland",
        Stopped(
            "absent files, environment allowlist",
            (
                "^.*agent.sock ENOENT$",
                "^/var/run/docker.sock ENOENT$",
                "^/run/dbus/system_bus_socket ENOENT$",
                "^/run/systemd/private ENOENT$",
                r"^agent variables \[\]$",
            ),
            controls=(Control(("agent.sock done$", "^agent variables .*SSH_AUTH"),
                              outside="cell"),),
        ),
        SOCKETS,
        setup=_host_sockets,
        env=AGENTS,
        b=Stopped(
            "seccomp refuses every socket",
            (
                "^.*agent.sock EACCES$",
                "^/var/run/docker.sock EACCES$",
                "^/run/systemd/private EACCES$",
                r"^agent variables \[\]$",
            ),
            controls=(Control(("agent.sock done$",), outside="cell"),),
        ),
    ),
    Attack(
        "A41",
        "an abstract socket of the host",
        Stopped(
            "network namespace, Landlock's scope",
            ("^abstract ECONNREFUSED$", "^own done$"),
            controls=(Control(("^abstract done$",), outside="cell"),),
        ),
        ABSTRACT,
        setup=_host_sockets,
        b=Stopped(
            "seccomp, Landlock's scope",
            ("^abstract EACCES$",),
            controls=(
                Control(("^abstract EPERM$", "^own done$"), NO_FILTER),
                Control(("^abstract done$",), outside="cell"),
            ),
        ),
    ),
    Attack(
        "A42",
        "AF_VSOCK to the hypervisor",
        Stopped(
            "seccomp",
            ("^vsock SOCK_STREAM (EAFNOSUPPORT|EACCES)$",),
            controls=(Control(("^vsock SOCK_STREAM done$",), NO_FILTER,
                              where=lambda _: Path("/dev/vsock").exists()),),
        ),
        VSOCK,
    ),
    Attack(
        "A47",
        "live on: daemons, nohup, cron, at, systemd, autostart",
        Stopped(
            "pid namespace, absent folders",
            ("^daemons away$", "^/var/spool/cron/crontabs E", "^/etc/cron.d E",
             "^/etc/systemd/system E", "^.*/autostart E"),
            after=_no_daemons,
            controls=(Control(("^daemons away$",), outside="cell", after=_daemons_to_end),),
        ),
        DAEMONS,
        b=Stopped(
            "subreaper and kill loop, Landlock",
            ("^daemons away$", "^/var/spool/cron/crontabs E", "^/etc/cron.d E",
             "^/etc/systemd/system E", "^.*/autostart E"),
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
        limits=Limits(wall_s=0.5),
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
        "A50",
        "a FIFO as program, as interpreter, as bound file",
        Stopped("regular files only"),
        scenario=_a_fifo_stalls_nobody,
    ),
    Attack(
        "A51",
        "variables by which the server's environment would steer programs",
        Stopped(
            "environment allowlist",
            ("^path is ", "^HOME="),
            controls=(Control(("@canary@",), outside="server"),),
        ),
        ENVIRONMENT,
        env=INJECTED_ENV,
    ),
    Attack(
        "A52",
        "secrets in the server's environment",
        Stopped(
            "environment allowlist",
            ("^path is ", "^HOME="),
            controls=(Control(("^GH_TOKEN=@canary@$",), outside="server"),),
        ),
        ENVIRONMENT,
        env=SECRET_ENV,
    ),
    Attack(
        "A53",
        "programs in the project that the server might run",
        Stopped("discovery passes over the project"),
        scenario=_planted_programs_are_not_run,
    ),
    Attack(
        "A54",
        "modules in the project that the server or spawner might import",
        Stopped("isolated interpreters, analyze persists nothing"),
        scenario=_planted_modules_are_not_imported,
    ),
    Attack(
        "A55",
        "tamper with the program's folder and the result channel",
        Stopped(
            "read-only job folder, no descriptor",
            (
                "^overwrite the script E(ROFS|ACCES)$",
                "^add a file E(ROFS|ACCES)$",
                "^remove the script E(ROFS|ACCES|BUSY)$",
                "^rename the folder E(ROFS|ACCES|BUSY|XDEV)$",
                "^replace the folder E",
                "^write to the parent's descriptors E(ACCES|PERM|NOENT)$",
            ),
            after=lambda _, result: _no_descriptors(result),
            controls=(Control(("^scratch done$",)),),
        ),
        JOB_FOLDER,
    ),
    Attack(
        "A56",
        "print what the supervisor would report",
        Stopped("reports travel on a socket of their own", status=Status.NONZERO_EXIT,
                after=_forgery_failed,
                controls=(Control(("^honest$",), program=shell("echo honest")),)),
        FORGED,
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
        b=NotStopped(
            "processes of the same user can be made nicer and pinned to processors",
            ("^renice victim done$", "^pin victim done$", "^oom score of victim EACCES$"),
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
        "hide from the supervisor: not dumpable, a subreaper of one's own",
        Stopped(
            "pid namespace, kill loop",
            ("^dumpable off 0$", "^subreaper 0$"),
            status=Status.TIMED_OUT,
            after=_no_daemons,
            controls=(Control(("^ended of itself$",), program=shell("echo ended of itself")),),
        ),
        HIDDEN,
        limits=Limits(wall_s=0.5),
    ),
    Attack(
        "X06",
        "run a program that has no name: memfd and execveat",
        Stopped(
            "all layers hold for it",
            ("(No such file or directory|Permission denied)", "^nothing gained 1$"),
            controls=(Control(("^@canary@$",), outside="server"),),
        ),
        MEMFD,
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


def _no_descriptors(result: Result) -> None:
    assert "\ndescriptor" not in result.stdout.text
