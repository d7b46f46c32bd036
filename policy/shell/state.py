"""What is known while a program is walked: variables, functions, the folder it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policy import marks
from policy.shell.syntax import Statement

ALTERNATIVES_MAX = 12  # values a variable may have at one point before it counts as unknown
VALUE_MAX = 1 << 16  # characters of one value before it counts as unknown


class BudgetExceededError(Exception):
    """The work allowed for a text of this size is spent."""


class Variable(NamedTuple):
    """Every value a variable may have; `items` instead, when it is an array."""

    values: tuple[str, ...]
    items: tuple[str, ...] | None = None
    is_exported: bool = False

    def joined(self, other: Variable) -> Variable:
        """What is known when either may hold."""
        if self == other:
            return self
        exported = self.is_exported or other.is_exported
        if self.items is not None or other.items is not None:
            return Variable((marks.LIST,), (marks.LIST,), exported)
        values = tuple(dict.fromkeys(self.values + other.values))
        return Variable(values if len(values) <= ALTERNATIVES_MAX else (marks.LIST,), None, exported)


@dataclass(slots=True)
class Budget:
    """Counts work: statements visited plus words and texts expanded."""

    limit: int
    spent: int = 0

    def spend(self, amount: int = 1) -> None:
        """Count; raises BudgetExceededError when the allowance is used up."""
        self.spent += amount
        if self.spent > self.limit:
            raise BudgetExceededError


@dataclass(slots=True)
class State:
    """The shell's state at one point of the walk; copied where a subshell begins."""

    env: Mapping[str, str]
    home: str
    cwd: str
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, tuple[Statement, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    hashed: dict[str, str] = field(default_factory=dict)  # `hash -p path name`
    parameters: tuple[str, ...] = ()
    name: str = "bash"  # $0
    files: dict[str, str] = field(default_factory=dict)  # contents this program wrote
    links: dict[str, str] = field(default_factory=dict)  # symbolic links this program made

    def copy(self) -> State:
        """An independent copy, for a subshell or one arm of a branch."""
        return State(
            self.env,
            self.home,
            self.cwd,
            dict(self.variables),
            dict(self.functions),
            dict(self.aliases),
            dict(self.hashed),
            self.parameters,
            self.name,
            self.files,
            self.links,
        )

    def join(self, other: State) -> None:
        """Keep what may hold after either of two ways to get here."""
        for name in self.variables.keys() | other.variables.keys():
            mine, theirs = self.lookup(name), other.lookup(name)
            if mine is None or theirs is None:
                known = mine or theirs
                assert known is not None
                self.variables[name] = Variable(("", *known.values), known.items, known.is_exported)
            else:
                self.variables[name] = mine.joined(theirs)
        self.functions = other.functions | self.functions
        self.aliases = other.aliases | self.aliases
        if self.cwd != other.cwd:
            self.cwd = marks.WORD
        if self.parameters != other.parameters:
            self.parameters = (marks.LIST,)

    def lookup(self, name: str) -> Variable | None:
        """A variable, or the environment's; None when neither knows the name."""
        if variable := self.variables.get(name):
            return variable
        if name in self.env:
            return Variable((marks.scrub(self.env[name]),), None, True)
        return None

    def assign(self, name: str, values: tuple[str, ...], items: tuple[str, ...] | None = None) -> None:
        """Give a variable its possible values."""
        if len(values) > ALTERNATIVES_MAX or any(len(value) > VALUE_MAX for value in values):
            values = (marks.LIST,)
        old = self.variables.get(name)
        exported = old.is_exported if old else name in self.env
        self.variables[name] = Variable(values, items, exported)

    def export(self, name: str) -> None:
        """Mark a variable as part of what programs receive."""
        variable = self.lookup(name)
        if variable is not None:
            self.variables[name] = variable._replace(is_exported=True)
