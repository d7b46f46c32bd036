"""The tests that `./check` chooses: by imports, the nearest first, within its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chosen import is_chosen
from tests.selection import DISTANCE_MAX, ImportMap, Module, choose, is_test, read_module

TREE = {
    "kb/__init__.py": "from kb.search import find as find\n",
    "kb/store.py": "",
    "kb/search.py": "def find():\n    from kb import store\n",
    "kb/words.scm": "",
    "kb/chunkers/__init__.py": "from kb.chunkers import toml\nROWS = (toml,)\n",
    "kb/chunkers/toml.py": "",
    "ctxmode/table.py": "import_module(f'ctxmode.verbs.{name}')\n",
    "ctxmode/verbs/stop.py": "if TYPE_CHECKING:\n    import kb.store\n",
    "tests/conftest.py": "",
    "tests/needs.py": "",
    "tests/kb/test_store.py": "def test_it(): ...\n",
    "tests/kb/test_other.py": "async def test_it(): ...\n",
    "tests/kb/test_search.py": "from kb import find\n",
    "tests/kb/test_chunkers.py": "from kb.chunkers import ROWS\n",
    "tests/ctxmode/test_table.py": "import ctxmode.table\nfrom tests import needs\n",
    "tests/ctxmode/test_program.py": "PROBE = 'from kb.search import find'\n",
    "tests/executor/test_identities.py": "import kb.store\n",
}


@pytest.fixture
def imports(tmp_path: Path) -> ImportMap:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return ImportMap(tmp_path, tmp_path / "cache" / "imports.json")


@pytest.mark.parametrize(
    ("changed", "test", "distance"),
    [
        ("kb/store.py", "tests/kb/test_store.py", 0),
        ("kb/store.py", "tests/executor/test_identities.py", 1),
        ("kb/store.py", "tests/kb/test_search.py", 2),
        ("kb/search.py", "tests/kb/test_search.py", 0),
        ("kb/search.py", "tests/ctxmode/test_program.py", 1),
        ("kb/chunkers/toml.py", "tests/kb/test_chunkers.py", 2),
        ("ctxmode/verbs/stop.py", "tests/ctxmode/test_table.py", 2),
        ("tests/needs.py", "tests/ctxmode/test_table.py", 1),
        ("tests/conftest.py", "tests/kb/test_other.py", 1),
        ("tests/kb/test_other.py", "tests/kb/test_other.py", 0),
        ("kb/words.scm", "tests/kb/test_search.py", 1),
    ],
)
def test_a_test_is_as_far_as_the_modules_between(imports, changed, test, distance):
    assert imports.distances([changed])[test] == distance


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("kb/chunkers/toml.py", "tests/kb/test_search.py"),  # kb itself only passes names on
        ("kb/store.py", "tests/ctxmode/test_table.py"),  # imported for types alone
    ],
)
def test_what_is_not_imported_is_only_near_in_the_same_folder(imports, changed, test):
    assert imports.distances([changed]).get(test, DISTANCE_MAX) == DISTANCE_MAX


def test_the_nearest_run_first_until_the_budget_is_used(imports):
    recorded = {"tests/kb/test_store.py": 5, "tests/kb/test_search.py": 2}
    chosen = choose(imports, ["kb/store.py"], recorded, 6)
    assert next(iter(chosen.run)) == "tests/kb/test_store.py"
    assert "tests/kb/test_search.py" in chosen.left_out
    assert sum(chosen.run.values()) <= 6


def test_among_the_near_those_of_the_same_words_run_first(imports):
    chosen = choose(imports, ["kb/search.py"], {}, 60)
    assert [*chosen.run] == [
        "tests/kb/test_search.py",
        "tests/ctxmode/test_program.py",
        "tests/kb/test_chunkers.py",
        "tests/kb/test_other.py",
        "tests/kb/test_store.py",
    ]


def test_a_slow_file_runs_only_when_it_changed_itself(imports):
    slow = "tests/executor/test_identities.py"
    assert slow not in choose(imports, ["kb/store.py"], {}, 60).run
    assert slow in choose(imports, [slow], {slow: 100}, 60).run


def test_a_module_is_read_again_when_it_changed(imports, tmp_path):
    cache = tmp_path / "cache" / "imports.json"
    before = cache.read_text()
    (tmp_path / "kb/store.py").write_text("import kb.search\n")
    again = ImportMap(tmp_path, cache)
    assert again.modules["kb/store.py"].imports == [("kb.search", "")]
    assert again.modules["kb/search.py"] == imports.modules["kb/search.py"]
    cache.write_text(before[: len(before) // 2])
    assert ImportMap(tmp_path, cache).modules == again.modules


@pytest.mark.parametrize(
    ("path", "text", "imported"),
    [
        ("kb/a.py", "from . import b", [("kb", "b")]),
        ("kb/x/a.py", "from ..b import c", [("kb.b", "c")]),
        ("kb/a.py", "import_module(f'{__name__}.{x}')", [("kb", "*")]),
        ("kb/a.py", "patch('kb.store.Store.open')", [("kb.store.Store", "open")]),
        ("kb/a.py", "'a text about kb.'", []),
        ("kb/a.py", "import kb.store\nthis does not parse", []),
    ],
)
def test_imports_are_read_from_statements_and_strings(path, text, imported):
    assert read_module(path, text).imports == imported


def test_functions_of_tests_are_counted():
    text = "def test_a(): ...\nasync def test_b(): ...\ndef helper(): ..."
    assert read_module("tests/test_x.py", text) == Module((0, 0), False, 2, [])


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("tests/kb/test_a.py", True),
        ("tests/test_a.py", True),
        ("tests/kb/shared.py", False),
        ("kb/test_a.py", False),
    ],
)
def test_a_file_of_tests_is_known_by_its_path(name, is_one):
    assert is_test(name) == is_one


@pytest.mark.parametrize(
    ("test", "changed", "chosen"),
    [
        ("tests/kb/test_search.py::test_x", [], True),
        ("tests/kb/test_work.py::test_x", [], False),
        ("tests/kb/test_work.py::test_x", ["tests/kb/test_work.py"], True),
        ("tests/executor/containers/test_runs.py::test_x", [], False),
        ("tests/e2e/test_docs_commands.py::test_x[memory.md:12]", ["docs/memory.md"], True),
        ("tests/e2e/test_docs_commands.py::test_x[memory.md:12]", ["docs/packs.md"], False),
    ],
)
def test_quick_tests_run_and_those_that_changed(test, changed, chosen):
    assert is_chosen(test, changed) == chosen
