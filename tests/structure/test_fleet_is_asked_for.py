"""Who sends nothing to other machines loads nothing of the fleet."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = {"distributed", "dask", "fsspec", "cryptography"}
_PROGRAM = """
import sys
from ctxmode import command_line
code = command_line.main({arguments!r})
tops = {{name.partition(".")[0] for name in sys.modules}}
print("loaded:", *sorted(tops & {{"fleet", *{engines!r}}}), file=sys.stderr)
sys.exit(code)
"""
VERBS = {
    "a run": ["run", "shell", "-c", "echo done"],
    "a look at what runs": ["ps"],
    "the help": ["run", "--help"],
}


def imported_at_once(source: str) -> Iterator[str]:
    """The rooms that a module imports when it is loaded."""
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        is_later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if is_later or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        if isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        nodes += ast.iter_child_nodes(node)


def test_no_module_of_the_front_door_imports_the_fleet_when_it_is_loaded():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "ctxmode").rglob("*.py")
        if "fleet" in imported_at_once(path.read_text())
    }
    assert found == set()


def test_such_an_import_is_seen():
    assert list(imported_at_once("from fleet.front import Fleet")) == ["fleet"]
    assert list(imported_at_once("def f():\n    from fleet.front import Fleet")) == []
    assert list(imported_at_once("if TYPE_CHECKING:\n    import fleet")) == []


@pytest.mark.parametrize("arguments", VERBS.values(), ids=VERBS)
def test_no_verb_loads_the_fleet_without_a_cluster(tmp_path, arguments):
    assert _loaded(tmp_path, arguments) == set()


def test_a_verb_that_is_about_the_fleet_loads_it(tmp_path):
    assert {"fleet", "cryptography"} <= _loaded(tmp_path, ["serve", "cluster", "key"])


def _loaded(folder: Path, arguments: list[str]) -> set[str]:
    """What of the fleet, and of what it is made of, a command has loaded at its end."""
    program = _PROGRAM.format(arguments=arguments, engines=sorted(ENGINES))
    project = folder / "project"
    project.mkdir()
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (line,) = (one for one in done.stderr.splitlines() if one.startswith("loaded:"))
    return set(line.split()[1:])
