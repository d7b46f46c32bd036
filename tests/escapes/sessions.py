"""Attacks of a session's programs between its calls, when nothing of it may do anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import trio

from executor import Request, Result
from tests.escapes.arena import INTERPRETER, Arena, gone
from tests.escapes.attack import PYTHON, Attack, Control, Program, Stopped, python
from tests.escapes.inherited import NO_FILTER
from tests.escapes.server import CHECKOUT, server_program
from tests.processes import alive

PAUSE_S = 1.0
CLOCKS_S = 0.1  # by which another kernel's clock may differ
CONTROLS = 20
SESSIONS = 8
# A process that writes down the time without end, woken by whatever can send SIGCONT: a timer
# (struct sigevent, CLOCK_MONOTONIC), a process outside its group, a lease's or a pipe's owner.
BEATS = """
import fcntl
beats = os.open(os.environ["TMPDIR"] + "/beats", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def wake_me():
    signal.signal(signal.SIGCONT, lambda *_: None)  # else the kernel gives up the timer
    for number in range(20):  # one whose signal is pending when another comes is lost
        event = struct.pack("=QiiQ40x", 0, signal.SIGCONT, 0, 0)
        timer = ctypes.c_void_p()
        assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
        period = struct.pack("=4q", 0, 100_000_000, 0, 5_000_000 * (number + 1))
        libc.timer_settime(timer, 0, period, None)

def beat():
    while True:
        os.write(beats, struct.pack("=d", time.time()))
        time.sleep(0.002)

def wake_others(them):
    while True:
        for pid in them:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)

def alone(action, *args):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for fd in (0, 1, 2):
            os.close(fd)
        wake_me()
        action(*args)
    return pid

them = [alone(beat), alone(beat)]
them.append(alone(wake_others, list(them)))
while os.fstat(beats).st_size == 0:
    time.sleep(0.001)
"""
COUNT = """
import os, struct
with open(os.environ["TMPDIR"] + "/beats", "rb") as file:
    times = [moment for moment, in struct.iter_unpack("=d", file.read())]
print(sum({since!r} < moment < {until!r} for moment in times), len(times) > 0)
"""


async def _nothing_wakes_between_calls(arena: Arena) -> None:
    for profile in ("analyze", "build"):  # whose boxes differ where no overlay can be renewed
        await _nothing_wakes(arena, profile)
    for _ in range(CONTROLS):  # a timer is lost if its signal is pending when SIGSTOP comes
        if await trio.to_thread.run_sync(_goes_on_after_signals, arena):
            return
    raise AssertionError("the control was stopped, too")


async def _nothing_wakes(arena: Arena, profile: str) -> None:
    async def call(code: str) -> Result:
        request = Request("python", code, session=profile, profile=profile)
        completed = await arena.executor.run(request)
        assert completed.result.ok, completed.result
        return completed.result

    await call(PYTHON + BEATS)
    for _ in range(3):
        since = time.time() + CLOCKS_S
        await trio.sleep(PAUSE_S)
        until = time.time() - CLOCKS_S
        result = await call(COUNT.format(since=since, until=until))
        assert result.stdout.text == "0 True\n", result.stdout.text
        assert result.session == "continued"


def _goes_on_after_signals(arena: Arena) -> bool:
    """The control: whether the same goes on under SIGSTOP to each of its processes."""
    with arena.open_folder() as folder:
        report = "print(*them, flush=True)\nsignal.pause()"
        process = subprocess.Popen(
            [*INTERPRETER["python"], "-c", PYTHON + BEATS + report],
            env=os.environ | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()  # that it has started
        pids = [process.pid, *map(int, process.stdout.readline().split())]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(CLOCKS_S)
            size = (folder / "beats").stat().st_size
            time.sleep(PAUSE_S)
            return (folder / "beats").stat().st_size > size
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            process.communicate()


async def _a_killed_server_leaves_no_session(arena: Arena) -> None:
    mark = arena.words["mark"]
    body = f"""
    for number in range({SESSIONS}):
        code = "sleep {mark} > /dev/null 2>&1 & until test \\"$name\\" = sleep; do "
        code += "read -r name < /proc/$!/comm; done"
        request = Request("shell", code, session=str(number))
        result = (await executor.run(request)).result
        assert result.ok, result
    print(executor.sessions, flush=True)
    await trio.sleep(600)
    """
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", server_program(arena, "", body)],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        line = await trio.to_thread.run_sync(server.stdout.readline)
        assert line.count(b",") == SESSIONS - 1, line
        if not arena.has_gvisor:  # whose processes this machine does not see
            assert len(alive(f"sleep\0{mark}\0")) == SESSIONS
    finally:
        server.kill()
        server.communicate()
    assert await gone(f"sleep\0{mark}\0")


# What a renewal of the view meets: links out in the place of folders, what is no file, what is
# closed, too deep to name, or has a forged time. What lies in `.vscode` is never committed.
IN_THE_WAY = python("""
import shutil
shutil.rmtree("sub"); os.symlink("@home@", "sub")
os.unlink("file"); os.symlink("@home@/secret", "file")
os.unlink("pipe"); os.mkfifo("pipe")
before = os.stat("forged")
open("forged", "w").write("of the run")
os.utime("forged", ns=(before.st_atime_ns, before.st_mtime_ns))
os.makedirs(".vscode/closed/in"); open(".vscode/closed/in/f", "w").close()
os.chmod(".vscode/closed", 0)
top = os.open(".", os.O_RDONLY)
os.chdir(".vscode")
for number in range(300):
    os.mkdir("n" * 20)
    os.chdir("n" * 20)
