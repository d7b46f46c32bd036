"""Attacks on files: what is written, what is left for the next run, what is told of it."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from executor import Request, RequestError, Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    NotApplicable,
    Stopped,
    Words,
    c,
    python,
    shell,
)
from tests.escapes.protected import _as_it_was, _changed
from tests.escapes.secrets import _repository

COMMIT_THROUGH_LINK = shell("""
ln -s @home@/.bashrc .a.ctxmode-new; echo evil > a
ln -s @home@ folder; ln -s @home@/.profile file; echo evil 2>/dev/null > file
echo done
""")


@contextlib.contextmanager
def _start_up_files(arena: Arena) -> Iterator[Words]:
    for name in (".bashrc", ".profile"):
        (arena.home / name).write_text("as it was\n")
    yield {}


def _start_up_files_stand(arena: Arena, _: Result) -> None:
    for name in (".bashrc", ".profile"):
        assert (arena.home / name).read_text() == "as it was\n", f"{name} was written"


def _start_up_files_changed(arena: Arena, _: Result) -> None:
    assert (arena.home / ".bashrc").read_text() == "evil\n"


STRANGE_ENTRIES = shell("""
mkfifo fifo; ln -s nowhere dangling; mkdir -p deep; mkfifo deep/fifo
rm -rf deploy && ln -s /etc deploy; rm -f main.txt && mkdir main.txt && echo x > main.txt/x
python3 -c "import socket; socket.socketpair()[0]; s = socket.socket(socket.AF_UNIX); s.bind('sock')" 2>/dev/null
chmod 000 fifo; mkdir shut && echo x > shut/f && chmod 000 shut; touch '.main.txt.ctxmode-new'
rm -rf .vscode && echo x > .vscode
echo done
""")


def _result_is_whole(_: Arena, result: Result) -> None:
    assert result.changed_files


STEALTH = python("""
path = "main.txt"
before = os.stat(path)
with open(path, "r+") as file:
    file.write("evil")
