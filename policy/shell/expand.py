"""Expansion of words to fields: the arguments that bash would pass, if they can be known.

A word may expand in several ways, as if two branches set a variable: all are returned.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.shell import fields as parameters
from policy.shell.fields import (
    FIELD_BREAK,
    FIXED,
    IFS,
    QUOTED,
    SPLIT,
    Fields,
    Piece,
    each_element,
    elements,
    field_separators,
    join,
    mark_active,
    split,
)
from policy.shell.state import ShellState, Variable
from policy.shell.syntax import (
    Arithmetic,
    Assignment,
    ExtendedPattern,
    Literal,
    Parameter,
    Part,
    Substitution,
    Word,
)

if TYPE_CHECKING:
    from policy.shell.walk import Walk

_ACTIVE = re.compile(r"[~{}*?\[]")  # what makes an unquoted word more than its text

# Values of variables that by custom name a program, if nothing else is known of them.
_USUAL_PROGRAMS = {
    "BASH": "bash", "EDITOR": "vi", "VISUAL": "vi", "PAGER": "less", "SHELL": "sh", "CC": "cc",
    "CXX": "c++", "MAKE": "make", "PYTHON": "python3", "BROWSER": "xdg-open",
}  # fmt: skip

PRODUCT_MAX = 64  # argument lists of one command; with more, what varies counts as unknown

_ALWAYS_UNKNOWN = word_set("? $ ! - _ OLDPWD RANDOM SECONDS LINENO UID EUID PPID")


def _expand_braces(walk: Walk, parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Return all words that the braces in a word make."""
    if not any(type(part) is Literal and not part.quoted and "{" in part.text for part in parts):
        return [parts]
    return parameters.expand_braces(walk, parts)


def argument_lists(walk: Walk, words: Sequence[Word]) -> list[Fields]:
    """Return all argument lists the words may make."""
    choices: list[list[Fields]] = []
    only: list[str] = []  # the one argument list there is, as long as there is one
    is_one = True
    for word in words:
        part = word.parts[0] if len(word.parts) == 1 else None
        if type(part) is Literal and part.quoted and word.assignment is None:
            choice: list[Fields] = [(part.text,)]  # most words; fields() would say the same
        else:
            choice = expand_fields(walk, word)
            is_one = is_one and len(choice) == 1
        choices.append(choice)
        only += choice[0]
    walk.spend(len(words))
    if is_one:
        return [tuple(only)]
    lists = _combine(choices)
    walk.spend(len(lists) * len(words))
    return lists


def expand_fields(walk: Walk, word: Word) -> list[Fields]:
    """Return all lists of fields that one word may become."""
    parts = word.parts
    if word.assignment is not None:
        return _assignment_fields(walk, word.assignment)
    if len(parts) == 1 and type(parts[0]) is Literal:
        text = parts[0].text
        if parts[0].quoted or not _ACTIVE.search(text):
            walk.spend()
            return [(text,)]
    lists: list[list[Fields]] = []
    for braced in _expand_braces(walk, tuple(parts)):
        pieces = _pieces(walk, braced)
        separators = field_separators(walk.state)
        lists.append([split(choice, separators) for choice in pieces])
    if len(lists) == 1:
        return lists[0] if len(lists[0]) == 1 else list(dict.fromkeys(lists[0]))
    return list(dict.fromkeys(_combine(lists)))


def _assignment_fields(walk: Walk, assignment: Assignment) -> list[Fields]:
    """Return `name=value` as an argument (of `export`, `make`): one field, never split."""
    head = assignment.name
    if assignment.subscript is not None:
        head += f"[{expand_text(walk, assignment.subscript)}]"
    head += "+=" if assignment.append else "="
    if assignment.items is None:
        return [(head + value,) for value in expand_texts(walk, assignment.value)]
    items = argument_lists(walk, assignment.items)
    return [(head + "(" + FIELD_BREAK.join(fields) + ")",) for fields in items]


def expand_texts(walk: Walk, parts: Sequence[Part]) -> tuple[str, ...]:
    """Return all texts the parts may make without splitting: values, bodies, targets."""
    choices = _pieces(walk, parts)
    if len(choices) == 1:
        return (join(choices[0]),)
    return tuple(dict.fromkeys(join(choice) for choice in choices))


def expand_text(walk: Walk, parts: Sequence[Part]) -> str:
    """Return the one text the parts make; unknown if there is more than one."""
    texts = expand_texts(walk, parts)
    return texts[0] if len(texts) == 1 else _taint_of(texts)


