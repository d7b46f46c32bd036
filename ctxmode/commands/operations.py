"""The command line's door to operations: options of their parameters, and their answers printed."""

from __future__ import annotations

import argparse
import inspect
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations.operation import (
    Asker,
    Operation,
    Parameter,
    TextFile,
    describe_operation,
    list_answers,
    list_parameters,
)
from ctxmode.parsing import Parser, count_from


def add_actions(parser: Parser, operations: Mapping[str, Operation], default: str = "") -> None:
    """Add an action for each operation, with its arguments; `default` is the one that is meant
    where none is named."""
    parser.default_action = default
    actions = parser.add_subparsers(dest="action", required=not default, metavar="ACTION")
    for name, operation in operations.items():
        about = describe_operation(operation)
        text = inspect.getdoc(operation)
        add_parameters(actions.add_parser(name, help=about, description=text), operation)
        if name == default:
            add_parameters(parser, operation)  # for its help: `parse` puts the action before them


def add_parameters(parser: argparse.ArgumentParser, operation: Operation) -> None:
    """Add the arguments of an operation."""
    parser.add_argument("--json", action="store_true", help="print JSON (docs/cli.md)")
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for one in list_parameters(operation):
        kind = one.arg.one_of
        if kind not in groups:
            groups[kind] = parser.add_mutually_exclusive_group()
        _add_parameter(groups[kind], one)


def _add_parameter(to: argparse._ActionsContainer, one: Parameter) -> None:
    for value, about in one.arg.constants.items():
        to.add_argument(
            f"--{value.replace('_', '-')}",
            dest=one.name,
            action="store_const",
            const=value,
            default=one.default,
            help=about,
        )
    if one.arg.constants:
        return
    given: dict[str, Any] = {"help": one.arg.about or None, "metavar": one.arg.metavar or None}
    if not one.is_required:
        given["default"] = one.default
    if one.choices:
        given["choices"] = one.choices
    elif one.type in (int, float):
        given["type"] = one.type if one.arg.least is None else count_from(one.arg.least)
    is_many = typing.get_origin(one.type) in (tuple, Mapping)
    if one.is_word:
        if is_many or not one.is_required:
            given["nargs"] = "?" if not is_many else "+" if one.is_required else "*"
        to.add_argument(one.name, **given)
        return
    if one.type is bool:
        given = {"help": one.arg.about, "action": "store_true"}
    elif is_many:
        given |= {"action": "append", "default": []}
    to.add_argument(*one.flags, dest=one.name, required=one.is_required, **given)


def run_operation(module: ModuleType, parsed: argparse.Namespace) -> int:
    """Do the operation that a command line names, print its answers and return the exit code."""
    if hasattr(module, "adjust"):
        module.adjust(parsed)
    operation: Operation = (
        module.OPERATIONS[parsed.action] if hasattr(module, "OPERATIONS") else module.OPERATION
    )
    given = vars(parsed)
    arguments = {one.name: _convert(one, given[one.name]) for one in list_parameters(operation)}
    asker = Asker(load_config(parsed.project), wants_data=parsed.json)
    code = exit_codes.OK
    try:
        for answer in list_answers(operation(asker, **arguments)):
            tell(answer.notices)
            if parsed.json:
                print_json(answer.data)
            elif answer.show is not None:
                answer.show()
            elif answer.text:
                print_answer(parsed, answer.data, answer.text)
            sys.stdout.flush()
            code = exit_codes.ERROR if answer.is_failure else exit_codes.OK
    finally:
        if hasattr(module, "list_notices"):
            tell(module.list_notices(asker.config))
    return code


def _convert(one: Parameter, given: Any) -> Any:  # noqa: ANN401 - as the parameter's type
    """Convert what argparse has of an argument into what the operation takes."""
    if one.type is TextFile and given is not one.default:
        return read_file(given)
    if typing.get_origin(one.type) is Mapping:
        return dict(_split_pair(one, pair) for pair in given)
    return tuple(given) if isinstance(given, list) else given


def _split_pair(one: Parameter, pair: str) -> tuple[str, str]:
    name, mark, value = pair.partition("=")
    if not mark or not name.strip():
        raise UsageError(f"{one.flags[0]} {pair[:80]!r} has no =", "Give NAME=VALUE.")
    return name.strip(), value


READ_BYTES_MAX = 64 * 1024 * 1024


def read_file(given: str) -> TextFile:
    """Read a file, or stdin where it is `-`; a UsageError says why it cannot be."""
    if given == "-":
        return TextFile("stdin", _decode(sys.stdin.buffer.read(READ_BYTES_MAX + 1), "stdin"))
    path = Path(given).expanduser()
    try:
        if not path.is_file():
            raise UsageError(f"{given!r} is not a file", "Name a file that exists, or - for stdin.")
        with path.open("rb") as file:
            return TextFile(path.name, _decode(file.read(READ_BYTES_MAX + 1), given))
    except (OSError, ValueError) as error:
        raise UsageError(f"{given!r} cannot be read: {why(error)}", "Name another file.") from error


def _decode(data: bytes, name: str) -> str:
    if len(data) > READ_BYTES_MAX:
        raise UsageError(f"{name} has more than {READ_BYTES_MAX} bytes", "Give less at once.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{name} is not UTF-8: {error.reason} at byte {error.start}"
        raise UsageError(problem, "Convert it first.") from error
