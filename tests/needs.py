"""Languages and programs that a test needs. Where this machine lacks one, the test skips.

With CTXMODE_REQUIRE_ALL=1 such a skip is a failure. What is there and does not work is one always.
"""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

import pytest

import runtimes
from runtimes.packages.registry import ECOSYSTEMS
from runtimes.packages.tools import find_tool

_PATH = os.environ.get("PATH", os.defpath)  # this machine's, whatever a test makes of it
_LANGUAGES = {row.name: row for row in runtimes.LANGUAGES}


@cache
def absent(*names: str) -> str:
    """Say what this machine lacks of some languages and programs, or nothing."""
    lacking = [name for name in names if not _is_here(name)]
    return f"this machine has no {', no '.join(lacking)}" if lacking else ""


def need(*names: str) -> None:
    """Skip a test that needs what this machine lacks."""
    if lacking := absent(*names):
        pytest.skip(lacking)


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark a test, a row or a file that needs languages and programs."""
    return pytest.mark.skipif(bool(absent(*names)), reason=absent(*names))


def need_packages(ecosystem: str) -> None:
    """Skip a test that needs a language, and the programs that lock and fetch its packages."""
    need(ecosystem)
    (row,) = (row for row in ECOSYSTEMS if row.name == ecosystem)
    need(*(tool.name for tool in row.tools if not tool.folders and find_tool(tool) is None))
    first = _discover(ecosystem)[0][0]  # by which programs are run
    folder = os.path.dirname(os.path.realpath(first.path))
    for tool in row.beside:
        if shutil.which(tool.name, path=folder) is None:
            pytest.skip(f"this machine has no {tool.name} beside {ecosystem}")


@cache
def _discover(language: str) -> runtimes.Discovery:
    return runtimes.discover(_LANGUAGES[language], _PATH.split(os.pathsep), None, Path.home())


def _is_here(name: str) -> bool:
    if name in _LANGUAGES:
        return bool(_discover(name)[0])
    return shutil.which(name, path=f"{_PATH}:/usr/sbin:/sbin") is not None
