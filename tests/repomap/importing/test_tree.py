from __future__ import annotations

import pytest

from repomap.importing import tree as tree_room
from repomap.importing.tree import Tree, find_nearest, join, list_above, place

PATHS = ["a/b/c.x", "b/c.x", "z/bb/c.x", "d.x", "d", "e/d.x"]


def make(paths=PATHS):
    return Tree(paths, {}.get)


@pytest.mark.parametrize(
    ("suffix", "wanted"),
    [
        ("c.x", ("a/b/c.x", "b/c.x", "z/bb/c.x")),
        ("b/c.x", ("a/b/c.x", "b/c.x")),
        ("a/b/c.x", ("a/b/c.x",)),
        ("x/a/b/c.x", ()),
        ("d.x", ("d.x", "e/d.x")),
        ("d", ("d",)),
        (".x", ()),
        ("", ()),
        ("/", ()),
    ],
)
def test_an_end_fits_whole_parts(suffix, wanted):
    assert make().find_ending(suffix) == wanted


@pytest.mark.parametrize(
    ("suffix", "wanted"), [("b", ("a/b", "b")), ("a", ()), ("z/bb", ("z/bb",))]
)
def test_folders_of_files_are_found_by_their_end(suffix, wanted):
    assert make().find_folders_ending(suffix) == wanted


def test_of_many_paths_with_the_same_end_some_are_looked_at():
    assert len(make([f"{n}/same" for n in range(500)]).find_ending("same")) == tree_room.CANDIDATES


@pytest.mark.parametrize(
    ("path", "candidates", "wanted"),
    [
        ("a/b/x", ["a/b/c", "a/c"], ("a/b/c",)),
        ("a/b/x", ["a/c", "a/d"], ()),
        ("x", ["a", "b/c"], ()),
        ("x", ["a"], ("a",)),
        ("x", [], ()),
    ],
)
def test_the_nearest_is_the_one_that_shares_most_folders(path, candidates, wanted):
    assert find_nearest(path, candidates) == wanted


@pytest.mark.parametrize(
    ("folder", "relative", "wanted"),
    [
        ("a/b", "../c", "a/c"),
        ("a", "..", ""),
        ("a", "../..", None),
        ("", "../x", None),
        ("a", "/etc", None),
        ("a", ".", "a"),
        ("", "", ""),
        ("", "..x", "..x"),
    ],
)
def test_no_path_leads_out_of_the_tree(folder, relative, wanted):
    assert join(folder, relative) == wanted


def test_of_a_very_deep_folder_the_nearest_and_the_top_are_looked_at():
    folders = list(list_above("/".join(map(str, range(2000)))))
    assert len(folders) == tree_room.LEVELS_MAX + 1
    assert (folders[0][-9:], folders[-1]) == ("1998/1999", "")
    assert list(list_above("a/b")) == ["a/b", "a", ""]


@pytest.mark.parametrize(
    ("folder", "name", "wanted"), [("a", "b", "a/b"), ("", "b", "b"), ("a", "", "a"), ("", "", "")]
)
def test_a_place_has_no_slash_too_many(folder, name, wanted):
    assert place(folder, name) == wanted


def test_configurations_are_read_once_and_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(tree_room, "CONFIG_BYTES_MAX", 10)
    asked = []

    def read(path):
        asked.append(path)
        return None if path == "none" else b"x" * 6

    tree = Tree(["one", "two", "three", "none"], read)
    for _ in range(2):
        assert tree.once(Tree.read, "none") == b""
        assert tree.once(Tree.read, "one") == b"x" * 6
        assert tree.once(Tree.read, "two") == b"x" * 6
        assert tree.once(Tree.read, "three") == b""
        assert tree.once(Tree.read, "not-in-the-map") == b""
    assert asked == ["none", "one", "two"]
