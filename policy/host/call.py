"""One call of a known function, with the verbs by which recipes describe its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from policy import marks
from policy.host.transforms import as_text, items
from policy.host.tree import RoleTree, key_of, text_of
from policy.model import program_name
from policy.shell.options import SHELLS

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.screen import Screening
    from policy.host.transforms import Value
    from policy.shell.state import Frame, ShellState

Argument = tuple[int | str, ...]  # a position, a name, or alternatives of both; `self` alone


def argument(spec: str) -> Argument:
    """Parse `0`, `-1`, `name`, or alternatives of them as in `0/args`."""
    return tuple(int(key) if key.lstrip("-").isdigit() else key for key in spec.split("/"))


class CallArguments(NamedTuple):
    """The arguments of one call: by position, and by name."""

    positional: list[Node]
    named: dict[str, Node]

    def get(self, *keys: int | str) -> Node | None:
        """Return the first given argument of these positions or names."""
        for key in keys:
            if isinstance(key, str):
                if key in self.named:
                    return self.named[key]
            elif -len(self.positional) <= key < len(self.positional):
                return self.positional[key]
        return None


class ArgumentReader:
    """Reader of the arguments of calls, including one given by a pipe operator."""

    def __init__(self, tree: RoleTree) -> None:
        self.tree = tree
        self.piped: dict[int, Node] = {}
        for _, role in tree.of("pipe"):
            call, value = role.part("call"), role.part("value")
            if call is not None and value is not None:
                self.piped[call.id] = value

    def children(self, node: Node) -> list[Node]:
        """Return the elements of an argument list or a literal, without comments and separators."""
        skipped = ("comment", "comma", "line_comment", "block_comment")
        return [child for child in node.named_children if child.type not in skipped]

    def arguments(self, call: Node) -> CallArguments:
        """Return the arguments of a call; options in a map are named arguments, too."""
        positional: list[Node] = [self.piped[call.id]] if call.id in self.piped else []
        named: dict[str, Node] = {}
        for group in self.tree.role(call).parts.get("arguments", ()):
            is_group = self.tree.role(group).name == "arguments"
            for argument in self.children(group) if is_group else [group]:
                self._add_argument(argument, positional, named)
        return CallArguments(positional, named)

    def _add_argument(self, node: Node, positional: list[Node], named: dict[str, Node]) -> None:
        role = self.tree.role(node)
        value = role.part("value")
        if role.name == "pair" and value is not None:
            named[key_of(role)] = value
        elif role.name == "wrap" and value is not None:
            self._add_argument(value, positional, named)
        elif role.name not in ("pair", "wrap"):
            if role.name in ("map", "keywords", "list"):
                for child in self.children(node):
                    self._add_argument_of_map(child, named)
            if role.name != "keywords":
                positional.append(node)

    def _add_argument_of_map(self, node: Node, named: dict[str, Node]) -> None:
        role = self.tree.role(node)
        if role.name in ("pair", "keywords"):
            self._add_argument(node, [], named)
        elif role.name == "identifier":
            named[text_of(node)] = node  # the shorthand {args}


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
        home = self.screening.state.home
        for value in self.values(argument):
            for path in (value,) if isinstance(value, str) else value:
                yield home + path[1:] if path.startswith("~/") else path

    # Effects

    def frame(self, command: str = "") -> Frame:
        """Return the frame of its effects, with the text that it passes on stdin."""
        named = self.arguments.named
        frame = self.screening.inside(self.node, self.name)
        source = next((named[key] for key in _INPUT_ARGUMENTS if key in named), None)
        if source is None:
            is_fed = program_name(command) in SHELLS  # it is started to write commands to it
            return frame._replace(stdin=marks.LIST) if is_fed else frame
        texts = self.screening.folder.texts(source)
        return frame._replace(stdin=texts[0] if len(texts) == 1 else marks.LIST)

    def state(self) -> ShellState:
        """Return the state a started program sees: another folder if the call names one."""
        state = self.screening.state.copy()
        for key in FOLDER_ARGUMENTS:
            if key in self.arguments.named:
                folder = self.screening.folder.texts(self.arguments.named[key])[0]
                state.cwd = folder if folder.startswith("/") else f"{state.cwd}/{folder}"
        return state

    def run(self, argv: Iterable[str]) -> None:
        """Start a program."""
        words = tuple(argv)
        frame = self.frame(words[0] if len(words) == 1 else "")
        walker = self.screening.walker
        if words and marks.is_only_hole(words[0]):
            walker.report_opaque("a program that is not known before it runs", words, frame)
        if words:
            walker.command(words, self.state(), frame)

    def run_text(self, text: str) -> None:
        """Run shell text."""
        self.screening.walker.run_text(text, self.state(), self.frame(text.strip()))

    def run_value(self, value: Value) -> None:
        """Run a text by a shell, a list as a command."""
        if isinstance(value, str):
            self.run_text(value)
        else:
            self.run(value)

    def run_code(self, language: str, text: str) -> None:
        """Run a program in a language."""
        state = self.screening.state.copy()
        if language == "shell":
            self.run_text(text)
        else:
            self.screening.walker.run_code(language, text, state, self.frame())

    def use_file(self, path: str, *, is_write: bool = False) -> None:
        """Read or write a file; a wholly unknown path is not reported."""
        if marks.is_only_hole(path):
            self.screening.walker.is_partial = True
        else:
            frame = self.screening.inside(self.node, self.name)
            self.screening.walker.report_file(path, self.screening.state, frame, is_write=is_write)

    def load(self, path: str) -> None:
        """Read a module that is named by its path."""
        if path.startswith((".", "/")):
            self.use_file(path)

    def apply(self, name: str, positional: list[Node], named: dict[str, Node]) -> None:
        """Apply another function as if it were called here."""
        for recipe in self.screening.tree.language.recipes(name):
            recipe(self._replace(name=name, arguments=CallArguments(positional, named)))


Act = Callable[..., None]  # of a call, with the tables' parameters
