"""Attacks by deleting and moving what holds secrets, and by odd entries of every kind."""

# ruff: noqa: E501 - programs keep their lines

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from executor import Limits, Result, Status
from executor.model import GIB
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, Stopped, Words, python
from tests.escapes.harms import Harm, scenario

FILES = 100_000
PROJECT = """
for f in a b c/d; do mkdir -p $f/in; echo @canary@ > $f/in/.env; echo host > $f/.envrc; echo x > $f/plain; done
mkdir -p n/.vscode; echo host > n/.vscode/tasks.json; mkdir k; echo @canary@ > k/id_rsa; echo @canary@ > .env
"""
GONE = "for f in {}; do test -e $f || exit 0; grep -Eqs '@canary@|host' $f || exit 0; done; exit 1".format
SECRETS, NEVER = "a/in/.env b/in/.env c/d/in/.env k/id_rsa .env", "a/.envrc n/.vscode/tasks.json"
# A folder is moved by what it holds for the program; a secret stays where its rule sees it.
STRAY = "test \"$(grep -rl @canary@ . | sort | tr '\\n' ' ')\" != './.env ./a/in/.env ./b/in/.env ./c/d/in/.env ./k/id_rsa '"

HARMS = tuple(
    Harm(name, runs, f"({GONE(f'{SECRETS} {NEVER}')}) || {STRAY}", prepare=PROJECT)
    for name, runs in {
        "delete folders": ("rm -rf a b c k n",),
        "delete everything": ("find . -mindepth 1 -delete; rm -rf ./* .[a-z]*",),
        "delete over two runs": ("rm -rf a/in a/.envrc c/d", "rm -rf a c; mkdir -p a c"),
        "make anew what was deleted": ("rm -rf a; mkdir a; echo new > a/new",),
        "make anew with what was in it": ("rm -rf a; mkdir -p a/in; echo evil > a/in/.env; echo evil > a/.envrc",),
        "a file in a folder's place": ("rm -rf a k; echo evil > a; echo evil > k",),
        "a link in a folder's place": ("rm -rf a; ln -s b a",),
        "a link in a secret's place": ("rm -rf k; mkdir k; ln -s ../main.txt k/id_rsa; rm -f .env; ln -s main.txt .env",),
        "a folder in a secret's place": ("rm -f .env; mkdir .env; echo evil > .env/x; rm -rf k; mkdir -p k/id_rsa",),
        "move folders": ("mv a elsewhere; mv c b; mv k 'other k'; mv n m",),
        "move into packages": ("mkdir -p node_modules venv/lib/site-packages; mv a node_modules/a; mv k node_modules; mv n venv/lib/site-packages",),
        "move over two runs": ("mkdir t; mv a/plain t; mv a t/a", "mkdir -p node_modules; mv t/a node_modules; mv a node_modules/b"),
        "exchange two folders": ("mv a t; mv k a; mv t k",),
        "move by copies": ("cp -r a x; rm -rf a; cp -r x a; cp -r k node_modules",),
        "hard links": ("ln .env plain; ln k/id_rsa stolen; cp --link -r a linked",),
    }.items()
)  # fmt: skip

ODD = python("""
import stat
for name, mode in {"suid": 0o4755, "sgid": 0o2755, "sticky": 0o1777, "all": 0o7777, "main.txt": 0o6755}.items():
    open(name, "a").close(); attempt("mode", os.chmod, name, mode)
for name in ("folder", "d"):
    os.makedirs(name, exist_ok=True); attempt("mode of a folder", os.chmod, name, 0o7777)
for label in ("user.overlay.opaque", "user.overlay.redirect", "user.overlay.whiteout", "user.overlay.metacopy",
              "trusted.overlay.opaque", "security.capability", "security.selinux", "system.posix_acl_access",
              "user.plain", "user." + "n" * 240):
    for name in ("suid", "folder", "main.txt"):
        attempt("label " + label[:24], os.setxattr, name, label, b"y")
for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
    attempt("node", os.mknod, f"node{kind}", kind | 0o666, os.makedev(1, 5))
attempt("whiteout", os.mknod, "main.txt.not", stat.S_IFCHR, 0)
for name in (b"n" * 255, b"new\\nline", b"\\xff\\xfe", b"\\x1b]0;t\\x07", b"-rf", b" ", b".wh.main.txt", b".wh..wh..opq",
             b".ctxmode-0-0", b".fuse_hidden1", b"a\\\\b", b"con", b"x:y", "e\\u0301\\u202e".encode()):
    attempt("name", lambda: open(name, "w").write("x"))
os.makedirs("farm"); open("farm/0", "w").write("x")
for number in range(1, 3000):
    os.link("farm/0", f"farm/{number}")
os.link("farm/0", "farm-outside"); os.link("main.txt", "main-too")
top = os.getcwd()
for number in range(1500):
    os.mkdir("deep"); os.chdir("deep")
os.chdir(top)
print("odd", flush=True)
""")


