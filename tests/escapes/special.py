"""Attacks through sockets, FIFOs and devices of the host that lie in the project."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
from collections.abc import Iterator

from executor import Request, Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import PYTHON, Attack, Control, Stopped, Words, python

SOCKETS = ("dev.sock", "node_modules/vite/hmr.sock", ".git/fsmonitor--daemon.ipc", "new\nline")
FIFOS = (".env", "pipe", "node_modules/vite/pipe", ".git/pipe")
BORN = ("born.sock", "sub/born.sock"), ("born", "sub/.env.local")

PROBE = """
import select
def connect(kind, path):
    with socket.socket(socket.AF_UNIX, kind) as ours:
        os.chdir(os.path.dirname(path))  # a socket's path is short
        ours.connect(os.path.basename(path))
def read(path):
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not select.select([pipe], [], [], 0.5)[0]:
        raise OSError(errno.EAGAIN, "")
    print("content", os.read(pipe, 200).decode(), flush=True)
def write(path):
    os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"planted")
def link(path):
    os.link(path, "@project@/linked"); read("@project@/linked")
def probe(sockets, pipes):
    for path in sockets:
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            attempt(f"connect {path!r}", connect, kind, "@project@/" + path)
    for path in pipes:
        attempt(f"write {path}", write, "@project@/" + path)
        attempt(f"read {path}", read, "@project@/" + path)
        attempt(f"link {path}", link, "@project@/" + path)
    for path in ("@project@/" + name for name in ("device", ".git/device")):
        attempt("device", lambda: print("content of a device", os.open(path, os.O_RDONLY)))
"""
SINGLE = python(f"{PROBE}\nprobe({SOCKETS!r}, {FIFOS!r})")


class _Host:
    """Sockets that listen, FIFOs with something in them, and a device where root makes it."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.stack = contextlib.ExitStack()
        self.listening: dict[str, socket.socket] = {}
        self.pipes: dict[str, int] = {}

    def place(self, sockets: tuple[str, ...], pipes: tuple[str, ...]) -> None:
        for path in (*sockets, *pipes):
            (self.arena.project / path).parent.mkdir(parents=True, exist_ok=True)
        for path in sockets:
            self._listen(path)
        for path in pipes:
            place = self.arena.project / path
            os.mkfifo(place)
            place.chmod(0o666)
            self.pipes[path] = os.open(place, os.O_RDWR | os.O_NONBLOCK)
            self.stack.callback(os.close, self.pipes[path])
            os.write(self.pipes[path], self.arena.canary.encode())

    def _listen(self, path: str) -> None:
        place = self.arena.project / path
        one = self.stack.enter_context(socket.socket(socket.AF_UNIX))
        folder = os.open(place.parent, os.O_PATH)
        one.bind(f"/proc/self/fd/{folder}/{place.name}")
        os.close(folder)
        place.chmod(0o666)
        one.listen()
        one.setblocking(False)
        self.listening[path] = one

    def is_untouched(self) -> bool:
        """Whether nobody connected, and what is in the FIFOs is what was put there."""
        for one in self.listening.values():
            with contextlib.suppress(BlockingIOError):
                one.accept()
                return False
        return all(os.read(p, 999) == self.arena.canary.encode() for p in self.pipes.values())

    def fill(self) -> None:
        for pipe in self.pipes.values():
            os.write(pipe, self.arena.canary.encode())


_HOSTS: dict[str, _Host] = {}


