"""Programs changed at random: what a guard meets on a bad day, and from somebody who wishes it ill.

The same `random.Random` and the same seeds give the same programs. A mutated text may hold what no
file can: control characters, marks of private use, halves of surrogate pairs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

SIZE_MAX = 100_000  # characters of a mutated program, about
REPEATS = (10, 30, 100, 300, 1_000, 3_000, 20_000)
MUTATIONS_MAX = 4  # of one program
STRANGE = (
    *"éß漢字я\u0301\u200b\u200d\u202e\u2028\u00a0\ufeff\uffff\U0001f600\U0010ffff",
    *"\0\x01\x07\x08\x0b\x0c\r\x1b\x7f\x80\x85\x9f",
    *"\ud800\udc00\udcff\ude80",
    *"\ue000\ue001\ue010\uf8ff",
)
QUOTES = (
    "'",
    '"',
    "`",
    "'''",
    '"""',
    "$'",
    '$"',
    "\\",
    "//",
    "/*",
    "*/",
    "#",
    "<<EOF\n",
    "%q(",
    "qq{",
)
BRACKETS = ("( )", "[ ]", "{ }", "< >", "` `", '" "', "' '", "$( )", "${ }", "$(( ))", "<( )")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]{1,3}")


class Program(NamedTuple):
    """A text and the language it is written in, by its name in `runtimes`."""

    language: str
    code: str


Seeds = Mapping[str, Sequence[str]]
Mutation = Callable[[str, random.Random, Sequence[str]], str]


def mutate(number: int, seed: int, seeds: Seeds) -> Program:
    """The program of this number: languages take turns, each number has chances of its own."""
    chance = random.Random(f"{seed} {number}")
    languages = sorted(seeds)
    language = languages[number % len(languages)]
    others = seeds[language] if chance.random() < 0.8 else seeds[chance.choice(languages)]
    code = chance.choice(seeds[language])
    for _ in range(chance.randint(1, MUTATIONS_MAX)):
        code = chance.choice(MUTATIONS)(code, chance, others)[:SIZE_MAX]
    return Program(language, code)


def _piece(code: str, chance: random.Random, longest: int = 40) -> tuple[int, int]:
    """The place of a piece of some characters."""
    start = chance.randint(0, len(code))
    length = chance.choice((1, 1, 2, chance.randint(1, longest)))
    return start, min(len(code), start + length)


def _token(code: str, chance: random.Random) -> tuple[int, int]:
    """The place of a token, or of some in a row."""
    tokens = [match.span() for match in _TOKEN.finditer(code)]
    if not tokens:
        return 0, 0
    first = chance.randrange(len(tokens))
    last = min(len(tokens) - 1, first + chance.choice((0, 0, 1, 2, 5)))
    return tokens[first][0], tokens[last][1]


def delete_characters(code: str, chance: random.Random, _: Sequence[str]) -> str:
    start, end = _piece(code, chance)
    return code[:start] + code[end:]


def delete_bytes(code: str, chance: random.Random, _: Sequence[str]) -> str:
    """Bytes go, even out of the middle of a character; what is left is read as files are."""
    data = code.encode("utf-8", "surrogatepass")
    start = chance.randint(0, len(data))
    data = data[:start] + data[start + chance.randint(1, 3) :]
    return data.decode("utf-8", "surrogateescape")


def double_piece(code: str, chance: random.Random, _: Sequence[str]) -> str:
    start, end = _piece(code, chance)
    return code[:end] + code[start:end] + code[end:]


def swap_tokens(code: str, chance: random.Random, _: Sequence[str]) -> str:
    (a, b), (c, d) = sorted((_token(code, chance), _token(code, chance)))
    return code if c < b else code[:a] + code[c:d] + code[b:c] + code[a:b] + code[d:]


def insert_strange(code: str, chance: random.Random, _: Sequence[str]) -> str:
    for _count in range(chance.choice((1, 1, 2, 5))):
        at = chance.randint(0, len(code))
        code = code[:at] + chance.choice(STRANGE) * chance.choice((1, 1, 1, 3)) + code[at:]
    return code


def repeat_token(code: str, chance: random.Random, _: Sequence[str]) -> str:
    start, end = _token(code, chance)
    times = min(chance.choice(REPEATS), SIZE_MAX // max(1, end - start))
    separator = chance.choice(("", "", " ", "\n"))
    return code[:start] + separator.join([code[start:end]] * times) + code[end:]


def nest_brackets(code: str, chance: random.Random, _: Sequence[str]) -> str:
    """Brackets around a piece, many deep; at times some of them stay open."""
    opens, closes = chance.choice(BRACKETS).split()
    depth = chance.choice(REPEATS)
    start, end = _token(code, chance)
    closed = depth if chance.random() < 0.6 else chance.randint(0, depth)
    return code[:start] + opens * depth + code[start:end] + closes * closed + code[end:]


def splice(code: str, chance: random.Random, others: Sequence[str]) -> str:
    """The beginning of one program and the end of another."""
    other = chance.choice(others)
    return code[: chance.randint(0, len(code))] + other[chance.randint(0, len(other)) :]


def shuffle_lines(code: str, chance: random.Random, _: Sequence[str]) -> str:
    lines = code.splitlines(keepends=True)
    chance.shuffle(lines)
    return "".join(lines)


def truncate(code: str, chance: random.Random, _: Sequence[str]) -> str:
    return code[: chance.randint(0, len(code))]


def unbalance_quotes(code: str, chance: random.Random, _: Sequence[str]) -> str:
    """One quote goes, or one comes."""
    quotes = [match.start() for match in re.finditer("['\"`]", code)]
    if quotes and chance.random() < 0.5:
        at = chance.choice(quotes)
        return code[:at] + code[at + 1 :]
    at = chance.randint(0, len(code))
    return code[:at] + chance.choice(QUOTES) + code[at:]


def lengthen_word(code: str, chance: random.Random, _: Sequence[str]) -> str:
    start, end = _token(code, chance)
    word = code[start:end].strip() or "a"
    return code[:start] + (word * (1 + chance.choice(REPEATS) // len(word))) + code[end:]


MUTATIONS: tuple[Mutation, ...] = (
    *(delete_characters, delete_bytes, double_piece, swap_tokens, insert_strange, repeat_token),
    *(nest_brackets, splice, shuffle_lines, truncate, unbalance_quotes, lengthen_word),
)
