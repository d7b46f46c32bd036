"""The file tree of a cell (tier A): built on an empty tmpfs, then entered permanently."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from .kernel import (
    ATTR_NODEV,
    ATTR_NOSUID,
    ATTR_RDONLY,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    READ_ONLY,
    SYS_PIVOT_ROOT,
    StepError,
    attach,
    attach_at,
    detach,
    mount,
    open_beneath,
    open_plain_tree,
    open_tree,
    set_attributes,
    syscall,
)
from .messages import CellDescription, Description, ProjectMessage, RunDescription, Scratch
from .view import FOLDER, LOWER, ROOM, View, read_only

LIVE = ATTR_NOSUID | ATTR_NODEV
# Where the new root is built: a folder that always exists.
SITES = ("/tmp", "/run", "/mnt", "/var")


@dataclass(slots=True)
class Handles:
    """Open files and sockets for the supervisor, also when the program can't reach their paths."""

    scratch: int | None = None
    view: View | None = None  # of a copy-on-write project
    copy_on_write: bool | str = False  # or why not
    room: str = ""  # where the program's writes are: on disk, or in memory and why
    names: socket.socket | None = None  # of the cell's name server

    def folders(self) -> Iterator[int]:
        if self.scratch is not None:
            yield self.scratch
        if self.view is not None:
            yield self.view.upper


def build(cell: Description[CellDescription]) -> Handles:
    """Make the tree and move into it.

    Every source is opened before anything is covered: a project may be below the very folder
    where the new root is built.

    Raises:
        StepError, OSError: a mount failed.
    """
    given = cell.data
    or_skipped = given["session"]
    trees = list(_open_binds(given["binds"], open_tree, or_skipped=or_skipped))
    shown = [(source, path, READ_ONLY) for source, path in given.get("shown", ())]
    trees += _open_binds(shown, open_plain_tree, or_skipped=or_skipped)
    project = open_tree(given["project"]["source"])
    room = open_tree(given["project"]["room"]) if given["project"]["room"] else -1
    # Before the first mount: in a shared tree each mount would appear on the host, too.
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    root = next(site for site in SITES if os.path.isdir(site))
    options = f"size={given['root_bytes']},nr_inodes=16384,mode=755"
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, options)
    for target, link in given["symlinks"]:
        _make_parents(root + link)
        os.symlink(target, root + link)
    for path, mode, *blob in given["files"]:
        write_file(root + path, mode, cell.blob((blob[0], blob[1])))
    scratch = _mount_scratch(root, given["scratch"])
    for tree, path, attributes in trees:
        _bind(tree, root + path, attributes)
    os.makedirs(f"{root}/proc", exist_ok=True)
    # While the old root exists: a user namespace mounts a proc only if it sees another one whole.
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.makedirs(root + given["job"], exist_ok=True)
    options = f"size={given['job_bytes']},mode=755"
    mount("tmpfs", root + given["job"], "tmpfs", MS_NOSUID | MS_NODEV, options)
    handles = _mount_project(root, given["project"], project, Handles(scratch), room)
    _make_empties(root)
    view = handles.view
    # After the project, whose mount would cover the mounts over its files.
    hide(root, given["project"], view.stood_in_at(root) if view else frozenset())
    detach(f"{root}/.scratch")
    os.rmdir(f"{root}/.scratch")
    _enter(root)
    return handles


def write_file(path: str, mode: int, content: bytes) -> None:
    _make_parents(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as out:
        out.write(content)
        os.fchmod(out.fileno(), mode)


def place_files(run: Description[RunDescription]) -> None:
    """Put a run's own files and links into its job folder."""
    with as_root():
        _place_files(run)


def _place_files(run: Description[RunDescription]) -> None:
    for path, mode, *blob in run.data["files"]:
        write_file(path, mode, run.blob((blob[0], blob[1])))
    for link, target in run.data["links"]:
        _make_parents(link)
        os.symlink(target, link)


def remove_files(run: Description[RunDescription]) -> None:
    """Remove what `place_files` made."""
    for path in (
        *(file[0] for file in run.data["files"]),
        *(link for link, _ in run.data["links"]),
    ):
        with as_root(), contextlib.suppress(OSError):
            os.unlink(path)


@contextlib.contextmanager
def as_root() -> Iterator[None]:
    """Become root, if the supervisor's real user is root: for files programs must not change."""
    user = os.geteuid()
    if os.getuid() != 0 or user == 0:
        yield
        return
    os.seteuid(0)
    try:
        yield
    finally:
        os.seteuid(user)


def is_full(handles: Handles) -> bool:
    """Return whether the scratch or the view of the project has no room for more."""
    return any(map(has_no_room, handles.folders()))


def has_no_room(folder: int) -> bool:
    """Return whether a file system has no room for more."""
    space = os.fstatvfs(folder)
    # gVisor counts no files: its total is 0.
    return space.f_bavail == 0 or (space.f_files > 0 and space.f_favail == 0)


def make_read_only(path: str) -> None:
    """Make this one mount read-only."""
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    set_attributes(fd, ATTR_RDONLY, recursive=False)
    os.close(fd)


def _enter(root: str) -> None:
    os.chdir(root)
    # The old root is then mounted over the new one and detached there: no folder is needed for it.
    syscall("pivot_root", SYS_PIVOT_ROOT, b".", b".")
    detach(".")
    os.chdir("/")
    make_read_only("/")  # last: the targets of all mounts were created in it


def _make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)


