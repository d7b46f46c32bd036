"""All pages in one file, for a browser without a server: no scripts, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import stat
from pathlib import Path

from base.whole_files import replace_file
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.insight.model import Asked
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import Reader
from ctxmode.insight.rendering import render_body, render_file
from ctxmode.insight.site import read_static


def write_file(config: Config, path: Path) -> int:
    """Write the first part of each page into a file that its owner alone may read; return its
    size. One that is there is replaced as a whole.

    Raises:
        UsageError: what has the name is no regular file, or its folder does not exist.
        ContextModeError: it cannot be written.
    """
    _check_place(path)
    style = read_static("style.css").decode()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = [
        (page, render_body(page, Reader(config), Asked(), in_file=True))
        for page in PAGES
        if page.is_in_file
    ]
    content = render_file(parts, config.project.name, style, digest).encode()
    try:
        replace_file(path, content)
    except OSError as error:
        raise ContextModeError(
            f"{path}: {why(error)}", "Give a place that can be written."
        ) from error
    return len(content)


def _check_place(path: Path) -> None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no folder", "Give a place that exists.") from None
        return
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {why(error)}", "Give another place.") from error
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path} is no regular file", "Give the name of a file.")
