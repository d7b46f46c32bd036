"""Rooms import only downwards: ctxmode > executor > policy, kb, runtimes, images."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BELOW = {
    "ctxmode": {"executor", "policy", "kb", "runtimes", "images"},
    "executor": {"policy", "kb", "runtimes", "images"},
    "policy": set(),
    "kb": set(),
    "runtimes": set(),
    "images": set(),
}
IMPORTING_CALLS = {"import_module", "__import__"}


def imported(source: str) -> Iterator[str]:
    """The top-level name of every absolute import, also of those by a literal name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).split(".")[0]
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            argument = node.args[0]
            if name in IMPORTING_CALLS and isinstance(argument, ast.Constant):
                yield str(argument.value).split(".")[0]


def upward(room: str, source: str) -> set[str]:
    """The rooms that a module of `room` imports and must not."""
    return {name for name in imported(source) if name in BELOW} - BELOW[room] - {room}


def test_a_module_imports_no_room_beside_or_above_its_own(module: Path, root: Path):
    room = module.relative_to(root).parts[0]
    assert upward(room, module.read_text()) == set()


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("kb", "from executor import run"),
        ("kb", "import policy.model"),
        ("policy", "def f():\n    import runtimes"),
        ("images", "import runtimes"),
        ("runtimes", "import importlib\nimportlib.import_module('kb.store')"),
        ("executor", "from ctxmode.app import App"),
    ],
)
def test_an_upward_import_is_seen(room, source):
    assert len(upward(room, source)) == 1


def test_a_downward_import_is_free():
    assert upward("executor", "import kb, policy\nfrom runtimes import choose") == set()


def test_the_spawner_imports_only_itself_and_the_standard_library(module: Path, root: Path):
    relative = module.relative_to(root)
    if relative.parts[:2] == ("executor", "spawner"):
        own = {"spawner"} if module.name == "__main__.py" else set()
        assert set(imported(module.read_text())) <= sys.stdlib_module_names | own
