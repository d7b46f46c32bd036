"""Attacks on what a file is called to be, and on what is told of it: attributes, names, links."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from executor import Limits, Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    NotStopped,
    Program,
    Stopped,
    Words,
    c,
    python,
)


def _calls(target: str) -> Program:
    """All of them, on one file of the user's."""
    return python(CALLS.replace("@target@", target))


CALLS = r"""
import fcntl
AT, NOFOLLOW, EMPTY = -100, 0x100, 0x1000
os.chdir(os.environ["TMPDIR"])
mode = 0o640
for name, path in {"it": b"@target@"}.items():
    link = b"link-" + name.encode()
    os.symlink(path, link)
    deep = b"../" * 12 + path[1:]
    folder, leaf = os.path.split(path)
    where = attempt("folder of " + name, os.open, folder, os.O_PATH)
    own = os.open(".", os.O_PATH)
    for way, given in {"path": path, "link": link, "relative": deep}.items():
        attempt(f"{name} chmod by {way}", kernel, NR.chmod, given, mode)
        attempt(f"{name} chmodat by {way}", kernel, NR.fchmodat, AT, given, mode)
        attempt(f"{name} chmodat2 by {way}", kernel, 452, AT, given, mode, 0)
        attempt(f"{name} chown by {way}", kernel, NR.chown, given, -1, os.getgid())
        attempt(f"{name} chownat by {way}", kernel, NR.fchownat, AT, given, -1, os.getgid(), 0)
        attempt(f"{name} utime by {way}", kernel, NR.utime, given, 0)
        attempt(f"{name} utimes by {way}", kernel, NR.utimes, given, 0)
        attempt(f"{name} futimesat by {way}", kernel, NR.futimesat, AT, given, 0)
        attempt(f"{name} utimensat by {way}", kernel, NR.utimensat, AT, given, 0, 0)
        attempt(f"{name} setxattr by {way}", kernel, NR.setxattr, given, b"user.a", b"x", 1, 0)
        attempt(f"{name} removexattr by {way}", kernel, NR.removexattr, given, b"user.kept")
        attempt(f"{name} setxattrat by {way}", kernel, 463, AT, given, 0, b"user.a",
                struct.pack("=QII", 0, 0, 0), 16)
        attempt(f"{name} removexattrat by {way}", kernel, 466, AT, given, 0, b"user.kept")
        attempt(f"{name} file_setattr by {way}", kernel, 469, AT, given, bytes(24), 24, 0)
    attempt(f"{name} lchown by path", kernel, NR.lchown, path, -1, os.getgid())
    attempt(f"{name} lsetxattr by path", kernel, NR.lsetxattr, path, b"user.a", b"x", 1, 0)
    attempt(f"{name} lremovexattr by path", kernel, NR.lremovexattr, path, b"user.kept")
    attempt(f"{name} chmodat by folder", kernel, NR.fchmodat, -1 if where is None else where, leaf, mode)
    # An open descriptor: one that reads, and one that only names the file.
    for kind, flags in {"reading": os.O_RDONLY, "naming": os.O_PATH}.items():
        fd = attempt(f"open {kind} {name}", os.open, path, flags)
        if fd is None:
            continue
        attempt(f"{name} fchmod by {kind}", kernel, NR.fchmod, fd, mode)
        attempt(f"{name} fchown by {kind}", kernel, NR.fchown, fd, -1, os.getgid())
        attempt(f"{name} futimens by {kind}", kernel, NR.utimensat, fd, 0, 0, 0)
        attempt(f"{name} utimensat empty by {kind}", kernel, NR.utimensat, fd, b"", 0, EMPTY)
        attempt(f"{name} fsetxattr by {kind}", kernel, NR.fsetxattr, fd, b"user.a", b"x", 1, 0)
        attempt(f"{name} fremovexattr by {kind}", kernel, NR.fremovexattr, fd, b"user.kept")
        attempt(f"{name} chown empty by {kind}", kernel, NR.fchownat, fd, b"", -1, os.getgid(), EMPTY)
        for place in (b"/proc/self/fd/%d", b"/proc/thread-self/fd/%d", b"/dev/fd/%d",
                      b"/proc/%d/fd/%%d" % os.getpid(), b"/../proc/self/./fd/%d"):
            attempt(f"{name} chmod by proc", kernel, NR.chmod, place % fd, mode)
        attempt(f"{name} ioctl by {kind}", kernel, NR.ioctl, fd, 0x40086602, struct.pack("=q", 0x40))
        attempt(f"{name} ioctl by high bits {kind}", kernel, NR.ioctl, fd, 0x40086602 | 1 << 32,
                struct.pack("=q", 0x40))
        attempt(f"{name} link by {kind}", kernel, NR.linkat, AT, b"/proc/self/fd/%d" % fd, own,
                b"hard-" + name.encode(), 0x400)
open("mine", "w").close()
attempt("mine", os.chmod, "mine", 0o640)
os.utime("mine", ns=(5, 7)); os.setxattr("mine", "user.a", b"v" * 300)
print("mine is", oct(os.stat("mine").st_mode), os.stat("mine").st_mtime_ns, len(os.getxattr("mine", "user.a")))
"""