os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
print("size kept", os.stat(path).st_size == before.st_size)
""")


def _is_listed(path: str) -> Callable[[Arena, Result], None]:
    def check(_: Arena, result: Result) -> None:
        assert path in {change.path for change in result.changed_files}

    return check


DESTROY = shell("""
rm -rf "$PWD" 2>/dev/null; rm -rf ./* .[!.]* 2>/dev/null; ls -A | wc -l
mv "$TMPDIR" /elsewhere 2>/dev/null; rm -rf "$TMPDIR" "$HOME" /job 2>/dev/null
cd /; rm -rf /tmp/* /home /usr/bin /etc 2>/dev/null
echo "still here"
""")


async def _nothing_is_left_for_the_next_run(arena: Arena) -> None:
    """What one run leaves in every place that outlives a process, and what the next one finds."""
    leave = c(
        r"""
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <mqueue.h>
#include <stddef.h>
static void file(const char *folder, int leaving)
{
    char path[256];
    snprintf(path, sizeof path, "%s/@mark@", folder);
    int fd = open(path, leaving ? O_CREAT | O_WRONLY : O_RDONLY, 0600);
    printf("%s %s\n", strcmp(folder, "/dev/shm") ? "file" : "shm file", fd < 0 ? "no" : "yes");
}
int main(int argc, char **argv)
{
    int leaving = getenv("LEAVE") != NULL, key = @key@;
    file(getenv("TMPDIR"), leaving);
    file("/dev/shm", leaving);
    file(getenv("HOME"), leaving);
    int flags = leaving ? IPC_CREAT | 0600 : 0;
    printf("shm %s\n", shmget(key, 4096, flags) < 0 ? "no" : "yes");
    printf("sem %s\n", semget(key, 1, flags) < 0 ? "no" : "yes");
    printf("msg %s\n", msgget(key, flags) < 0 ? "no" : "yes");
    long mq = syscall(SYS_mq_open, "q@mark@", leaving ? O_CREAT | O_RDWR : O_RDWR, 0600, NULL);
    printf("mq %s\n", mq < 0 ? "no" : "yes");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path + 1, "@mark@");
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + strlen("@mark@");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int done = leaving ? bind(fd, (void *)&name, size) : connect(fd, (void *)&name, size);
    printf("abstract %s\n", done < 0 ? "no" : "yes");
    return 0;
}
"""
    )
    arena.words["key"] = arena.words["mark"][:7]
    first = await arena.run(leave, env={"LEAVE": "1"})
    try:
        second = await arena.run(leave)
    finally:
        _remove_ipc(int(arena.words["key"]), f"/q{arena.words['mark']}")
    assert "attack started" in first.stdout.text
    assert "yes" not in second.stdout.text, second.stdout.text
    # The control: each of them was really left, in tier B where the filter does not forbid it.
    kinds = ("file", "shm file", "file", "shm", "sem", "msg", "abstract")
    if arena.tier == "B":
        assert "file yes" in first.stdout.text
        kinds = ("shm", "sem", "msg")
        first = await arena.run(leave, (off.seccomp,), env={"LEAVE": "1"})
        _remove_ipc(int(arena.words["key"]), f"/q{arena.words['mark']}")
    for kind in kinds:
        assert f"{kind} yes" in first.stdout.text, first.stdout.text


def _remove_ipc(key: int, queue: str) -> None:
    """What tier B may have left on the host."""
    for kind in ("-M", "-S", "-Q"):
        subprocess.run(["ipcrm", kind, str(key)], capture_output=True, check=False)
    Path("/dev/mqueue", queue.lstrip("/")).unlink(missing_ok=True)


async def _neighbours_have_scratch_of_their_own(arena: Arena) -> None:
    """Two runs of one project at the same moment: each waits until the other has written, too."""
    texts = {}

    async def one(name: str) -> None:
        program = shell(
            f"echo {name} > $TMPDIR/same; sleep 0.3; cat $TMPDIR/same; ls $TMPDIR | wc -l"
        )
        texts[name] = (await arena.run(program)).stdout.text

    async with trio.open_nursery() as nursery:
        for name in ("left", "right"):
            nursery.start_soon(one, name)
    for name in ("left", "right"):
        assert texts[name].split()[2] == name


async def _paths_of_the_caller_stay_inside(arena: Arena) -> None:
    project = arena.project
    (project / "ok.sh").write_text("echo inside\n")
    (project / "link").symlink_to(arena.home / "secret")
    (project / "folder").symlink_to(arena.home)
    outside = [
        {"path": "../home/secret"}, {"path": str(arena.home / "secret")}, {"path": "link"},
        {"path": "folder/secret"}, {"path": "/etc/passwd"}, {"path": "ok.sh\0.txt"},
        {"code": "true", "cwd": "/etc"}, {"code": "true", "cwd": "../.."},
        {"code": "true", "cwd": "folder"}, {"code": "true", "bind_file": "link"},
        {"code": "true", "bind_file": "../home/secret"}, {"code": "true", "bind_file": "/proc/self/environ"},
    ]  # fmt: skip
    for given in outside:
        with pytest.raises(RequestError, match=r"outside the project|NUL"):
            await arena.executor.run(Request("shell", **given))
    done = await arena.executor.run(Request("shell", path="ok.sh", cwd="."))  # the control
    assert done.result.stdout.text == "inside\n"


SYSTEM_FILES = python("""
for path in ("/usr/bin/env", "/etc/passwd", "/etc/hosts", "/usr", "/", "/proc/self"):
    attempt("write " + path, os.open, path if os.path.isfile(path) else path + "/new",
            os.O_WRONLY | os.O_CREAT)
    attempt("mode of " + path, os.chmod, path, 0o777)
    attempt("time of " + path, os.utime, path)
    attempt("label of " + path, os.setxattr, path, "user.x", b"x")
    attempt("owner of " + path, os.chown, path, os.getuid(), os.getgid())
attempt("remove", os.unlink, "/usr/bin/env")
attempt("swap", os.rename, "/usr/bin/env", "/usr/bin/evn")
os.chdir(os.environ["TMPDIR"])
open("own", "w").close()
attempt("mode of one's own", os.chmod, "own", 0o700)
""")

SYSTEM_PATHS = ("/usr/bin/env", "/etc/hosts", "/usr", "/")

SHARED_MEMORY = python("""
import mmap
with open("/usr/bin/env", "rb") as file:
    before = file.read(64)
    mapped = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
    address = [int(line.split("-")[0], 16) for line in open("/proc/self/maps") if "/env" in line][0]
def through_mem():
    fd = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(fd, b"evil", address)
attempt("write a read-only mapping", through_mem)
def shared():
    with open("/usr/bin/env", "rb") as file:
        mmap.mmap(file.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
attempt("map it shared and writable", shared)
print("the file is", "as before" if open("/usr/bin/env", "rb").read(64) == before else "changed")
""")

OVERLAY = python("""
mounts = open("/proc/self/mountinfo").read()
for line in mounts.splitlines():
    if " overlay " in line:
        for option in line.split(" - ")[1].split()[-1].split(","):
            name, _, path = option.partition("=")
            if name in ("upperdir", "workdir", "lowerdir"):
                attempt(name, os.listdir, path)
print("propagation", sorted({word.split(":")[0] for line in mounts.splitlines()
      for word in line.split(" - ")[0].split()[6:]} - {"master"}))
attempt("opaque", os.setxattr, "@project@", "user.overlay.opaque", b"y")
attempt("redirect", os.setxattr, "@project@", "user.overlay.redirect", b"/etc")
attempt("trusted", os.setxattr, "@project@", "trusted.overlay.opaque", b"y")
import stat
attempt("whiteout", os.mknod, "@project@/white", stat.S_IFCHR, os.makedev(0, 0))
attempt("label", os.setxattr, os.environ["TMPDIR"], "user.x", b"y")
""")

STRANGE_NAMES = python("""
for name in (b"\\xff\\xfe", b"new\\nline", b"tab\\t", b"\\x1b[31mred", b"-rf", b"\\xe2\\x80\\xaertl",
             b"n" * 255, b"'; drop table", b"\\xed\\xa0\\x80"):
    attempt(repr(name)[:20], lambda: open(name, "wb").close())
print("named", flush=True)
""")


def _travels_as_json(_: Arena, result: Result) -> None:
    """Names that are no text are still told, in a form that every channel carries."""
    text = json.dumps(result.to_json(), ensure_ascii=False)
    assert Result.from_json(json.loads(text.encode("utf-8"))) == result
    assert len(result.changed_files) == 9


def _has_no_overlay(arena: Arena) -> bool:
    return not arena.executor.isolation.layers["copy_on_write"].active


ATTACKS = (
    Attack(
        "A69",
        "remove the project, the scratch, the job folder, everything",
        Stopped(
            "copy-on-write, read-only mounts",
            ("^still here$",),
            after=_as_it_was(),
            controls=(
                Control(
                    ("^still here$",),
                    (off.copy_on_write, off.protection),
                    after=_changed("main.txt"),
                ),
            ),
        ),
        DESTROY,
        setup=_repository,
        b=Stopped(
            "Landlock",
            ("^still here$",),
            after=_as_it_was(),
            controls=(
                Control(
                    ("^0$",),
                    program=shell("cd $TMPDIR; echo x > x; rm -f x; ls | grep -c '^x$'; true"),
                ),
            ),
        ),
    ),
    Attack(
        "A71",
        "leave something for the next run: files, shared memory, semaphores, queues, sockets",
        Stopped("every namespace and tmpfs is the run's own"),
        scenario=_nothing_is_left_for_the_next_run,
    ),
    Attack(
        "A72",
        "two runs of one project at once, writing the same names",
        Stopped("a separate scratch folder"),
        scenario=_neighbours_have_scratch_of_their_own,
    ),
    Attack(
        "A73",
        "paths that the caller gives: dots, links, absolute ones",
        Stopped("real paths are checked before anything starts"),
        scenario=_paths_of_the_caller_stay_inside,
    ),
    Attack(
        "X08",
        "write, chmod, chown, touch, label system files and what a cell is made of",
        Stopped(
            "read-only mounts, Landlock",
            (
                *(f"^write {path} E(ROFS|ACCES)$" for path in SYSTEM_PATHS),
                *(f"^mode of {path} E(ROFS|PERM|ACCES)$" for path in SYSTEM_PATHS),
                *(f"^time of {path} E(ROFS|PERM|ACCES)$" for path in SYSTEM_PATHS),
                "^remove E(ROFS|ACCES)$",
                "^swap E(ROFS|ACCES|XDEV)$",
            ),
            controls=(Control(("^mode of one's own done$",)),),
        ),
        SYSTEM_FILES,
        b=Stopped(
            "Landlock, file ownership",
            (
                *(f"^write {path} E(ROFS|ACCES)$" for path in SYSTEM_PATHS),
                *(f"^mode of {path} E(ROFS|PERM|ACCES)$" for path in SYSTEM_PATHS),
                "^remove E(ROFS|ACCES)$",
            ),
            controls=(Control(("^mode of one's own done$",)),),
        ),
    ),
    Attack(
        "X10",
        "write to a mapped read-only file through /proc/self/mem",
        Stopped(
            "private mappings, Landlock",
            (
                "^write a read-only mapping E",
                "^map it shared and writable E(ACCES|PERM)$",
                "^the file is as before$",
            ),
            controls=(
                Control(
                    ("^write a read-only mapping done$", "^the file is as before$"), (off.landlock,)
                ),
            ),
        ),
        SHARED_MEMORY,
    ),
    Attack(
        "X11",
        "reach into the overlay: its upper and work folders, its marks; propagate a mount",
        Stopped(
            "the folders have no name in the cell",
            (
                "^upperdir (ENOENT|EACCES)$",
                "^workdir (ENOENT|EACCES)$",
                r"^propagation \[\]$",
                "^trusted EPERM$",
                "^whiteout E",
            ),
            controls=(Control(("^label done$",)),),
        ),
        OVERLAY,
        b=NotApplicable("there is no overlay", _has_no_overlay),
    ),
    Attack(
        "X18",
        "have the server write through a symbolic link when it brings the changes over",
        Stopped(
            "live project, or links never followed",
            ("^done$",),
            after=_start_up_files_stand,
            controls=(
                Control(
                    ("^done$",),
                    outside="server",
                    program=shell("echo evil > @home@/.bashrc && echo done"),
                    after=_start_up_files_changed,
                ),
            ),
        ),
        COMMIT_THROUGH_LINK,
        profile="build",
        setup=_start_up_files,
    ),
    Attack(
        "X19",
        "FIFOs, sockets, folders replaced by files and links, to confuse the collection of changes",
        Stopped(
            "told, never opened",
            ("^done$",),
            after=_result_is_whole,
            controls=(
                Control(
                    ("^done$",), program=shell("echo x > plain; echo done"), after=_result_is_whole
                ),
            ),
        ),
        STRANGE_ENTRIES,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "X16",
        "change a file and set its size and times back, to be missing from the changed files",
        Stopped(
            "the change time, which nobody can set",
            ("^size kept True$",),
            after=_is_listed("main.txt"),
            controls=(Control(("^size kept True$",), profile="build"),),
        ),
        STEALTH,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "X17",
        "file names that are not text, or hostile when printed",
        Stopped(
            "reported in a form that JSON can hold",
            ("^named$",),
            after=_travels_as_json,
            controls=(Control(("^plain$",), program=shell("echo x > plain; echo plain")),),
        ),
        STRANGE_NAMES,
        profile="build",
    ),
)
