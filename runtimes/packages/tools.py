"""The programs that phases need besides a toolchain, and where they lie. Loaded by every run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from base.remedy import Remedy


class Tool(NamedTuple):
    """A program that an ecosystem's phases need, and how to get one that is missing.

    Its files are all in the folder that lies so many levels `above` it; 0 is itself alone. One that
    is `portable` runs in other systems than this machine's, too.
    """

    name: str
    hint: str
    above: int = 0
    portable: bool = False


_EXTRA: Final = "pip install 'ctxmode[packages]'"
UV: Final = Tool("uv", Remedy(f"{_EXTRA}, or put uv on PATH", _EXTRA), portable=True)
NODE: Final = Tool("node", "install nodejs")
NPM: Final = Tool("npm", "install npm", above=2, portable=True)
TOOLS: Final = (UV, NODE, NPM)


def find_tool(tool: Tool) -> tuple[str, str] | None:
    """Where a tool lies on this machine, and the folder or file that holds all of it.

    It is looked for beside this interpreter, where an extra is, and on PATH.
    """
    beside = os.path.dirname(sys.executable)
    found = shutil.which(tool.name, path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        return None
    path = Path(os.path.realpath(found))
    return str(path), str(path.parents[tool.above - 1] if tool.above else path)


def find_tools() -> Iterator[str]:
    """What cells are shown of the tools that are here."""
    for tool in TOOLS:
        if found := find_tool(tool):
            yield found[1]
