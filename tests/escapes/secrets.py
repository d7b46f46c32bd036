"""Attacks on what a run must not read: the home, the host, the project's own secrets."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from executor import Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import (
    Attack,
    Control,
    NotStopped,
    Stopped,
    Words,
    python,
    shell,
)


@contextlib.contextmanager
def _home_of_secrets(arena: Arena) -> Iterator[Words]:
    """What a user's home holds, the server's own data, a neighbouring project."""
    for name in (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc",
                 ".gnupg/secring.gpg", ".mozilla/firefox/logins.json", ".bash_history",
                 ".local/share/ctxmode/kb.sqlite", "other-project/main.py"):  # fmt: skip
        path = arena.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{arena.canary}\n")
    (arena.state_dir / "private").write_text(f"{arena.canary}\n")
    yield {"state": str(arena.state_dir), "name": arena.project.name}


READ_SECRETS = python("""
def read(path):
    with open(path) as file:
        print("content", file.read(200))
for name in ("secret", ".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc",
             ".gnupg/secring.gpg", ".mozilla/firefox/logins.json", ".bash_history",
             ".local/share/ctxmode/kb.sqlite", "other-project/main.py"):
    attempt("home " + name, read, "@home@/" + name)
attempt("list home", os.listdir, "@home@")
attempt("list its parent", os.listdir, os.path.dirname("@home@") + "/home")
attempt("the server's data", read, "@state@/private")
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/machine-id",
             "/var/log", "/var/lib", "/boot", "/srv", "/opt/secret", "/mnt", "/media"):
    attempt(path, os.listdir if os.path.isdir(path) else read, path)
""")

TRAVERSE = python("""
def read(path, dir_fd=None):
    print("content", os.read(os.open(path, os.O_RDONLY, dir_fd=dir_fd), 200))
def openat2(folder, path, resolve):
    how = struct.pack("=QQQ", 0, 0, resolve)
    print("content", os.read(kernel(NR.openat2, folder, path.encode(), how, 24), 200))
up = "../" * 40
root, here = os.open("/", os.O_RDONLY | os.O_PATH), os.open(".", os.O_RDONLY)
secret = "@secret@".lstrip("/")
attempt("/proc/self/root", read, "/proc/self/root/" + secret)
attempt("/proc/self/cwd", read, "/proc/self/cwd/" + up + secret)
attempt("/proc/self/fd", read, f"/proc/self/fd/{here}/" + up + secret)
attempt("/proc/1/root", read, "/proc/1/root/" + secret)
attempt("/proc/parent/cwd", read, f"/proc/{os.getppid()}/cwd/" + secret)
attempt("/proc/thread-self", read, f"/proc/thread-self/root/" + secret)
attempt("dots", read, up + secret)
attempt("above a descriptor", read, up + secret, dir_fd=root)
attempt("in root", openat2, root, up + secret, 0x10)
attempt("magic link", openat2, here, f"/proc/self/fd/{root}/" + secret, 0)
os.symlink("@secret@", os.environ["TMPDIR"] + "/link")
attempt("symbolic link", read, os.environ["TMPDIR"] + "/link")
def handle():
    buffer = struct.pack("=Ii", 128, 0) + bytes(128)
    kernel(NR.name_to_handle_at, -100, b"@secret@", buffer, bytes(8), 0)
try:
    handle()
    print("by handle done")
except OSError as error:
    print("by handle", errno.errorcode[error.errno])
