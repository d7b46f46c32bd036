"""Targets of a project's files: what `npm run x`, `make x` and their kin start by a name.

Each module knows files of one family. Its READERS give the steps of the target that a command
asks for, and of what that depends on; other targets of the file say nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import NamedTuple

from policy import marks
from policy.paths import resolve
from policy.shell.call import Call
from policy.shell.outputs import quoted
from policy.shell.script_files import only_what_is_certain, run_with_shebang
from policy.shell.state import State

LEVELS_MAX = 12  # folders above the current one in which a file is looked for


class Step(NamedTuple):
    """Text that a target runs in a folder: shell text, or a program in another language."""

    text: str
    folder: str
    language: str = "shell"


class Project:
    """The files that a runner finds: those that this program made, else those on the disk."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.folder = call.state.cwd
        self.is_made = False  # whether this program wrote one of the files

    def at(self, folder: str) -> str:
        """The path of a folder, seen from the current one."""
        return resolve(folder, self.folder, self.call.state.links)

    def read(self, name: str, folder: str = "") -> str:
        """The text of a file, seen from a folder; empty where none can be read."""
        walker, state = self.call.walker, self.call.state
        path = resolve(name, folder or self.folder, state.links)
        made = state.files.get(path)
        if made is not None and not marks.is_only_hole(made):
            self.is_made = True
            return made
        return (walker.scripts and walker.scripts.read(walker, path)) or ""

    def find(self, names: str, folder: str = "", *, is_upwards: bool = True) -> tuple[str, str]:
        """The folder and the text of the first file of these names, here or above; or empty."""
        folder = resolve(folder or ".", self.folder)
        for _ in range(LEVELS_MAX if is_upwards else 1):
            for name in names.split():
                if text := self.read(name, folder):
                    return resolve(f"{name}/..", folder), text
            if folder in ("", "/"):
                break
            folder = folder.rpartition("/")[0] or "/"
        return "", ""

    def names(self, folder: str) -> list[str]:
        """The names of what lies in a folder."""
        walker, path = self.call.walker, resolve(folder, self.folder).rstrip("/")
        listed = (walker.scripts and walker.scripts.read(walker, f"{path}/")) or ""
        made = [name[len(path) + 1 :] for name in self.call.state.files if name.startswith(path)]
        return [*listed.split("\n"), *(name for name in made if name and "/" not in name)]


Reader = Callable[[Project], Iterable[Step]]


def run_targets(call: Call, where: str) -> None:
    """Run what the targets do that a command asks for; what is unknown in a file is no sign."""
    readers = importlib.import_module(f"policy.shell.project_files.{where}").READERS
    project = Project(call)
    for step in readers["python" if call.name not in readers else call.name](project):
        state = _fresh_state(call.state, step.folder)
        key = (step, state.fingerprint(), call.frame.stdin, call.frame.is_visible)
        if not step.text.strip() or key in call.walker.steps:
            continue
        call.walker.steps.add(key)
        with nullcontext() if project.is_made else only_what_is_certain(call.walker):
            if step.language == "shell":
                run_with_shebang(call.walker, step.text, state, call.inside(f"{call.name} target"))
            else:
                call.walker.run_code(step.language, step.text, state, call.inside())


def _fresh_state(state: State, folder: str) -> State:
    """What a program started in a folder sees."""
    state = state.copy()
    state.cwd, state.parameters, state.functions, state.aliases = folder, (), {}, {}
    return state


def joined(words: Iterable[str]) -> str:
    """Words as one command line."""
    return " ".join(map(quoted, words))


def texts(value: object) -> Iterator[str]:
    """The texts in a value of a file: itself, or those of a list."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item


def table(value: object, *keys: str) -> dict[str, object]:
    """The table at a place inside another; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