# What is told of a file without opening it: attributes by every call, and names in its folder.
READS = r"""
os.chdir(os.environ["TMPDIR"])
NOW, DONT_FOLLOW = 0o4000, 0x02000000
NAME, room = b"user.origin", ctypes.create_string_buffer(300)
secret, home = b"@secret@", b"@home@"
os.symlink(secret, b"link"); os.symlink(home, b"folder")
deep = b"../" * 12 + secret[1:]
def watch(path, mask=0x100):
    fd = kernel(NR.inotify_init1, NOW)
    kernel(NR.inotify_add_watch, fd, path, mask)
    return fd
naming = attempt("naming it", os.open, secret, os.O_PATH)
known = {b"/proc/self/fd/%d" % naming: "proc", b"/dev/fd/%d" % naming: "dev"} if naming else {}
for path, way in {secret: "path", b"link": "link", deep: "relative", **known}.items():
    attempt(f"get by {way}", kernel, NR.getxattr, path, NAME, room, 300)
    attempt(f"list by {way}", kernel, NR.listxattr, path, room, 300)
    attempt(f"getat by {way}", kernel, 464, -100, path, 0, NAME,
            struct.pack("=QII", ctypes.addressof(room), 300, 0), 16)
    attempt(f"listat by {way}", kernel, 465, -100, path, 0, room, 300)
    attempt(f"file_getattr by {way}", kernel, 468, -100, path, room, 24, 0)
attempt("lget", kernel, NR.lgetxattr, secret, NAME, room, 300)
attempt("llist", kernel, NR.llistxattr, secret, room, 300)
if naming is not None:
    attempt("get by naming", kernel, NR.fgetxattr, naming, NAME, room, 300)
    attempt("getat by naming", kernel, 464, naming, b"", 0x1000, NAME,
            struct.pack("=QII", ctypes.addressof(room), 300, 0), 16)
fds = [attempt(f"watch by {way}", watch, path) for path, way in
       {home: "path", b"folder": "link", b"folder/.": "relative"}.items()]
attempt("watch file", watch, secret)
attempt("watch link itself", watch, b"link", 0x100 | DONT_FOLLOW)
attempt("get of secret", kernel, NR.getxattr, b"@project@/.env", NAME, room, 300)
attempt("watch foreign", kernel, NR.inotify_add_watch, 0, home, 0x100)
os.makedirs("own"); os.setxattr("own", "user.origin", b"mine" * 50)
mine = watch(b"own")
fits = kernel(NR.getxattr, b"own", NAME, room, 300)
asked = kernel(NR.getxattr, b"own", NAME, 0, 0)
attempt("too small", kernel, NR.getxattr, b"own", NAME, room, 10)
attempt("nowhere", kernel, NR.getxattr, b"own", NAME, 16, 300)
open("own/name", "w").close()
print("own", fits, asked, room.raw[:4], os.listxattr("own"), b"name" in os.read(mine, 300))
print("system", os.listxattr("/usr/bin"), watch(b"/usr/bin") > 0)
"""

# Links are asked where they lead; a folder is entered, and says where it is.
LINKS = r"""
os.chdir(os.environ["TMPDIR"])
def told(name, action):
    try:
        print(name, action())
    except OSError as error:
        print(name, errno.errorcode[error.errno])
told("link", lambda: os.readlink("@home@/led"))
told("by descriptor", lambda: os.readlink("", dir_fd=os.open("@home@/led", os.O_PATH | os.O_NOFOLLOW)))
told("by what it leads to", lambda: os.readlink(f"/proc/self/fd/{os.open('@home@/led', os.O_PATH)}"))
told("by entering", lambda: (os.chdir("@home@/led"), os.getcwd())[1])
"""

