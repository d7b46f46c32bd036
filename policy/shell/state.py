"""The known state while a program is walked, and the place of the walk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from policy import marks
from policy.model import Span
from policy.paths import resolve
from policy.shell.syntax import ShellSyntaxError, Statement

if TYPE_CHECKING:
    from policy.shell.walk import Walker

ALTERNATIVES_MAX = 12  # values a variable may have at one point before it counts as unknown
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


class WorkBudget:
    """Counts work: statements visited plus words and texts expanded."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, amount: int = 1) -> None:
        """Count work; raises BudgetExceededError when the allowance is used up."""
        self.spent += amount
        if self.spent > self.limit:
            raise BudgetExceededError(f"it takes more than {self.limit} steps to follow")


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


RUN_DEPTH_MAX = 16  # programs that run programs, texts inside texts


class Frame(NamedTuple):
    """The place where the walk is.

    Attributes:
        span: where everything is placed inside text that is not the subject's own, such as the
            argument of `bash -c`; else None.
    """

    source: str
    span: Span | None = None
    nesting: tuple[str, ...] = ()
    is_syntactic: bool = True
    is_visible: bool = True  # True if stdout reaches the caller
    stdin: str | None = None  # what commands can read; None: the terminal, or unknown to matter
    depth: int = 0
    calls: tuple[str, ...] = ()
    text: str = ""
    is_captured: bool = False  # whether a variable holds stdout

    def at(self, span: Span, text: str) -> Frame:
        """Return the frame of a command in this one's text."""
        return Frame(
            self.source, span, self.nesting, self.is_syntactic, self.is_visible, self.stdin,
            self.depth, self.calls, text, self.is_captured,
        )  # fmt: skip

    def inside(self, what: str, span: Span | None = None, text: str | None = None) -> Frame:
        """Return the frame of a program or text that this one runs; too deep is an error."""
        if self.depth >= RUN_DEPTH_MAX:
            raise ShellSyntaxError(f"programs that run programs, {RUN_DEPTH_MAX} deep")
        return self._replace(
            span=span or self.span or (0, 0),
            nesting=(*self.nesting, what),
            depth=self.depth + 1,
            text=self.text if text is None else text,
        )


Screen = Callable[["Walker", str, str, ShellState, Frame], None]
