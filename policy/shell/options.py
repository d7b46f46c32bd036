"""Command lines split into options and operands, by a program's own conventions."""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from base.wordlist import read_rows
from policy import marks


class Parsed(NamedTuple):
    """The options and operands of a command line."""

    options: tuple[tuple[str, str | None], ...]  # (name, value); None: the option takes none
    operands: tuple[tuple[int, str], ...]  # (index in argv, word)

    def values(self, names: Sequence[str]) -> Iterator[str]:
        """The values of any of the named options, in order."""
        return (value for name, value in self.options if name in names and value is not None)

    def has(self, *names: str) -> bool:
        """True when one of the options is given, a long one perhaps shortened."""
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

    `short_values` are the one-letter options that take a value, `long_values`
    the long ones, which may be shortened to any prefix. `permutes` allows options behind operands.
    `long_with_one_dash` reads `-name` as one option.
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


class OptionNames(NamedTuple):
    """`canonical` maps every spelling to its groups; `operand_marks` a leading character to one."""

    canonical: dict[str, tuple[str, ...]]
    long_names: tuple[str, ...]
    operand_marks: dict[str, str]


@functools.cache
def _option_rows() -> dict[str, str]:
    return dict(read_rows(__file__, "option_names.txt"))


@functools.cache
def option_names(program: str, subcommand: str | None) -> OptionNames:
    """What is known of a program's option spellings, or of one subcommand's."""
    rows = _option_rows()
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
    return OptionNames(canonical, tuple(n for n in canonical if len(n) > 1), operand_marks)


def canonical_names(names: OptionNames, name: str) -> tuple[str, ...]:
    """The groups an option belongs to; of a long option that is shortened all that it may be."""
    if name in names.canonical or len(name) < 2:
        return names.canonical.get(name, (name,))
    groups = {
        group for full in names.long_names if full.startswith(name)
        for group in names.canonical[full]
    }  # fmt: skip
    return tuple(groups) or (name,)