# One thread calls chmod with a path that another one writes anew all the time.
RACE = r"""
#include <pthread.h>
#include <sys/stat.h>
#include <sys/xattr.h>
static char path[4096];
static char mine[4096];
static volatile int ended;
static void *swap(void *unused)
{
    while (!ended) {
        strcpy(path, mine); __asm__ volatile("" ::: "memory");
        for (volatile int n = 0; n < 200; n++);
        strcpy(path, "@secret@"); __asm__ volatile("" ::: "memory");
        for (volatile int n = 0; n < 200; n++);
    }
    return unused;
}
int main(void)
{
    pthread_t swapping;
    int done = 0, refused = 0;
    if (chdir(getenv("TMPDIR")) || !getcwd(mine, 4000)) return 1;
    strcat(mine, "/mine");
    close(open(mine, O_CREAT | O_WRONLY, 0600));
    pthread_create(&swapping, NULL, swap, NULL);
    for (int n = 0; n < @times@ || (!(done && refused) && n < 400000); n++) {
        *(chmod(path, 0666) ? &refused : &done) += 1;
        *(setxattr(path, "user.a", "x", 1, 0) ? &refused : &done) += 1;
    }
    ended = 1;
    pthread_join(swapping, NULL);
    printf("some were done: %d, some refused: %d\n", done > 0, refused > 0);
    return 0;
}
"""


def _race(times: int) -> Program:
    """At least so many tries: unjudged they are far quicker, and have to meet the other thread."""
    return c(RACE.replace("@times@", str(times)))


@contextlib.contextmanager
def _files(arena: Arena) -> Iterator[Words]:
    for path in _paths(arena):
        path.touch()
        path.chmod(0o600)
        os.setxattr(path, "user.kept", b"kept")
        os.utime(path, ns=(10**18, 10**18))
    if arena.is_root and arena.tier != "C":
        (arena.project / "theirs").chmod(0o644)
    yield {}


@contextlib.contextmanager
def _told_of(arena: Arena) -> Iterator[Words]:
    """A file with an origin, a folder that others may read, and a link that says something."""
    os.setxattr(arena.home / "secret", "user.origin", f"https://host/{arena.canary}".encode())
    (arena.project / ".env").write_text(f"{arena.canary}\n")
    os.setxattr(arena.project / ".env", "user.origin", b"theirs")
    (arena.home / f"inner-{arena.canary}").mkdir()
    (arena.home / "led").symlink_to(arena.home / f"inner-{arena.canary}")
    yield {}


def _paths(arena: Arena) -> tuple[Path, Path]:
    return arena.home / "secret", arena.project / "theirs"


def _nothing_has_changed(arena: Arena, _: Result) -> None:
    for path in _paths(arena):
        found = path.stat()
        assert found.st_mode & 0o7777 in (0o600, 0o644), f"{path}: {found.st_mode:o}"
        assert found.st_mtime_ns == 10**18, path
        assert os.listxattr(path) == ["user.kept"], path
        assert found.st_nlink == 1, path


def _secret_has_changed(arena: Arena, _: Result) -> None:
    _has_changed(arena.home / "secret")


def _theirs_has_changed(arena: Arena, _: Result) -> None:
    _has_changed(arena.project / "theirs")


def _has_changed(path: Path) -> None:
    assert os.listxattr(path) == ["user.a"]
    assert path.stat().st_mtime_ns != 10**18


def _secret_was_opened_up(arena: Arena, _: Result) -> None:
    assert (arena.home / "secret").stat().st_mode & 0o777 == 0o666


MINE = ("^mine done$", "^mine is 0o100640 7 300$")
READ_OF_OWN = (
    "^own 200 200 b'mine' .'user.origin'. True$",
    "^too small ERANGE$",
    "^nowhere EFAULT$",
)
TOLD = (
    "^get by path done$",
    "^list by link done$",
    "^lget done$",
    "^watch by path done$",
    "^get of secret done$",
)
NOT_TOLD = (
    *(
        f"^{call} by {way} ENOTSUP$"
        for call in ("get", "list")
        for way in ("path", "link", "relative", "proc", "dev")
    ),
    *(f"^{call} by path ENOSYS$" for call in ("getat", "listat", "file_getattr")),
    *("^lget ENOTSUP$", "^llist ENOTSUP$", "^get by naming EBADF$", "^getat by naming ENOSYS$"),
    *(f"^watch by {way} EACCES$" for way in ("path", "link", "relative")),
    *("^watch file EACCES$", "^watch link itself done$", "^watch foreign EACCES$"),
    "^get of secret ENOTSUP$",
    *READ_OF_OWN,
    r"^system \[\] True$",
)
OWNS = "the supervisor does what Landlock does not judge, where the run may write"

