"""Command lines split into options and operands, by a program's own conventions."""

import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from base.wordlist import word_set
from policy import marks
from runtimes.languages import list_languages, read_file

with open(os.path.join(os.path.dirname(__file__), "programs.json"), encoding="utf-8") as _file:
    TABLES: dict[str, dict[str, Any]] = json.load(_file)
"""Facts on programs, by their names. To add one, add a row. Sources: the programs' own
manuals, and for those that can run others, the GTFOBins catalogue.

- `programs`: the fields of `CliRow`.
- `consoles`: programs of frameworks: the language of their console, and what comes before code.
- `option_names`: spellings of options that mean the same, by program or subcommand, in groups that
  are named by the first; `D=d+f` means that one option is two others together. Long names that only
  share a prefix are there too, so that shortened spellings resolve as the program would.
- `outer_options`: those before the subcommand that take a value. An option that is missing is read
  both ways, its following word as its value and as the subcommand.
- `same_commands`: commands with another name that rules may use.
- `git`: its subcommands. `short` and `long` options take a value, of those in `runs` a command.
  Operands are files that it `reads` or `writes`; with `shows` only if one of these is given.
- `languages`: those of programs, as `embedded_languages.LANGUAGES` explains them.
- `sets_up_shells`: programs that print settings for `eval "$(program verb)"`, as their manuals
  advise; the output sets variables and functions. If verbs are named, only one of those does.
- `descends`: the options that make a program descend into folders; "" if it always does.
- `rewrites`: the options with which a program writes the files it reads, none if it always does;
  those that prevent that have a `!`.
- `archivers`: options that extract ("" if it always does), that only list, and that name the
  folder; how many operands come before the members.
- `verbs`: the words before a command that a program runs.
- `project_files`: programs that run targets of a project's file, by the module that reads it;
  those in `needs_word` do only if one of these words is given.
"""


