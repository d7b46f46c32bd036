"""Parsers of the verbs' arguments. Their errors suggest the remedy and the nearest word.

Loaded only by verbs with options: commands that start in milliseconds parse nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from base.wording import list_choices, suggest_nearest
from ctxmode.commands.table import Verb, list_verbs
from ctxmode.errors import UsageError, find_same_action, unknown_action, why

HELP = Path(__file__).parent / "commands" / "help"
"""The help text of each verb before its options: `WORDS.txt`, with dashes between words."""

BUDGET = "answer_bytes"
"""The attribute with the size limit of the whole answer."""

NUMBERS = {"int": "whole number", "float": "number"}
_INVALID = re.compile(r"argument (\S+): invalid (.*?number.*|int|float) value: (.*)")

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` with a remedy instead of printing the usage."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - argparse's own
        given.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**{**given, "allow_abbrev": False})
        self._is_mixing = False
        self.takes_program_arguments = False
        self.other_words: Mapping[str, str] = {}
        """Actions' names in other systems, and their names here."""
        self.verb: Verb | None = None  # not that of an action

        self.default_action = ""
        """The action if no word is given; then options may come before actions."""

    def format_help(self) -> str:
        if self.verb is not None:
            self.description = describe_verb(self.verb)
        return super().format_help()

    def _list_siblings(self) -> list[str]:
        """List the other verbs of the group with this name."""
        return [one.name.split()[1] for one in list_verbs(self.verb.name)] if self.verb else []

    def error(self, message: str) -> NoReturn:
        start, _, missing = message.partition(": ")
        if start == "the following arguments are required":
            raise UsageError(f"{self._verb}: missing {missing}", self._hint_at_missing(missing))
        if found := _INVALID.fullmatch(message):
            names, kind, value = found.groups()
            name = max(names.split("/"), key=len)
            word = next((one.metavar for one in self._actions if name in one.option_strings), None)
            remedy = f"Use {name}{f' {word}' if word else ''}: a {NUMBERS.get(kind, kind)}."
            raise UsageError(f"{self._verb}: invalid {name} {value}", remedy)
        problem = f"{self._verb}: {_reword(message)}"
        raise UsageError(problem, f"List the options: {self.prog} --help")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stdout).write(self.format_help())  # argparse ignores a full disk

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        # Options may stand between words, also behind an action, whose parser is called here.
        # argparse refuses that for parsers with actions, or with a choice between a word and an
        # option, and with --. It calls this method again.
        groups = self._mutually_exclusive_groups
        has_optional_word = any(
            not one.option_strings for group in groups for one in group._group_actions
        )
        if self._is_mixing or "--" in (args or ()) or subparsers(self) or has_optional_word:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown[0], parsed)
        return parsed

    def _refuse(self, word: str, parsed: argparse.Namespace) -> NoReturn:
        if not word.startswith("-"):
            meant = suggest_nearest(word, self._list_siblings())
            raise UsageError(f"{self._verb}: unexpected word {word!r}", self._build_hint(meant))
        option = word.split("=", 1)[0]
        parsers = list(_list_chosen(self, parsed))
        known = [name for parser in parsers for name in _options(parser)]
        hint = parsers[-1]._build_hint(suggest_nearest(option, known))
        if self.takes_program_arguments:
            hint += f". To pass it to the program: … -- {word}"
        raise UsageError(f"{parsers[-1]._verb}: unknown option {option}", hint)

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        if action.choices is None or value in (*action.choices, action.default):
            return
        known, word = [str(one) for one in action.choices], str(value)
        if action.dest == "action":
            known += self._list_siblings()
            raise unknown_action(self._verb, word, known, self._find_instead(word, known))
        hint = list_choices(word, known)
        raise UsageError(f"{self._verb}: invalid {_name_argument(action)} {value!r}", hint)

    def _find_instead(self, word: str, known: Sequence[str]) -> str:
        """Return the command that other programs call `word`; empty if there is none."""
        meant = self.other_words.get(word, "") or find_same_action(word, known)
        if meant.startswith("context-mode "):
            return meant
        below = subparsers(self).get(meant)
        usage = below.usage_line if below else f"{self.prog} {meant}"
        return usage if meant else ""

    @property
    def usage_line(self) -> str:
        """The shortest complete command line: without optional words."""
        words = [self.prog]
        for action in self._actions:
            if action.required or action.nargs == argparse.ZERO_OR_MORE:
                name = str(action.metavar or action.dest)
                forms = {argparse.ONE_OR_MORE: f"{name}...", argparse.ZERO_OR_MORE: f"[{name}...]"}
                words += [*action.option_strings[:1], forms.get(str(action.nargs), name)]
        return " ".join(words)

    def _hint_at_missing(self, missing: str) -> str:
        for action in self._actions:
            if action.choices and missing == (action.metavar or action.dest):
                return f"Choose from: {', '.join(map(str, action.choices))}."
        return f"Usage: {self.usage_line}"

    @property
    def _verb(self) -> str:
        return self.prog.removeprefix("context-mode ")

    def _build_hint(self, meant: str) -> str:
        return f"{meant}List the options: {self.prog} --help"


