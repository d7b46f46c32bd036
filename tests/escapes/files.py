"""Attacks on files: secrets, the world outside the project, paths that host tools obey."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from executor import Limits, Request, RequestError, Result, Status
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.server import in_a_server
from tests.escapes.attack import (
    Attack,
    Control,
    NotApplicable,
    NotStopped,
    Program,
    Stopped,
    Words,
    c,
    python,
    shell,
)

ABSENT = "(ENOENT|EACCES)"
READ_ONLY_PROJECT = "the project is read-only (Landlock)"


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
        "dots", "above a descriptor", "in root", "magic link", "symbolic link", "chdir")  # fmt: skip
LINKS = python("""
attempt("link a file outside", os.link, "@secret@", "stolen")
attempt("link a system file", os.link, "/usr/bin/env", "env")
attempt("link to its descriptor", os.link, "/proc/self/root@secret@", "stolen")
def by_descriptor():
    fd = os.open("/usr/bin/env", os.O_RDONLY)
    os.link(f"/proc/self/fd/{fd}", "env", follow_symlinks=True)
attempt("link a descriptor", by_descriptor)
attempt("link the script", os.link, sys.argv[0], "script")
attempt("link a protected file", os.link, ".mcp.json", "alias")
os.chdir(os.environ["TMPDIR"])
open("mine", "w").close()
attempt("link one's own", os.link, "mine", "also mine")
""")
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


def _as_it_was(*but: str) -> Callable[[Arena, Result], None]:
    """The project is as before, down to the last placeholder, but for these and what is below."""

    def check(arena: Arena, _: Result) -> None:
        before, now = json.loads(arena.words["before"]), _state(arena.project)
        kept = {p: w for p, w in now.items() if p.split("/")[0] not in but}
        assert kept == before

    return check


def _changed(*paths: str) -> Callable[[Arena, Result], None]:
    """The control's proof: without the protection these paths do change."""

    def check(arena: Arena, _: Result) -> None:
        before, now = json.loads(arena.words["before"]), _state(arena.project)
        for path in paths:
            assert now.get(path) != before.get(path), f"{path} did not change"

    return check


def _hooks_stand(arena: Arena, _: Result) -> None:
    before, now = json.loads(arena.words["before"]), _state(arena.project)
    for path in before:
        if path.startswith((".git/hooks", ".git/config")):
            assert now.get(path) == before[path], f"{path} is not what it was"
    assert ".git/hooks/pre-commit" not in now


WRITE_PROTECTED = shell("""
put() { mkdir -p "$(dirname "$1")" 2>/dev/null; echo evil 2>/dev/null > "$1" && echo "$1 written" || echo "$1 refused"; }
for path in .git/hooks/pre-commit .git/config .git/config.worktree .git/info/attributes .gitmodules \\
    .git/modules/x/config .bashrc .bash_profile .profile .zshrc .zshenv .gitconfig .ripgreprc .envrc \\
    .mcp.json .claude/settings.json .cursor/mcp.json .vscode/tasks.json .vscode/settings.json \\
    .idea/workspace.xml .husky/pre-commit .ctxmode/config.toml; do put $path; done
git config core.fsmonitor evil 2>/dev/null && echo "git config written"
git config core.hooksPath evil 2>/dev/null
touch .git/config 2>/dev/null; rm -f .mcp.json 2>/dev/null; mv .vscode elsewhere 2>/dev/null
ln -s /tmp/x .profile 2>/dev/null; ln .mcp.json linked 2>/dev/null; ln .git/config linked 2>/dev/null
mkdir -p .idea/locked && chmod 000 .idea; mkdir -p .husky/_ && echo evil > .husky/_/h && chmod 555 .husky/_ .husky
chmod 777 .mcp.json .git/hooks 2>/dev/null; : > .mcp.json 2>/dev/null
mv .mcp.json b 2>/dev/null; mkdir t; echo x > t/settings.json; mv t .gemini 2>/dev/null
mkdir t 2>/dev/null; echo x > t/pre-commit; mv -T t .git/hooks 2>/dev/null; rm -rf t
echo done
""")
EXISTING = (".git/hooks/pre-commit", ".git/config", ".mcp.json", ".vscode/settings.json")
RENAME_PARENT = shell("""
mv .git moved 2>&1 | head -1; mkdir -p .git/hooks 2>/dev/null; echo evil > .git/hooks/pre-commit 2>/dev/null
mv .git/hooks .git/h 2>&1 | head -1
python3 - <<'end' || perl -e 'syscall(316, -100, ".git", -100, "other", 2)'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import os
os.makedirs("other/hooks", exist_ok=True)
open("other/hooks/pre-commit", "w").write("evil")
print("exchange", libc.renameat2(-100, b".git", -100, b"other", 2), ctypes.get_errno())
end
rm -rf other
echo done
""")
READ_COVERED = shell("""
cat .env deploy/server.key; cp .env copy; mv .env moved; ln .env linked; mv deploy d2; cat d2/server.key
cat /proc/self/root@project@/.env; git diff --no-index /dev/null .env; tar c .env deploy | strings
python3 -c "import os; print(os.open('.env', os.O_RDWR))"; rm -f .env; cat .env; chmod 644 .env; cat .env
umount .env; echo "looked"
""")


