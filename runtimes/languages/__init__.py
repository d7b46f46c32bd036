"""The languages, one to a folder, and the texts of their files.

A room knows a language by the files of its folder: `row.py`, drivers and programs are for
`runtimes`, `guard.*` for `policy`, `imports.*` for `repomap`, the image in `install.toml` for
`images`. Files that relatives share are in the folder of one of them. Every room may import this
module, so it imports none.
"""

from __future__ import annotations

import os
from functools import cache
from glob import glob
from typing import Any

FOLDER = os.path.dirname(__file__)  # a hook has no time for pathlib


@cache
def list_files(pattern: str) -> tuple[str, ...]:
    """List the files of all languages whose names match a glob, as `read_file` reads them."""
    return tuple(sorted(glob(f"*/{pattern}", root_dir=FOLDER)))


def list_languages(file: str) -> tuple[str, ...]:
    """List the languages whose folders have a file of this name."""
    return tuple(path.partition("/")[0] for path in list_files(file))


@cache
def read_file(path: str) -> str:
    """Read a text by its language and name, as in `python/hello.py`.

    Raises:
        OSError: the file cannot be read.
    """
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:
        return file.read()


@cache
def read_table(path: str) -> dict[str, Any]:
    """Read a TOML file by its language and name, as in `python/install.toml`.

    Raises:
        OSError: the file cannot be read.
    """
    import tomllib  # noqa: PLC0415 - a warm start reads no table

    return tomllib.loads(read_file(path))
