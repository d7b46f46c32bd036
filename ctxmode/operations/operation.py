"""Operations: functions whose annotated parameters define options, checks and help in all clients.

    def show_page(asker: Asker, slug: Annotated[str, Arg(metavar="SLUG")], *,
                  limit: Annotated[int, Arg("up to N rows", "N", least=1)] = 20) -> Answer:
        "Show a page."

A parameter before the `*` is a positional argument of the command line, one after it an option; the
docstring is the help. Agents and HTTP use the same parameters. A parameter that is a dataclass
stands for those of its fields that have an `Arg`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError

NO_CHOICES: Mapping[str, str] = MappingProxyType({})
LIMIT_MAX = 10_000  # rows of one answer
WHOLE_MAX = 10**12 - 1  # the largest number that the command line, agents or HTTP accept


class Arg(NamedTuple):
    """The description of a parameter, in addition to its name, type and default."""

    about: str = ""
    metavar: str = ""
    flags: tuple[str, ...] = ()  # instead of `--name`
    name: str = ""  # for agents and HTTP, if it differs from the parameter's
    least: int | None = None  # minimum of a number
    one_of: str = ""  # parameters with the same word here exclude each other
    constants: Mapping[str, str] = NO_CHOICES  # each value is a separate option, with its help
    reads_stdin: bool = False  # on the command line, if it is `-`
    group: str = ""  # title above it and others with the same, in help
    choices: tuple[str, ...] = ()  # allowed values, if the type does not name them
    is_word: bool = False  # of a dataclass's field: a positional argument


class Answer(NamedTuple):
    """The answer to an operation: as data, and as text for users and agents."""

    data: Mapping[str, Any]
    text: str = ""
    notices: Sequence[str] = ()  # printed in addition to the answer
    show: Callable[[], None] | None = None  # prints tables for users, instead of the text
    is_failure: bool = False  # the request was valid and failed
    code: int | None = None  # exit code, if it is neither 0 nor that of a failure
    recalled_bytes: int = 0  # bytes of recalled facts, which are counted
    on_one_line: bool = False  # prints the data on one line, as one of many answers


class TextFile(NamedTuple):
    """A text from a file: the command line reads the file, or stdin for `-`. Agents and HTTP send
    the text."""

    name: str = ""  # file name without folder
    text: str = ""


def _tell_nobody(notices: Iterable[str]) -> None:
    """Drop notices, for clients that cannot show them."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller, and the project. A user at a terminal has no agent name."""

    config: Config
    wants_data: bool = True  # all data; else only the data that the text shows
    agent: str = ""
    session: str = ""
    tell: Callable[[Iterable[str]], None] = (
        _tell_nobody  # shows notices, also if the operation fails
    )


Operation: TypeAlias = Callable[..., Any]
"""A function of an `Asker` and its arguments. It returns one `Answer` or yields several."""


class Parameter(NamedTuple):
    """One argument of an operation, from its signature."""

    name: str
    type: Any  # without `Annotated`
    arg: Arg
    default: Any  # `inspect.Parameter.empty` if it is required
    is_word: bool

    @property
    def is_required(self) -> bool:
        """Return whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def outer_name(self) -> str:
        """Return its name for agents and HTTP."""
        return self.arg.name or self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """Return its option names on the command line."""
        return self.arg.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the allowed values; empty if any value is allowed."""
        if self.arg.choices:
            return self.arg.choices
        kinds = (self.type, *typing.get_args(self.type))
        literals = [kind for kind in kinds if typing.get_origin(kind) is Literal]
        return tuple(one for kind in literals for one in typing.get_args(kind) if one)


@cache
def list_parameters(operation: Operation) -> tuple[Parameter, ...]:
    """List the arguments of an operation, without the caller."""
    found: list[Parameter] = []
    for one, hint in _list_own(operation):
        if is_dataclass(hint):
            found += _list_fields(hint)
            continue
        plain, arg = _split_hint(hint)
        is_word = one.kind is not inspect.Parameter.KEYWORD_ONLY
        found.append(Parameter(one.name, plain, arg or Arg(), one.default, is_word))
    return tuple(found)


def _list_own(operation: Operation) -> Iterator[tuple[inspect.Parameter, Any]]:
    hints = typing.get_type_hints(operation, include_extras=True)
    _, *own = inspect.signature(operation).parameters.values()
    return ((one, hints[one.name]) for one in own)


def _list_fields(record: Any) -> Iterator[Parameter]:  # noqa: ANN401 - a dataclass
    hints = typing.get_type_hints(record, include_extras=True)
    for one in fields(record):
        plain, arg = _split_hint(hints[one.name])
        if arg is not None:
            default = inspect.Parameter.empty if one.default is MISSING else one.default
            yield Parameter(one.name, plain, arg, default, arg.is_word)


def _split_hint(hint: Any) -> tuple[Any, Arg | None]:  # noqa: ANN401 - a type
    arg = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Arg)), None)
    return (typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint), arg


def bind_arguments(operation: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation for values by name; dataclasses are built of theirs."""
    bound = {}
    for one, hint in _list_own(operation):
        if is_dataclass(hint):
            own = {field.name: values[field.name] for field in _list_fields(hint)}
            bound[one.name] = hint(**own)  # type: ignore[operator]  # a class
        else:
            bound[one.name] = values[one.name]
    return bound


def describe_operation(operation: Operation) -> str:
    """Return the first sentence of an operation's docstring, for help."""
    first = (inspect.getdoc(operation) or "").partition("\n\n")[0]
    sentence = " ".join(first.split()).removesuffix(".")
    return sentence[:1].lower() + sentence[1:]


def list_answers(answered: Answer | Iterator[Answer]) -> Iterator[Answer]:
    """Yield the answers of an operation that returns one or yields many."""
    if isinstance(answered, Answer):
        yield answered
    else:
        yield from answered


def take_arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose and check the arguments that an operation takes. Raise UsageError if one is missing,
    or has another type."""
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


def check_limit(limit: int) -> int:
    """Return a limit if it is valid: 0 means the default."""
    if not 0 <= limit <= LIMIT_MAX:
        raise UsageError(f"invalid limit {limit}", f"Give 1 to {LIMIT_MAX:,}.")
    return limit