def verb_parser(verb: Verb) -> Parser:
    """Build the parser of a verb's arguments."""
    parser = Parser(prog=f"context-mode {verb.name}")
    if verb.module:
        parser = _add_arguments(parser, verb)
    parser.verb = verb
    parser.takes_program_arguments = verb.takes_program_arguments
    return parser


def describe_verb(verb: Verb) -> str:
    """Return the help text before the options: the verb's text and the verbs of its group."""
    text = f"{verb.summary}\n"
    with suppress(FileNotFoundError):
        name = "-".join(verb.name.replace("-", " ").split())
        text = (HELP / f"{name}.txt").read_text("utf-8")
    text, example, rest = text.partition("\nexample")
    rows = [f"  {one.name:<18} {one.summary}\n" for one in list_verbs(verb.name)]
    return "".join((text, *(["\nverbs:\n", *rows] if rows else []), example, rest))


def _add_arguments(parser: Parser, verb: Verb) -> Parser:
    """Add a verb's arguments; return the parser of one action if the verb is an action."""
    module = verb.load()
    parser.other_words = getattr(module, "OTHER_WORDS", {})
    table = Path(str(module.__file__)).with_suffix(".json")
    rows = json.loads(table.read_bytes()) if table.exists() else {}
    if hasattr(module, "OPERATIONS"):
        from ctxmode.commands import operations  # noqa: PLC0415 - few verbs have any

        default = getattr(module, "DEFAULT_ACTION", "")
        rows = operations.build_table(module.OPERATIONS, default)
    _add_rows(parser, rows.get("arguments", ()))
    if "actions" in rows:
        add_actions(parser, rows)
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    if verb.first:
        parser = _put_first(parser, verb.first)
    for each in () if verb.has_own_project_option else (parser, *subparsers(parser).values()):
        default = None if each is parser else argparse.SUPPRESS
        each.add_argument("--project", metavar="DIR", default=default, help="the project folder")
    if not verb.stays_open:
        _add_budget(parser)
    return parser


