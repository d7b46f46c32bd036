"""Whatever paths are called, each can be read again from the lines that name folders once."""

from __future__ import annotations

import random

import pytest

from benchmarks.snapshot import read_paths
from memory.sessions.path_lines import FOLDER_BYTES_MIN, weigh_paths, write_paths

PATHS, PATHS_LONG = 1500, 60_000
PARTS = ("a", "src", "app", "b.py", "日本", " ", "a b", ":", "x:", '"', '"q"', "*", "a*", "", "..")
PARTS_ODD = ("\n", "a\nFiles (* edited):", "\u2028", "\u202e", "\t", "\\", "-", "! x", "Git: x")


def read_all(lines):
    return [path for line in lines for path in read_paths(line)]


def make_path(chance):
    parts = chance.choices(PARTS + PARTS_ODD if chance.random() < 0.5 else PARTS[:4], k=4)
    return "/" * (chance.random() < 0.3) + "/".join(parts[: chance.randrange(1, 5)])


def test_every_path_can_be_read_again(is_long):
    chance = random.Random(7)
    grouped = 0
    for _ in range(PATHS_LONG if is_long else PATHS):
        paths = list(filter(None, dict.fromkeys(make_path(chance) for _ in range(12))))
        edited = set(chance.sample(paths, len(paths) // 2))
        lines = write_paths(paths, edited)
        assert sorted(read_all(lines)) == sorted(paths)
        assert lines == write_paths(list(paths), set(edited))
        assert all(line.isprintable() and not line.startswith(("Git: ", "Files")) for line in lines)
        assert sum(len(line.encode()) + 1 for line in lines) <= sum(
            len(line.encode()) + 1 for path in paths for line in write_paths([path], edited)
        )
        grouped += len(lines) < len(paths)
    assert grouped > 100  # the positive control: many share a folder


TOLD = {
    "one folder": (["src/app/a.py", "src/app/b.py"], ["src/app/: a.py* b.py"]),
    "a folder within": (["src/app/a.py", "src/app/v/b.py"], ["src/app/: a.py* v/b.py"]),
    "alone": (["README.md", "src/a.py"], ["README.md*", "src/a.py"]),
    "too short a folder": (["/a", "/b", "/c", "/d", "/e"], ["/a*", "/b", "/c", "/d", "/e"]),
    "outside": (["/usr/lib/x/a.h", "/usr/lib/x/b.h"], ["/usr/lib/x/: a.h* b.h"]),
    "the order of the first": (
        ["docs/a/b.md", "src/app/a.py", "docs/a/c.md", "src/app/b.py"],
        ["docs/a/: b.md* c.md", "src/app/: a.py b.py"],
    ),
    "a space": (
        ["my folder/a b.py", "my folder/c.py"],
        ['"my folder/a b.py"*', '"my folder/c.py"'],
    ),
    "a line": (["src/a\nb.py"], ['"src/a\\nb.py"*']),
    "a mark": (["src/a*", "src/b:"], ['"src/a*"*', '"src/b:"']),
    "one that is in the other": (["a/b/c", "a/b/c/d"], ["a/b/: c* c/d"]),
    "twice": (["src/a.py", "src/a.py"], ["src/a.py*"]),
    "none": ([], []),
}


@pytest.mark.parametrize("what", TOLD)
def test_paths_are_written_so(what):
    paths, lines = TOLD[what]
    assert write_paths(paths, paths[:1]) == lines


LARGE = {
    "a path of many folders": ["d/" * 190 + str(n) for n in range(99)],
    "a chain of folders": ["a/" * n + "x" for n in range(190)],
    "a path that is too long to be grouped": ["long/" * 20_000 + str(n) for n in range(3)],
    "thousands of folders": [f"packages/area{n}/index.ts" for n in range(3000)],
}


@pytest.mark.parametrize("what", LARGE)
def test_what_is_large_is_told_whole(what):
    paths = LARGE[what]
    assert sorted(read_all(write_paths(paths, ()))) == sorted(paths)
    assert all(weight > 0 for weight in weigh_paths(paths).values())


def test_those_in_a_folder_share_its_bytes():
    weights = weigh_paths(["packages/core/a.py", "packages/core/b.py", "elsewhere/other/c.py"])
    assert weights["packages/core/a.py"] == len("packages/core/") / 2 + len("a.py")
    assert weights["elsewhere/other/c.py"] == len("elsewhere/other/c.py")


def test_a_folder_is_named_from_a_length_on():
    folder = "f" * (FOLDER_BYTES_MIN - 1) + "/"
    many = [f"{folder}{n}" for n in range(9)]
    assert write_paths(many, ()) == [f"{folder}: " + " ".join("012345678")]
    assert len(write_paths([path[1:] for path in many], ())) == 9
