from __future__ import annotations

import json

from repomap.budget_fit import fit
from repomap.overview import OVERVIEW_SHARE, make_overview
from repomap.ranking import rank_by_centrality
from tests.repomap.repositories import APP, ask, count_bytes, scan_folder, write_files

CIRCLE = {"src/app/mail.py": "import app.cart\n", "src/app/prices.py": "import app.mail\n"}


def make(store, root, budget=4000, files=APP):
    write_files(root, files)
    scan_folder(store, root)
    left_out = [("a.bin", "binary"), ("b.bin", "binary"), (".env", "denied")]
    return make_overview(store.db, left_out, budget=budget, count=count_bytes)


def test_an_overview_has_languages_folders_cycles_packages_and_what_is_left_out(store, root):
    files = {**APP, **CIRCLE, "src/app/out.py": "import trio\n"}
    found = {one.name: one for one in make(store, root, files=files)}
    assert list(found) == ["size", "folders", "cycles", "packages", "left_out"]
    size = found["size"].data
    assert size["files"] == len(files)
    assert next(one for one in size["languages"] if one["name"] == "python")["files"] == 6
    assert {one["name"] for one in found["folders"].data} == {"src/", "tests/", "./"}
    assert found["cycles"].data == [["src/app/cart.py", "src/app/prices.py", "src/app/mail.py"]]
    assert "→ `src/app/mail.py` → `src/app/cart.py`" in found["cycles"].text
    assert found["packages"].data == [{"name": "trio", "files": 1}]
    assert found["left_out"].data == {"binary": 2, "denied": 1}


def test_sections_without_anything_are_not_there(store, root):
    files = {"a.py": "x = 1\n"}
    assert [one.name for one in make(store, root, files=files)] == ["size", "folders", "left_out"]


def test_folders_within_the_only_folder_are_told(store, root):
    found = {one.name: one for one in make(store, root, files={"src/a/x.py": "", "src/b/y.py": ""})}
    assert [one["name"] for one in found["folders"].data] == ["src/a/", "src/b/"]


def test_an_overview_takes_no_more_than_its_share(store, root):
    for budget in (300, 500, 1000, 4000):
        found = make(store, root, budget)
        text = "".join(f"## {one.title}\n\n{one.text}\n\n" for one in found)
        assert count_bytes(text) <= OVERVIEW_SHARE * budget + len(found)


def test_a_map_is_within_its_budget_in_both_formats(store, root):
    for shape in ("markdown", "json"):
        for budget in (400, 1000, 5000):
            sections = make(store, root, budget)
            asked = ask("", budget=budget, format=shape, with_source=False, sections=sections)
            found = fit(store.db, root, asked, rank_by_centrality(store.db), file_bytes=1 << 20)
            assert count_bytes(found.text) <= budget
            if shape == "json":
                assert set(json.loads(found.text)["overview"]) == {one.name for one in sections}
