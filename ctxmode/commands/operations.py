"""Operations on the command line: options from their parameters, answers printed."""

from __future__ import annotations

import argparse
import inspect
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, NoneType
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
    bind_arguments,
    describe_operation,
    list_answers,
    list_parameters,
)
from ctxmode.render.highlight import size


def build_table(operations: Mapping[str, Operation], default: str = "") -> dict[str, Any]:
    """Build a verb's table of actions for `parsing`; `default` is the action if none is named."""
    actions = {
        name: {
            "about": describe_operation(operation),
            "text": inspect.getdoc(operation),
            "arguments": list_rows(operation),
        }
        for name, operation in operations.items()
    }
    return {"arguments": [], "actions": actions, "default_action": default}


def list_rows(operation: Operation) -> list[dict[str, Any]]:
    """List the arguments of an operation, a row each."""
    rows: list[dict[str, Any]] = [
        {"flags": ["--json"], "action": "store_true", "help": "print JSON"}
    ]
    groups: dict[str, list[dict[str, Any]]] = {"": rows}
    for one in list_parameters(operation):
        kind = one.arg.one_of or one.arg.group
        if kind not in groups:
            groups[kind] = []
            titled = {"group": kind, "arguments": groups[kind]}
            rows.append(titled if one.arg.group else {"one_of": groups[kind]})
        groups[kind] += _list_constants(one) if one.arg.constants else [_build_row(one)]
    return rows


def _list_constants(one: Parameter) -> list[dict[str, Any]]:
    """List an option for each possible value of a parameter."""
    same = {"dest": one.name, "action": "store_const", "default": one.default}
    return [
        {"flags": [f"--{value.replace('_', '-')}"], "const": value, "help": about, **same}
        for value, about in one.arg.constants.items()
    ]


def _build_row(one: Parameter) -> dict[str, Any]:
    row: dict[str, Any] = {"help": one.arg.about or None, "metavar": one.arg.metavar or None}
    if not one.is_required:
        row["default"] = one.default
    given = [kind for kind in typing.get_args(one.type) if kind is not NoneType]
    plain = given[0] if len(given) == 1 and NoneType in typing.get_args(one.type) else one.type
    if one.choices:
        row["choices"] = one.choices
    elif plain in (int, float):
        row["type"] = plain.__name__ if one.arg.least is None else one.arg.least
    is_many = typing.get_origin(one.type) in (tuple, Mapping)
    if one.is_word:
        if is_many or not one.is_required:
            row["nargs"] = "?" if not is_many else "+" if one.is_required else "*"
        return {"flags": [one.name], **row}
    if one.type is bool:
        row = {"help": one.arg.about, "action": f"store_{not one.default}".lower()}
    elif is_many:
        row |= {"action": "append", "default": []}
    return {"flags": one.flags, "dest": one.name, "required": one.is_required, **row}


def run_operation(module: ModuleType, parsed: argparse.Namespace) -> int:
    """Run the operation of a command line, print its answers and return the exit code."""
    if hasattr(module, "adjust"):
        module.adjust(parsed)
    operation: Operation = module.OPERATIONS[parsed.action]
    given = vars(parsed)
    values = {one.name: _convert(one, given[one.name]) for one in list_parameters(operation)}
    arguments = bind_arguments(operation, values)
    asker = Asker(load_config(parsed.project), wants_data=parsed.json, tell=tell)
    code = exit_codes.OK
    try:
        for answer in list_answers(operation(asker, **arguments)):
            tell(answer.notices)
            if answer.recalled_bytes:
                from ctxmode.operations import facts  # noqa: PLC0415 - few recall

                facts.count_recalled(asker.config, answer.recalled_bytes)
            if parsed.json and (answer.data or answer.show is None):
                print_json(answer.data, indent=None if answer.on_one_line else 2)
            elif answer.show is not None:
                answer.show()
            elif answer.text:
                print_answer(parsed, answer.data, answer.text.removesuffix("\n"))
            sys.stdout.flush()
            failed = exit_codes.ERROR if answer.is_failure else exit_codes.OK
            code = failed if answer.code is None else answer.code
    finally:
        if hasattr(module, "list_notices"):
            tell(module.list_notices(asker.config))
    return code


def _convert(one: Parameter, given: Any) -> Any:  # noqa: ANN401 - as the parameter's type
    """Convert an argument from argparse's type to the operation's."""
    if one.type is TextFile and given is not one.default:
        return read_file(given)
    if typing.get_origin(one.type) is Mapping:
        return dict(_split_pair(one, pair) for pair in given)
    if one.arg.reads_stdin and given == "-":
        return read_file(given).text
    return tuple(given) if isinstance(given, list) else given


def _split_pair(one: Parameter, pair: str) -> tuple[str, str]:
    name, mark, value = pair.partition("=")
    if not mark or not name.strip():
        raise UsageError(f"invalid {one.flags[0]} {pair[:80]!r}", f"Use {one.flags[0]} NAME=VALUE.")
    return name.strip(), value


READ_BYTES_MAX = 64 * 1024 * 1024


def read_file(given: str) -> TextFile:
    """Read a file, or stdin for `-`; raise UsageError if that fails."""
    if given == "-":
        return TextFile("stdin", _decode(sys.stdin.buffer.read(READ_BYTES_MAX + 1), "stdin"))
    path = Path(given).expanduser()
    try:
        if not path.is_file():
            raise UsageError(f"cannot read {given}: no such file", "Name a file, or - for stdin.")
        with path.open("rb") as file:
            return TextFile(path.name, _decode(file.read(READ_BYTES_MAX + 1), given))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {given}: {why(error)}", "Name another file.") from error


def _decode(data: bytes, name: str) -> str:
    if len(data) > READ_BYTES_MAX:
        raise UsageError(f"{name} is larger than {size(READ_BYTES_MAX)}", "Split the file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{name} is not UTF-8: {error.reason} at byte {error.start}"
        raise UsageError(problem, "Convert it, for example with iconv -t UTF-8.") from error
