"""Opening the facts for a command line, and reading the text or the file that it names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, tell
from ctxmode.operations import facts
from ctxmode.operations.fact_answers import (
    FactAnswer,
    FactRequest,
    answer,
    name_written_file,
)
from memory.facts import MAIN, Author, Memory

READ_BYTES_MAX = 64 * 1024 * 1024


@contextmanager
def open_memory(args: argparse.Namespace, to_write: str = "") -> Iterator[Memory]:
    """Open the facts of the project that the arguments name, with a person as the author."""
    config = load_config(args.project)
    with facts.open_memory(config, Author(facts.PERSON), to_write=to_write) as memory:
        tell(memory.notices)
        yield memory


def find_branch(args: argparse.Namespace) -> str:
    """Return the branch that is meant."""
    return args.branch or MAIN


def ask(args: argparse.Namespace, asked: FactRequest) -> FactAnswer:
    """Do what the command line's action says."""
    with open_memory(args, name_written_file(args.action, asked)) as memory:
        return answer(memory, args.action, asked)


def show(args: argparse.Namespace, asked: FactRequest) -> int:
    """Do it, and print the answer."""
    found = ask(args, asked)
    print_answer(args, found.data, found.text)
    return exit_codes.ERROR if found.is_conflict else exit_codes.OK


def read_text(given: str) -> str:
    """Return a text, or stdin's where it is `-`."""
    return _decode(sys.stdin.buffer.read(READ_BYTES_MAX + 1), "stdin") if given == "-" else given


def read_file(given: str) -> str:
    """Read a file, or stdin where it is `-`; a UsageError says why it cannot be."""
    if given == "-":
        return read_text(given)
    path = Path(given).expanduser()
    try:
        if not path.is_file():
            raise UsageError(f"{given!r} is no file", "Name a file that exists, or - for stdin.")
        with path.open("rb") as file:
            return _decode(file.read(READ_BYTES_MAX + 1), given)
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