async def _worktrees_work_and_stay_protected(arena: Arena) -> None:
    """`.git` as a file, `.git/hooks` as a link to somewhere and to nowhere, a submodule."""
    project = arena.project
    with _repository(arena):
        pass
    attack = shell("""
    git status >/dev/null 2>&1; echo "status $?"
    echo evil > .git/hooks/pre-commit; rm -rf .git/hooks; mkdir -p .git/hooks
    echo evil > .git/hooks/pre-commit; rm -f .git; echo "gitdir: /tmp" > .git; mkdir -p .git/hooks
    true
    """)
    for target in ("../shared", "/nowhere/at/all"):
        hooks = project / ".git" / "hooks"
        if hooks.is_symlink():
            hooks.unlink()
        else:
            subprocess.run(["rm", "-r", str(hooks)], check=True)
        (project / "shared").mkdir(exist_ok=True)
        hooks.symlink_to(target)
        (project / "shared" / "pre-commit").unlink(missing_ok=True)
        before = _state(project)
        result = await arena.run(attack, profile="build")
        assert "status 0" in result.stdout.text
        after = _state(project)
        assert {p: w for p, w in after.items() if p != "shared/pre-commit"} == before
    main = arena.tmp_path / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "clone", "-q", str(project), str(main)], check=True)
    subprocess.run(["find", str(project), "-mindepth", "1", "-delete"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(project)], check=True)
    gitdir = (project / ".git").read_text()
    said = await in_a_server(
        arena,
        "",
        f"""
        result = (await executor.run(Request("shell", {attack.text!r}, profile="build"))).result
        print(result.status.value, result.stdout.text)
        """,
    )
    assert "attack started" in said
    assert "status 0" in said
    assert (project / ".git").read_text() == gitdir
    assert not (main / ".git" / "hooks" / "pre-commit").exists()


