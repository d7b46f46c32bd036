"""An archive that programs had a hand in, unpacked so that nothing of it lands elsewhere.

By hand, since `tarfile`'s own filters came with 3.11.4: Debian 12 has an older one.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path, PurePath

from executor.errors import SandboxError


def unpack(tar: tarfile.TarFile, folder: Path) -> None:
    """Put its files, folders and links into `folder`, in place of what has their names there.

    Raises:
        SandboxError: a name leads out of the folder, or a hard link to what is no file there.
        OSError: it can't be written.
        tarfile.TarError: the archive is damaged.
    """
    for member in tar:
        target = within(folder, member.name)
        if member.isdir() and target.is_dir() and not target.is_symlink():
            continue
        take_out(target)
        if member.isdir():
            target.mkdir()
        elif member.issym():
            target.symlink_to(member.linkname)
        elif member.islnk():
            source = within(folder, member.linkname)
            if source.is_symlink() or not source.is_file():
                raise SandboxError(f"a hard link to what is no file of it: {member.name!r}")
            os.link(source, target)
        elif member.isreg() and (content := tar.extractfile(member)) is not None:
            with open(target, "xb") as out:
                shutil.copyfileobj(content, out)
            target.chmod(member.mode & 0o777)
            os.utime(target, (member.mtime, member.mtime))


def within(folder: Path, name: str) -> Path:
    """The place of a name below the folder.

    Raises:
        SandboxError: a link or dots would lead elsewhere.
    """
    pure = PurePath(name.rstrip("/"))
    target = folder / pure
    inside = not pure.is_absolute() and ".." not in pure.parts and pure.parts
    if not inside or os.path.realpath(target.parent) != str(target.parent):
        raise SandboxError(f"a file's name leads out of its folder: {name!r}")
    return target


def take_out(target: Path) -> None:
    """Remove a file, a link or a folder; what is not there is as good."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
