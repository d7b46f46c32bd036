"""Targets of a project's files: what `npm run x`, `make x` and similar start by a name.

Each module knows files of one family. Its `steps_of` yields the steps of the target that a command
names, and of its dependencies. Other targets of the file do not count.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from base.globs import is_made_of
from base.wordlist import word_set
from policy import marks
from policy.paths import resolve
from policy.shell.call import ProgramCall
from policy.shell.outputs import quote
from policy.shell.script_files import only_certain_effects, run_with_shebang

_NAME_TARGETS = word_set("make gmake just task go-task nox inv invoke fab rake grunt gulp doit")
_NAME_SCRIPTS = word_set("npm pnpm yarn bun composer")
LEVELS_MAX = 12  # folders above the current one in which a file is looked for


class TargetStep(NamedTuple):
    """Text that a target runs in a folder: shell text, or a program in another language."""

    text: str
    folder: str
    language: str = "shell"


class ProjectFiles:
    """The files that a runner finds: those that this program made, else those on the disk."""

    def __init__(self, call: ProgramCall) -> None:
        self.call = call
        self.folder = call.state.cwd
        self.is_made = False  # True if this program wrote one of the files

    def read(self, name: str, folder: str = "") -> str:
        """Return a file's text, or the names in a folder (`name/`); empty if unreadable."""
        walker, state = self.call.walker, self.call.state
        path = resolve(name, folder or self.folder, state.links)
        made = state.files.get(path)
        if made is not None and not marks.is_only_hole(made):
            self.is_made = True
            return made
        path = f"{path}/" if name[-1:] == "/" else path
        if walker.scripts is None:
            return ""
        text = walker.scripts.read(walker, path)
        if path in walker.scripts.hidden:
            self.call.report_files(path)  # the runner would read it, which a rule may deny
        return text or ""

    def paths(self, patterns: str, folder: str = "") -> Iterator[str]:
        """Yield the paths that patterns stand for, with names in which `*` is any text."""
        for pattern in patterns.split():
            found = [resolve(folder or ".", self.folder)]
            for part in pattern.removeprefix("./").rstrip("/").split("/"):
                if "*" not in part:
                    found = [resolve(part or "/", at) for at in found]
                    continue
                names = [(at, name) for at in found for name in self.read(f"{at}/").split("\n")]
                found = [f"{at}/{name}" for at, name in names if is_made_of(part.split("*"), name)]
            yield from found

    def find(self, names: str, folder: str = "", *, is_upwards: bool = True) -> tuple[str, str]:
        """Find the folder and text of the first file of these names, here or above."""
        if self.call.walker.scripts is None and not self.call.state.files:
            return "", ""
        folder = resolve(folder or ".", self.folder)
        for _ in range(LEVELS_MAX if is_upwards and folder else 1):
            for name in names.split():
                if text := self.read(name, folder):
                    return resolve(f"{name}/..", folder), text
            folder = folder.rpartition("/")[0] or "/"
        return "", ""

    def report_read(self, path: str, folder: str = "") -> None:
        """Report that a runner reads a file that its own file names."""
        self.call.report_files(resolve(path, folder or self.folder))


def run_targets(call: ProgramCall, where: str) -> None:
    """Run the targets that a command names; unknown parts of a file are not suspicious."""
    module = importlib.import_module(f"policy.shell.project_files.{where}")
    project, walker = ProjectFiles(call), call.walker
    steps: list[TargetStep] = [step for step in module.steps_of(project) if step.text.strip()]
    is_script = call.name in _NAME_SCRIPTS and "run" in call.argv
    names_target = is_script or call.name in _NAME_TARGETS
    walker.is_partial |= names_target and not steps
    for step in steps:
        state = call.state.copy()
        state.cwd, state.parameters, state.functions, state.aliases = step.folder, (), {}, {}
        key = (step, state.fingerprint(), call.frame.stdin, call.frame.is_visible)
        if key in walker.steps:
            continue
        walker.steps.add(key)
        frame = call.inside(f"{call.name} target")
        with nullcontext() if project.is_made else only_certain_effects(walker):
            if step.language == "shell":
                run_with_shebang(walker, step.text, state, frame)
            else:
                walker.run_code(step.language, step.text, state, frame)


def command_line(words: Iterable[str]) -> str:
    """Join words to one command line."""
    return " ".join(map(quote, words))


def texts(value: object, kind: type = str) -> Iterator[Any]:
    """Yield the texts, or values of a kind, in a value of a file: itself, or those of a list."""
    items = value if isinstance(value, list) else [value]
    return (item for item in items if isinstance(item, kind))


def table(value: Any, *keys: str) -> dict[str, Any]:  # noqa: ANN401 - a file holds anything
    """Return the table at a place inside another; empty if it is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
