from __future__ import annotations

import pytest

from repomap.budget_fit import fit
from repomap.ranking import BEST, EACH_MAX, find_neighbours, rank_files
from tests.repomap.repositories import APP, ask, scan_folder, write_files

FILES = {
    "core/engine.py": "from core.wheels import turn\n\n\ndef start_engine():\n    return turn()\n",
    "core/wheels.py": '"""What turns."""\n\n\ndef turn():\n    return 1\n',
    "app/main.py": '"""Begins."""\n\nfrom core.engine import start_engine\n\nstart_engine()\n',
    "other/far.py": "def unrelated():\n    return 2\n",
}


def paths(found):
    return [one.row.path for one in found]


def test_what_the_best_file_imports_and_what_imports_it_are_its_neighbours(store, root):
    write_files(root, FILES)
    scan_folder(store, root)
    ranked = rank_files(store.db, "start_engine in core/engine.py")
    found = find_neighbours(store.db, ranked[:1])
    assert paths(found) == ["core/wheels.py", "app/main.py"]
    assert all(one.score == 0 for one in found)


def test_one_that_is_ranked_keeps_its_score(store, root):
    write_files(root, APP)
    scan_folder(store, root)
    ranked = rank_files(store.db, "apply_discount of the cart")
    (best, *_) = ranked
    assert best.row.path == "src/app/cart.py"
    near = {one.row.path: one for one in find_neighbours(store.db, ranked)}
    assert near["src/app/prices.py"].score == 0
    known = {one.row.path: one.score for one in ranked}
    assert all(one.score == known.get(path, 0) for path, one in near.items())


@pytest.mark.parametrize("with_source", [True, False])
def test_a_neighbour_without_any_evidence_has_a_line_in_the_pack(store, root, with_source):
    write_files(root, FILES)
    scan_folder(store, root)
    task = "start_engine"
    ranked = rank_files(store.db, task)
    assert "core/wheels.py" not in paths(ranked)  # the control: ranking has no place for it
    asked = ask(task, budget=2000, with_source=with_source)
    found = fit(store.db, root, asked, ranked, file_bytes=1 << 20)
    kinds = {one.path: one.kind for one in found.items}
    assert "core/wheels.py" in kinds
    assert "other/far.py" not in kinds


@pytest.mark.parametrize(
    ("fields", "has"),
    [({}, True), ({"paths": ("core/engine.py",)}, False), ({"paths": ("core",)}, True)],
)
def test_paths_hold_for_neighbours_too(store, root, fields, has):
    write_files(root, FILES)
    scan_folder(store, root)
    ranked = rank_files(store.db, "start_engine")
    found = fit(store.db, root, ask("start_engine", **fields), ranked, file_bytes=1 << 20)
    assert ("core/wheels.py" in {one.path for one in found.items}) is has


def test_a_file_that_all_import_brings_few_neighbours(store, root):
    write_files(root, {
        "hub.py": "def hub_centre():\n    return 1\n",
        **{f"user{n}.py": "import hub\n" for n in range(40)},
    })  # fmt: skip
    scan_folder(store, root)
    ranked = rank_files(store.db, "hub_centre")
    assert len(find_neighbours(store.db, ranked[:1])) == EACH_MAX
    assert len(find_neighbours(store.db, ranked)) <= BEST * EACH_MAX
