"""Rooms import only downwards: ctxmode > fleet > executor > policy, kb, runtimes, images > base;
fleet takes neither kb nor images. Memory and repomap are beside executor, and memory's parts import
none of each other. Facts and repomap may use the kb. The folders of languages are of several rooms:
what reads their files is below all of these, and each file has the arrows of the room that it is
for."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BELOW = {
    "ctxmode": {
        *("fleet", "executor", "memory", "repomap", "policy", "kb", "runtimes", "images", "base"),
        "languages",
    },
    "fleet": {"executor", "policy", "runtimes", "languages", "base"},
    "executor": {"policy", "kb", "runtimes", "languages", "images", "base"},
    "memory": {"base"},
    "repomap": {"kb", "languages", "base"},
    "policy": {"languages", "base"},
    "kb": {"languages", "base"},
    "runtimes": {"languages", "base"},
    "images": {"languages", "base"},
    "languages": set(),
    "base": set(),
}
LANGUAGES = "runtimes/languages/"
ROOMS_OF_FILES = {"__init__.py": "languages", "imports.py": "repomap"}
"""The rooms of the files in folders of languages; others are of `runtimes`."""
MEMORY_PARTS = {"facts", "pages", "sessions"}
IMPORTING_CALLS = {"import_module", "__import__"}


def name_top(module: str) -> str:
    """The top-level name of a module; of what reads the files of languages, its own."""
    return "languages" if module == "runtimes.languages" else module.split(".", 1)[0]


def imported(source: str) -> Iterator[str]:
    """The top-level name of every absolute import, also of those by a literal name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name_top(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield name_top(str(node.module))
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            argument = node.args[0]
            if name in IMPORTING_CALLS and isinstance(argument, ast.Constant):
                yield name_top(str(argument.value))


# Whoever reads what these wrote runs it. What Dask sends between its own processes, it pickles
# itself: docs/fleet.md says whom that lets in.
UNPICKLING = {
    *("pickle", "_pickle", "cPickle", "marshal", "shelve", "dbm", "copyreg", "multiprocessing"),
    *("cloudpickle", "dill", "joblib"),
}
UNPICKLING_NAMES = {"to_process", "ProcessPoolExecutor", "read_pickle", "allow_pickle"}


def unpicklers(source: str) -> set[str]:
    """The modules and names in a text by which it would unpickle."""
    names = {*imported(source)} & UNPICKLING
    for node in ast.walk(ast.parse(source)):
        said = [getattr(node, "attr", ""), getattr(node, "id", ""), getattr(node, "arg", "")]
        said += [alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
        names |= {*map(str, said)} & UNPICKLING_NAMES
    return names


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import pickle\n",
        "from multiprocessing.connection import Client",
        "__import__('marshal')",
        "trio.to_process.run_sync(f)",
        "from anyio import to_process",
        "from concurrent.futures import ProcessPoolExecutor",
        "numpy.load(path, allow_pickle=True)",
    ],
)
def test_what_unpickles_is_seen(source):
    assert unpicklers(source)


@pytest.mark.parametrize("room", sorted(BELOW.keys() - {"languages"}))
def test_no_room_unpickles(room):
    found = {
        str(path.relative_to(ROOT)): names
        for path in (ROOT / room).rglob("*.py")
        if (names := unpicklers(path.read_text("utf-8")))
    }
    assert found == {}


def upward(room: str, source: str) -> set[str]:
    """The rooms that a module of `room` imports and must not."""
    top = room.partition("/")[0]
    below = {"base", "kb"} if room == "memory/facts" else BELOW[top]
    return {name for name in imported(source) if name in BELOW} - below - {top}


def room_of(path: str) -> str:
    """The room of a module: the top-level folder, or the part of memory."""
    parts = path.split("/")
    if path.startswith(LANGUAGES):
        return ROOMS_OF_FILES.get(parts[-1], "runtimes")
    return "/".join(parts[: 2 if parts[0] == "memory" and len(parts) > 2 else 1])


def beside(path: str, source: str) -> set[str]:
    """The parts of memory that a module imports beside its own."""
    own = room_of(path).removeprefix("memory/")
    return {part for part in MEMORY_PARTS - {own} if f"memory.{part}" in source}


def test_no_module_imports_a_room_beside_or_above_its_own(modules):
    found = {path: upward(room_of(path), text) for path, text in modules.items()}
    assert {path: rooms for path, rooms in found.items() if rooms} == {}