def _open_binds(
    binds: Sequence[tuple[str, str, int]], open_source: Callable[[str], int], *, or_skipped: bool
) -> Iterator[tuple[int, str, int]]:
    """Open the sources as detached mounts. A session skips those that are missing."""
    for source, path, attributes in binds:
        try:
            yield open_source(source), path, attributes
        except StepError:
            if not or_skipped:
                raise


def _bind(tree: int, target: str, attributes: int) -> None:
    """Attach a detached mount at `target`, making an empty file or folder to put it on."""
    _make_parents(target)
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(target, mode=0o755, exist_ok=True)
    elif not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    set_attributes(tree, attributes)
    attach(tree, target)


def _mount_scratch(root: str, scratch: Scratch) -> int:
    """Mount one sized tmpfs for all that the program may write: the limit is on the sum."""
    base = f"{root}/.scratch"
    os.mkdir(base)
    size, inodes, folders = scratch
    options = f"size={size},nr_inodes={inodes},mode=755"
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, options)
    for name, target, mode in folders:
        os.mkdir(f"{base}/{name}")
        os.chmod(f"{base}/{name}", mode)
        _bind(open_tree(f"{base}/{name}"), root + target, LIVE)
    return os.open(base, FOLDER)


def _mount_project(
    root: str, project: ProjectMessage, tree: int, handles: Handles, room: int
) -> Handles:
    """Mount the project at its own path: copy-on-write, read-only or live."""
    target = root + project["target"]
    os.makedirs(target, exist_ok=True)
    if project["mode"] == "live":
        _bind(tree, target, LIVE)
    elif project["mode"] == "read_only":
        _bind(tree, target, READ_ONLY)
    else:
        _mount_view(root, project, read_only(tree), handles, room)
    return handles


def _mount_view(
    root: str, project: ProjectMessage, lower: int, handles: Handles, room: int
) -> None:
    """Mount a view that writes to disk or to a sized tmpfs; if neither works, mount read-only."""
    os.mkdir(root + LOWER, 0o000)
    os.mkdir(root + ROOM, 0o000)
    # Only a view that is committed starts together with its run: if the index was copied earlier,
    # the host's could be newer.
    secrets = project["secrets"] if project["commit"] else ()
    if room >= 0:
        view = View(project["target"], lower, room, secrets=secrets)
        try:
            view.mount(root)
        except (StepError, OSError) as error:
            handles.room, lower = f"in memory: {error}", view.lower
        else:
            handles.view, handles.room, handles.copy_on_write = view, "on disk", True
            return
    view = View(project["target"], lower, _room_in_memory(root, project), secrets=secrets)
    try:
        view.mount(root)
    except (StepError, OSError) as error:
        handles.copy_on_write = str(error)
        _bind(view.lower, root + project["target"], READ_ONLY)
    else:
        handles.view, handles.copy_on_write = view, True


def _room_in_memory(root: str, project: ProjectMessage) -> int:
    """Return a room for upper layers: on the scratch, or with its own size limit."""
    base = f"{root}/.scratch/view"
    os.mkdir(base)
    if project["room_bytes"]:
        options = f"size={project['room_bytes']},nr_inodes={project['room_inodes']},mode=755"
        mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, options)
        room = open_tree(base)
        detach(base)
        return room
    return open_tree(base)


def hide(root: str, project: ProjectMessage, covered: Container[str]) -> None:
    """Cover the project's secrets with nothing, and remove special files from a view of it.

    Paths in `covered` are left as they are. Another run of the same project may be active: links
    are not followed, as it could place one during this to have a folder of the host shown.

    Raises:
        StepError: a path now goes through a link.
    """
    target = root + project["target"]
    top = os.open(target, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    covers = list(project["secrets"])
    if project["mode"] == "cow":
        for name in project["special"]:
            _take_out(top, name)
    else:
        covers += project["special"]
    for name in covers:
        path = f"{target}/{name}"
        if path not in covered and os.path.lexists(path):
            place = open_beneath(top, name, os.O_PATH)
            kind = "folder" if stat.S_ISDIR(os.fstat(place).st_mode) else "file"
            _cover(place, open_tree(f"{root}/.empty-{kind}"), READ_ONLY)
    os.close(top)


def _take_out(top: int, name: str) -> None:
    """Remove a socket, FIFO or device from a view; its folder's times stay the same."""
    above, _, last = name.rpartition("/")
    with contextlib.suppress(FileNotFoundError, StepError):
        place = open_beneath(top, above or ".", os.O_PATH | os.O_DIRECTORY)
        try:
            info = os.fstat(place)
            mode = os.stat(last, dir_fd=place, follow_symlinks=False).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                os.unlink(last, dir_fd=place)
                os.utime(".", ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=place)
        finally:
            os.close(place)


def _cover(place: int, tree: int, attributes: int) -> None:
    set_attributes(tree, attributes)
    attach_at(tree, place)


def mount_points() -> frozenset[str]:
    """List the paths on which something is mounted, as this process sees them."""
    with open("/proc/self/mountinfo", "rb") as file:
        paths = [line.split(b" ")[4] for line in file]
    escaped = re.compile(rb"\\([0-7]{3})")  # blanks and other special characters
    return frozenset(
        os.fsdecode(escaped.sub(lambda found: bytes([int(found[1], 8)]), path)) for path in paths
    )


def _make_empties(root: str) -> None:
    """Make the empty file and folder that are shown instead of secrets."""
    os.makedirs(f"{root}/.empty-folder", mode=0o000)
    os.close(os.open(f"{root}/.empty-file", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o000))