def _put_first(parser: Parser, first: str) -> Parser:
    """Preset an action or an option; return the parser of the other words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and first in action.choices:
            chosen: Parser = action.choices[first]
            chosen.prog = parser.prog
            chosen.set_defaults(**{action.dest: first})
            return chosen
        if first in action.option_strings:
            parser.set_defaults(**{action.dest: True})
            action.help = argparse.SUPPRESS
    return parser


def add_actions(parser: Parser, table: Mapping[str, Any]) -> None:
    """Add the actions of a verb from its table, with their arguments."""
    parser.default_action = table.get("default_action", "")
    actions = parser.add_subparsers(
        dest="action", required=not parser.default_action, metavar="ACTION"
    )
    for name, row in table["actions"].items():
        if name == parser.default_action:
            _add_rows(parser, row["arguments"])  # for its help: `parse` puts the action before them
        about = row["about"]
        action = actions.add_parser(name, help=about, description=row.get("text", about))
        _add_rows(action, row["arguments"])


def _add_rows(to: argparse._ActionsContainer, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add arguments from rows of argparse's parameters. A number as `type` is the minimum of whole
    numbers; rows in `one_of` exclude each other; a `group` has a title."""
    for row in rows:
        if "one_of" in row:
            group = to.add_mutually_exclusive_group(required=row.get("required", False))
            _add_rows(group, row["one_of"])
            continue
        if "group" in row:
            _add_rows(to.add_argument_group(row["group"]), row["arguments"])
            continue
        given = {key: value for key, value in row.items() if key != "flags"}
        if "type" in given:
            kind = given["type"]
            given["type"] = {"int": int, "float": float}.get(kind) or CountFrom(kind)
        to.add_argument(*row["flags"], **given)


class CountFrom:
    """A type of arguments: whole numbers from `least` on."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.__name__ = f"whole number, {least} or more"  # shown in argparse's error

    def __call__(self, text: str) -> int:
        if not text.isdecimal() or len(text) > 12 or int(text) < self.least:
            raise ValueError(text)
        return int(text)


def _reword(message: str) -> str:
    """Word an error of argparse as this program does."""
    found = re.fullmatch(r"argument (?:\S*/)?(\S+): (.*)", message)
    if found is None:
        return message
    name, problem = found.groups()
    if problem.startswith("ignored explicit argument"):
        return f"{name} takes no value"
    if other := re.fullmatch(r"not allowed with argument (?:\S*/)?(\S+)", problem):
        return f"{name} and {other[1]} exclude each other"
    return f"{name} needs a value" if problem.startswith("expected ") else f"{name}: {problem}"


def _name_argument(action: argparse.Action) -> str:
    return max(action.option_strings, key=len, default="") or str(action.metavar or action.dest)


def _add_budget(parser: Parser) -> None:
    """Add --budget to the verb and each action, unless it has its own."""
    for each in (parser, *subparsers(parser).values()):
        if "--budget" not in _options(each):
            each.add_argument(
                "--budget",
                dest=BUDGET,
                type=int,
                metavar="BYTES",
                default=argparse.SUPPRESS,
                help="limit output to BYTES, keeping both ends",
            )


def parse(verb: Verb, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. If the verb runs programs, `program_args` has the words after `--`.

    Raises:
        UsageError: a word is unknown or missing.
        SystemExit: help was printed.
    """
    parser = verb_parser(verb)
    own, program_args = list(arguments), []
    if parser.takes_program_arguments and "--" in own:
        at = own.index("--")
        own, program_args = own[:at], own[at + 1 :]
    if parser.default_action:
        own = _put_action_first(parser, own)
    parsed: argparse.Namespace = parser.parse_args(own)
    parsed.program_args = program_args
    return parsed


def _put_action_first(parser: Parser, own: Sequence[str]) -> list[str]:
    """Move the first word that is not an option's value to the front, else add the default."""
    takes_value = {
        name
        for below in subparsers(parser).values()
        for action in below._actions
        if action.nargs != 0
        for name in action.option_strings
    }
    before = ""
    for at, word in enumerate(own):
        if not word.startswith("-") and before not in takes_value:
            return [word, *own[:at], *own[at + 1 :]]
        before = word
    is_help = not {"-h", "--help"}.isdisjoint(own)
    return list(own) if is_help else [parser.default_action, *own]


def read_input(name: str, hint: str) -> bytes:
    """Read the file of an argument, or stdin for `-`; raise UsageError if that fails."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {why(error)}", hint) from error


def subparsers(parser: Parser) -> dict[str, Parser]:
    """Return the parsers of a verb's actions by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _list_chosen(parser: Parser, parsed: argparse.Namespace) -> Iterator[Parser]:
    yield parser
    for name, below in subparsers(parser).items():
        if name in vars(parsed).values():
            yield below


def _options(parser: Parser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]
