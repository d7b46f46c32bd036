"""Scripts of a project, read so that running one counts as what it is certain to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from policy.project_file import HiddenError, read_project_file, refuse_hidden

if TYPE_CHECKING:
    from policy.project_file import Hides

BYTES_MAX = 256 * 1024
NAMES_MAX = 1024


def script_texts(project: str, hides: Hides | None = None) -> Callable[[str], str | None]:
    """Return a reader for `evaluate`: the text of a file of the project, by its absolute path.

    None for what lies outside, whatever links say, for large files, and for what is not UTF-8. Of a
    folder, by its path with a slash at the end, the names in it. The reader raises `HiddenError`
    for files of secrets, and for those that `hides` names.
    """
    root = os.path.realpath(project)
    spellings = (f"{root.rstrip('/')}/", f"{project.rstrip('/')}/")

    def read(path: str) -> str | None:
        if not f"{path}/".startswith(spellings):
            return None
        try:
            real = os.path.realpath(path)
            if not f"{real}/".startswith(f"{root}/") or not os.path.exists(real):
                return None
            if path[-1:] == "/":
                refuse_hidden(real, (root,), hides)
                with os.scandir(real) as entries:
                    return "\n".join(sorted(item.name for item in islice(entries, NAMES_MAX)))
            return read_project_file(path, project, hides, BYTES_MAX).decode("utf-8")
        except HiddenError:
            raise
        except (OSError, ValueError, RecursionError):
            return None

    return read
