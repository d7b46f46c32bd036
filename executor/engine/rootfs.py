"""What a cell sees of the host: system folders, a subset of /etc, devices. Data only."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from executor.model import MIB

# Folders that hold programs and libraries and nothing of any user.
SYSTEM_FOLDERS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
)
# Configuration that runtimes read. Nothing that names users, hosts, keys or credentials.
ETC_ENTRIES = tuple(Path(__file__).with_name("etc_entries.txt").read_text("utf-8").split())
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
LINKS = (
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("/proc/self/mounts", "/etc/mtab"),
    ("/tmp", "/var/tmp"),
)
_LED_THROUGH = ("/", "/etc", "/nix", "/gnu")
USER = "sandbox"
HOSTNAME = "sandbox"
HOME = "/home/sandbox"
JOB = "/job"
SCRATCH = "/tmp"
SHARED_MEMORY = "/dev/shm"
# An uid and gid that Debian's policy reserves and no package or person gets: what real root's
# cells run as on the host.
UNPRIVILEGED_ID = 65_432
JOB_BYTES = 64 * MIB
# For what a run changes of a project, where it can't lie on disk.
ROOM_BYTES, ROOM_INODES = 2048 * MIB, 400_000


# Where the cell's supervisor is asked for names and has none: `executor.spawner.refused`.
NAME_SERVICE = {
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    "/etc/resolv.conf": b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
}


SystemEntries = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""The host's system as a cell shows it: folders and files that exist here as themselves, and
(target, link) of symbolic ones, as on a merged /usr."""


def system_entries() -> SystemEntries:
    """Those of this moment, looked up once for every state of the folders that they are in."""
    return _look_up(tuple(map(_last_change, _LED_THROUGH)))


def _last_change(folder: str) -> int:
    """When an entry was last added to a folder, or removed from it; 0 if there is none."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _look_up(changed: tuple[int, ...]) -> SystemEntries:
    paths = (*SYSTEM_FOLDERS, *(f"/etc/{name}" for name in ETC_ENTRIES))
    links = tuple((os.readlink(path), path) for path in paths if os.path.islink(path))
    binds = (path for path in paths if os.path.exists(path) and not os.path.islink(path))
    return tuple(binds), (*links, *LINKS)


def account_files(uid: int, gid: int) -> dict[str, bytes]:
    """The cell's own /etc files: one user, one group, no name service, no foreign host."""
    texts = {
        "/etc/passwd": f"{USER}:x:{uid}:{gid}:{USER}:{HOME}:/bin/sh\n",
        "/etc/group": f"{USER}:x:{gid}:\n",
        "/etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    return {path: text.encode() for path, text in texts.items()}
