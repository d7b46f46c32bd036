"""Writing entries under names of our own, each whole before it takes its place."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import NamedTuple

from base import capabilities
from executor.project.store.manifest import Change
from executor.project.view.attributes import remove_layers, set_attributes

SMALL_BYTES = 1 << 17
COPY_BYTES = 1 << 30
FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
# What the kernel says where two files can't share or pass on contents as asked.
_UNABLE = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM}
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Owner(NamedTuple):
    """Whom a new entry belongs to."""

    uid: int
    gid: int


class Writer:
    """Writes new files, links and folders; remembers which ways of copying work here."""

    def __init__(self) -> None:
        """Suppose that all ways work, until one fails."""
        self._clones = self._passes = True
        self._gives = capabilities.holds(capabilities.CHOWN)

    def file(self, source: int, folder: int, name: str, change: Change, owner: Owner) -> None:
        """Copy an open file to a new one in `folder`, with the change's mode, times and owner.

        Raises:
            OSError: it is no regular file, or can't be written.
        """
        info = os.fstat(source)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", change.path)
        target = os.open(name, _NEW, 0o600, dir_fd=folder)
        try:
            self._fill(source, target, info)
            self._finish(target, change, owner)
        finally:
            os.close(target)

    def finish_file(self, target: int, change: Change, owner: Owner) -> None:
        """Give an open file that was moved what a copy of it would have.

        Raises:
            OSError: it can't be changed.
        """
        remove_layers(target)
        self._finish(target, change, owner)

    def _finish(self, target: int, change: Change, owner: Owner) -> None:
        if self._gives:
            os.fchown(target, *owner)
        if change.xattrs:  # a new file has none, one that was moved has these
            set_attributes(target, change.xattrs)
        os.fchmod(target, change.mode)
        os.utime(target, ns=(change.mtime_ns, change.mtime_ns))

    def link(self, folder: int, name: str, change: Change, owner: Owner) -> None:
        """Make a symbolic link.

        Raises:
            OSError: it can't be written.
        """
        os.symlink(change.target, name, dir_fd=folder)
        if self._gives:
            os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
        times = (change.mtime_ns, change.mtime_ns)
        os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)

    def finish_folder(self, folder: int, change: Change, owner: Owner) -> None:
        """Give an open new folder its owner, mode and times, when all is in it.

        Raises:
            OSError: it can't be written.
        """
        if self._gives:
            os.fchown(folder, *owner)
        if change.xattrs:
            set_attributes(folder, change.xattrs)
        inherited = os.fstat(folder).st_mode & stat.S_ISGID  # from the folder that it lies in
        os.fchmod(folder, change.mode | inherited)
        os.utime(folder, ns=(change.mtime_ns, change.mtime_ns))

    def _fill(self, source: int, target: int, info: os.stat_result) -> None:
        size = info.st_size
        # To share what was just written, a file system first brings it to the disk.
        if not size or (size > SMALL_BYTES and self._clones and self._clone(source, target)):
            return
        if info.st_blocks * 512 < size and size > SMALL_BYTES:
            self._copy_parts(source, target, size)
        elif size <= SMALL_BYTES:
            data = os.read(source, size)
            _write_all(target, data)
            if len(data) < size:
                self._pass_on(source, target, len(data), size)
        else:
            self._pass_on(source, target, 0, size)

    def _clone(self, source: int, target: int) -> bool:
        try:
            fcntl.ioctl(target, FICLONE, source)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            self._clones = False
        return self._clones

    def _copy_parts(self, source: int, target: int, size: int) -> None:
        """Copy what is not a hole."""
        os.ftruncate(target, size)
        at = 0
        while at < size:
            try:
                at = os.lseek(source, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole is left
                    return
                raise
            end = os.lseek(source, at, os.SEEK_HOLE)
            self._pass_on(source, target, at, end)
            at = end

    def _pass_on(self, source: int, target: int, at: int, end: int) -> None:
        """Copy the bytes from `at` to `end`, within the kernel where it can."""
        while self._passes and at < end:
            try:
                passed = os.copy_file_range(source, target, min(end - at, COPY_BYTES), at, at)
            except OSError as error:
                if error.errno not in _UNABLE:
                    raise
                self._passes = False
                break
            if not passed:
                break
            at += passed
        os.lseek(source, at, os.SEEK_SET)
        os.lseek(target, at, os.SEEK_SET)
        while at < end and (chunk := os.read(source, min(end - at, 1 << 20))):
            _write_all(target, chunk)
            at += len(chunk)


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
