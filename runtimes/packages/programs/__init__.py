"""Programs that phases start in their cells, by the installed shell and interpreters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_FILE_IN_FILE: Final = re.compile(r"^@(\w+\.\w+)@(?=END$)", re.MULTILINE)


def read_program(name: str) -> str:
    """Read a program of this folder, for a row's script or for a cell.

    A line that begins with `@FILE@` before the END of a shell text is replaced by that file.
    """
    text = (Path(__file__).parent / name).read_text("utf-8")
    return _FILE_IN_FILE.sub(lambda found: read_program(found[1]), text)
