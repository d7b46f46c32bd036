"""Scripts run by path: the text of those that the program itself wrote is followed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policy.effects import program_name
from policy.paths import resolve
from policy.shell.interpreters import interpreter
from policy.shell.state import State

if TYPE_CHECKING:
    from policy.shell.frame import Frame
    from policy.shell.walk import Walker


def run_script_file(
    walker: Walker, path: str, parameters: tuple[str, ...], state: State, frame: Frame
) -> None:
    """Run a shell script by path: its text if this program made it, else only the reading of it."""
    walker.report_file(path, state, frame, is_write=False)
    text = state.files.get(resolve(path, state.cwd, state.links))
    if text is None:
        return
    shebang = re.match(r"#!\s*(\S+)(?:\s+(\S+))?", text)
    if shebang:
        name = program_name(
            shebang[2] if shebang[1].endswith("/env") and shebang[2] else shebang[1]
        )
        if known := interpreter(name or ""):
            walker.run_code(known.language, text, state, frame)
            return
    state.parameters, state.name = parameters, path
    walker.run_text(text, state, frame)