def _outcome_of_git(project: Path, proof: Path) -> bool:
    """Whether a person's `git status` in the project runs what a program planted."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(proof.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    for folder in (project, project / "sub"):
        if folder.is_dir():
            subprocess.run(["git", "status"], cwd=folder, env=environment, capture_output=True,
                           check=False)  # fmt: skip
    return proof.exists()


@contextlib.contextmanager
def _proof(arena: Arena) -> Iterator[Words]:
    yield {"proof": str(arena.tmp_path / "proof"), "before": "{}"}


def _git_runs_nothing(arena: Arena, _: Result) -> None:
    assert not _outcome_of_git(arena.project, Path(arena.words["proof"])), "git ran a planted program"


def _git_runs_it(arena: Arena, _: Result) -> None:
    assert _outcome_of_git(arena.project, Path(arena.words["proof"]))


GIT_FILE = shell("""
export GIT_CONFIG_NOSYSTEM=1
mkdir -p gd; git init -q --bare gd 2>/dev/null
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = @project@\\n\\tfsmonitor = "touch @proof@; false"\\n' > gd/config
echo "gitdir: ./gd" > .git
echo planted
""")
BARE = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q --bare . 2>/dev/null
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = @project@\\n\\tfsmonitor = "touch @proof@; false"\\n' > config
echo planted
""")
NEW_REPOSITORY = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q . 2>/dev/null; git config core.fsmonitor 'touch @proof@; false' 2>/dev/null
printf '#!/bin/sh\\ntouch @proof@\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change
echo planted
""")
NESTED_REPOSITORY = shell("""
export GIT_CONFIG_NOSYSTEM=1
git init -q sub && cd sub && git config core.fsmonitor 'touch @proof@; false'
printf '#!/bin/sh\\n' > .git/hooks/pre-commit
echo planted
""")


def _nested_repository_is_undone(arena: Arena, result: Result) -> None:
    assert "sub/.git" in result.undone_paths, result.undone_paths
    assert not (arena.project / "sub" / ".git").exists()


@contextlib.contextmanager
def _with_subrepository(arena: Arena) -> Iterator[Words]:
    """A repository that has another one checked out inside, as vendored code and submodules are."""
    with _repository(arena) as words:
        sub = arena.project / "sub"
        subprocess.run(["git", "init", "-q", str(sub)], check=True)
        yield {**words, "before": json.dumps(_state(arena.project)),
               "proof": str(arena.tmp_path / "proof")}  # fmt: skip


SUBREPOSITORY_HOOK = shell("""
export GIT_CONFIG_NOSYSTEM=1
cd sub
git config core.fsmonitor 'touch @proof@; false'
mv .git g 2>/dev/null && cp -r g .git && rm -rf g; printf 'evil' > .git/hooks/pre-commit
echo planted
""")
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
    kinds = ("file", "shm file", "file", "shm", "sem", "msg", "abstract")
    left = [f"{kind} yes" for kind in kinds]
    if arena.tier == "A":  # the control: each of them was really left
        made = [line for line in first.stdout.text.splitlines()[1:] if "mq" not in line]
        assert made == left, first.stdout.text
    assert "yes" not in second.stdout.text, second.stdout.text


def _remove_ipc(key: int, queue: str) -> None:
    """What tier B may have left on the host."""
    for kind in ("-M", "-S", "-Q"):
        subprocess.run(["ipcrm", kind, str(key)], capture_output=True, check=False)
    Path("/dev/mqueue", queue.lstrip("/")).unlink(missing_ok=True)


async def _neighbours_have_scratch_of_their_own(arena: Arena) -> None:
    """Two runs of one project at the same moment: each waits until the other has written, too."""
    texts = {}

    async def one(name: str) -> None:
        program = shell(f"echo {name} > $TMPDIR/same; sleep 0.3; cat $TMPDIR/same; ls $TMPDIR | wc -l")
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
        with pytest.raises(RequestError, match="outside the project|NUL"):
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
METADATA = python("""
attempt("look", os.stat, "@secret@")
attempt("mode", os.chmod, "@secret@", 0o644)
attempt("time", os.utime, "@secret@", (0, 0))
attempt("label", os.setxattr, "@secret@", "user.planted", b"x")
attempt("read", os.open, "@secret@", os.O_RDONLY)
attempt("truncate", os.truncate, "@secret@", 0)
attempt("missing", os.stat, "@home@/missing")
""")
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
os.chdir("@project@" if os.access("@project@", os.W_OK) and "@writable@" else os.environ["TMPDIR"])
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


@contextlib.contextmanager
def _writable(_: Arena) -> Iterator[Words]:
    yield {"writable": "yes"}


def _has_no_overlay(arena: Arena) -> bool:
    return not arena.executor.isolation.layers["copy_on_write"].active


GIT_CONTROL = Control(
    ("^planted$",), (off.protection,), after=_git_runs_it, status=None
)

ATTACKS = (
    Attack(
        "A57",
        "leave the root: /proc/self/root, descriptors, dots, openat2, symbolic links, handles",
        Stopped(
            "own root, Landlock",
            (*(f"^{way} (ENOENT|EACCES|EPERM)$" for way in WAYS), "^by handle EPERM$",
             "^inside True$"),
            controls=(Control(("@canary@", "^/proc/self/root done$", "^symbolic link done$"),
                              outside="server"),),
        ),
        TRAVERSE,
        b=Stopped(
            "Landlock",
            (*(f"^{way} (EACCES|EPERM)$" for way in WAYS if way != "chdir"), "^by handle EPERM$",
             "^inside True$"),
            controls=(Control(("@canary@", "^/proc/self/root done$", "^symbolic link done$"),
                              outside="server"),),
        ),
    ),
    Attack(
        "A58",
        "hard links to files outside",
        Stopped(
            "mount boundaries, absent files",
            (
                "^link a file outside ENOENT$",
                "^link a system file (EXDEV|EPERM|EACCES)$",
                "^link to its descriptor (ENOENT|EACCES|EXDEV)$",
                "^link a descriptor E",
                "^link the script (EXDEV|EPERM|EACCES|EROFS)$",
                "^link a protected file (EXDEV|EPERM|EACCES)$",
            ),
            after=_as_it_was(),
            controls=(Control(("^link one's own done$",)),),
        ),
        LINKS,
        profile="build",
        setup=_repository,
        b=Stopped(
            "Landlock; a copy is written to",
            ("^link a file outside E(XDEV|ACCES)$", "^link a system file E", "^link a descriptor E"),
            after=_as_it_was("alias"),
            controls=(Control(("^link one's own done$",)),),
        ),
    ),
    Attack(
        "A59",
        "read secrets: keys, tokens, histories, browsers, other projects, the server's data",
        Stopped(
            "absent, not merely forbidden",
            (
                "^home secret ENOENT$", "^home .ssh/id_ed25519 ENOENT$", "^home .netrc ENOENT$",
                "^home .local/share/ctxmode/kb.sqlite ENOENT$", "^home other-project/main.py ENOENT$",
                "^list home ENOENT$", "^the server's data ENOENT$", "^/etc/shadow ENOENT$",
                "^/var/log ENOENT$", "^/etc/machine-id ENOENT$",
            ),
            controls=(Control(("^home secret done$", "@canary@", "^/var/log done$"),
                              outside="server"),),
        ),
        READ_SECRETS,
        setup=_home_of_secrets,
        b=Stopped(
            "Landlock",
            (
                "^home secret EACCES$", "^home .ssh/id_ed25519 EACCES$",
                "^home other-project/main.py EACCES$", "^list home EACCES$",
                "^the server's data EACCES$", "^/var/log EACCES$", "^/etc/shadow EACCES$",
            ),
            controls=(Control(("^home secret done$", "@canary@", "^/var/log done$"),
                              outside="server"),),
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
        "A60",
        "write paths that host tools obey: hooks, git and shell configuration, editors, agents",
        Stopped(
            "read-only binds, pinned ancestors, undone afterwards",
            ("^.git/hooks/pre-commit refused$", "^.git/config refused$", "^.mcp.json refused$",
             "^.vscode/tasks.json refused$", "^done$"),
            after=_as_it_was(),
            controls=(Control(("^.git/config written$", "^.mcp.json written$", "^done$"),
                              (off.protection,), after=_changed(*EXISTING)),),
        ),
        WRITE_PROTECTED,
        profile="build",
        setup=_repository,
        b=Stopped(
            "a copy is written to; protected paths are not brought over",
            ("^done$",),
            after=_as_it_was("b", "elsewhere", "linked"),
            controls=(Control(("^done$",), (off.protection,), after=_changed(*EXISTING[:2])),),
        ),
    ),
    Attack(
        "A60 analyze",
        "the same under analyze",
        Stopped(
            "copy-on-write",
            ("^done$",),
            after=_as_it_was(),
            controls=(Control(("^.git/config written$", "^done$"),
                              (off.copy_on_write, off.protection), after=_changed(*EXISTING)),),
        ),
        WRITE_PROTECTED,
        setup=_repository,
        b=Stopped(
            READ_ONLY_PROJECT,
            ("^.git/hooks/pre-commit refused$", "^.git/config refused$", "^.bashrc refused$", "^done$"),
            after=_as_it_was(),
            controls=(Control(("^.git/config written$", "^done$"), (off.landlock,),
                              after=_changed(*EXISTING[:3])),),
        ),
    ),
    Attack(
        "A61",
        "rename the parent of a protected path, or exchange it",
        Stopped(
            "ancestors are mount points",
            ("busy", "^exchange -1 16$", "^done$"),
            after=_as_it_was(),
            controls=(Control(("^done$",), (off.protection,), after=_changed("moved")),),
        ),
        RENAME_PARENT,
        profile="build",
        setup=_repository,
        b=Stopped(
            "a copy is written to; protected paths are not brought over",
            ("^done$",),
            after=_hooks_stand,
            controls=(Control(("^done$",), (off.protection,), after=_changed(".git/config")),),
        ),
    ),
    Attack(
        "A62",
        ".git as a worktree's file, .git/hooks as a link",
        Stopped("protected in every form, and every command works"),
        scenario=_worktrees_work_and_stay_protected,
    ),
    Attack(
        "A63",
        "a new repository with hooks inside the project",
        Stopped("undone afterwards, and listed", ("^planted$",),
                after=_nested_repository_is_undone,
                controls=(Control(("^planted$",), (off.protection,), after=_git_runs_it),)),
        NESTED_REPOSITORY,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "A69",
        "remove the project, the scratch, the job folder, everything",
        Stopped(
            "copy-on-write, read-only mounts",
            ("^still here$",),
            after=_as_it_was(),
            controls=(Control(("^still here$",), (off.copy_on_write, off.protection),
                              after=_changed("main.txt")),),
        ),
        DESTROY,
        setup=_repository,
        b=Stopped(
            "Landlock",
            ("^still here$",),
            after=_as_it_was(),
            controls=(Control(("^0$",), program=shell(
                "cd $TMPDIR; echo x > x; rm -f x; ls | grep -c '^x$'; true")),),
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
        Stopped("scratch of its own"),
        scenario=_neighbours_have_scratch_of_their_own,
    ),
    Attack(
        "A73",
        "paths that the caller gives: dots, links, absolute ones",
        Stopped("real paths are checked before anything starts"),
        scenario=_paths_of_the_caller_stay_inside,
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
        "X09",
        "see that the user's files exist; change their mode, times and labels",
        Stopped(
            "absent",
            (*(f"^{act} ENOENT$" for act in ("look", "mode", "time", "label", "read", "truncate")),),
            controls=(Control(("^look done$", "^read done$", "^mode done$"), outside="server"),),
        ),
        METADATA,
        b=NotStopped(
            "Landlock governs neither stat nor chmod, utime, setxattr: the user's files can be "
            "seen to exist, and their modes and times changed, though not their content",
            ("^look done$", "^mode done$", "^read EACCES$", "^truncate EACCES$"),
        ),
    ),
    Attack(
        "X10",
        "write to a mapped read-only file through /proc/self/mem",
        Stopped(
            "private mappings, Landlock",
            ("^write a read-only mapping E", "^map it shared and writable E(ACCES|PERM)$",
             "^the file is as before$"),
            controls=(Control(("^write a read-only mapping done$", "^the file is as before$"),
                              (off.landlock,)),),
        ),
        SHARED_MEMORY,
    ),
    Attack(
        "X11",
        "reach into the overlay: its upper and work folders, its marks; propagate a mount",
        Stopped(
            "the folders have no name in the cell",
            ("^upperdir (ENOENT|EACCES)$", "^workdir (ENOENT|EACCES)$", r"^propagation \[\]$",
             "^trusted EPERM$", "^whiteout E"),
            controls=(Control(("^label done$",)),),
        ),
        OVERLAY,
        b=NotApplicable("there is no overlay", _has_no_overlay),
    ),
    Attack(
        "X12",
        "a .git file that points at a repository with a command in its configuration",
        Stopped("protected, existing or not", ("^planted$",), after=_git_runs_nothing,
                controls=(GIT_CONTROL,)),
        GIT_FILE,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X13",
        "the project itself made a bare repository with a command in its configuration",
        Stopped("protected, existing or not", ("^planted$",), after=_git_runs_nothing,
                controls=(GIT_CONTROL,)),
        BARE,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X14",
        "a repository where there was none, with hooks and commands",
        Stopped("undone afterwards", ("^planted$",), after=_git_runs_nothing,
                controls=(GIT_CONTROL,)),
        NEW_REPOSITORY,
        profile="build",
        setup=_proof,
    ),
    Attack(
        "X15",
        "the hooks and configuration of a repository inside the project",
        Stopped("protected at any depth", ("^planted$",), after=_git_runs_nothing,
                controls=(GIT_CONTROL,)),
        SUBREPOSITORY_HOOK,
        profile="build",
        setup=_with_subrepository,
    ),
    Attack(
        "X18",
        "have the server write through a symbolic link when it brings the changes over",
        Stopped("live project, or links never followed", ("^done$",), after=_start_up_files_stand,
                controls=(Control(("^done$",), outside="server", program=shell(
                    "echo evil > @home@/.bashrc && echo done"), after=_start_up_files_changed),)),
        COMMIT_THROUGH_LINK,
        profile="build",
        setup=_start_up_files,
    ),
    Attack(
        "X19",
        "FIFOs, sockets, folders turned files and links, for whoever collects the changes",
        Stopped("told, never opened", ("^done$",), after=_result_is_whole,
                controls=(Control(("^done$",), program=shell("echo x > plain; echo done"),
                                  after=_result_is_whole),)),
        STRANGE_ENTRIES,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "X16",
        "change a file and set its size and times back, to be missing from the changed files",
        Stopped("the change time, which nobody can set", ("^size kept True$",),
                after=_is_listed("main.txt"),
                controls=(Control(("^size kept True$",), profile="build"),)),
        STEALTH,
        profile="build",
        setup=_repository,
    ),
    Attack(
        "X17",
        "file names that are no text, or hostile to whoever prints them",
        Stopped("told in a form that JSON carries", ("^named$",), after=_travels_as_json,
                controls=(Control(("^named$",),),)),
        STRANGE_NAMES,
        setup=_writable,
        b=NotApplicable("nothing in the project can be named", _has_no_overlay),
    ),
)
