"""Globs mean what a shell's do, and those that cannot mean a path are refused."""

from __future__ import annotations

import re

import pytest

from kb.ignoring import MOST_ALTERNATIVES, GlobError, compile_glob, fits

PATHS = ("a.py", "b.ts", "c.tsx", "docs/d.md", "docs/deep/e.md", "src/f.py", "src/[x].py", "src")


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", {"a.py", "src/f.py", "src/[x].py"}),
        ("./*.py", {"a.py", "src/f.py", "src/[x].py"}),
        ("**/*.py", {"a.py", "src/f.py", "src/[x].py"}),
        ("src/**/*.py", {"src/f.py", "src/[x].py"}),
        ("docs/**/*.md", {"docs/d.md", "docs/deep/e.md"}),
        ("docs/**", {"docs/d.md", "docs/deep/e.md"}),
        ("docs/", {"docs/d.md", "docs/deep/e.md"}),
        ("src/", {"src", "src/f.py", "src/[x].py"}),
        ("docs/*/*.md", {"docs/deep/e.md"}),
        ("*.{ts,tsx}", {"b.ts", "c.tsx"}),
        ("{a,{b,c}}.{py,ts}", {"a.py", "b.ts"}),
        ("{docs/deep,src}/*", {"docs/deep/e.md", "src/f.py", "src/[x].py"}),
        ("[a-b].*", {"a.py", "b.ts"}),
        ("[!a]?py", {"src/f.py"}),
        ("src/[[]x].py", {"src/[x].py"}),
        ("?.ts", {"b.ts"}),
        ("nothing", set()),
    ],
)
def test_a_glob_fits(glob: str, expected: set[str]) -> None:
    assert {path for path in PATHS if fits(glob, path)} == expected


@pytest.mark.parametrize(
    ("glob", "advice"),
    [
        ("[*.py", "write [[]"),
        ("src/[", "write [[]"),
        ("[]", "write [[]"),
        ("*.{py,md", "write [{]"),
        ("[z-a].py", "write a-z"),
        ("", "write * for every file"),
        ("  ", "write * for every file"),
        ("{}", "write * for every file"),
        ("./", "write * for every file"),
        ("/home/me/*.py", "write it relative"),
        ("../*.py", "index that folder instead"),
        ("!*.py", "as exclude"),
        ("{a,b,c}" * 8, "give several"),
        ("**/" * 12 + "x", "give several"),
    ],
)
def test_a_glob_that_means_no_path_is_refused_with_what_to_write(glob: str, advice: str) -> None:
    with pytest.raises(GlobError, match=re.escape(advice)) as raised:
        compile_glob(glob)
    assert repr(glob) in str(raised.value)


def test_many_stars_are_matched_without_trying_every_way() -> None:
    assert not fits("*a" * 60 + "b", "a" * 2000)


def test_alternatives_up_to_the_bound_are_taken() -> None:
    names = ",".join(f"n{n}" for n in range(MOST_ALTERNATIVES))
    assert fits(f"{{{names}}}", f"n{MOST_ALTERNATIVES - 1}")
