"""What a worker handed back is taken only as far as it can lie where it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("buildgrid.common", reason="not applicable: the extra `cluster` is not there")

from buildgrid.common.protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as rex,
)

from fleet.dispatcher import Placement
from fleet.engines.handed_back import OutcomeError, plain_path
from fleet.engines.handing_in import SMALL_BYTES
from fleet.engines.reapi.messages import (
    DEPTH_MAX,
    FILES_MAX,
    action_of,
    cause_of,
    command_of,
    files_of,
    order_in,
    to_wire,
)
from fleet.model import Cause
from fleet.tree import digest_of

EMPTY = digest_of(b"")
PLACEMENT = Placement(
    run_id="run-1234",
    owner="alice",
    order=EMPTY,
    command=("context-mode", "worker"),
    root=EMPTY,
    outputs=("stdout", "artifacts"),
    properties=(("tier", "A"), ("context-mode", "1")),
    timeout_s=1.5,
    own={},
)


def chain(depth: int) -> rex.Tree:
    """A folder with a file, below `depth` folders, each alone in the one above it."""
    folder = rex.Directory(files=[rex.FileNode(name="file", digest=to_wire(EMPTY))])
    children = []
    for _ in range(depth):
        children.append(folder)
        digest = to_wire(digest_of(folder.SerializeToString()))
        folder = rex.Directory(directories=[rex.DirectoryNode(name="in", digest=digest)])
    return rex.Tree(root=folder, children=children)


def names(*given: str) -> rex.Tree:
    files = [rex.FileNode(name=name, digest=to_wire(EMPTY)) for name in given]
    return rex.Tree(root=rex.Directory(files=files))


def test_files_are_found_by_their_paths():
    assert dict(files_of("out", chain(2))) == {"out/in/in/file": EMPTY}
    assert dict(files_of("out", names("a", "b"))) == {"out/a": EMPTY, "out/b": EMPTY}
    assert dict(files_of("out", rex.Tree())) == {}


def test_links_are_passed_over():
    link = rex.SymlinkNode(name="link", target="/etc/passwd")
    assert dict(files_of("out", rex.Tree(root=rex.Directory(symlinks=[link])))) == {}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (names(".."), "no name of an entry"),
        (names("a/b"), "no name of an entry"),
        (names(""), "no name of an entry"),
        (names("a\0"), "no name of an entry"),
        (names("a", "a"), "stands twice"),
        (chain(DEPTH_MAX), "folders deep"),
        (names(*map(str, range(FILES_MAX + 1))), "entries"),
        (rex.Tree(root=chain(1).root), "a folder is missing"),
        (rex.Tree(root=rex.Directory(files=[rex.FileNode(name="a")])), "no digest"),
    ],
    ids=["up", "slash", "empty", "nul", "twice", "deep", "many", "missing", "no digest"],
)
def test_a_tree_that_can_not_be_laid_out_is_refused(tree, message):
    with pytest.raises(OutcomeError, match=message):
        dict(files_of("out", tree))


def test_a_small_tree_that_unfolds_to_a_vast_one_is_refused():
    folder, children = rex.Directory(), []
    for _ in range(20):  # twice the one below it: 2 ** 20 in all
        children.append(folder)
        digest = to_wire(digest_of(folder.SerializeToString()))
        below = [rex.DirectoryNode(name=name, digest=digest) for name in "ab"]
        folder = rex.Directory(directories=below)
    with pytest.raises(OutcomeError, match="entries"):
        dict(files_of("out", rex.Tree(root=folder, children=children)))


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/..", "./a", "a\0"])
def test_a_path_that_leads_elsewhere_is_refused(path):
    with pytest.raises(OutcomeError):
        plain_path(path)


def test_equal_placements_have_equal_actions_and_each_run_its_own():
    turned = tuple(reversed(PLACEMENT.properties))
    assert action_of(replace(PLACEMENT, properties=turned), EMPTY) == action_of(PLACEMENT, EMPTY)
    assert action_of(replace(PLACEMENT, owner="bob"), EMPTY) == action_of(PLACEMENT, EMPTY)
    assert action_of(replace(PLACEMENT, run_id="run-2"), EMPTY) != action_of(PLACEMENT, EMPTY)
    action = rex.Action.FromString(action_of(PLACEMENT, EMPTY))
    assert action.timeout.ToMilliseconds() == 1500
    assert order_in(action) == PLACEMENT.order
    command = rex.Command.FromString(command_of(PLACEMENT))
    assert list(command.output_paths) == ["artifacts", "stdout"]
    assert [pair.name for pair in command.platform.properties] == ["context-mode", "tier"]


@pytest.mark.parametrize(
    "salt", [b"", b"run-1234", b"run-1234 xyz 3", b"run-1234 " + b"a" * 64 + b" -3", b"\xff \xff 1"]
)
def test_a_salt_that_names_no_order_names_none(salt):
    assert order_in(rex.Action(salt=salt)) is None


def test_a_large_order_is_not_named():
    large = digest_of(bytes(SMALL_BYTES + 1))
    action = rex.Action.FromString(action_of(replace(PLACEMENT, order=large), EMPTY))
    assert (action.salt, order_in(action)) == (b"run-1234", None)


@pytest.mark.parametrize(
    ("code", "cause"),
    [(1, Cause.CANCELLED), (9, Cause.BLOB), (14, Cause.ENGINE), (4, Cause.WORKER),
     (10, Cause.WORKER), (99, Cause.WORKER)],
)  # fmt: skip
def test_a_status_tells_who_lost_the_order(code, cause):
    assert cause_of(code) is cause
