"""Scripts of a project, read so that running one counts as what it is certain to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice

from base.plain_files import read_plain
from policy.secrets.names import is_secret_path

BYTES_MAX = 256 * 1024
NAMES_MAX = 1024


def script_texts(project: str) -> Callable[[str], str | None]:
    """A reader for `evaluate`: the text of a plain file of the project, by its absolute path.

    None for what lies outside, whatever links say, for files of secrets, for large ones, and for
    what is no UTF-8. Of a folder, by its path with a slash at the end, the names in it.
    """
    root = os.path.realpath(project)
    spellings = (f"{root.rstrip('/')}/", f"{project.rstrip('/')}/")

    def read(path: str) -> str | None:
        if not f"{path}/".startswith(spellings):
            return None
        try:
            real = os.path.realpath(path)
            is_there = f"{real}/".startswith(f"{root}/") and os.path.exists(real)
            if not is_there or is_secret_path(real[len(root) :]):
                return None
            if path[-1:] == "/":
                with os.scandir(real) as entries:
                    return "\n".join(sorted(item.name for item in islice(entries, NAMES_MAX)))
            return read_plain(real, BYTES_MAX, root).decode("utf-8")
        except (OSError, ValueError, RecursionError):
            return None

    return read