def test_every_list_of_what_is_shipped_names_every_room():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    lists = {
        "packages of the wheel": wheel["packages"],
        "sources of the wheel": [*wheel["sources"], "ctxmode"],
        "files of mypy": project["tool"]["mypy"]["files"],
        ".dockerignore": (ROOT / ".dockerignore").read_text().replace("!", "").split(),
        "setup.sh": re.findall(r"\w+", (ROOT / "setup.sh").read_text()),
    }
    missing = {name: set(BELOW) - {"languages"} - set(named) for name, named in lists.items()}
    assert {name: rooms for name, rooms in missing.items() if rooms} == {}


def test_the_parts_of_memory_import_none_of_each_other(modules):
    own = {path: text for path, text in modules.items() if path.startswith("memory/")}
    found = {path: beside(path, text) for path, text in own.items()}
    assert {path: parts for path, parts in found.items() if parts} == {}
    assert beside("memory/facts/x.py", "from memory.sessions.model import Message") == {"sessions"}
    assert beside("memory/gate.py", "import memory.pages.model") == {"pages"}


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("kb", "from executor import run"),
        ("kb", "import policy.model"),
        ("policy", "def f():\n    import runtimes"),
        ("images", "import runtimes"),
        ("policy", "import runtimes.languages.python.row"),
        ("repomap", "from runtimes import languages"),
        ("languages", "from base import globs"),
        (room_of("runtimes/languages/python/row.py"), "from repomap.model import Import"),
        ("memory/pages", "import kb"),
        ("memory/facts", "import policy"),
        ("base", "from kb import store"),
        ("runtimes", "import importlib\nimportlib.import_module('kb.store')"),
        ("executor", "from ctxmode.app import App"),
        ("executor", "import fleet.model"),
        ("fleet", "from kb import store"),
    ],
)
def test_an_upward_import_is_seen(room, source):
    assert len(upward(room, source)) == 1


def test_a_downward_import_is_free():
    assert upward("executor", "import kb, policy\nfrom runtimes import choose") == set()
    assert upward("policy", "from runtimes.languages import read_file") == set()
    imports = room_of("runtimes/languages/python/imports.py")
    assert upward(imports, "from repomap.model import Import") == set()


def test_the_spawner_imports_only_itself_and_the_standard_library(modules):
    spawner = {p: text for p, text in modules.items() if p.startswith("executor/spawner/")}
    assert spawner
    for path, text in spawner.items():
        own = {"spawner"} if path.endswith("__main__.py") else set()
        assert set(imported(text)) <= sys.stdlib_module_names | own, path


# The executor's rooms, the lowest first: each imports only what stands before it. What is not in a
# folder is on the floors of its name. Imports for types alone are free.
FLOORS = (
    *("errors", "model", "instance", "caller", "network", "profile", "spawner", "project"),
    *("request", "engine", "cells", "containers", "pool", "run", "toolchains", "compile"),
    *("packages", "sessions", "settings", "back_ends", "terms", "service", "local_engine"),
)


def below(text: str, *, types: bool = False) -> set[str]:
    """The rooms of the executor that a module imports when it runs, or also for `types` alone."""
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "executor":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("executor."):
            found.add(str(node.module).split(".")[1])
        nodes += ast.iter_child_nodes(node)
    return found


def test_the_executors_rooms_import_only_what_is_below_them(modules):
    wrong = {}
    for path, text in modules.items():
        room, _, rest = path.removeprefix("executor/").partition("/")
        own = room if rest else room.removesuffix(".py")
        if not path.startswith("executor/") or own == "__init__":
            continue
        higher = {name for name in below(text) if FLOORS.index(name) > FLOORS.index(own)}
        if higher:
            wrong[path] = higher
    assert wrong == {}


def test_the_engines_protocols_name_nothing_of_what_implements_them(modules):
    engine = {p: text for p, text in modules.items() if p.startswith("executor/engine/")}
    assert engine
    allowed = set(FLOORS[: FLOORS.index("engine") + 1])
    higher = {path: below(text, types=True) - allowed for path, text in engine.items()}
    assert {path: rooms for path, rooms in higher.items() if rooms} == {}


def test_an_import_of_a_higher_floor_is_seen():
    assert below("from executor.run import job") == {"run"}
    assert below("def f():\n    from executor import service") == {"service"}
    typing_only = "if TYPE_CHECKING:\n    from executor.run import job"
    assert below(typing_only) == set()
    assert below(typing_only, types=True) == {"run"}
