"""A folder's digest is the one that every program of the protocol computes."""

from __future__ import annotations

import contextlib

import pytest
from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as protocol
from hypothesis import given
from hypothesis import strategies as st

from fleet.tree import (
    Digest,
    Entry,
    FileNode,
    Folder,
    FolderNode,
    LinkNode,
    TreeError,
    build,
    digest_of,
)

EMPTY = digest_of(b"")
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))
DIGESTS = st.builds(digest_of, st.binary(max_size=3)) | st.builds(
    lambda size: Digest("0123456789abcdef" * 4, size), st.integers(0, 2**63 - 1)
)


@st.composite
def folders(draw: st.DrawFn) -> Folder:
    names = draw(st.lists(NAMES, unique=True, max_size=8))
    kinds = [draw(st.sampled_from("fdl")) for _ in names]
    named = list(zip(names, kinds, strict=True))
    return Folder(
        tuple(FileNode(n, draw(DIGESTS), draw(st.booleans())) for n, k in named if k == "f"),
        tuple(FolderNode(n, draw(DIGESTS)) for n, k in named if k == "d"),
        tuple(LinkNode(n, draw(NAMES)) for n, k in named if k == "l"),
    )


def generated(folder: Folder) -> bytes:
    """What the protocol's own library writes for a folder."""
    message = protocol.Directory()
    for file in folder.files:
        message.files.add(
            name=file.name, digest=as_message(file.digest), is_executable=file.is_executable
        )
    for below in folder.folders:
        message.directories.add(name=below.name, digest=as_message(below.digest))
    for link in folder.links:
        message.symlinks.add(name=link.name, target=link.target)
    return message.SerializeToString(deterministic=True)


def as_message(digest: Digest) -> protocol.Digest:
    return protocol.Digest(hash=digest.hash, size_bytes=digest.size_bytes)


@given(folders())
def test_the_bytes_are_those_of_the_generated_protocol(folder: Folder):
    assert folder.encode() == generated(folder)
    assert Folder.decode(folder.encode()) == folder


def test_what_other_programs_add_is_passed_over():
    message = protocol.Directory()
    file = message.files.add(name="a", digest=as_message(EMPTY))
    file.node_properties.unix_mode.value = 0o644
    file.node_properties.mtime.seconds = 5
    message.node_properties.properties.add(name="owner", value="x")
    read = Folder.decode(message.SerializeToString() + b"\x49" + bytes(8) + b"\x4d" + bytes(4))
    assert read == Folder((FileNode("a", EMPTY),))


def test_the_order_of_names_is_that_of_their_bytes():
    names = ("b", "a", "ä", "\U0001f600", "\uffff", "B")
    folder = Folder(tuple(FileNode(name, EMPTY) for name in names))
    assert [node.name for node in folder.files] == ["B", "a", "b", "ä", "\uffff", "\U0001f600"]


def test_the_digest_of_an_empty_folder_is_that_of_nothing():
    assert build([]).root == EMPTY


def test_a_tree_holds_the_message_of_every_folder_and_equal_ones_once():
    tree = build([Entry("a/b/c", EMPTY, True), Entry("d/b/c", EMPTY, True), Entry("e", target="a")])
    inner = Folder((FileNode("c", EMPTY, True),))
    middle = Folder(folders=(FolderNode("b", digest_of(inner.encode())),))
    link = LinkNode("e", "a")
    top = Folder(
        folders=tuple(FolderNode(name, digest_of(middle.encode())) for name in "ad"), links=(link,)
    )
    assert {Folder.decode(message) for message in tree.folders.values()} == {inner, middle, top}
    assert tree.root == digest_of(top.encode())


def test_the_order_of_entries_does_not_matter_and_folders_need_none():
    entries = [Entry("a"), Entry("a/b"), Entry("a/b/c", EMPTY), Entry("z", target="/x")]
    assert build(entries) == build(reversed(entries)) == build(entries[2:])


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


def message_of(name: str, *, twice: bool = False) -> bytes:
    message = protocol.Directory()
    message.files.add(name=name, digest=as_message(EMPTY))
    if twice:
        message.symlinks.add(name=name, target="x")
    return message.SerializeToString()


@pytest.mark.parametrize(
    "data",
    [
        message_of(".."),
        message_of("."),
        message_of(""),
        message_of("a/b"),
        message_of("/etc/passwd"),
        message_of("a\0b"),
        message_of("a", twice=True),
        message_of("a")[:-1],
        protocol.Directory(files=[protocol.FileNode(name="a")]).SerializeToString(),
        protocol.Directory(
            files=[protocol.FileNode(name="a", digest=protocol.Digest(hash="../x"))]
        ).SerializeToString(),
        protocol.Directory(
            files=[
                protocol.FileNode(name="a", digest=protocol.Digest(hash="0" * 64, size_bytes=-1))
            ]
        ).SerializeToString(),
        b"\x08\x01\x0a\xff",  # longer than what follows
        b"\x0b",  # a group
        b"\x02\x00",  # a field without a number
        b"\x0a" + b"\xff" * 11,  # a size without an end
        b"\x08\x01",  # files as a number
        b"\x0a\x05" + b"\x0a\x03\xff\xfe\xfd",  # a name that is no UTF-8
    ],
)
def test_messages_that_hold_no_folder_are_refused(data: bytes):
    with pytest.raises(TreeError):
        Folder.decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_folder_or_refused(data: bytes):
    try:
        folder = Folder.decode(data)
    except TreeError:
        return
    assert Folder.decode(folder.encode()) == folder


@given(folders(), st.data())
def test_a_mutated_folder_is_a_folder_or_refused(folder: Folder, data: st.DataObject):
    message = bytearray(folder.encode())
    for _ in range(data.draw(st.integers(1, 3)) if message else 0):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TreeError):
        assert isinstance(Folder.decode(bytes(message)), Folder)
