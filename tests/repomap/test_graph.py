from __future__ import annotations

import pytest

from repomap.overview import (
    count_packages,
    find_cycles,
    name_package,
    read_edges,
    read_unresolved,
)
from tests.repomap.repositories import scan_folder, write_files


@pytest.mark.parametrize(
    ("edges", "cycles"),
    [
        ({}, []),
        ({"a": ["b"], "b": ["c"]}, []),
        ({"a": ["b"], "b": ["a"]}, [["a", "b"]]),
        ({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"]},
         [["a", "b", "c"], ["d", "e"]]),
        # Of a group with several ways back the shortest is shown.
        ({"a": ["b", "c"], "b": ["c"], "c": ["a"]}, [["a", "c"]]),
        ({"a": ["b", "b2"], "b": ["a"], "b2": ["a"]}, [["a", "b"]]),
        # What only leads into a cycle is no part of it.
        ({"x": ["a"], "a": ["b"], "b": ["a", "y"]}, [["a", "b"]]),
    ],
)  # fmt: skip
def test_cycles_are_found_once_a_group(edges, cycles):
    assert find_cycles(edges) == cycles


def test_a_chain_of_imports_as_long_as_a_project_is_followed():
    count = 20_000
    edges = {str(at): [str(at + 1)] for at in range(count)}
    assert find_cycles(edges) == []
    (cycle,) = find_cycles({**edges, str(count): ["0"]})
    assert len(cycle) == count + 1
    assert cycle[0] == "0"


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("os.path", "os"),
        ("trio", "trio"),
        ("@scope/name/lib/a", "@scope/name"),
        ("lodash/fp", "lodash"),
        ("github.com/a/b/c/d", "github.com/a/b"),
        ("encoding/json", "encoding"),
        ("serde::de::Error", "serde"),
        ("App\\Models\\User", "App"),
        ("..sibling", ""),
        ("./local", ""),
        ("crate::own", ""),
    ],
)
def test_a_module_belongs_to_a_package(module, package):
    assert name_package(module) == package


def test_edges_cycles_and_what_is_from_outside_are_read_from_a_map(store, root):
    write_files(root, {
        "a.py": "import os.path\nimport trio\nfrom b import x\n",
        "b.py": "import trio\nimport a\n",
        "c.py": "from .gone import y\n",
    })  # fmt: skip
    scan_folder(store, root)
    assert read_edges(store.db) == {"a.py": ["b.py"], "b.py": ["a.py"]}
    unresolved = read_unresolved(store.db)
    assert unresolved["a.py"] == ["os.path", "trio"]
    assert "c.py" in unresolved
    assert count_packages(unresolved) == [("trio", 2), ("os", 1)]


def test_what_is_added_later_is_unresolved_no_more(store, root):
    write_files(root, {"a.py": "import helper\n"})
    scan_folder(store, root)
    assert read_unresolved(store.db) == {"a.py": ["helper"]}
    write_files(root, {"helper.py": "x = 1\n"})
    scan_folder(store, root)
    assert read_unresolved(store.db) == {}
    (root / "a.py").unlink()
    scan_folder(store, root)
    assert read_edges(store.db) == {}
