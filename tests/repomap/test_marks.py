from __future__ import annotations

import pytest

from repomap.reading import HEADS, JSON_HEAD, MARK, is_marked
from repomap.store import read_files
from tests.repomap.repositories import scan_folder, write_files


@pytest.mark.parametrize("head", [*HEADS, JSON_HEAD])
def test_a_pack_that_was_written_into_the_project_is_in_no_map(store, root, head):
    write_files(root, {"pack.md": f"{head}\n\n# Files\n", "other.md": "# Files\n"})
    report = scan_folder(store, root)
    assert list(read_files(store.db)) == ["other.md"]
    assert [*report.left_out] == [("pack.md", "pack")]


@pytest.mark.parametrize("text", ["", f" {MARK}", f"# A\n{MARK}", f'MARK = "{MARK}"\n', "---\n"])
def test_a_file_that_only_names_the_mark_is_none(text):
    assert not is_marked(text.encode())
