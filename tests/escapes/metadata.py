"""Attacks on what a file is called to be: its mode, owner, times and attributes."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from executor import Limits, Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, Program, Stopped, Words, c, python


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
OWNS = "the supervisor does what Landlock does not judge, where the run may write"

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
        "exchange the path of such a call while the supervisor looks at it",
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
)
