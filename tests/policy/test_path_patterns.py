"""Path rules: gitignore patterns, the folder itself, and paths that are partly unknown."""

from __future__ import annotations

import pytest

from policy import marks
from policy.path_patterns import match_path


@pytest.mark.parametrize(
    ("spec", "anchor", "path", "expected"),
    [
        (".env", None, "/a/b/.env", True),
        (".env", None, "/.env", True),
        (".env", None, "/a/.env.example", False),
        (".env", None, "/a/x.env", False),
        ("*.pem", None, "/a/k.pem", True),
        ("/.ssh/**", "/home/u", "/home/u/.ssh/id", True),
        ("/.ssh/**", "/home/u", "/home/u/.ssh", True),
        ("/.ssh/**", "/home/u", "/home/u/.sshx", False),
        ("/.ssh/**", "/home/u", "/w/.ssh/id", False),
        ("/src/*.py", "/w", "/w/src/a.py", True),
        ("/src/*.py", "/w", "/w/src/d/a.py", False),
        ("/src/**/*.py", "/w", "/w/src/d/e/a.py", True),
        ("secret", "/w", "/w/d/secret", True),
        ("secret", "/w", "/x/secret", False),
        ("**", "/w", "/w/x", True),
    ],
)
def test_known_paths_match_as_gitignore_does(
    spec: str, anchor: str | None, path: str, expected: bool
) -> None:
    assert match_path(spec, anchor, path) is expected


@pytest.mark.parametrize(
    ("spec", "anchor", "path", "expected"),
    [
        (".env", None, f"{marks.WORD}/.env", True),
        (".env", None, f"/w/{marks.WORD}", False),
        (".env", None, f"/w/.e{marks.WORD}", True),
        (".env", None, f"/w/.env.{marks.WORD}", False),
        (".env", None, f"/w/{marks.GLOB_STAR}", False),
        (".env", None, f"/w/.{marks.GLOB_STAR}", True),
        (".env", None, f"/w/.e{marks.GLOB_ONE}v", True),
        ("*.pem", None, f"/w/{marks.GLOB_STAR}.pem", True),
        ("*.pem", None, f"/w/{marks.GLOB_STAR}.py", False),
        ("/.ssh/**", "/home/u", f"/home/u/.ssh/{marks.WORD}", True),
        ("/.ssh/**", "/home/u", f"{marks.WORD}/.ssh/id", True),
        ("/.ssh/**", "/home/u", f"{marks.WORD}/config.json", False),
        ("/.ssh/**", "/home/u", f"/home/{marks.GLOB_STAR}/.ssh/id", True),
        ("/.ssh/**", "/home/u", f"/w/{marks.WORD}", False),
    ],
)
def test_partly_known_paths_match_where_the_known_part_points(
    spec: str, anchor: str | None, path: str, expected: bool
) -> None:
    assert match_path(spec, anchor, path) is expected
