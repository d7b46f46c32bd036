"""The row of an ecosystem, and the programs that its phases need. Loaded by every run."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from base.wording import Remedy


class Tool(NamedTuple):
    """A program that an ecosystem's phases need, and how to get one that is missing."""

    name: str
    hint: str
    packed: tuple[str, ...] = ()  # it is in one of these npm packages, and needs all of it
    above: int = 0  # how many levels above it the folder is that it needs as a whole
    folders: tuple[str, ...] = ()  # globs; if not a program, the last of these folders
    portable: bool = False  # true if it also runs in other systems than this machine's


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
CARGO: Final = Tool("cargo", "install cargo, by the same way as rustc")
TOOLS: Final = (*(UV, NODE, NPM, PNPM, YARN, BUN, COMPOSER, LUAROCKS, MVN, CPANM, NUGET, MIX, HEX),)


def find_tool(tool: Tool) -> tuple[str, str] | None:
    """Find a tool on this machine, and the folder or file that holds all of it.

    It is looked for next to this interpreter, where extras are installed, and on PATH.
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
    """Yield the paths of installed tools to show in cells."""
    for tool in TOOLS:
        if found := find_tool(tool):
            yield found[1]


@dataclass(frozen=True, slots=True, eq=False)
class Ecosystem:
    """A registry of some languages' packages, and a program of the shell for each phase.

    The phase `lock` reads the file `wanted` in the folder IN, and writes the lock's files to OUT.
    `fetch` finds these in IN, and fills OUT with the files that their digests allow. It runs none
    of them. `build` finds the fetched files at AT, in a cell without network, and adds to OUT.

    The phases also have these variables: REGISTRY, HOSTS, CUTOFF (an ISO date after which no
    release counts, or nothing), PROGRAMS, a folder with the
    `programs` of the row, TOOL, and the toolchain's executables by their roles in capitals.
    """

    name: str
    title: str
    languages: tuple[str, ...]
    registry: str  # the default address of the ecosystem's own client
    spec: str  # a pattern of names that users may give; each is a line of `wanted`
    lock: str
    fetch: str
    at: str  # where cells show the layer
    lock_name: str  # the first of the lock's files
    hosts: tuple[str, ...] = ()  # other hosts from which its files come
    # The variables by which programs find the layer.
    env: Mapping[str, str] = field(default_factory=dict)
    lists_requirements: bool = False  # whether `wanted_files` are lists in pip's form
    locked_by: str = ""  # text that marks a list of packages as a lock already
    lock_files: tuple[tuple[str, ...], ...] = ()  # a project's files that are a lock already
    wanted_files: tuple[str, ...] = ()  # a project's lists of packages that are yet to be locked
    shown: tuple[tuple[str, str], ...] = ()  # (path in the layer, path in the cell)
    paths: Mapping[str, str] = field(default_factory=dict)  # executables by role: the layer's own
    arguments: tuple[str, ...] = ()  # replace `{packages}` in the toolchain's templates
    build: str = ""
    tools: tuple[Tool, ...] = ()  # on PATH in the phases
    lock_tools: Mapping[str, Tool] = field(default_factory=dict)  # by the lock file that needs them
    programs: tuple[str, ...] = ()
    complaints: tuple[tuple[str, str], ...] = ()  # (pattern of the tools' errors, its meaning)
    missing: str = ""  # a pattern of a line about a missing package; its group is the name
    published: Mapping[str, str] = field(default_factory=dict)  # the registry's, by missing name
    cooldown: bool = True  # true if the tool can exclude young releases
    beside: tuple[Tool, ...] = ()  # in the folder of the toolchain's executable
    pinned_here: bool = False  # the registry has no digests; the first fetch's are pinned
    extra_env: Mapping[str, str] = field(default_factory=dict)  # of the phases
    version: int = 1  # a part of every key: increased by rows that make other layers
