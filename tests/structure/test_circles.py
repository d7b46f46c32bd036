"""No module imports itself by way of others, within functions either."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.structure.test_faces import read_names

Stub = Callable[[str], Mapping[str, str] | None]


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each module that a text imports from, with the name; "" is the module.

    What is imported for types alone is not there at run time.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)
        yield from imports_of(node)


def read_graph(modules: Mapping[str, str], stub: Stub) -> dict[str, set[str]]:
    """Return the modules that each imports; by a package's stub, that which has the name."""
    texts = {path.removesuffix(".py").replace("/", "."): text for path, text in modules.items()}
    texts = {name.removesuffix(".__init__"): text for name, text in texts.items()}
    graph = {}
    for own, text in texts.items():
        graph[own] = set[str]()
        for module, name in imports_of(ast.parse(text)):
            lent = (stub(module) or {}).get(name, name)
            found = (
                one for one in (f"{module}.{lent}", f"{module}.{name}", module) if one in texts
            )
            graph[own].add(next(found, own))
        graph[own].discard(own)
    return graph


def find_circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a circle in their order; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others(modules):
    assert find_circle(read_graph(modules, read_names)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("import x.b", "import x.a"),
        ("from x import b", "from x.a import f"),
        ("from x import b", "def f():\n    from x import a"),
        ("from x import given", "from x import a"),
    ],
)
def test_a_circle_is_found(one, other):
    graph = read_graph(
        {"x/__init__.py": "", "x/a.py": one, "x/b.py": other}, {"x": {"given": "b"}}.get
    )
    assert set(find_circle(graph)) == {"x.a", "x.b"}


def test_what_is_imported_for_types_alone_makes_no_circle():
    text = "if TYPE_CHECKING:\n    from x import b"
    assert find_circle(read_graph({"x/a.py": text, "x/b.py": "import x.a"}, {}.get)) == []
