"""Scripts run by path: those that the program itself wrote, and those readable on disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from policy import marks
from policy.model import Command, Download, Effect, FileAccess, program_name
from policy.project_file import HiddenError
from policy.shell.options import interpreter
from policy.shell.state import ShellState

if TYPE_CHECKING:
    from policy.shell.state import Frame
    from policy.shell.walk import Walker

SCRIPTS_MAX = 32  # files on the disk that one evaluation reads
LOOKS_MAX = 256  # places on the disk where it looks for them


class Scripts:
    """Files on the disk; each is read once, and adds to the work that is allowed."""

    def __init__(self, read_text: Callable[[str], str | None], work_per_byte: int) -> None:
        self.read_text = read_text
        self.work_per_byte = work_per_byte
        self.seen = set[str]()
        self.hidden = set[str]()  # what programs may not read, so that no verdict shows it
        self.texts: dict[str, str | None] = {}
        self.found = 0

    def read(self, walker: Walker, path: str) -> str | None:
        """Return the text of a file, or the names in a folder whose path ends in a slash."""
        if path in self.texts:
            return self.texts[path]
        if not marks.is_known(path) or len(self.texts) >= LOOKS_MAX or self.found >= SCRIPTS_MAX:
            walker.is_partial = True
            return None
        text = self._read_text(path)
        if text is not None and path[-1:] != "/":
            self.found += 1
            walker.budget.limit += self.work_per_byte * len(text)
        self.texts[path] = None if text is None else marks.scrub(text)
        return self.texts[path]

    def _read_text(self, path: str) -> str | None:
        try:
            return self.read_text(path)
        except HiddenError:
            self.hidden.add(path)
            return None


def text_on_disk(walker: Walker, path: str, state: ShellState) -> str | None:
    """Return a script file's text; None if it may not be read or was run before."""
    scripts, path, text = walker.scripts, state.resolve(path), None
    if scripts is not None:
        if path in scripts.seen:
            return None
        scripts.seen.add(path)
        text = scripts.read(walker, path)
    walker.is_partial |= text is None
    return text


@contextmanager
def only_certain_effects(walker: Walker) -> Iterator[None]:
    """Count only certain effects of a file on the disk. It was written for its own purpose, so
    unknown parts are not suspicious."""
    before = dict(walker.effects)
    yield
    new = [_in_file(effect) for effect in walker.effects if effect not in before]
    certain = [effect for effect in new if _is_certain(effect)]
    walker.is_partial |= len(certain) < len(new)
    walker.effects = before | dict.fromkeys(certain)


def _in_file(effect: Effect) -> Effect:
    return effect._replace(in_file=True) if isinstance(effect, Command) else effect


def _is_certain(effect: Effect) -> bool:
    if isinstance(effect, Command):
        return marks.is_known(effect.argv[0])
    return isinstance(effect, Download) or (
        isinstance(effect, FileAccess) and marks.is_known(effect.path)
    )


def run_script_file(
    walker: Walker, path: str, parameters: tuple[str, ...], state: ShellState, frame: Frame
) -> None:
    """Run a shell script by path: its text if that is known, else only the reading of it."""
    walker.report_file(path, state, frame, is_write=False)
    run_script_text(walker, path, parameters, state, frame)


def run_script_text(
    walker: Walker, path: str, parameters: tuple[str, ...], state: ShellState, frame: Frame
) -> bool:
    """Run the text of a script, as made by this program or found on the disk; False without one."""
    text = state.files.get(state.resolve(path))
    is_made = text is not None
    if text is None:
        text = text_on_disk(walker, path, state)
    if text is None:
        return False
    state.parameters, state.name = parameters, path
    with nullcontext() if is_made else only_certain_effects(walker):
        run_with_shebang(walker, text, state, frame)
    return True


def run_with_shebang(walker: Walker, text: str, state: ShellState, frame: Frame) -> None:
    """Run a script in the language that its first line names, else as shell text."""
    shebang = re.match(r"#!\s*(\S+)(?:\s+(\S+))?", text)
    if shebang:
        word = shebang[2] if shebang[1].endswith("/env") and shebang[2] else shebang[1]
        if known := interpreter(program_name(word) or ""):
            walker.run_code(known["language"], text, state, frame)
            return
    walker.run_text(text, state, frame)
