"""The row of an ecosystem: how packages of some languages are locked, fetched, built and found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtimes.packages.tools import Tool


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
