"""All ecosystems, in the order in which they are listed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Final

from runtimes.packages.model import Ecosystem
from runtimes.packages.python import PYTHON

ECOSYSTEMS: Final[tuple[Ecosystem, ...]] = (PYTHON,)
BY_NAME: Final = {row.name: row for row in ECOSYSTEMS}
_OF_LANGUAGE: Final = {language: row for row in ECOSYSTEMS for language in row.languages}


def ecosystem_of(language: str) -> Ecosystem | None:
    """The ecosystem of a language by its row's name; None where it has none here."""
    return _OF_LANGUAGE.get(language)


def find_tool(name: str) -> str | None:
    """Where a tool lies on this machine: beside this interpreter, as an extra, or on PATH."""
    beside = os.path.dirname(sys.executable)
    return shutil.which(name, path=os.pathsep.join((beside, os.environ.get("PATH", ""))))


def find_tools() -> Iterator[str]:
    """The tools of all ecosystems that are there, as they are called."""
    for row in ECOSYSTEMS:
        for tool in row.tools:
            if path := find_tool(tool.name):
                yield path