def _nothing_odd_came(arena: Arena, result: Result) -> None:
    json.dumps(result.to_json())
    told = {left.path for left in result.not_committed}
    # gVisor keeps its FIFOs and sockets to itself: nothing of them is there to be told.
    kept_apart = arena.tier == "B" or arena.has_gvisor
    assert any(path.startswith("node") for path in told) or kept_apart, told
    for folder, folders, files in os.walk(arena.project):
        for name in folders + files:
            info = os.lstat(Path(folder, name))
            assert not info.st_mode & 0o6000, name
            assert stat.S_IFMT(info.st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK), name
            labels = os.listxattr(Path(folder, name), follow_symlinks=False)
            assert all(label.startswith("user.") for label in labels), labels
            assert not any(label.startswith("user.overlay") for label in labels), labels
    assert (arena.project / "main.txt").exists()
    assert (arena.project / "farm" / "2999").stat().st_nlink == 3001
    assert not list(arena.project.rglob(".ctxmode-*-*[1-9]"))


def _odd_is_there(arena: Arena, _: Result) -> None:
    assert (arena.project / "suid").stat().st_mode & 0o4000


@contextlib.contextmanager
def _main(arena: Arena) -> Iterator[Words]:
    (arena.project / "main.txt").write_text("main\n")
    yield {}


MANY = python(f"""
os.makedirs("many")
for number in range({FILES}):
    if number % 1000 == 0:
        os.mkdir(f"many/{{number // 1000}}")
    os.close(os.open(f"many/{{number // 1000}}/{{number}}", os.O_CREAT | os.O_WRONLY))
print("made", flush=True)
""")

HOLES = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def hole(name, size):
    os.truncate(os.open(name, os.O_CREAT | os.O_WRONLY), size)
attempt("a tebibyte", hole, "hole", 1 << 40)
for number in range({}):
    attempt("a gibibyte", hole, f"hole{{number}}", 1 << 30)
print("made", flush=True)
""".format


async def _many_files_come_whole(arena: Arena) -> None:
    """All of what is within bounds is committed; of more nothing is, and that is told."""
    result = await arena.run(MANY, profile="build", limits=Limits(wall_s=120))
    if result.status is Status.OK:
        assert len(list((arena.project / "many").rglob("*"))) == FILES + FILES // 1000
    else:  # a limit on the copy, or on the memory that holds it
        assert result.message
        assert "made" not in result.stdout.text or not (arena.project / "many").exists()
    shutil.rmtree(arena.project / "many", ignore_errors=True)  # a copy of it takes long
    holes = await arena.run(python(HOLES(8)), profile="build", limits=Limits(wall_s=20))
    assert "a tebibyte EFBIG" in holes.stdout.text
    assert holes.status is Status.SANDBOX_ERROR
    assert "GiB" in holes.message
    assert "none of" in holes.message, holes.message
    assert not list(arena.project.glob("hole*"))
    # The control: one hole comes, and stays one.
    result = await arena.run(
        python(HOLES(1)), profile="build", limits=Limits(wall_s=20, file_bytes=GIB)
    )
    assert result.status is Status.OK, result.message
    info = (arena.project / "hole0").stat()
    assert info.st_size == GIB
    assert info.st_blocks * 512 < 1 << 20


def _nothing_came(arena: Arena, result: Result) -> None:
    assert "none of the run's changes was committed" in result.message
    assert [path.name for path in arena.project.iterdir()] == ["main.txt"]


SETS_BITS = Control(
    ("^mode done$",),
    outside="server",
    program=python(
        "attempt('mode', lambda: (open('@project@/suid', 'a'), os.chmod('@project@/suid', 0o4755)))"
    ),
    after=_odd_is_there,
)
ATTACKS = (
    Attack(
        "X51",
        "delete, replace, move folders that hold secrets or what is never committed",
        Stopped("a deletion spares files that the view hid or that are never committed"),
        scenario=scenario(HARMS, "echo main > main.txt"),
    ),
    Attack(
        "X52",
        "set-uid bits, labels, device nodes, odd names, deep trees, many hard links to one file",
        Stopped(
            "regular files, folders and links alone are committed, without bits that lend rights",
            ("^odd$", "^mode done$"),
            after=_nothing_odd_came,
            controls=(SETS_BITS,),
        ),
        ODD,
        c=Stopped(
            "a layer with labels of the overlay's own is not read: nothing is committed, and told",
            ("^odd$",),
            status=Status.SANDBOX_ERROR,
            after=_nothing_came,
            controls=(SETS_BITS,),
        ),
        profile="build",
        setup=_main,
    ),
    Attack(
        "X53",
        "100,000 files at once, and sparse files that claim a tebibyte",
        Stopped("limits on files' sizes; a commit's limits; above them none of it is applied"),
        scenario=_many_files_come_whole,
    ),
)  # fmt: skip
