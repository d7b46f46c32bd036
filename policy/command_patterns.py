"""Command rules against commands: `Bash(spec)` as Claude Code reads it, and by meaning.

The compat reading compares text. The normalised reading knows that options have several spellings
and no fixed place. A path, or a global option before the subcommand, does not change which program
runs.
"""

from __future__ import annotations

import functools
import re
from itertools import pairwise
from typing import Literal, NamedTuple

from base.globs import ANY, Wildcard, is_made_of
from base.wordlist import word_set
from policy import marks
from policy.model import Command, program_name
from policy.path_patterns import may_be, parts
from policy.shell.call import COMPAT_WRAPPERS
from policy.shell.options import (
    PROGRAMS,
    SHORTENS,
    TABLES,
    OptionNames,
    Parsed,
    canonical_names,
    interpreter,
    option_names,
    outer_values,
    parse,
    same_command,
)

Found = Literal["compat", "normalised", "possible"]

_ASSIGNMENT = r"""(?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"'])*\s+)+"""
_BEGINS_WRAPPER = tuple(COMPAT_WRAPPERS)
_COMPAT_WRAPPER = (
    r"(?:timeout(?:\s+-\S+)*\s+\S+|nice(?:\s+-n\s*\S+|\s+-\S+)*|stdbuf(?:\s+-\S+)+"
    r"|(?:time|nohup|builtin|noglob)(?:\s+-\S+)*|command(?!\s+-)|xargs(?!\s+-))\s+"
)
_WRAPPERS_MAX = 4  # texts of one command; each is another wrapper fewer
# Programs whose options are words after one dash, never several letters.
_LONG_WITH_ONE_DASH = word_set(TABLES["sets"]["long_with_one_dash"])


class CommandPattern(NamedTuple):
    """A compiled spec: what a line begins with if only arguments may follow, and the texts between
    its stars."""

    begin: str | None
    pieces: tuple[str, ...]
    program: str | None
    tokens: tuple[str, ...]
    is_prefix: bool
    has_options: bool

    def fits(self, text: str) -> bool:
        """Return whether a command line fits as it is written."""
        if self.begin is None:
            return is_made_of(self.pieces, text)
        rest = text[len(self.begin) :]
        return text.startswith(self.begin) and (not rest or rest[0].isspace())


@functools.lru_cache(maxsize=1024)
def compile_pattern(spec: str) -> CommandPattern:
    """Compile the spec of a command rule."""
    spec = spec.strip()
    if spec.endswith(":*"):
        spec = spec[:-2] + " *"
    is_prefix = spec.endswith(" *") and spec.count("*") == 1
    words = tuple(word.strip("\"'") for word in spec.split())
    open_ended = bool(words) and words[-1] == "*"
    words = words[:-1] if open_ended else words
    program = words[0].rsplit("/", 1)[-1] if words and "*" not in words[0] else None
    has_options = any(word.startswith("-") for word in words[1:])
    begin = spec[:-2] if is_prefix else None
    return CommandPattern(
        begin, tuple(spec.split("*")), program, words[1:], open_ended, has_options
    )


class Spellings(NamedTuple):
    """A command in the ways that rules compare it, computed once for all of them."""

    texts: tuple[str, ...]  # for Claude Code's rules: as written, then without each wrapper
    name: str | None
    words: tuple[str, ...]  # begin with the program's name
    line: str  # `words` as one text
    before_operands: str  # the part of `line` before `--`, where a rule's options are looked for
    same: tuple[str, ...] = ()  # `words` with another name of the program


def spellings(command: Command) -> Spellings:
    """Compute every spelling of a command that rules are compared with."""
    texts = _compat_texts(command.place.text) if command.is_syntactic else ()
    name = program_name(command.argv[0])
    if name is None:
        return Spellings(texts, None, command.argv, "", "")
    words = (name, *command.argv[1:])
    from_subcommand = words[_outer(words)[1] :]
    line = " ".join((name, *from_subcommand))
    before = " ".join((name, *from_subcommand[: from_subcommand.index("--")])) if (
        "--" in from_subcommand) else line  # fmt: skip
    return Spellings(texts, name, words, line, before, same_command(words))


def match_command(spec: str, seen: Spellings) -> Found | None:
    """Return how a rule's spec matches a command; `possible` if unknown parts could make it."""
    pattern = compile_pattern(spec)
    for text in seen.texts:
        if pattern.fits(text):
            return "compat"
    if seen.name is None:
        return "possible" if _may_be(pattern, seen.words) else None
    line = seen.before_operands if pattern.has_options else seen.line
    if line not in seen.texts and pattern.fits(line):
        return "normalised"
    for words in (seen.words, seen.same):
        if words and pattern.program == words[0] and (found := _match_structure(pattern, words)):
            return found
    return None


