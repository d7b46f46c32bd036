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

from base.remedy import Remedy
from runtimes.packages.programs import read_program

GET: Final = read_program("tools_get.sh")


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


@dataclass(frozen=True, slots=True, eq=False)
class Ecosystem:
    """One row: the registry of some languages' packages, and a program of the shell for each phase.

    `registry` is the address that the ecosystem's own client asks by default, `hosts` the further
    names from which its files come. `spec` is a pattern of what a person may name, which is put
    into the file `wanted` in the folder IN, a line each; `lock` writes the lock's files to OUT,
    the first of which is `lock_name`. `lock_files` are groups of a project's own files that are a
    lock already; `wanted_files` are lists of packages that are yet to be locked.
    `fetch` finds a lock's files in IN and fills OUT with what their digests allow, running nothing
    of it. `build` finds that at AT, in a cell without network, and adds to OUT. `at` is where cells
    show the layer, `env` by what variables programs find it, `shown` (path in the layer, path in
    the cell) where they find it otherwise. `paths` are executables of the toolchain, by role, in
    whose place the layer has its own. `arguments` stand in its templates at `{packages}`.

    The phases have these variables besides: REGISTRY, HOSTS, CUTOFF (an ISO date after which no
    release counts, or nothing), PROGRAMS, a folder with those of `runtimes/packages/programs` that
    the row names, TOOL, and the toolchain's executables by their roles in capitals.
    `tools` are on PATH, those of `beside` in the folder of the toolchain's executable; `lock_tools`
    are needed where a lock has a file of that name, and only there.
    `complaints` are patterns of what the tools say, and what it means. `missing` is a pattern of a
    line by which a program says that a package is not there, with its name as a group, and
    `published` by what other name the registry has it. `version` is part of every
    key: a row that makes other layers than before counts it up.
    """

    name: str
    title: str
    languages: tuple[str, ...]
    registry: str
    hosts: tuple[str, ...]
    spec: str
    lock: str
    fetch: str
    at: str
    env: Mapping[str, str]
    lock_name: str
    lists_requirements: bool = False  # whether `wanted_files` are lists in pip's form
    locked_by: str = ""  # what stands in a list of packages that is a lock already
    lock_files: tuple[tuple[str, ...], ...] = ()
    wanted_files: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    build: str = ""
    tools: tuple[Tool, ...] = ()
    lock_tools: Mapping[str, Tool] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    complaints: tuple[tuple[str, str], ...] = ()
    missing: str = ""
    published: Mapping[str, str] = field(default_factory=dict)
    cooldown: bool = True  # whether the tool can leave young releases out
    beside: tuple[Tool, ...] = ()
    pinned_here: bool = False  # the registry has no digests; the first fetch's are pinned
    extra_env: Mapping[str, str] = field(default_factory=dict)  # of the phases
    version: int = 1
