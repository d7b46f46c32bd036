"""Run a command as someone else: `python tests/as_identity.py WHO -- COMMAND…`.

WHO is `ordinary`, an unprivileged user, `confined`, one to whom user namespaces are really
forbidden: by `user.max_user_namespaces=0` in a user namespace made for the purpose; or `bare-root`,
root without any capability, which only root can become. As root the others
start from an unused uid; an ordinary user can only become `confined`. The interpreter and the
checkout may lie below folders that only root may enter: those are shown to the command by bind
mounts in a mount namespace of its own.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

UID = 54_321 + os.getpid() % 1000  # what the kernel counts by uid is nobody else's
RUST = "CTXMODE_TEST_RUST"  # says where cargo lies that no PATH of this user leads to
RUST_S_MAX = 60
MS_BIND_REC, MS_PRIVATE_REC = 0x1000 | 0x4000, (1 << 18) | 0x4000
CLONE_NEWNS = 0x00020000
libc = ctypes.CDLL(None, use_errno=True)
CONFINE = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all "$@"'


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    texts = [text.encode() for text in (source, target, kind)]
    if libc.mount(*texts, ctypes.c_ulong(flags), data.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} {source} on {target}")


def closed_ancestor(path: str) -> str | None:
    """The topmost folder above `path` that an unprivileged user may not enter."""
    for folder in reversed(Path(path).parents):
        if not folder.stat().st_mode & 0o001:
            return str(folder)
    return None


def open_up(paths: list[str]) -> None:
    """Show `paths` to everyone, at their own place, and nothing else of the folders above them."""
    needed = {path: folder for path in paths if (folder := closed_ancestor(path))}
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", "none", MS_PRIVATE_REC)
    held = tempfile.mkdtemp()
    for number, path in enumerate(needed):
        os.mkdir(f"{held}/{number}")
        mount(path, f"{held}/{number}", "none", MS_BIND_REC)
    for folder in set(needed.values()):
        mount("tmpfs", folder, "tmpfs", 0, "mode=755")
    for number, path in enumerate(needed):
        os.makedirs(path, exist_ok=True)
        mount(f"{held}/{number}", path, "none", MS_BIND_REC)


def rust_of_root() -> str:
    """The folder of root's cargo and its compiler, if there is one."""
    rustc = shutil.which("rustc")
    command = [rustc or "false", "--print", "sysroot"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=RUST_S_MAX)
    folder = done.stdout.strip()
    return folder if os.path.exists(f"{folder}/bin/cargo") else ""


def main() -> int:
    who, separator, *command = sys.argv[1:]
    if who not in ("ordinary", "confined", "bare-root") or separator != "--" or not command:
        print(__doc__, file=sys.stderr)
        return 2
    environment = dict(os.environ)
    home = None
    if who == "bare-root":
        home = tempfile.mkdtemp(prefix="ctxmode-test-home-")
        environment |= {"HOME": home, "TMPDIR": home, RUST: rust_of_root()}
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    elif os.geteuid() == 0:
        checkout = str(Path(__file__).resolve().parents[1])
        base = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
        rust = rust_of_root()
        open_up(list(dict.fromkeys([base, sys.prefix, checkout, *filter(None, [rust])])))
        home = tempfile.mkdtemp(prefix="ctxmode-test-home-")
        os.chown(home, UID, UID)
        environment |= {"HOME": home, "USER": "ordinary", "TMPDIR": home, RUST: rust}
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
    if who == "confined":
        command = [
            *("unshare", "--user", "--map-current-user", "--keep-caps"),
            *("sh", "-c", CONFINE, "sh", *command),
        ]
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    finally:
        if home:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
