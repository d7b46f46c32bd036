"""Programs that phases start in their cells, by the shell and interpreters that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_FILE_IN_FILE: Final = re.compile(r"^@(\w+\.\w+)@(?=END$)", re.MULTILINE)


def read_program(name: str) -> str:
    """Read a program of this folder: for a row to have in its script, or to lie in a cell.

    Where a line begins with `@FILE@` before the END of a text of the shell's, that file's is put.
    """
    text = (Path(__file__).parent / name).read_text("utf-8")
    return _FILE_IN_FILE.sub(lambda found: read_program(found[1]), text)
