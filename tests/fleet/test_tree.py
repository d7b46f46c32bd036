"""Trees by digest: written, read again, and refused if they are none."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.tree import ENTRIES_MAX, Digest, Entry, TreeError, build, digest_of, read_tree

EMPTY = digest_of(b"")
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))
DIGESTS = st.builds(digest_of, st.binary(max_size=3)) | st.builds(
    lambda size: Digest("0123456789abcdef" * 4, size), st.integers(0, 2**63 - 1)
)
FILE = b"fa\0" + EMPTY.hash.encode() + b" 0\0"


@st.composite
def listed(draw: st.DrawFn) -> list[Entry]:
    """Entries in some folders, each path once."""
    made, folders = {}, [""]
    for name in draw(st.lists(NAMES, unique=True, max_size=8)):
        path = draw(st.sampled_from(folders)) + name
        kind = draw(st.sampled_from("fdl"))
        if kind == "f":
            made[path] = Entry(path, draw(DIGESTS), draw(st.booleans()))
        elif kind == "l":
            made[path] = Entry(path, target=draw(NAMES))
        else:
            made[path] = Entry(path)
            folders.append(f"{path}/")
    return draw(st.permutations(list(made.values())))


@given(listed())
def test_a_tree_is_read_as_it_was_written(entries: list[Entry]):
    tree = build(entries)
    assert tree.root == digest_of(tree.encoded)
    assert read_tree(tree.encoded) == {one.path: one for one in entries}


@given(listed())
def test_equal_projects_have_one_digest(entries: list[Entry]):
    assert build(entries) == build(entries[::-1])


def test_entries_are_in_the_order_of_their_bytes():
    names = ("b", "a", "ä", "\U0001f600", "\uffff", "B", "a-", "a/b")
    listed = list(read_tree(build(Entry(name) for name in names).encoded))
    assert listed == sorted(names, key=str.encode)


def test_folders_on_the_way_need_no_entry():
    entries = [Entry("a/b/c", EMPTY), Entry("a/d", target="b"), Entry("a")]
    assert list(read_tree(build(entries).encoded)) == ["a", "a/b", "a/b/c", "a/d"]


@pytest.mark.parametrize(
    "entries",
    [
        [Entry("/a", EMPTY)],
        [Entry("a//b", EMPTY)],
        [Entry("a/../b", EMPTY)],
        [Entry("./a", EMPTY)],
        [Entry("a/", EMPTY)],
        [Entry("", EMPTY)],
        [Entry("a\0", EMPTY)],
        [Entry("a\udcff", EMPTY)],
        [Entry("a", EMPTY), Entry("a", target="b")],
        [Entry("a", EMPTY), Entry("a/b", EMPTY)],
        [Entry("a", target="")],
        [Entry("a", target="b\udcff")],
    ],
)
def test_paths_that_no_tree_can_hold_are_refused(entries: list[Entry]):
    with pytest.raises(TreeError):
        build(entries)


@pytest.mark.parametrize(
    "data",
    [
        FILE.replace(b"fa", b"f.."),
        FILE.replace(b"fa", b"f."),
        FILE.replace(b"fa", b"f"),
        FILE.replace(b"fa", b"fa/b"),
        FILE.replace(b"fa", b"f/etc/passwd"),
        FILE.replace(b"fa", b"fa/../b"),
        FILE.replace(b"fa", b"fa\0b"),
        FILE.replace(b"fa", b"ga"),
        FILE.replace(b" 0", b" -1"),
        FILE.replace(b" 0", b" 00"),
        FILE.replace(b" 0", b""),
        FILE.replace(b" 0", b" 9999999999999999999"),
        FILE.replace(EMPTY.hash.encode(), b"../x"),
        FILE[:-1],
        FILE * 2,
        FILE + b"la\0x\0",
        FILE.replace(b"fa", b"fb") + FILE,
        FILE + FILE.replace(b"fa", b"fa/b"),
        b"la\0x\0" + FILE.replace(b"fa", b"fa/b"),
        b"la\0\0",
        b"da\0x\0",
        b"d\xff\xfe\0\0",
        b"\0",
        b"\0\0",
        b"x",
        b"da\0\0" * (ENTRIES_MAX + 1),
    ],
)
def test_what_is_no_list_is_refused(data: bytes):
    assert read_tree(FILE)
    with pytest.raises(TreeError):
        read_tree(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_tree_or_refused(data: bytes):
    with contextlib.suppress(TreeError):
        assert build(read_tree(data).values()).encoded == data


@given(listed(), st.data())
def test_a_mutated_list_is_a_tree_or_refused(entries: list[Entry], data: st.DataObject):
    encoded = bytearray(build(entries).encoded)
    for _ in range(data.draw(st.integers(1, 3)) if encoded else 0):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TreeError):
        assert build(read_tree(bytes(encoded)).values()).encoded == bytes(encoded)
