"""A version is read out of whatever a toolchain answers."""

from __future__ import annotations

import pytest

from runtimes.discovery import parse_version, version_argv
from runtimes.model import Candidate
from runtimes.registry import LANGUAGES


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("Python 3.11.2\n", "3.11.2"),
        ("v20.20.2", "20.20.2"),
        ("go version go1.19.8 linux/amd64", "1.19.8"),
        ("deno 2.9.6 (stable, release)\nv8 15.0.245.2-rusty", "2.9.6"),
        ("rustc 1.80.0-nightly (abc 2024-05-01)", "1.80.0-nightly"),
        ("command not found", None),
    ],
)
def test_the_first_dotted_number_is_the_version(answer, version):
    assert parse_version(answer) == version


@pytest.mark.parametrize("row", LANGUAGES, ids=lambda row: row.name)
def test_the_first_executable_is_asked(row):
    for toolchain in row.toolchains:
        paths = {role: f"/bin/{names[0]}" for role, names in toolchain.executables.items()}
        argv = version_argv(Candidate(row, toolchain, paths, paths, (), ()))
        assert argv == (next(iter(paths.values())), *toolchain.version)
