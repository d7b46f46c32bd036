"""The known state while a program is walked, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from policy import marks
from policy.model import Download, Effect
from policy.paths import resolve
from policy.project_file import HiddenError
from policy.shell.syntax import Statement, Token

if TYPE_CHECKING:
    from policy.shell.walk import Walk

    ReadText = Callable[[str], str | None]

    Screen = Callable[[Walk, str, str], None]
    """Reports the effects of code in a language."""

ALTERNATIVES_MAX = 12  # values a variable may have at one point before it counts as unknown
WORK_PER_BYTE = 200
SCRIPTS_MAX = 32  # files on the disk that one evaluation reads
LOOKS_MAX = 256  # places on the disk where it looks for them
VALUE_MAX = 1 << 16  # characters of one value before it counts as unknown


class BudgetExceededError(Exception):
    """The work allowed for a text of this size is spent."""


class Variable(NamedTuple):
    """The values a variable may have; `items` instead, if it is an array."""

    values: tuple[str, ...]
    items: tuple[str, ...] | None = None
    is_exported: bool = False

    def merge(self, other: Variable) -> Variable:
        """Return what is known if either may hold."""
        if self == other:
            return self
        exported = self.is_exported or other.is_exported
        if self.items is not None or other.items is not None:
            return Variable((marks.LIST,), (marks.LIST,), exported)
        values = tuple(dict.fromkeys(self.values + other.values))
        is_known = len(values) <= ALTERNATIVES_MAX
        return Variable(values if is_known else (marks.LIST,), None, exported)


class Findings:
    """Findings about one program, shared by all walks through it: its effects, how much was
    understood, and the work that is left."""

    def __init__(
        self, program: str, limit: int, screen: Screen, read_text: ReadText | None
    ) -> None:
        self.program = program
        self.limit = limit
        self.spent = 0
        self.screen = screen
        self.read_text = read_text  # of files on the disk, if they may be read
        self.texts: dict[str, str | None] = {}  # of those that were looked for, each once
        self.read_count = 0
        self.seen = set[str]()  # those that were run
        self.hidden = set[str]()  # what programs may not read, so that no verdict shows it
        self.effects: dict[Effect, None] = {}
        self.is_partial = False  # something was guessed, or could not be read
        self.captured: list[Download] = []  # those whose answer a variable holds
        self.steps: set[object] = set()  # of project files, already followed
        self.built: dict[int, tuple[Statement, tuple[Token, ...]]] = {}
        # Calls already followed; the body is stored so that its identity stays its own.
        self.called: dict[object, tuple[str, ShellState, Statement]] = {}
        self.walk: Walk  # the innermost, for what ends the evaluation

    def spend(self, amount: int = 1) -> None:
        """Count work: statements visited plus words and texts expanded.

        Raises:
            BudgetExceededError: the allowance is used up.
        """
        self.spent += amount
        if self.spent > self.limit:
            raise BudgetExceededError(f"it takes more than {self.limit} steps to follow")

    def read(self, path: str) -> str | None:
        """Return the text of a file on the disk, or the names in a folder whose path ends in a
        slash. Each is read once, and adds to the work that is allowed."""
        if path in self.texts or self.read_text is None:
            return self.texts.get(path)
        is_too_many = len(self.texts) >= LOOKS_MAX or self.read_count >= SCRIPTS_MAX
        if is_too_many or not marks.is_known(path):
            self.is_partial = True
            return None
        text = None
        try:
            text = self.read_text(path)
        except HiddenError:
            self.hidden.add(path)
        if text is not None and path[-1:] != "/":
            self.read_count += 1
            self.limit += WORK_PER_BYTE * len(text)
        self.texts[path] = None if text is None else marks.scrub(text)
        return self.texts[path]


class ShellState:
    """The shell's state at one point of the walk; copied where a subshell begins."""

    __slots__ = (
        *("env", "home", "cwd", "variables", "functions", "aliases"),
        *("parameters", "name", "files", "links", "integers"),
    )

    def __init__(self, env: Mapping[str, str], home: str, cwd: str) -> None:
        self.env = env
        self.home = home
        self.cwd = cwd
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, tuple[Statement, str]] = {}
        self.aliases: dict[str, str] = {}  # also of `hash -p path name`
        self.parameters: tuple[str, ...] = ()
        self.name = "bash"  # $0
        self.files: dict[str, str] = {}  # contents this program wrote
        self.links: dict[str, str] = {}  # links and copies this program made
        self.integers: frozenset[str] = frozenset()  # names evaluated as numbers: `declare -i`

    def copy(self) -> ShellState:
        """Return an independent copy, for a subshell or one arm of a branch; files are shared."""
        twin = ShellState.__new__(ShellState)
        twin.env, twin.home, twin.cwd = self.env, self.home, self.cwd
        twin.variables = dict(self.variables)
        twin.functions = dict(self.functions)
        twin.aliases = dict(self.aliases)
        twin.parameters, twin.name = self.parameters, self.name
        twin.files, twin.links = self.files, self.links
        twin.integers = self.integers
        return twin

    def take(self, other: ShellState) -> None:
        """Become the other state; the positional parameters stay, they are the caller's."""
        self.variables, self.functions = dict(other.variables), dict(other.functions)
        self.aliases, self.cwd, self.integers = dict(other.aliases), other.cwd, other.integers

    def fingerprint(self) -> frozenset[object]:
        """Return a value that is equal for states in which the same commands do the same."""
        return frozenset((*self.variables.items(), self.cwd, *self.aliases.items()))

    def join(self, other: ShellState) -> None:
        """Merge the values that may hold after either of two ways to get here."""
        for name, theirs in other.variables.items():
            mine = self.variables.get(name)
            if mine is not theirs:
                self.variables[name] = _join(mine or self._inherit(name), theirs)
        for name, mine in self.variables.items():
            if name not in other.variables:
                self.variables[name] = _join(other._inherit(name), mine)
        self.functions = other.functions | self.functions
        self.aliases = other.aliases | self.aliases
        self.integers |= other.integers
        if self.cwd != other.cwd:
            self.cwd = marks.WORD
        if self.parameters != other.parameters:
            self.parameters = (marks.LIST,)

    def widen(self, before: Mapping[str, Variable]) -> None:
        """Make variables that still change after several passes unknown."""
        for name, variable in self.variables.items():
            if before.get(name) != variable:
                self.variables[name] = Variable((marks.LIST,), None, variable.is_exported)

    def lookup(self, name: str) -> Variable | None:
        """Return a variable, or the environment's; None if neither has the name."""
        return self.variables.get(name) or self._inherit(name)

    def _inherit(self, name: str) -> Variable | None:
        if name in self.env:
            return Variable((marks.scrub(self.env[name]),), None, True)
        return None

    def assign(
        self, name: str, values: tuple[str, ...], items: tuple[str, ...] | None = None
    ) -> None:
        """Give a variable its possible values."""
        if len(values) > ALTERNATIVES_MAX or any(len(value) > VALUE_MAX for value in values):
            values = (marks.LIST,)
        old = self.variables.get(name)
        exported = old.is_exported if old else name in self.env
        self.variables[name] = Variable(values, items, exported)

    def resolve(self, path: str) -> str:
        """Return a path seen from the current folder, through links that this program made."""
        return resolve(path, self.cwd, self.links)

    def export(self, name: str) -> None:
        """Mark a variable as part of what programs receive."""
        variable = self.lookup(name)
        if variable is not None:
            self.variables[name] = variable._replace(is_exported=True)


def _join(first: Variable | None, second: Variable) -> Variable:
    """Join two values; a name that may also be unset may be empty."""
    if first is None:
        return Variable(("", *second.values), second.items, second.is_exported)
    return first.merge(second)
