"""Attacks by what a program inherits or shares: descriptors, sockets, environment, its job."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from executor import Limits, Request, RequestError, Result, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    Stopped,
    Words,
    python,
    shell,
)
from tests.escapes.server import in_a_server

NO_FILTER = (off.seccomp,)

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
        with trio.fail_after(30), pytest.raises(RequestError, match="not a regular file"):
            await arena.executor.run(Request("shell", **given))
    result = await arena.run(EXEC_FIFO, limits=Limits(wall_s=5))
    if arena.has_gvisor:  # there execve waits for a writer, until the deadline
        assert result.status is Status.TIMED_OUT, result.stderr.text
    else:
        assert result.status is Status.OK, result.stderr.text
        lines = ["attack started", "fifo EACCES", "script EACCES"]
        assert result.stdout.text.split("\n")[:3] == lines
        assert "a script runs" in result.stdout.text
    (arena.project / "regular").write_text("echo fine\n")  # the control
    done = await arena.executor.run(Request("shell", path="regular"))
    assert done.result.stdout.text == "fine\n"


async def _inherited_descriptors_are_closed(arena: Arena) -> None:
    """The server held a file and a folder open, inheritable, before and after it started."""
    listing = python(
        """
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            print(name, os.readlink("/proc/self/fd/" + name))
        except OSError:
            print(name, "the listing itself")
    """.replace("\n    ", "\n")
    )
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
    for name in (
        "sitecustomize",
        "usercustomize",
        "json",
        "ctypes",
        "socket",
        "spawner",
        "runtimes",
    ):
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
    "changed_omitted": 0}})
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
PR_GET_NO_NEW_PRIVS = 39
print("nothing gained", libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
""")


def _no_descriptors(result: Result) -> None:
    assert "\ndescriptor" not in result.stdout.text


ATTACKS = (
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
            controls=(
                Control(("agent.sock done$", "^agent variables .*SSH_AUTH"), outside="cell"),
            ),
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
            controls=(
                Control(
                    ("^vsock SOCK_STREAM done$",),
                    NO_FILTER,
                    where=lambda _: Path("/dev/vsock").exists(),
                ),
            ),
        ),
        VSOCK,
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
        Stopped("discovery skips the project"),
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
        Stopped(
            "reports travel on a separate socket",
            status=Status.NONZERO_EXIT,
            after=_forgery_failed,
            controls=(Control(("^honest$",), program=shell("echo honest")),),
        ),
        FORGED,
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
)