attempt("chdir", os.chdir, "@home@")
print("inside", bool(os.listdir("@project@") is not None))
""")

WAYS = ("/proc/self/root", "/proc/self/cwd", "/proc/self/fd", "/proc/1/root", "/proc/thread-self",
        "dots", "above a descriptor", "in root", "magic link", "symbolic link",
        "chdir")  # fmt: skip

SPELLINGS = shell(r"""
s=@secret@; d=$(dirname $s); b=$(basename $s)
try() { "$@" 2>/dev/null; }
try cat $s; try /bin/cat $s; try command cat $s; try \cat $s; try "c"a't' $s; try tac $s
try sh -c "cat $s"; try env cat $s; try xargs cat <<< $s; try eval "cat $s"
cd $TMPDIR; cp /bin/cat ./kitten && try ./kitten $s
for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do try $l /bin/cat $s; done
try python3 -c "print(open('$s').read())"; try perl -pe 1 $s; try awk 1 $s; try sed '' $s
echo "cat $s" | base64 | base64 -d | try sh; X=c; Y=at; try $X$Y $s; IFS=,; c=cat,$s; try $c; unset IFS
try cat /proc/self/root$s; try cat /proc/$$/root$s; try dd if=$s; try head $s; try find $d -name $b -exec cat {} +
try tar c $s | tr -d '\0'; try cp $s x && cat x; try ln -s $s y && try cat y; try cat < $s; try mapfile a < $s && echo "$a"
alias k=cat; try k $s; try busybox cat $s; try git diff --no-index /dev/null $s; try od -c $s | head -2
try cat ${s/e/e}; try cat $d/s?cret; try cat $d/*; printf -v q '\x63at'; try $q $s; try grep . $s
echo "all tried"
""")


@contextlib.contextmanager
def _repository(arena: Arena) -> Iterator[Words]:
    """A git repository with some of the protected paths present and others not, and secrets."""
    project = arena.project
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    (project / "main.txt").write_text("kept\n")
    (project / ".mcp.json").write_text("{}\n")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text("{}\n")
    (project / ".env").write_text(f"TOKEN={arena.canary}\n")
    (project / "deploy").mkdir()
    (project / "deploy" / "server.key").write_text(f"{arena.canary}\n")
    subprocess.run([*git, "add", "main.txt", ".mcp.json", ".vscode"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    yield {"before": json.dumps(_state(project))}


def _state(project: Path) -> dict[str, str]:
    """Every path of the project with what it is; git's own index may change by looking at it."""
    found = {}
    for folder, folders, files in os.walk(project):
        for name in folders + files:
            path = Path(folder, name)
            what = "folder" if path.is_dir() else "gone"
            if path.is_symlink():
                what = f"-> {path.readlink()}"
            elif path.is_file():
                what = path.read_text(errors="replace")
            if name != "index":
                found[str(path.relative_to(project))] = what
    return found


READ_COVERED = shell("""
cat .env deploy/server.key; cp .env copy; mv .env moved; ln .env linked; mv deploy d2; cat d2/server.key
cat /proc/self/root@project@/.env; git diff --no-index /dev/null .env; tar c .env deploy | strings
python3 -c "import os; print(os.open('.env', os.O_RDWR))"; rm -f .env; cat .env; chmod 644 .env; cat .env
umount .env; echo "looked"
""")

OTHER_NAMES = (
    "#.env#",
    ".env~",
    ".#id_rsa",
    "id_rsa~",
    ".envs/production",
    ".aws/credentials",
    ".docker/config.json",
    "prod.tfvars",
    "passwords.txt",
    "passwords.csv",
    "credentials.json",
    "conf/credentials.yml",
)
READ_OTHERS = shell(f"""
for f in {" ".join(f"'{name}'" for name in OTHER_NAMES)}; do
    cat "$f"; cp "$f" copy; cat copy; ln "$f" linked; cat linked; rm -f copy linked; mkdir -p node_modules
    mv "$(dirname "$f")" node_modules/moved; cat node_modules/moved/*; mv "$f" node_modules; cat node_modules/*
done; echo looked
""")


@contextlib.contextmanager
def _secrets_of_other_names(arena: Arena) -> Iterator[Words]:
    for name in OTHER_NAMES:
        place = arena.project / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"password = {arena.canary}\n")
    yield {}


METADATA = python("""
attempt("look", os.stat, "@secret@")
attempt("mode", os.chmod, "@secret@", 0o644)
attempt("time", os.utime, "@secret@", (0, 0))
attempt("label", os.setxattr, "@secret@", "user.planted", b"x")
attempt("read", os.open, "@secret@", os.O_RDONLY)
attempt("truncate", os.truncate, "@secret@", 0)
attempt("missing", os.stat, "@home@/missing")
""")


@contextlib.contextmanager
def _inode(_: Arena) -> Iterator[Words]:
    yield {"inode": str(os.stat("/usr/bin/env").st_ino)}


NOTHING_HIDES_INODES = NotStopped(
    "inode numbers in a cell are the host's, but cannot be opened",
    ("^inode @inode@$", "^handle EPERM$"),
)


async def _secrets_are_not_lost_sight_of(arena: Arena) -> None:
    """One run takes a secret to where the search for the next run does not look, or can't."""
    config = arena.project / "config"
    tricks = {
        "mv config node_modules": "cat config/.env node_modules/.env",
        "mkdir -p .venv; mv config .venv/config": "cat config/.env .venv/config/.env",
        "chmod 000 config": "chmod 755 config; cat config/.env",
        "chmod 600 config": "chmod 755 config; cat config/.env",
    }
    for off_now in ((), (off.protection,)):
        for first, second in tricks.items():
            config.mkdir()
            (config / ".env").write_text(f"TOKEN={arena.canary}\n")
            await arena.run(shell(first), off_now, profile="build")
            result = await arena.run(shell(second), off_now, profile="build")
            assert (arena.canary in result.stdout.text) is bool(off_now and arena.tier != "B")
            for name in ("config", "node_modules", ".venv"):
                subprocess.run(["chmod", "-Rf", "u+rwx", arena.project / name], check=False)
                subprocess.run(["rm", "-rf", arena.project / name], check=True)


ATTACKS = (
    Attack(
        "A57",
        "leave the root: /proc/self/root, descriptors, dots, openat2, symbolic links, handles",
        Stopped(
            "own root, Landlock",
            (
                *(f"^{way} (ENOENT|EACCES|EPERM)$" for way in WAYS),
                "^by handle EPERM$",
                "^inside True$",
            ),
            controls=(
                Control(
                    ("@canary@", "^/proc/self/root done$", "^symbolic link done$"), outside="server"
                ),
            ),
        ),
        TRAVERSE,
        b=Stopped(
            "Landlock",
            (
                *(f"^{way} (EACCES|EPERM)$" for way in WAYS if way != "chdir"),
                "^by handle EPERM$",
                "^inside True$",
            ),
            controls=(
                Control(
                    ("@canary@", "^/proc/self/root done$", "^symbolic link done$"), outside="server"
                ),
            ),
        ),
    ),
    Attack(
        "A59",
        "read secrets: keys, tokens, histories, browsers, other projects, the server's data",
        Stopped(
            "absent, not merely forbidden",
            (
                "^home secret ENOENT$",
                "^home .ssh/id_ed25519 ENOENT$",
                "^home .netrc ENOENT$",
                "^home .local/share/ctxmode/kb.sqlite ENOENT$",
                "^home other-project/main.py ENOENT$",
                "^list home ENOENT$",
                "^the server's data ENOENT$",
                "^/etc/shadow (ENOENT|EACCES)$",  # a container's is its image's own
                "^/var/log (ENOENT|EACCES)$",
                "^/etc/machine-id (ENOENT|EACCES)$",
            ),
            controls=(
                Control(("^home secret done$", "@canary@", "^/var/log done$"), outside="server"),
            ),
        ),
        READ_SECRETS,
        setup=_home_of_secrets,
        b=Stopped(
            "Landlock",
            (
                "^home secret EACCES$",
                "^home .ssh/id_ed25519 EACCES$",
                "^home other-project/main.py EACCES$",
                "^list home EACCES$",
                "^the server's data EACCES$",
                "^/var/log EACCES$",
                "^/etc/shadow EACCES$",
            ),
            controls=(
                Control(("^home secret done$", "@canary@", "^/var/log done$"), outside="server"),
            ),
        ),
    ),
    Attack(
        "A59 project",
        "read the project's own secrets",
        Stopped(
            "empty files in their place",
            ("^looked$",),
            status=(Status.OK, Status.NONZERO_EXIT),
            controls=(Control(("TOKEN=@canary@",), (off.protection,)),),
        ),
        READ_COVERED,
        setup=_repository,
        b=Stopped(
            "Landlock, entry by entry",
            ("^looked$", "Permission denied"),
            controls=(Control(("TOKEN=@canary@",), (off.landlock,)),),
        ),
    ),
    Attack(
        "X70",
        "the project's secrets under editors', clouds' and containers' names, and moved to packages",
        Stopped(
            "empty files in their place",
            ("^looked$",),
            status=(Status.OK, Status.NONZERO_EXIT),
            controls=(Control(("@canary@",), (off.protection,)),),
        ),
        READ_OTHERS,
        setup=_secrets_of_other_names,
        b=Stopped(
            "Landlock, entry by entry",
            ("^looked$", "Permission denied"),
            controls=(Control(("@canary@",), (off.landlock,)),),
        ),
    ),
    Attack(
        "A89",
        "forty spellings of one forbidden command",
        Stopped(
            "the sandbox, whatever the policy made of it",
            ("^all tried$",),
            controls=(Control(("@canary@", "^all tried$"), outside="server"),),
        ),
        SPELLINGS,
    ),
    Attack(
        "X09",
        "see that the user's files exist; change their mode, times and labels",
        Stopped(
            "absent",
            (
                *(
                    f"^{act} ENOENT$"
                    for act in ("look", "mode", "time", "label", "read", "truncate")
                ),
            ),
            controls=(Control(("^look done$", "^read done$", "^mode done$"), outside="server"),),
        ),
        METADATA,
        b=NotStopped(
            "Landlock does not govern stat: the user's files can be seen to exist, but neither "
            "read nor changed",
            (
                "^look done$",
                *(f"^{act} EACCES$" for act in ("mode", "time", "label", "read", "truncate")),
            ),
        ),
    ),
    Attack(
        "X22",
        "learn inode numbers of the host, and open files by them",
        NOTHING_HIDES_INODES,
        python("""
print("inode", os.stat("/usr/bin/env").st_ino)
attempt("handle", kernel, NR.open_by_handle_at, -100, struct.pack("=IiQ", 8, 1, 2), 0)
"""),
        setup=_inode,
        c=Stopped(
            "the files are the image's own",
            (r"^inode \d+$", "^handle EPERM$"),
            controls=(Control(("^inode @inode@$",), outside="server"),),
        ),
    ),
    Attack(
        "X26",
        "take a secret to where the next run's search does not look",
        Stopped(
            "its folders can't be renamed; what can't be listed is covered as a whole",
            by_b="what a copy did not get can't be moved; what can't be listed is not granted",
        ),
        scenario=_secrets_are_not_lost_sight_of,
    ),
)
