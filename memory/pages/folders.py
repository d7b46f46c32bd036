"""Opens folders none of which is a link, whatever others exchange meanwhile.

Paths are plain texts: hooks load this, and `pathlib` takes them 6 ms.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from base.plain_files import StrPath


def make_folder(folder: StrPath, name: str) -> None:
    """Make a folder for its owner alone, where it is missing."""
    with suppress(FileExistsError):
        os.mkdir(os.path.join(folder, name), 0o700)


@contextmanager
def enter_folder(base: StrPath, *parts: str) -> Iterator[str]:
    """Open a folder part by part, none of which may be a link; give a path by the descriptor.

    Raises:
        OSError: a part is missing, a link, or no folder.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(base, flags)
    try:
        for part in parts:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
