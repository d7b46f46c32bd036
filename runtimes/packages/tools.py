"""The programs that phases need besides a toolchain, and where they lie. Loaded by every run."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from base.remedy import Remedy


class Tool(NamedTuple):
    """A program that an ecosystem's phases need, and how to get one that is missing.

    One that is `packed` lies in a package of npm's, of one of these names, all of which it needs;
    another may need all of the folder so many levels `above` it. One that is no program is the last
    of the `folders`, which are globs. One that is `portable` runs in other systems than this
    machine's, too.
    """

    name: str
    hint: str
    packed: tuple[str, ...] = ()
    above: int = 0
    folders: tuple[str, ...] = ()
    portable: bool = False


SHARED: Final = "/usr/share/nodejs"
"""The folder of a distribution's npm packages, which find each other there."""
_EXTRA: Final = "pip install 'ctxmode[packages]'"
UV: Final = Tool("uv", Remedy(f"{_EXTRA}, or put uv on PATH", _EXTRA), portable=True)
NODE: Final = Tool("node", "install nodejs")
NPM: Final = Tool("npm", "install npm", packed=("npm",), portable=True)
PNPM: Final = Tool("pnpm", "npm install -g pnpm", packed=("pnpm",), portable=True)
YARN: Final = Tool(
    "yarn",
    "npm install -g yarn, or @yarnpkg/cli-dist for locks of yarn 2 and later",
    packed=("yarn", "cli-dist"),
    portable=True,
)
BUN: Final = Tool("bun", "npm install -g bun")
COMPOSER: Final = Tool("composer", "install composer")
LUAROCKS: Final = Tool("luarocks", "install luarocks")
MVN: Final = Tool("mvn", "install maven", above=2)
CPANM: Final = Tool("cpanm", "install cpanminus")
NUGET: Final = Tool("nuget", "install nuget")
MIX: Final = Tool("mix", "install elixir")
HEX: Final = Tool(
    "hex",
    "mix local.hex",
    folders=("$MIX_ARCHIVES/hex-*", "$MIX_HOME/archives/hex-*", "~/.mix/archives/hex-*"),
)
TOOLS: Final = (*(UV, NODE, NPM, PNPM, YARN, BUN, COMPOSER, LUAROCKS, MVN, CPANM, NUGET, MIX, HEX),)


def find_tool(tool: Tool) -> tuple[str, str] | None:
    """Where a tool lies on this machine, and the folder or file that holds all of it.

    It is looked for beside this interpreter, where an extra is, and on PATH.
    """
    for pattern in tool.folders:
        named = os.path.expanduser(os.path.expandvars(pattern))
        if os.path.isabs(named) and (there := sorted(glob.glob(named))):
            whole = os.path.realpath(there[-1])
            return whole, whole
    if tool.folders:
        return None
    beside = os.path.dirname(sys.executable)
    found = shutil.which(tool.name, path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        return None
    path = Path(os.path.realpath(found))
    for folder in path.parents[:2] if tool.packed else ():
        if folder.name in tool.packed and (folder / "package.json").exists():
            return str(path), SHARED if str(folder.parent) == SHARED else str(folder)
    return str(path), str(path.parents[tool.above - 1] if tool.above else path)


def find_tools() -> Iterator[str]:
    """What cells are shown of the tools that are here."""
    for tool in TOOLS:
        if found := find_tool(tool):
            yield found[1]
