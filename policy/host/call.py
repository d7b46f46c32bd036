"""One call of a known function, with the verbs by which recipes describe its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from policy import marks
from policy.host.transforms import as_text, items
from policy.host.tree import CallArguments
from policy.model import program_name
from policy.shell.options import SHELLS

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.screen import Screening
    from policy.host.transforms import Value
    from policy.shell.walk import Walk

Argument = tuple[int | str, ...]  # a position, a name, or alternatives of both; `self` alone


def argument(spec: str) -> Argument:
    """Parse `0`, `-1`, `name`, or alternatives of them as in `0/args`."""
    return tuple(int(key) if key.lstrip("-").isdigit() else key for key in spec.split("/"))


FOLDER_ARGUMENTS = ("cwd", "chdir", "cd", "Dir", "WorkingDirectory", "current_dir", "dir",
                     "_cwd", "directory", "wd", "WithWorkingDirectory")  # fmt: skip
SETTERS = (*FOLDER_ARGUMENTS, "WithArguments", "setForce")  # by calls on a call's result
_INPUT_ARGUMENTS = ("input", "stdin_data", "stdin")


class HostCall(NamedTuple):
    """A call: the dotted name it calls, its node and arguments, and its screening."""

    screening: Screening
    name: str
    node: Node
    arguments: CallArguments
    is_each: bool = False  # made with every item of a list that is not written out

    # Texts of the program

    def target(self, argument: Argument) -> Node | None:
        """Return the node of an argument; `self` is the object of the method."""
        if argument != ("self",):
            return self.arguments.get(*argument)
        tree = self.screening.tree
        return tree.receiver(tree.role(self.node))

    def values(self, argument: Argument) -> list[Value]:
        """Return all values of an argument; none if it is not given."""
        target = self.target(argument)
        found = self.screening.folder.values(target) if target is not None else []
        return [item for v in found for item in items(v)] if self.is_each else found

    def texts(self, argument: Argument) -> list[str]:
        """Return all texts of an argument."""
        return [*map(as_text, self.values(argument))]

    def lists(self, argument: Argument) -> list[tuple[str, ...]]:
        """Return all lists that an argument may be."""
        target = self.target(argument)
        return self.screening.folder.lists(target) if target is not None else []

    def paths(self, argument: Argument) -> Iterator[str]:
        """Yield all paths of an argument, those of a list one by one; `~/` is the home folder."""
        home = self.screening.walk.state.home
        for value in self.values(argument):
            for path in (value,) if isinstance(value, str) else value:
                yield home + path[1:] if path.startswith("~/") else path

    # Effects

    def walk(self, command: str = "") -> Walk:
        """Return the walk of its effects, with the text that it passes on stdin, in another folder
        if the call names one."""
        named = self.arguments.named
        walk = self.screening.inside(self.node, self.name).apart()
        folder = self.screening.folder
        for key in FOLDER_ARGUMENTS:
            if key in named:
                path = folder.texts(named[key])[0]
                walk.state.cwd = path if path.startswith("/") else f"{walk.state.cwd}/{path}"
        source = next((named[key] for key in _INPUT_ARGUMENTS if key in named), None)
        if source is None:
            is_fed = program_name(command) in SHELLS  # it is started to write commands to it
            return walk._replace(stdin=marks.LIST) if is_fed else walk
        texts = folder.texts(source)
        return walk._replace(stdin=texts[0] if len(texts) == 1 else marks.LIST)

    def run(self, argv: Iterable[str]) -> None:
        """Start a program."""
        words = tuple(argv)
        walk = self.walk(words[0] if len(words) == 1 else "")
        if words and marks.is_only_hole(words[0]):
            walk.report_opaque("a program that is not known before it runs", words)
        if words:
            walk.command(words)

    def run_text(self, text: str) -> None:
        """Run shell text."""
        self.walk(text.strip()).run_text(text)

    def run_value(self, value: Value) -> None:
        """Run a text by a shell, a list as a command."""
        if isinstance(value, str):
            self.run_text(value)
        else:
            self.run(value)

    def run_code(self, language: str, text: str) -> None:
        """Run a program in a language."""
        if language == "shell":
            self.run_text(text)
        else:
            self.walk()._replace(state=self.screening.walk.state.copy()).run_code(language, text)

    def use_file(self, path: str, *, is_write: bool = False) -> None:
        """Read or write a file; a wholly unknown path is not reported."""
        if marks.is_only_hole(path):
            self.screening.walk.report_partial()
        else:
            self.screening.inside(self.node, self.name).report_file(path, is_write=is_write)

    def load(self, path: str) -> None:
        """Read a module that is named by its path."""
        if path.startswith((".", "/")):
            self.use_file(path)

    def apply(self, name: str, positional: list[Node], named: dict[str, Node]) -> None:
        """Apply another function as if it were called here."""
        for recipe in self.screening.tree.language.recipes(name):
            recipe(self._replace(name=name, arguments=CallArguments(positional, named)))


Act = Callable[..., None]  # of a call, with the tables' parameters
