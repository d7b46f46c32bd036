"""Files of a project, opened for the server unless they are hidden from runs."""

from __future__ import annotations

import errno
import os

from base.plain_files import open_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    Hides = Callable[[str], bool]
    """Returns whether rules, or a secret that links to it, hide an absolute path."""


class HiddenError(PermissionError):
    """A file that is hidden from runs."""


LIKE_SECRETS = "it is named like a file of secrets"
DENIED = "a rule or a secret's link hides it"


def open_project_file(path: str, project: str, hides: Hides | None) -> BinaryIO:
    """Open a regular file of a project, unless it is hidden from runs.

    Both its name as written and the targets of links count. `hides` is None for a file that is read
    before any rules are known, such as the project's configuration: secrets' names alone hide it
    then.

    Raises:
        HiddenError: it is hidden.
        OSError: it is outside of the project, is not a regular file, or cannot be opened.
    """
    root, path = os.path.realpath(project), os.path.join(project, path)
    refuse_hidden(os.path.normpath(path), (project, root), hides)
    file = open_plain(path, root)
    try:
        # Of the open file: a link on the way may point elsewhere now.
        refuse_hidden(os.readlink(f"/proc/self/fd/{file.fileno()}"), (root,), hides)
    except BaseException:
        file.close()
        raise
    return file


def read_project_file(path: str, project: str, hides: Hides | None, bytes_max: int) -> bytes:
    """Read all of a file that `open_project_file` opens.

    Raises:
        OSError: as there, or it is larger.
    """
    with open_project_file(path, project, hides) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(errno.EFBIG, f"it is larger than {bytes_max >> 10} KiB", path)
    return data


def refuse_hidden(path: str, projects: tuple[str, ...], hides: Hides | None) -> None:
    """Refuse an absolute path of a project that is hidden from runs.

    Raises:
        HiddenError: it is hidden.
    """
    from base.secrets import is_secret_path  # noqa: PLC0415 - most hooks read no such file

    # Folders above the project don't make its files secret.
    tops = (f"{top.rstrip('/')}/" for top in projects)
    inside = next((path[len(top) :] for top in tops if path.startswith(top)), path)
    if is_secret_path(inside):
        raise HiddenError(errno.EACCES, LIKE_SECRETS, path)
    if hides is not None and hides(path):
        raise HiddenError(errno.EACCES, DENIED, path)
