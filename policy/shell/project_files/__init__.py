"""Targets of a project's files: what `npm run x`, `make x` and similar start by a name.

Each module knows files of one family. Its `steps_of` yields the steps of the target that a command
names, and of its dependencies. Other targets of the file do not count.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from base.globs import is_made_of
from base.wordlist import word_set
from policy import marks
from policy.paths import resolve
from policy.shell.call import ProgramCall
from policy.shell.file_texts import only_certain_effects, run_with_shebang
from policy.shell.options import by_name
from policy.shell.outputs import quote

_NAME_TARGETS = word_set("make gmake just task go-task nox inv invoke fab rake grunt gulp doit")
_NAME_SCRIPTS = word_set("npm pnpm yarn bun composer")
LEVELS_MAX = 12  # folders above the current one in which a file is looked for


class Runner(NamedTuple):
    """A runner's row: where the targets of its files are, and their names on its command line.

    Targets are tasks at `places` of a file of data, or else pieces of a program. `takes` is what
    names tasks: the first operand, after which all is passed on (`one`), or the tool's options may
    follow too (`loose`); every operand, with options between them (`all`) or not (`each`); no
    operand (`none`).

    Attributes:
        instead: the tasks that a word stands for without a verb.
    """

    files: str  # names of its file; empty: the targets are files
    places: str = ""  # each is a path of keys, or `*` and text to compute
    values: str = ""  # options with a value
    option: str = ""  # those of `values` that name a target
    default: str = ""  # the target if none is named: of tasks `*` all, `first` the first
    # Tasks
    verbs: str = ""  # before a task's name; `-` means that none may be
    takes: str = "one"
    before: str = ""  # put before each line
    stages: str = "{}"  # the tasks around one, which is `{}`
    instead: dict[str, str] = {}  # noqa: RUF012 - read, never written
    scripts: str = ""  # folders of tasks
    # Programs
    language: str = ""
    context: str = ""  # given to a target as its first parameter
    more: str = ""  # files that are read as well
    prefix: str = ""  # before a target's name
    commands: str = ""  # a pattern of what in a target is shell text, or commands in quotes
    are_words: bool = False  # whether the texts in quotes are the words of one command


def _row(fields: dict[str, Any]) -> Runner:
    """Build the row of a table's fields; words of `instead` with one meaning share a text."""
    return Runner(**fields | {"instead": by_name(fields.get("instead", {}))})


with open(os.path.join(os.path.dirname(__file__), "runners.json"), encoding="utf-8") as _file:
    RUNNERS = by_name({names: _row(fields) for names, fields in json.load(_file).items()})


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
        findings, state = self.call.walk.findings, self.call.state
        path = resolve(name, folder or self.folder, state.links)
        made = state.files.get(path)
        if made is not None and not marks.is_only_hole(made):
            self.is_made = True
            return made
        path = f"{path}/" if name[-1:] == "/" else path
        text = findings.read(path)
        if path in findings.hidden:
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
        if self.call.walk.findings.read_text is None and not self.call.state.files:
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
    project, steps_done = ProjectFiles(call), call.walk.findings.steps
    steps: list[TargetStep] = [step for step in module.steps_of(project) if step.text.strip()]
    is_script = call.name in _NAME_SCRIPTS and "run" in call.argv
    names_target = is_script or call.name in _NAME_TARGETS
    call.walk.report_partial(names_target and not steps)
    for step in steps:
        walk = call.inside(f"{call.name} target")
        state = walk.state
        state.cwd, state.parameters, state.functions, state.aliases = step.folder, (), {}, {}
        key = (step, state.fingerprint(), walk.stdin, walk.is_visible)
        if key in steps_done:
            continue
        steps_done.add(key)
        with nullcontext() if project.is_made else only_certain_effects(walk):
            if step.language == "shell":
                run_with_shebang(walk, step.text)
            else:
                walk.run_code(step.language, step.text)


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
