"""All ecosystems, in the order in which they are listed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runtimes.packages.go import GO
from runtimes.packages.javascript import JAVASCRIPT
from runtimes.packages.model import Ecosystem, Tool
from runtimes.packages.python import PYTHON
from runtimes.packages.ruby import RUBY
from runtimes.packages.rust import RUST

ECOSYSTEMS: Final[tuple[Ecosystem, ...]] = (PYTHON, JAVASCRIPT, RUBY, GO, RUST)
BY_NAME: Final = {row.name: row for row in ECOSYSTEMS}
_OF_LANGUAGE: Final = {language: row for row in ECOSYSTEMS for language in row.languages}


def ecosystem_of(language: str) -> Ecosystem | None:
    """The ecosystem of a language by its row's name; None where it has none here."""
    return _OF_LANGUAGE.get(language)


def find_tool(tool: Tool) -> tuple[str, str] | None:
    """Where a tool lies on this machine, and the folder or file that holds all of it.

    It is looked for beside this interpreter, where an extra is, and on PATH.
    """
    beside = os.path.dirname(sys.executable)
    found = shutil.which(tool.name, path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if found is None:
        return None
    path = Path(os.path.realpath(found))
    return str(path), str(path.parents[tool.above - 1] if tool.above else path)


def find_tools() -> Iterator[str]:
    """What cells are shown of the tools that are here."""
    for row in ECOSYSTEMS:
        for tool in row.tools:
            if found := find_tool(tool):
                yield found[1]
