"""Trees by digest: written, read again, and refused if they are none."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.tree import ENTRIES_MAX, Digest, Entry, TreeError, digest_of, encode_tree, read_tree

EMPTY = digest_of(b"")
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))
DIGESTS = st.builds(digest_of, st.binary(max_size=3)) | st.builds(
    lambda size: Digest("0123456789abcdef" * 4, size), st.integers(0, 2**63 - 1)
)
FILE = encode_tree([Entry("a", EMPTY)])


def listing(*entries: object) -> bytes:
    """A list as it is written, of whatever entries."""
    return msgspec.msgpack.encode(entries)


def file(path: object, hash: object = EMPTY.hash, size: object = 0, **more: object) -> list[object]:  # noqa: A002
    return [path, {"hash": hash, "size_bytes": size, **more}, False, None]


FOLDER, LINK = ["a", None, False, None], ["a", None, False, "x"]


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
    assert read_tree(encode_tree(entries)) == {one.path: one for one in entries}


@given(listed())
def test_equal_projects_have_one_digest(entries: list[Entry]):
    assert encode_tree(entries) == encode_tree(entries[::-1])


def test_entries_are_in_the_order_of_their_bytes():
    names = ("b", "a", "ä", "\U0001f600", "\uffff", "B", "a-", "a/b")
    listed = list(read_tree(encode_tree(Entry(name) for name in names)))
    assert listed == sorted(names, key=str.encode)


def test_folders_on_the_way_need_no_entry():
    entries = [Entry("a/b/c", EMPTY), Entry("a/d", target="b"), Entry("a")]
    assert list(read_tree(encode_tree(entries))) == ["a", "a/b", "a/b/c", "a/d"]


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
        encode_tree(entries)


@pytest.mark.parametrize(
    "data",
    [
        *(listing(file(path)) for path in ("..", ".", "", "a/b", "/etc/passwd", "a/../b", "a\0b")),
        *(listing(file("a", size=size)) for size in (-1, 2**63, "0", 0.0, True, None)),
        listing(file("a", "../x")),
        listing(file("a", more=1)),
        listing([*file("a")[:2], True, "x"]),
        listing([*file("a"), None]),
        listing(file("a")[:2]),
        listing([*FOLDER[:2], True, None]),
        listing([*LINK[:3], ""]),
        listing(file("a"), file("a")),
        listing(file("a"), LINK),
        listing(file("b"), file("a")),
        listing(file("a"), file("a/b")),
        listing(LINK, file("a/b")),
        listing(file("a/b")),
        msgspec.msgpack.encode([{"path": "a"}]),
        FILE[:-1],
        FILE * 2,
        FILE.replace(b"\xa1a", b"\xd9\x01a"),  # its length in two bytes
        FILE.replace(b"\xa1a", b"\xa2\xff\xfe"),
        b"",
        b"\0",
        b"x",
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        listing(*[FOLDER] * (ENTRIES_MAX + 1)),
    ],
)
def test_what_is_no_list_is_refused(data: bytes):
    assert read_tree(FILE)
    with pytest.raises(TreeError):
        read_tree(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_tree_or_refused(data: bytes):
    with contextlib.suppress(TreeError):
        assert encode_tree(read_tree(data).values()) == data


@given(listed(), st.data())
def test_a_mutated_list_is_a_tree_or_refused(entries: list[Entry], data: st.DataObject):
    encoded = bytearray(encode_tree(entries))
    for _ in range(data.draw(st.integers(1, 3)) if encoded else 0):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TreeError):
        assert encode_tree(read_tree(bytes(encoded)).values()) == bytes(encoded)