# Variables that an allow rule ignores: they change what is shown, not what is run.
_SAFE_VARIABLES = (
    r"(NODE_ENV|CI|TZ|LANG|LC_\w+|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR|DEBUG|GOOS"
    r"|GOARCH|RUST_LOG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)="
)
# Never approved by a rule with a wildcard: what they run is in their arguments.
_NEVER_BY_PREFIX = word_set("watch setsid ionice flock")
_FIND_ACTS = word_set("-exec -execdir -ok -okdir -delete -fprint -fprintf -fls")


def approves(spec: str, command: Command) -> bool:
    """Return whether an allow rule covers a command: by its text, as Claude Code compares it."""
    if not command.is_syntactic:
        return False
    text = command.place.text
    while re.match(_SAFE_VARIABLES, text):
        assignment = _assignments(text)
        if assignment is None:
            return False
        text = text[len(assignment.group().split(None, 1)[0]) :].lstrip()
    if re.match(r"[A-Za-z_]\w*\+?=", text):
        return False
    name = command.argv[0]
    acts = name in _NEVER_BY_PREFIX or (name == "find" and not _FIND_ACTS.isdisjoint(command.argv))
    if acts and "*" in spec:
        return False
    while wrapper := _wrapper(text):
        text = text[wrapper.end() :]
    return compile_pattern(spec).fits(text)


# Run without a prompt in every mode of Claude Code.
_READING = word_set("cat cd diff du echo find grep head ls pwd stat tail wc which")
_READING_OF_GIT = word_set("blame diff log ls-files rev-parse show status")
_ACTS_OF_GIT = ("--output", "-o", "--ext-diff", "--textconv")


def only_reads(command: Command) -> bool:
    """Return whether a command is one of those that Claude Code treats as read-only."""
    name, *words = command.argv
    if not command.is_syntactic or not command.place.text.startswith(name):
        return False
    if name == "git":
        acts = any(word.startswith(_ACTS_OF_GIT) or not marks.is_known(word) for word in words)
        return bool(words) and words[0] in _READING_OF_GIT and not acts
    acts = not _FIND_ACTS.isdisjoint(words) or not all(map(marks.is_known, words))
    return name in _READING and not (name == "find" and acts)


def is_stripped(command: Command) -> bool:
    """Return whether Claude Code ignores this command and compares the one it runs."""
    wrapper = _wrapper(command.place.text)
    return command.is_syntactic and wrapper is not None and command.argv[0] in wrapper.group()


_NO_OUTER = (Parsed((), ()), 1)


def _outer(words: tuple[str, ...]) -> tuple[Parsed, int]:
    """Parse the options before the subcommand, if the program has some; return its place, too."""
    values = outer_values(words[0])
    if values is None:
        return _NO_OUTER
    one_dash = words[0] in _LONG_WITH_ONE_DASH
    parsed = parse(words, *values, permutes=False, long_with_one_dash=one_dash)
    return parsed, parsed.operands[0][0] if parsed.operands else len(words)


def _assignments(text: str) -> re.Match[str] | None:
    return re.match(_ASSIGNMENT, text) if "=" in text else None


def _wrapper(text: str) -> re.Match[str] | None:
    return re.match(_COMPAT_WRAPPER, text) if text.startswith(_BEGINS_WRAPPER) else None


def _compat_texts(text: str) -> tuple[str, ...]:
    if assignments := _assignments(text):
        text = text[assignments.end() :]
    texts = [text]
    while len(texts) < _WRAPPERS_MAX and (wrapper := _wrapper(text)):
        text = text[wrapper.end() :]
        texts.append(text)
    return tuple(texts)


def _may_be(pattern: CommandPattern, words: tuple[str, ...]) -> bool:
    """Return whether a command whose program is unknown may be one that the rule names.

    A variable of the environment, or a parameter, has no hint of its value: then the known
    arguments must be the rule's. Fetched or decoded text may be anything.
    """
    base = words[0].rsplit("/", 1)[-1]
    if marks.taint(words[0]):
        return True
    if pattern.program is None:
        return pattern.fits(" ".join(words))
    if not base or marks.is_only_hole(base) or base == marks.GLOB_STAR:
        known = tuple(filter(marks.is_known, words[1:]))
        asked = {pattern.program, *pattern.tokens}
        codes = (code for option, code in pairwise(known) if option in ("-c", "-lc", "-e"))
        if any(asked.issubset(code.split()) for code in codes):
            return True
        fits = _match_structure(pattern, (pattern.program, *known)) == "normalised"
        return fits and bool(pattern.tokens)
    word_pattern = Wildcard(parts(base, ANY))
    return any(word_pattern.meets(name) for name in (pattern.program, *_run_others()))


@functools.cache
def _run_others() -> frozenset[str]:
    """Return the programs that run what they are given."""
    no_runners = ("", "download", "dd")
    return frozenset(name for name, row in PROGRAMS.items() if row.runs not in no_runners) | {
        *("python", "python3", "perl", "ruby", "node", "php", "eval", "exec", "source")
    }