def by_name(table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a table by each of the names that share one."""
    return {name: value for names, value in table.items() for name in names.split()}


class Parsed(NamedTuple):
    """The options and operands of a command line."""

    options: tuple[tuple[str, str | None], ...]  # (name, value); None: the option takes none
    operands: tuple[tuple[int, str], ...]  # (index in argv, word)

    def values(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the values of any of the named options, in order."""
        return (value for name, value in self.options if name in names and value is not None)

    def has(self, *names: str) -> bool:
        """Return True if one of the options is given, a long one perhaps shortened."""
        return any(
            given in names or (len(given) > 3 and any(name.startswith(given) for name in names))
            for given, _ in self.options
        )


def parse(
    argv: Sequence[str],
    short_values: str = "",
    long_values: Sequence[str] = (),
    *,
    permutes: bool = True,
    long_with_one_dash: bool = False,
) -> Parsed:
    """Split `argv[1:]`.

    `short_values` are the one-letter options that take a value, `long_values` the long ones, which
    may be shortened to any prefix. `permutes` allows options after operands. `long_with_one_dash`
    reads `-name` as one option.
    """
    options: list[tuple[str, str | None]] = []
    operands: list[tuple[int, str]] = []
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            operands.extend((i, argv[i]) for i in range(index + 1, len(argv)))
            break
        if word.startswith("--") or (long_with_one_dash and word[:1] == "-" and len(word) > 2):
            index = _long(argv, index, long_values, options)
        elif word[:1] == "-" and len(word) > 1:
            index = _short(argv, index, short_values, options)
        elif permutes:
            operands.append((index, word))
        else:
            operands.extend((i, argv[i]) for i in range(index, len(argv)))
            break
        index += 1
    return Parsed(tuple(options), tuple(operands))


def _long(
    argv: Sequence[str],
    index: int,
    long_values: Sequence[str],
    options: list[tuple[str, str | None]],
) -> int:
    name, has_value, value = argv[index].lstrip("-").partition("=")
    full = name if name in long_values else None
    if full is None and marks.is_known(name):
        matches = [candidate for candidate in long_values if candidate.startswith(name)]
        full = matches[0] if matches and len(name) > 1 else None
    is_other = full != name and argv[index + 1 : index + 2] and argv[index + 1][:1] == "-"
    if is_other and not has_value:  # `--start --exec x`: an option in full, and not `--startas`
        full = None
    if full is not None and not has_value and index + 1 < len(argv):
        options.append((full, argv[index + 1]))
        return index + 1
    options.append((full or name, value if has_value else None))
    return index


def _short(
    argv: Sequence[str], index: int, short_values: str, options: list[tuple[str, str | None]]
) -> int:
    word = argv[index]
    for position in range(1, len(word)):
        letter = word[position]
        if letter not in short_values:
            options.append((letter, None))
            continue
        if position + 1 < len(word):
            options.append((letter, word[position + 1 :]))
            return index
        if index + 1 < len(argv):
            options.append((letter, argv[index + 1]))
            return index + 1
        options.append((letter, None))
    return index


OptionNames = tuple[dict[str, tuple[str, ...]], dict[str, str]]
"""The groups of every spelling of an option, and the group of operands by leading character."""


@functools.cache
def option_names(program: str, subcommand: str | None) -> OptionNames:
    """Return the known spellings of a program's options, or of one subcommand's."""
    rows = TABLES["option_names"]
    row = rows.get(f"{program} {subcommand}") or rows.get(program, "")
    canonical: dict[str, tuple[str, ...]] = {}
    operand_marks: dict[str, str] = {}
    for group in row.split():
        first, *others = group.split("=")
        if not first.isalnum() and len(first) == 1:
            operand_marks[first] = others[0]
        elif others and "+" in others[0]:
            canonical[first] = tuple(others[0].split("+"))
        else:
            canonical.update(dict.fromkeys([first, *others], (first,)))
    return canonical, operand_marks


def canonical_names(canonical: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    """Return the groups an option belongs to; of a shortened long option all that it may be."""
    if name in canonical or len(name) < 2:
        return canonical.get(name, (name,))
    groups = {
        group
        for full, its_groups in canonical.items()
        if len(full) > 1 and full.startswith(name)
        for group in its_groups
    }
    return tuple(groups) or (name,)


_RENAMED = frozenset(name.split()[0] for name in TABLES["same_commands"])


def same_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line by the name that rules use; empty if it has no other."""
    if words[0] not in _RENAMED:
        return ()
    parsed = parse(words, *(outer_values(words[0]) or ("", ())), permutes=False)
    start = parsed.operands[0][0] if parsed.operands else len(words)
    option = " -destroy" if "-destroy" in words else ""
    for end in (start + 2, start + 1, start):
        name = " ".join((words[0], *words[start:end]))
        if same := TABLES["same_commands"].get(name + option) or TABLES["same_commands"].get(name):
            return (*same.split(), *words[end:])
    return ()


# Programs that take shortened long options.
SHORTENS = word_set(TABLES["sets"]["shortens"])
_OUTER = by_name(TABLES["outer_options"])


@functools.lru_cache(maxsize=1024)
def outer_values(program: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the letters and long names of options with a value; None without a row."""
    row = _OUTER.get(program)
    if row is None:
        return None
    names = f"{row} {TABLES['sets']['common_options']}".split()
    letters = "".join(name for name in names if len(name) == 1)
    return letters, tuple(name for name in names if len(name) > 1)


SHELLS = word_set("sh bash zsh dash ksh")


INTERPRETERS: dict[str, dict[str, str]] = {}
"""Interpreters, from the files `shell.json` of languages: `code` options carry program text in the
`language`; `values` are other options with a value. Options in `modules` name an installed module,
so no operand is a script. A subcommand takes code (`eval`) or only comes before a script (`run`).
"""
CONSOLES = by_name(TABLES["consoles"])
_VERSIONED: dict[str, str] = {}  # those whose names may carry a version, and the row of each
for _language in list_languages("shell.json"):
    _rows = json.loads(read_file(f"{_language}/shell.json"))
    for _names, _row in _rows["interpreters"].items():
        INTERPRETERS |= {name: {"language": _language, **_row} for name in _names.split()}
    _VERSIONED |= by_name(_rows.get("versioned", {}))


@functools.lru_cache(maxsize=1024)
def interpreter(name: str) -> dict[str, str] | None:
    """Return the row of the interpreter that a name stands for, whatever version it carries."""
    family = _VERSIONED.get(name.rstrip("0123456789."), name)
    return INTERPRETERS.get(family)


class CliRow(NamedTuple):
    """A program's row: its facts for the walker.

    `reads` and `writes` are all, first, last, rest (all but the first), heads (all but the last),
    or, for searchers, after-pattern.
    """

    short: str = ""  # options of one letter that take a value
    long: str = ""  # long options that take a value
    runs: str = ""  # what its operands start: a key of `policy.shell.run.RUNNERS`
    skip: int = 0  # how many leading operands `runs` skips
    runs_options: str = ""  # options whose value is a command line
    reads: str = ""  # which operands are files that are read
    writes: str = ""  # which operands are files that are written
    reads_options: str = ""  # options whose value is a file that is read
    writes_options: str = ""  # options whose value is a file that is written
    lists: str = ""  # options that name a file with names of files that are read
    at_options: str = ""  # options that name a file when their value has an `@`
    pattern_options: str = ""  # options that give a searcher its pattern, so that no operand does
    long_with_one_dash: bool = False  # whether `-name` is one option
    files_known: bool = True  # if not, its operands are taken for files


PROGRAMS = by_name({names: CliRow(**row) for names, row in TABLES["programs"].items()})
UNKNOWN_PROGRAM = CliRow(runs="guess", files_known=False)

# Wrappers whose name may stand for `command -v name` and similar: asking, not running.
QUERY_OPTIONS = {"command": frozenset("vV"), "hash": frozenset("lrdt"), "sudo": frozenset("lvkKV")}

# Variables whose value a program run later takes for a command line.
COMMAND_VARIABLES = word_set(TABLES["sets"]["command_variables"])

# Variables that name a file the shell reads commands from, and those it expands as a prompt.
STARTUP_VARIABLES = word_set("BASH_ENV ENV")
PROMPT_VARIABLES = word_set("PS0 PS1 PS2 PS4")

# Consumers at the end of a pipe that show no part of their input.
SILENT_SINKS = word_set(TABLES["sets"]["silent_sinks"])
