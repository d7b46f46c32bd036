"""Real root's part: bind paths with mapped ids for cells and containers, then leave root."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence

from .kernel import (
    ATTR_IDMAP,
    ATTR_NODEV,
    ATTR_NOSUID,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    READ_ONLY,
    StepError,
    attach,
    check,
    clone,
    libc,
    mount,
    open_tree,
    set_attributes,
)
from .tree import SITES

IDS = 65_536


def leave_root(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def stage(paths: Sequence[str], uid: int, gid: int) -> tuple[dict[str, str], dict[str, str]]:
    """Show `paths` in a private mount namespace, with files of their owners as files of `uid`.

    Returns where each path was put, and why the ids of some could not be mapped.

    Raises:
        StepError, OSError: a path does not exist, or this process may not mount.
    """
    check(libc.unshare(CLONE_NEWNS), "unshare mount namespace")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    trees: dict[str, int] = {}
    refused: dict[str, str] = {}
    for path in paths:
        try:
            trees[path] = map_owner(path, uid, gid)
        except StepError as error:
            refused[path] = str(error)
            trees[path] = open_tree(path)
    site = next(site for site in SITES if os.path.isdir(site))
    mount("tmpfs", site, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=711")
    staged: dict[str, str] = {}
    for number, (path, tree) in enumerate(trees.items()):
        staged[path] = f"{site}/{number}"
        if os.path.isdir(f"/proc/self/fd/{tree}"):
            os.mkdir(staged[path])
        else:
            os.close(os.open(staged[path], os.O_CREAT | os.O_CLOEXEC, 0o600))
        attach(tree, staged[path])
    return staged, refused


def map_owner(path: str, uid: int, gid: int) -> int:
    """Return a detached copy of the mount with files of `path`'s owner as `uid`'s; others stay.

    Raises:
        StepError: this kernel or this file system can't (before Linux 5.19, or FUSE, 9p, …).
    """
    owner = os.stat(path)
    userns = _user_namespace(_swap_ids(owner.st_uid, uid), _swap_ids(owner.st_gid, gid))
    try:
        return _map_tree(path, userns, recursive=True)
    except StepError:
        return _map_tree(path, userns, recursive=False)  # perhaps only mounts below it can't
    finally:
        os.close(userns)


def _map_tree(path: str, userns: int, *, recursive: bool) -> int:
    tree = open_tree(path, recursive=recursive)
    try:
        set_attributes(tree, ATTR_IDMAP, userns, recursive=recursive)
    except StepError:
        os.close(tree)
        raise
    return tree


def _swap_ids(a: int, b: int) -> str:
    """Map all 16-bit ids to themselves, except `a` and `b` to each other."""
    if a == b:
        return f"0 0 {IDS}"
    low, high = min(a, b), max(a, b)
    lines = [f"{low} {high} 1", f"{high} {low} 1"]
    for start, end in ((0, low), (low + 1, high), (high + 1, IDS)):
        if end > start:
            lines.append(f"{start} {start} {end - start}")
    return "\n".join(lines)


def _user_namespace(uid_map: str, gid_map: str) -> int:
    """Return a descriptor of a user namespace with these maps and without processes."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid, pidfd = clone(CLONE_NEWUSER)
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent has opened this process's namespace
        os._exit(0)
    os.close(reader)
    try:
        for name, text in (("uid_map", uid_map), ("gid_map", gid_map)):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(text)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepError(f"id map: {error.strerror}") from error
    finally:
        os.close(writer)
        os.close(pidfd)
        os.waitpid(pid, 0)


# Reads {"user": [uid, gid], "binds": [[source, target, read_only], …]} from its standard input;
# `user` owns each source's files at its target. An error is written to standard error, with exit 1;
# an "optional" bind that fails leaves no target.


def bind_mapped() -> None:
    """Make the binds that standard input lists."""
    asked = json.load(sys.stdin)
    try:
        for source, target, read_only in asked["binds"]:
            bind(source, target, asked["user"], read_only=read_only)
    except (StepError, OSError) as error:
        sys.exit(str(error))
    for source, target, read_only in asked["optional"]:
        try:
            bind(source, target, asked["user"], read_only=read_only)
        except (StepError, OSError):
            with contextlib.suppress(OSError):
                os.rmdir(target)


def bind(source: str, target: str, user: tuple[int, int], *, read_only: bool) -> None:
    """Show `source` at `target`, which is created.

    Raises:
        StepError: its ids can't be mapped here.
        OSError: it does not exist, or the target can't be created.
    """
    tree = map_owner(source, *user)
    set_attributes(tree, READ_ONLY if read_only else ATTR_NOSUID | ATTR_NODEV)
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o600))
    attach(tree, target)