class _CommandLine(NamedTuple):
    """A command line taken apart: canonical option names, operands, and unknown parts.

    `outer` are the options before the subcommand. An operand is paired with True if it may as well
    be the value of the option before it.
    """

    options: frozenset[str]
    outer: frozenset[str]
    operands: tuple[tuple[str, bool], ...]
    unknown_list: bool  # some words are not known, not even how many
    unknown_option: bool  # an option whose name is not known


def _match_structure(pattern: CommandPattern, words: tuple[str, ...]) -> Found | None:
    names, wanted = _rule_line(words[0], pattern.tokens)
    given = _line(words, names)
    missing = _missing(wanted.options | wanted.outer, given, words[0])
    if missing and not (given.unknown_list or given.unknown_option):
        return None
    operands = tuple(word for word, _ in wanted.operands)
    found = _match_operands(operands, given, pattern.is_prefix)
    if found is None or (not pattern.is_prefix and given.options - wanted.options):
        return None
    return "possible" if missing else found


@functools.lru_cache(maxsize=1024)
def _rule_line(program: str, tokens: tuple[str, ...]) -> tuple[OptionNames, _CommandLine]:
    """Return the known options of a rule's program, and the rule's own words taken apart."""
    names = option_names(program, next((token for token in tokens if token[:1] != "-"), None))
    return names, _line((program, *tokens), names)


def _missing(wanted: frozenset[str], given: _CommandLine, program: str) -> list[str]:
    """Return the rule's options that a command lacks, even in a shortened form."""
    missing = wanted - given.options - given.outer
    if not missing:
        return []
    shortens = program in SHORTENS or outer_values(program) is None
    short = [name for name in given.options if len(name) > 2] if shortens else []
    return [name for name in missing if not any(name.startswith(begin) for begin in short)]


def _match_operands(wanted: tuple[str, ...], given: _CommandLine, is_prefix: bool) -> Found | None:
    """Match operands in order; one that may be an option's value is read both ways."""
    reached: dict[int, Found] = {0: "normalised"}  # by how many of the wanted ones were found
    for operand, may_be_value in given.operands:
        found = _certainty_at_end(reached, wanted)
        if found is not None and is_prefix:
            return found
        following: dict[int, Found] = dict(reached) if may_be_value else {}
        for index, certainty in reached.items():
            one = _match_operand(wanted[index], operand) if index < len(wanted) else None
            if one is not None and marks.splits(operand):
                return "possible"
            if one is not None and following.get(index + 1) != "normalised":
                following[index + 1] = "possible" if one == "possible" else certainty
        reached = following
    found = _certainty_at_end(reached, wanted)
    return "possible" if found is None and reached and given.unknown_list else found


def _certainty_at_end(reached: dict[int, Found], wanted: tuple[str, ...]) -> Found | None:
    for index, certainty in reached.items():
        if index == len(wanted) or wanted[index] == "*":
            return certainty
    return None


def _match_operand(pattern: str, operand: str) -> Found | None:
    if marks.splits(operand):
        return "possible"
    if marks.is_known(operand):
        return "normalised" if is_made_of(pattern.split("*"), operand) else None
    return "possible" if may_be(operand, pattern, ANY) else None


def _line(words: tuple[str, ...], names: OptionNames) -> _CommandLine:
    canonical, operand_marks = names
    program = PROGRAMS.get(words[0])
    outer, start = _outer(words)
    short, long = outer_values(words[0]) or ("", ())
    if program:
        short, long = short + program.short, (*long, *program.long.split())
    parsed = parse(
        (words[0], *words[start:]),
        "" if canonical else short,
        () if canonical else long,
        long_with_one_dash=words[0] in _LONG_WITH_ONE_DASH or interpreter(words[0]) is not None,
    )
    options, outer_options = (
        {one for name, _ in given.options for one in canonical_names(canonical, name)}
        for given in (parsed, outer)
    )
    operands: list[tuple[str, bool]] = []
    for index, operand in parsed.operands:
        if mark := operand_marks.get(operand[:1]):
            options.add(mark)
        operands.append((operand, _may_be_value(words[index + start - 2], operand)))
    # A file listing gives operands, not options; anything else that splits may be either, before
    # the `--` that ends them.
    before = words[1 : words.index("--")] if "--" in words else words[1:]
    unknown = any(marks.splits(word) and not _is_listing(word) for word in before)
    unknown_option = any(marks.has_hole(name) for name, _ in parsed.options)
    return _CommandLine(
        frozenset(options), frozenset(outer_options), tuple(operands), unknown, unknown_option
    )


def _may_be_value(before: str, operand: str) -> bool:
    """Return whether an operand may be the value of the word before, as of a setting."""
    if re.match(r"\+|[A-Za-z_]\w*=|(?:alpha|beta)$", operand):
        return True
    return before[:1] == "-" and len(before) > 1 and before != "--" and "=" not in before


def _is_listing(word: str) -> bool:
    """Return whether an unknown word stands for files: a listing's, or like `$folder/name`."""
    if not marks.is_only_hole(word):
        return word[0] != "-"
    return marks.PATHS in word and marks.LIST not in word and not marks.taint(word)
