"""The programs that phases need besides a toolchain, and where they lie. Loaded by every run."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Tool(NamedTuple):
    """A program that an ecosystem's phases need, and how to get one that is missing.

    Its files are all in the folder that lies so many levels `above` it; 0 is itself alone. One that
    is no program is the last of the `folders`, which are globs.
    """

    name: str
    hint: str
    above: int = 0
    folders: tuple[str, ...] = ()


UV: Final = Tool("uv", "pip install 'ctxmode[packages]', or put uv on PATH")
NODE: Final = Tool("node", "install nodejs")
NPM: Final = Tool("npm", "install npm", above=2)
MVN: Final = Tool("mvn", "install maven", above=2)
NUGET: Final = Tool("nuget", "install nuget")
MIX: Final = Tool("mix", "install elixir")
HEX: Final = Tool(
    "hex",
    "mix local.hex",
    folders=("$MIX_ARCHIVES/hex-*", "$MIX_HOME/archives/hex-*", "~/.mix/archives/hex-*"),
)
TOOLS: Final = (UV, NODE, NPM, MVN, NUGET, MIX, HEX)


def find_tool(tool: Tool) -> tuple[str, str] | None:
    """Where a tool lies on this machine, and the folder or file that holds all of it.

    It is looked for beside this interpreter, where an extra is, and on PATH.
    """
    for pattern in tool.folders:
        named = os.path.expanduser(os.path.expandvars(pattern))
        if os.path.isabs(named) and (folders := sorted(glob.glob(named))):
            folder = os.path.realpath(folders[-1])
            return folder, folder
    if tool.folders:
        return None
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
