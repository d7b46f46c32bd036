"""Opening the facts for a command line, and reading the text or the file that it names."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxmode import exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations import facts, section_files
from ctxmode.operations.ctxone_numbers import counterfactual, ctxone_json
from ctxmode.operations.fact_answers import (
    FactAnswer,
    FactRequest,
    answer,
    describe_change,
    name_written_file,
)
from ctxmode.parsing import build_request
from ctxmode.render.fact_texts import change_line
from kb.tokens import BYTES_PER_TOKEN
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


def ask(args: argparse.Namespace, **given: Any) -> FactAnswer:  # noqa: ANN401 - as the fields
    """Do what the command line's action says, with some fields as given here."""
    branch = args.branch if args.action == "log" else find_branch(args)
    asked = replace(build_request(FactRequest, args), **{"branch": branch, **given})
    with open_memory(args, name_written_file(args.action, asked)) as memory:
        return answer(memory, args.action, asked)


def show(args: argparse.Namespace, **given: Any) -> int:  # noqa: ANN401 - as the fields
    """Do it, and print the answer."""
    found = ask(args, **given)
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


def remember(args: argparse.Namespace) -> int:
    given = {"text": read_text(args.text), "context": args.context or FactRequest().context}
    if args.category != "decide" or args.scope != "project":
        return show(args, **given)
    return _decide(args, given)


def _decide(args: argparse.Namespace, given: Mapping[str, Any]) -> int:
    """Remember a decision, and keep ContextOS's DECISIONS.md in step where a project has it."""
    config = load_config(args.project)
    path = section_files.find_decisions_file(config.project)
    if path is None:
        return show(args, **given)
    branch = find_branch(args)
    asked = replace(build_request(FactRequest, args), branch=branch, **given)
    with open_memory(args, "project") as memory:
        taken = section_files.read_decisions(config, memory, path, branch)
        found = answer(memory, "remember", asked)
        section_files.write_decisions(memory, path, branch)
    tell([f"{taken} decisions were taken over from {path.name}"] * bool(taken))
    print_answer(args, found.data, found.text)
    return exit_codes.OK


def prime(args: argparse.Namespace) -> int:
    name = "stdin" if args.file == "-" else Path(args.file).name
    return show(args, text=read_file(args.file), source=args.source or name, title=name)


def branch(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the branch behind the action, and its parent with --from.")
    return show(args)


def compare(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the two branches behind the action.")
    return show(args)


def merge(args: argparse.Namespace) -> int:
    _refuse_branch(args, "Name the branch that is merged into with --into.")
    return show(args)


def _refuse_branch(args: argparse.Namespace, remedy: str) -> None:
    if args.branch:
        raise UsageError(f"{args.action} takes no --branch", remedy)


TAIL_EVERY_S = 0.5
FRESH_S = 2.0
"""For so long after a write a file is looked into again: its time has no finer steps."""


def recall(args: argparse.Namespace) -> int:
    found = ask(args)
    facts.count_recalled(load_config(args.project), found.recalled_bytes)
    if args.format == "ctxone" and found.recall is not None:
        print_json(ctxone_json(found.recall))
        return exit_codes.OK
    print_answer(args, found.data, found.text.removesuffix("\n"))
    if not args.json:
        pinned, matches = found.data["pinned"], found.data["matches"]
        tell(
            [
                f"pinned {pinned['shown']} of {pinned['total']}, "
                f"matching {matches['shown']} of {matches['total']}, "
                f"{found.data['tokens']} of {found.data['budget']} tokens "
                f"({found.data['estimator']})"
            ]
        )
    return exit_codes.OK


def tail(args: argparse.Namespace) -> int:
    """Show lines of the ledger as they come. With --json each is a document on a line."""
    config = load_config(args.project)
    with open_memory(args) as memory:
        memory.log(branch=args.branch, limit=1)  # says that there is no such branch
        _, marks = memory.log_after({})
    tell(["showing what is written from now on, until it is interrupted"])
    sys.stderr.flush()
    seen: tuple[Any, ...] = ()
    while True:
        files = _look_at(config)
        if files != seen:
            # Opened again each time: what has the files open keeps them from being restored.
            with facts.open_memory(config) as memory:
                changes, marks = memory.log_after(marks, branch=args.branch)
            for change in changes:
                line = change_line(change)
                if args.json:
                    line = json.dumps(describe_change(change), ensure_ascii=False)
                sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        seen = files
        time.sleep(TAIL_EVERY_S)


def _look_at(config: Config) -> tuple[Any, ...]:
    """Describe the files of facts and their logs, so that a change of them is seen."""
    found: list[Any] = []
    for path in (config.facts_file, config.users_facts_file):
        for part in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):
                state = part.stat()
                is_fresh = time.time() - state.st_mtime < FRESH_S
                found.append((part, state.st_ino, state.st_size, state.st_mtime_ns))
                found += [time.monotonic()] if is_fresh else []
    return tuple(found)


def stats(args: argparse.Namespace) -> int:
    measured = facts.read_stats(load_config(args.project))
    would = counterfactual(measured["recalled_tokens"], measured["live_bytes"])
    print_answer(args, {"measured": measured, "counterfactual": would}, _say(measured, would))
    return exit_codes.OK


def _say(measured: dict[str, Any], would: dict[str, Any]) -> str:
    return "\n".join(
        [
            "Measured",
            f"  facts: {measured['facts']} of the project, {measured['users_facts']} of the user, "
            f"{measured['pinned']} pinned, {measured['live_bytes']} bytes in all",
            f"  calls: {measured['calls']}",
            f"  recalled: {measured['recalled_bytes']} bytes, "
            f"{measured['recalled_tokens']} tokens (bytes / {BYTES_PER_TOKEN})",
            "Counterfactual, in no total",
            f"  {would['assumes']}: {would['tokens']} tokens once",
        ]
    )