@contextlib.contextmanager
def _special(arena: Arena) -> Iterator[Words]:
    subprocess.run(["git", "init", "-q", str(arena.project)], check=True)
    host = _HOSTS[arena.canary] = _Host(arena)
    with host.stack:
        host.place(SOCKETS, FIFOS)
        if arena.is_root:
            for name in ("device", ".git/device"):  # /dev/null
                os.mknod(arena.project / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (arena.project / "main.txt").write_text("main\n")
        yield {}
    del _HOSTS[arena.canary]


def _untouched(arena: Arena, _: Result) -> None:
    """The host's are as they were, in their places, and work."""
    host = _HOSTS[arena.canary]
    assert host.is_untouched()
    host.fill()
    for path in SOCKETS:
        assert stat.S_ISSOCK((arena.project / path).lstat().st_mode)
    for path in FIFOS:
        assert stat.S_ISFIFO((arena.project / path).lstat().st_mode)


OVERWRITE = python("""
import shutil
for name in ("dev.sock", "pipe", ".env", "node_modules/vite/pipe"):
    attempt("remove", os.unlink, name)
    attempt("put", lambda: open(name, "w").write("evil"))
attempt("all of it", shutil.rmtree, "node_modules")
attempt("rename", os.rename, ".git/pipe", "pipe2")
print("content", os.path.exists("pipe2") and open("pipe2").read())
""")
REMOVES = Control(
    ("^remove done$", "^put done$"),
    program=python("""
os.chdir("@project@")
attempt("remove", os.unlink, "pipe")
attempt("put", lambda: open("pipe", "w").write("evil"))
"""),
    outside="server",
)


async def _sessions_reach_none_that_comes_later(arena: Arena) -> None:
    """What was there before the session, and what the host makes between two calls."""
    # Where no view can be renewed, sessions do not commit.
    for profile in ("analyze", "build") if arena.tier == "A" else ("analyze",):
        host = _HOSTS[arena.canary] = _Host(arena)
        with host.stack:
            host.place(SOCKETS[:1], FIFOS[:1])

            async def call(code: str, session: str) -> str:
                program = arena.text(python(code)).replace("\0", "")
                request = Request("python", program, session=session, profile=session)
                result = (await arena.executor.run(request)).result
                assert result.ok, f"{result.message} {result.stderr.text}"
                return result.stdout.text

            said = await call(f"{PROBE}\nprobe({SOCKETS[:1]!r}, {FIFOS[:1]!r})", profile)
            (arena.project / "sub").mkdir()
            host.place(*BORN)
            for _ in range(2):
                said += await call(f"{PROBE}\nprobe({BORN[0]!r}, {BORN[1]!r})", profile)
            assert said.count(PYTHON.split('print("')[1].split('"')[0]) == 3
            assert arena.canary not in said, said
            assert "done" not in said, said
            assert host.is_untouched()
            host.fill()
            sockets, pipes = (SOCKETS[0], *BORN[0]), (FIFOS[0], *BORN[1])
            # The control: the same probe outside.
            outside = await arena.outside(python(f"{PROBE}\nprobe({sockets!r}, {pipes!r})"))
            for path in sockets:
                assert f"connect {path!r} done" in outside
            assert outside.count(arena.canary) >= len(pipes), outside
        subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)


REACHED = (
    *(f"^connect {path!r} done".replace("\\n", r"\\n") for path in SOCKETS),
    *(f"^{act} {path} done$" for path in FIFOS for act in ("read", "write")),
)
# The same probe in the very cell, with the project as it is: no view, and nothing covered.
UNCOVERED = (
    Control(REACHED, off=(off.protection, off.landlock), where=lambda arena: arena.tier != "B"),
    # There the filter keeps sockets away, too.
    Control(
        REACHED,
        off=(off.protection, off.landlock, off.seccomp),
        where=lambda arena: arena.tier == "B",
    ),
)


def _row(number: str, profile: str) -> Attack:
    return Attack(
        number,
        f"the host's sockets, FIFOs and devices in the project, under {profile}",
        Stopped(
            "absent from every view",
            (
                *(f"^connect {path!r} E".replace("\\n", r"\\n") for path in SOCKETS),
                *(f"^{act} {path} E" for path in FIFOS for act in ("read", "write", "link")),
                "^device E",
            ),
            after=_untouched,
            controls=(
                Control(
                    (
                        *(f"^connect {path!r} done".replace("\\n", r"\\n") for path in SOCKETS),
                        *(f"^read {path} done$" for path in FIFOS),
                        "@canary@",
                    ),
                    outside="server",
                ),
                *UNCOVERED,
            ),
            by_b="not granted, or not in the copy",
        ),
        SINGLE,
        profile=profile,
        setup=_special,
    )


ATTACKS = (
    _row("X38", "analyze"),
    _row("X38 build", "build"),
    Attack(
        "X39",
        "remove, replace, rename the host's sockets and FIFOs through a commit",
        Stopped(
            "what a view does not show, no commit touches",
            ("^put done$",),
            after=_untouched,
            controls=(REMOVES,),
        ),
        OVERWRITE,
        profile="build",
        setup=_special,
    ),
    Attack(
        "X40",
        "the host's sockets and FIFOs, of before and after its beginning, from a session",
        Stopped("absent from every view, which is renewed", by_b="not granted"),
        scenario=_sessions_reach_none_that_comes_later,
    ),
)