ASKS = "the supervisor asks in a program's place, where the run may read"
LED = "by entering .*/inner-canary-.*"
WAYS = ("path", "link", "relative")
REFUSED = (
    *(
        f"^it {call} by {way} EACCES$"
        for call in ("chmod", "chmodat", "chmodat2", "chown", "chownat", "utime", "utimes",
                     "futimesat", "utimensat", "setxattr", "removexattr")
        for way in WAYS
    ),
    *(f"^it {call} by {w} ENOSYS$" for call in ("setxattrat", "file_setattr") for w in WAYS),
    *MINE,
)  # fmt: skip
OPENED = (
    *(
        f"^it {call} by reading EACCES$"
        for call in ("fchmod", "fchown", "futimens", "utimensat empty", "fsetxattr", "chown empty")
    ),
    "^it chmod by proc EACCES$",
    "^it ioctl by reading ENOTTY$",
    "^it ioctl by high bits reading ENOTTY$",
)
DONE = ("^it chmod by path done$", "^it setxattr by path done$", "^it utimes by path done$")

ATTACKS = (
    Attack(
        "X35",
        "modes, owners, times, attributes of files outside, by path, link, descriptor",
        Stopped(
            "mount namespace",
            ("^it chmod by path ENOENT$", *MINE),
            after=_nothing_has_changed,
            controls=(Control(DONE, outside="server", after=_secret_has_changed),),
        ),
        _calls("@secret@"),
        setup=_files,
        b=Stopped(
            f"seccomp; {OWNS}",
            REFUSED,
            after=_nothing_has_changed,
            controls=(Control(DONE, (off.judging,), after=_secret_has_changed),),
        ),
    ),
    Attack(
        "X36",
        "replace the path of such a call while the supervisor checks it",
        Stopped(
            "mount namespace",
            ("^some were done: 1, some refused: 1$",),
            after=_nothing_has_changed,
            controls=(
                Control(
                    ("^some were done: 1",),
                    outside="server",
                    after=_secret_was_opened_up,
                    program=_race(200_000),
                ),
            ),
        ),
        _race(500),
        limits=Limits(wall_s=60),
        setup=_files,
        b=Stopped(
            f"the path is read once; {OWNS}",
            ("^some were done: 1, some refused: 1$",),
            after=_nothing_has_changed,
            controls=(
                Control(
                    ("^some were done: 1",),
                    (off.judging,),
                    after=_secret_was_opened_up,
                    program=_race(200_000),
                ),
            ),
        ),
    ),
    Attack(
        "X37",
        "modes, owners, times, attributes of a project that may only be read",
        Stopped(
            "a copy-on-write project",
            MINE,
            after=_nothing_has_changed,
            controls=(Control(DONE, outside="server", after=_theirs_has_changed),),
        ),
        _calls("@project@/theirs"),
        setup=_files,
        b=Stopped(
            f"seccomp; {OWNS}",
            (*REFUSED, *OPENED),
            after=_nothing_has_changed,
            controls=(Control(DONE, (off.judging,), after=_theirs_has_changed),),
        ),
    ),
    Attack(
        "X84",
        "read attributes of files outside, and names as they come, by path, link, descriptor",
        Stopped(
            "mount namespace",
            ("^get by path ENOENT$", "^watch by path ENOENT$", "^get of secret E", *READ_OF_OWN),
            controls=(Control(TOLD, outside="server"),),
        ),
        python(READS),
        setup=_told_of,
        b=Stopped(f"seccomp; {ASKS}", NOT_TOLD, controls=(Control(TOLD, (off.judging,)),)),
    ),
    Attack(
        "X85",
        "ask links outside where they lead",
        Stopped(
            "mount namespace",
            ("^link ENOENT$", "^by entering ENOENT$"),
            controls=(Control((f"^{LED}$",), outside="server"),),
        ),
        python(LINKS),
        setup=_told_of,
        b=NotStopped(
            "names outside can be found out in tier B, links' targets among them, never contents",
            ("^link .*/inner-", "^by what it leads to .*/inner-", "^by entering .*/inner-"),
        ),
    ),
)