os.fchdir(top)
""")
PRESENT = {"file": "of the host", "forged": "of the host", "pipe": "of the host", "sub/f": "new"}


async def _a_renewal_leads_nowhere(arena: Arena) -> None:
    """The host goes on with its files while the session has put other things in their places."""
    project, home = arena.project, arena.home
    (project / "sub").mkdir()
    for name in PRESENT:
        (project / name).write_text("as it was..")

    async def call(program: Program) -> Result:
        request = Request("python", arena.text(program), profile="build", session="attack")
        result = (await arena.executor.run(request)).result
        assert result.ok, f"{result.message} {result.stderr.text}"
        return result

    (home / "f").write_text("of the home")
    listing, secret = sorted(os.listdir(home)), (home / "secret").read_text()
    await call(python("pass"))
    await call(IN_THE_WAY)
    for name, text in PRESENT.items():
        (project / name).write_text(text)
    seen = await call(python(f"for name in {sorted(PRESENT)}: print(name, open(name).read())"))
    for name, text in PRESENT.items():
        assert f"{name} {text}\n" in seen.stdout.text, seen.stdout.text
        assert (project / name).read_text() == text
    assert not (project / ".vscode").exists()
    assert (sorted(os.listdir(home)), (home / "secret").read_text()) == (listing, secret)
    assert (home / "f").read_text() == "of the home"
    # The control: whoever writes by such a path gets there.
    (project / "way").symlink_to(home)
    (project / "way" / "f").write_text("written")
    assert (home / "f").read_text() == "written"


LEASE = python("""
import fcntl
path = os.environ["TMPDIR"] + "/leased"
open(path, "w").close()
file, folder = os.open(path, os.O_RDONLY), os.open(os.path.dirname(path), os.O_RDONLY)
attempt("lease", fcntl.fcntl, file, 1024, fcntl.F_RDLCK)
attempt("notice", fcntl.fcntl, folder, 1026, 2)
attempt("delegation", fcntl.fcntl, folder, 1040, struct.pack("=IHH", 0, fcntl.F_RDLCK, 0))
attempt("lock", fcntl.fcntl, file, fcntl.F_GETFL)
""")

ATTACKS = (
    Attack(
        "X60",
        "keep running between the calls of a session: timers and processes that send SIGCONT",
        Stopped("ptrace by the supervisor"),
        scenario=_nothing_wakes_between_calls,
    ),
    Attack(
        "X61",
        "make the host's open() wait for a lease of a session that is stopped",
        Stopped(
            "seccomp",
            ("^lease EPERM$", "^notice EPERM$", "^delegation EPERM$", "^lock done$"),
            controls=(
                Control(("^lease done$",), NO_FILTER, where=lambda arena: not arena.has_gvisor),
            ),
        ),
        LEASE,
    ),
    Attack(
        "X62",
        "outlive a killed server as a session that is stopped",
        Stopped(
            "the supervisor's end is the namespace's",
            by_b="the supervisor's kill loop",
            by_c="process 1 ends with its stream, and all with it",
        ),
        scenario=_a_killed_server_leaves_no_session,
    ),
    Attack(
        "X68",
        "have the renewal of a session's view write or delete elsewhere, or keep what was refused",
        Stopped(
            "a new overlay on the project as it is",
            by_b="foreign entries are removed from the copy before anything is copied",
            by_c="foreign entries are removed from the copy before anything is copied",
        ),
        scenario=_a_renewal_leads_nowhere,
    ),
)
