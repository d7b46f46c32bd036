"""Operations: functions whose annotated parameters give every door its options, checks and help.

    def show_page(asker: Asker, slug: Annotated[str, Arg(metavar="SLUG")], *,
                  limit: Annotated[int, Arg("at most so many", "N", least=1)] = 20) -> Answer:
        "Show a page."

A parameter before the `*` is a word of the command line, one behind it an option; the docstring is
the help. Agents and HTTP name the same parameters.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError

NO_CHOICES: Mapping[str, str] = MappingProxyType({})
WHOLE_MAX = 10**12 - 1
"""The largest number that any door takes."""


class Arg(NamedTuple):
    """What the doors say of a parameter, besides its name, its type and its default."""

    about: str = ""
    metavar: str = ""
    flags: tuple[str, ...] = ()  # in place of `--name`
    name: str = ""  # by which agents and HTTP give it, where that is not the parameter's
    least: int | None = None  # of a number
    one_of: str = ""  # of the parameters with the same word here, one alone may be given
    constants: Mapping[str, str] = NO_CHOICES  # each value is an option of its own, with its help
    reads_stdin: bool = False  # on the command line, where it is `-`


class Answer(NamedTuple):
    """The answer to an operation: as data, and as text for people and agents."""

    data: Mapping[str, Any]
    text: str = ""
    notices: Sequence[str] = ()  # what should be known besides
    show: Callable[[], None] | None = None  # prints tables for people, in place of the text
    is_failure: bool = False  # it was understood, and could not be done
    recalled_bytes: int = 0  # of facts, which are counted
    on_one_line: bool = False  # the data, as one of many answers


class TextFile(NamedTuple):
    """A text that is given as a file: the command line reads it, and - is its stdin. Other doors
    give the text."""

    name: str = ""  # without its folder
    text: str = ""


def _tell_nobody(notices: Iterable[str]) -> None:
    """Drop what should be known besides, as doors do through which nobody hears it."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and of which project. A person at a terminal has no name here."""

    config: Config
    wants_data: bool = True  # all of it; else what the text shows is enough
    agent: str = ""
    session: str = ""
    tell: Callable[[Iterable[str]], None] = _tell_nobody  # what is to be known, also if it fails


Operation: TypeAlias = Callable[..., Any]
"""A function of an `Asker` and its arguments. It returns an `Answer`, or yields some one by one."""


class Parameter(NamedTuple):
    """One argument of an operation, as its signature has it."""

    name: str
    type: Any  # without what `Annotated` adds
    arg: Arg
    default: Any  # `inspect.Parameter.empty` where it is required
    is_word: bool

    @property
    def is_required(self) -> bool:
        """Tell whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def outer_name(self) -> str:
        """Return the name by which agents and HTTP give it."""
        return self.arg.name or self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """Return what the command line calls it as an option."""
        return self.arg.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values that it may have; none where all may be."""
        kinds = (self.type, *typing.get_args(self.type))
        literals = [kind for kind in kinds if typing.get_origin(kind) is Literal]
        return tuple(one for kind in literals for one in typing.get_args(kind) if one)


@cache
def list_parameters(operation: Operation) -> tuple[Parameter, ...]:
    """List the arguments of an operation, without who asks."""
    hints = typing.get_type_hints(operation, include_extras=True)
    _, *own = inspect.signature(operation).parameters.values()
    return tuple(_read_parameter(one, hints[one.name]) for one in own)


def _read_parameter(parameter: inspect.Parameter, hint: Any) -> Parameter:  # noqa: ANN401 - a type
    arg = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Arg)), Arg())
    plain = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    is_word = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    return Parameter(parameter.name, plain, arg, parameter.default, is_word)


def describe_operation(operation: Operation) -> str:
    """Return the first sentence of an operation's docstring, as help lists it."""
    first = (inspect.getdoc(operation) or "").partition("\n\n")[0]
    sentence = " ".join(first.split()).removesuffix(".")
    return sentence[:1].lower() + sentence[1:]


def list_answers(answered: Answer | Iterator[Answer]) -> Iterator[Answer]:
    """Yield the answers of an operation, whether it has one or many."""
    if isinstance(answered, Answer):
        yield answered
    else:
        yield from answered


def take_arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose from what a door was given the arguments that an operation takes, checked.

    Raises:
        UsageError: one lacks, or has another type.
    """
    import msgspec  # noqa: PLC0415 - the command line has argparse for it

    taken: dict[str, Any] = {}
    for one in list_parameters(operation):
        if one.outer_name not in given:
            if one.is_required:
                raise UsageError(f"{one.outer_name} is missing", "Give it.")
            continue
        kind = str if one.type is TextFile else one.type
        try:
            value = msgspec.convert(given[one.outer_name], kind, strict=False)
        except msgspec.ValidationError as error:
            known = f"Give one of {', '.join(one.choices)}." if one.choices else str(error)
            raise UsageError(f"{one.outer_name} has a wrong value", known) from error
        if isinstance(value, int) and value > WHOLE_MAX:
            raise UsageError(f"{one.outer_name} has a wrong value", f"Give at most {WHOLE_MAX}.")
        taken[one.name] = TextFile("", value) if one.type is TextFile else value
    return taken