def _pieces(walk: Walk, parts: Sequence[Part]) -> list[tuple[Piece, ...]]:
    choices: list[list[Piece]] = [[]]
    work = 0
    is_first = True
    if parts[:2] == _HERE:
        parts = (Literal("~+", False), *parts[2:])
    for part in parts:
        if type(part) is Literal and part.quoted:
            options = [(part.text, QUOTED)]
        else:
            options = _part(walk, part, is_first=is_first)
            if len(options) > 1 and len(choices) * len(options) > PRODUCT_MAX:
                options = [_unknown_piece(options)]
        is_first = False
        if len(options) == 1:
            for choice in choices:
                choice.append(options[0])
        else:
            choices = [[*choice, option] for choice in choices for option in options]
        work += len(choices)
    walk.spend(work)
    return [tuple(choice) for choice in choices]


def _part(walk: Walk, part: Part, *, is_first: bool) -> list[Piece]:
    if isinstance(part, Literal):
        text = _tilde(part.text, walk.state) if is_first and part.text[:1] == "~" else part.text
        return [(mark_active(text), FIXED)]
    if isinstance(part, Parameter):
        mode = QUOTED if part.quoted else SPLIT
        texts = _parameter(walk, part)
        walk.spend(sum(1 + len(text) // 16 for text in texts))
        return [(text, mode) for text in texts]
    if isinstance(part, Substitution):
        return [_substitution(walk, part)]
    if isinstance(part, Arithmetic):
        return [(_arithmetic(walk, part), QUOTED if part.quoted else SPLIT)]
    assert isinstance(part, ExtendedPattern)
    expand_texts(walk, part.parts)
    return [(marks.GLOB_ANY, FIXED)]


def _substitution(walk: Walk, part: Substitution) -> Piece:
    output = walk.substitute(part)
    if part.kind in ("<(", ">("):
        return (output, QUOTED)
    output = output.rstrip("\n")
    walk.spend(1 + len(output) // 16)
    return (marks.as_one_word(output), QUOTED) if part.quoted else (output, SPLIT)


def _arithmetic(walk: Walk, part: Arithmetic) -> str:
    expression = marks.as_written(expand_text(walk, part.parts))
    run_subscripts(walk, expression)
    if re.fullmatch(r"\s*\d{1,9}(\s*[-+*]\s*\d{1,9})*\s*", expression):
        return str(_calculate(expression))
    return marks.WORD


def run_subscripts(walk: Walk, text: str) -> None:
    """Run the `$( )` in `a[$(cmd)]`, as arithmetic does, also in a variable's value."""
    texts = [text]
    for name in set(re.findall(r"[A-Za-z_]\w*", text)):
        variable = walk.state.variables.get(name)
        texts += variable.values if variable is not None else ()
    for candidate in texts:
        if "[" in candidate and ("$(" in candidate or "`" in candidate):
            walk.run_template(candidate)


def _parameter(walk: Walk, part: Parameter) -> Iterable[str]:
    if part.subscript is not None:
        expand_texts(walk, part.subscript)
    if part.prefix == "!":
        return _indirect(walk, part)
    found = _value(walk, part.name, part.subscript, quoted=part.quoted)
    if part.prefix == "#":
        known = found is not None and len(found) == 1 and marks.is_known(found[0])
        return (str(len(found[0])),) if known and found else (marks.WORD,)
    if part.operator or part.operand:
        return _operate(walk, part, found)
    if found is None and part.name in _USUAL_PROGRAMS:
        return (_USUAL_PROGRAMS[part.name],)
    return (_unknown(part.quoted),) if found is None else found


def _indirect(walk: Walk, part: Parameter) -> Iterable[str]:
    if part.operator in ("@",) and not part.operand:
        return (marks.LIST,)
    names = _value(walk, part.name, part.subscript, quoted=True) or (marks.LIST,)
    values: list[str] = []
    for name in names:
        array = re.fullmatch(r"(\w+)\[([@*\w]+)\]", name)
        subscript = (Literal(array[2], True),) if array else None
        target = array[1] if array else name
        found = _value(walk, target, subscript, quoted=part.quoted)
        values.extend(found or (_unknown(part.quoted),))
    return values


def _operate(walk: Walk, part: Parameter, found: tuple[str, ...] | None) -> Iterable[str]:
    """Return the value after the operator; `found` is None if the name is not set."""
    operator = part.operator
    if operator == "@" and part.operand and _join_literals(part.operand) == "P":
        return [walk.run_template(text) for text in found or (marks.LIST,)]
    operands = expand_texts(walk, part.operand) if part.operand else ("",)
    if operator == ":":
        for operand in operands:
            run_subscripts(walk, operand)
    if operator in ("+", ":+"):
        return operands if found is not None and all(found) else ("", *operands)
    if operator in ("-", ":-", "=", ":=", "?", ":?"):
        if found is None or (operator[0] == ":" and not any(found)):
            if operator[-1] == "=":
                walk.state.assign(part.name, operands)
            return (_unknown(part.quoted),) if operator[-1] == "?" else operands
        return tuple(value or operands[0] for value in found) if operator[0] == ":" else found
    if found is None:
        return (_unknown(part.quoted),)
    return _transform(walk, part, found, operands)


def _transform(
    walk: Walk, part: Parameter, found: tuple[str, ...], operands: tuple[str, ...]
) -> list[str]:
    """Apply operators that change a value, or each element of a list."""
    is_list = part.name in ("@", "*") or _join_literals(part.subscript or ()) in ("@", "*")
    pairs = itertools.product(found, operands)
    if not is_list:
        made = [parameters.apply(value, part.operator, operand) for value, operand in pairs]
        return [marks.as_one_word(text) for text in made] if part.quoted else made
    before = (walk.state.name,) if part.name in ("@", "*") else ()
    return [each_element(value, part.operator, operand, before) for value, operand in pairs]


def _value(
    walk: Walk, name: str, subscript: Sequence[Part] | None, *, quoted: bool
) -> tuple[str, ...] | None:
    """Return all values of a name; elements of `@` are separated by a break."""
    if name in ("@", "*", "#") or name.isdigit():
        return _of_parameters(name, walk.state, quoted=quoted)
    if name == "PWD" and name not in walk.state.variables:
        return (walk.state.cwd,)
    if name in _ALWAYS_UNKNOWN:
        return (marks.WORD,)
    variable = walk.state.lookup(name)
    if variable is None:
        return {"HOME": (walk.state.home,), "IFS": (IFS,)}.get(name)
    return _element(walk, variable, subscript, quoted=quoted)


def _element(
    walk: Walk,
    variable: Variable,
    subscript: Sequence[Part] | None,
    *,
    quoted: bool,
) -> tuple[str, ...]:
    key = expand_text(walk, subscript) if subscript is not None else "0"
    if variable.items is None:
        values = variable.values
        return tuple(map(marks.as_one_word, values)) if quoted else values
    if key in ("@", "*", marks.GLOB_STAR):
        joined_by = "@" if key == "@" else "*"
        return (elements(variable.items, joined_by, quoted=quoted),)
    if re.fullmatch(r"-?\d+", key) and not any(map(marks.splits, variable.items)):
        index = int(key)
        in_range = -len(variable.items) <= index < len(variable.items)
        return (variable.items[index] if in_range else "",)
    return variable.items or ("",)


def _unknown(quoted: bool) -> str:
    return marks.WORD if quoted else marks.LIST


def _of_parameters(name: str, state: ShellState, *, quoted: bool) -> tuple[str, ...]:
    """Return `$@`, `$*`, `$#` and `$1`."""
    if name.isdigit():
        values = _positional(int(name), state)
        return tuple(map(marks.as_one_word, values)) if quoted else values
    if name == "#":
        unknown = any(marks.splits(text) for text in state.parameters)
        return (marks.WORD if unknown else str(len(state.parameters)),)
    return (elements(state.parameters, name, quoted=quoted),)


def _positional(number: int, state: ShellState) -> tuple[str, ...]:
    if number == 0:
        return (state.name,)
    before = state.parameters[:number]
    if any(marks.splits(text) for text in before):
        return (marks.LIST,)
    return (before[number - 1] if number <= len(before) else "",)


_HERE = (Literal("~", False), Literal("+", False))  # as it is read, `~+`


def _tilde(text: str, state: ShellState) -> str:
    head, slash, rest = text.partition("/")
    if head == "~":
        home = state.lookup("HOME")
        value = home.values[0] if home and len(home.values) == 1 else state.home
        return value + slash + rest
    if head == "~+":
        return state.cwd + slash + rest
    return f"/home/{head[1:]}{slash}{rest}" if head[1:].isalnum() else marks.WORD + slash + rest


def _join_literals(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Literal))


def _combine(choices: list[list[Fields]]) -> list[Fields]:
    """Return all ways to take one of each; if there are too many, the varying parts are unknown."""
    count = 1
    for index, choice in enumerate(choices):
        if count * len(choice) > PRODUCT_MAX:
            choices[index] = [(_taint_of(itertools.chain.from_iterable(choice)),)]
        count *= len(choices[index])
    return [tuple(itertools.chain.from_iterable(fields)) for fields in itertools.product(*choices)]


def _unknown_piece(options: Sequence[Piece]) -> Piece:
    text, mode = _taint_of(text for text, _ in options), options[0][1]
    return (marks.as_one_word(text) if mode == QUOTED else text, mode)


def _taint_of(texts: Iterable[str]) -> str:
    """Return the unknown that stands for any of several texts; fetched or decoded text stays so."""
    return marks.taint("".join(texts)) or marks.LIST


def _calculate(expression: str) -> int:
    """Calculate sums and products of small whole numbers, left to right as precedence allows."""
    from math import prod  # noqa: PLC0415 - few words calculate

    terms = re.findall(r"([-+]?)\s*(\d+(?:\s*\*\s*\d+)*)", expression)
    return sum(int(f"{sign}1") * prod(map(int, term.split("*"))) for sign, term in terms)
