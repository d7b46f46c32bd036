"""Assignments, and builtins that change the meaning of later commands, or run text themselves.

A handler returns what the builtin prints, or None to treat the command as any other program. Names
given to one are evaluated: `read 'x[$(cmd)]'` runs cmd.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.model import program_name
from policy.paths import normal
from policy.shell import outputs
from policy.shell.expand import argument_lists, expand_text, expand_texts, run_subscripts
from policy.shell.fields import FIELD_BREAK, field_separators
from policy.shell.file_texts import file_text, only_certain_effects, run_script_file, text_on_disk
from policy.shell.options import (
    COMMAND_VARIABLES,
    PROMPT_VARIABLES,
    STARTUP_VARIABLES,
    TABLES,
    parse,
)
from policy.shell.outputs import format_printf
from policy.shell.state import Variable
from policy.shell.syntax import Assignment, Literal, Part, Substitution, Word

if TYPE_CHECKING:
    from policy.shell.walk import Walk

PATH_MAX = 4096  # characters of a folder's path before it counts as unknown

_KEY = r"^\[[^]]*\]\+?="  # of an array's item

Argv = tuple[str, ...]
Handler = Callable[["Walk", Argv], str | None]


# Those of files that a program run later reads.
_FILE_VARIABLES = word_set(TABLES["sets"]["file_variables"])


def assign(walk: Walk, words: Walk, node: Assignment, *, is_exported: bool = False) -> None:
    """Give a variable its values, which are separate words."""
    state = walk.state
    if node.subscript is not None:
        expand_texts(words, node.subscript)
    old = state.lookup(node.name)
    if node.items is not None:
        lists = argument_lists(words, node.items)
        items = lists[0] if len(lists) == 1 else (marks.LIST,)
        before = old.items or () if old and node.append else ()
        state.assign(node.name, ("",), before + items)
        return
    values = expand_texts(words, node.value)
    if node.name in state.integers:
        for value in values:
            run_subscripts(words, value)
    if node.append and old is not None and old.items is None:
        values = tuple(before + value for before in old.values for value in values)
    if node.subscript is not None:
        state.assign(node.name, ("",), _with_item(words, old, node, values))
        return
    state.assign(node.name, values)
    if is_exported:
        state.export(node.name)
    consider_variable(walk, node.name)


def consider_variable(walk: Walk, name: str) -> None:
    """Report variables that are command lines or start-up files for later programs."""
    variable = walk.state.lookup(name)
    if variable is None:
        return
    is_exported = variable.is_exported
    for value in variable.values:
        if name in PROMPT_VARIABLES:
            walk.run_template(value)
        elif name == "PROMPT_COMMAND" or (name in COMMAND_VARIABLES and is_exported):
            if marks.is_known(value) and value.strip():
                walk.apart().inside(f"{name}=").run_text(value.lstrip("|- "))
        elif name in _FILE_VARIABLES and is_exported:
            walk.report_file(value)
        elif name in STARTUP_VARIABLES and is_exported:
            run_script_file(walk.apart().inside(f"{name}="), value, ())


def _with_item(
    words: Walk, old: Variable | None, node: Assignment, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the array after `name[sub]=value`: in place for a known index, else anywhere."""
    items = list(old.items or old.values if old else ())
    key = expand_text(words, node.subscript or ())
    value = values[0] if len(values) == 1 else marks.LIST
    if key.isdigit() and int(key) <= len(items):
        items[int(key) : int(key) + 1] = [value]
    else:
        items.append(value)
    return tuple(items)


def _cd(walk: Walk, argv: Argv) -> str | None:
    """Run `cd`, and `pushd` and `popd`, which without a folder go to one that is not known."""
    state = walk.state
    operands = [word for word in argv[1:] if not re.fullmatch(r"-[LPe@]+|--", word)]
    target = operands[0] if operands else "-" if argv[0][0] == "p" else state.home
    if target == "-" or (target and marks.is_only_hole(target)):
        state.cwd = marks.WORD
    elif target.startswith("/") or marks.has_hole(target[:1]):
        state.cwd = normal(target)
    else:
        state.cwd = normal(f"{state.cwd}/{target}")
    walk.spend(len(state.cwd) // 64)  # it may grow with each call
    state.cwd = state.links.get(state.cwd, state.cwd)
    if len(state.cwd) > PATH_MAX:
        state.cwd = marks.WORD
    return ""


def _eval(walk: Walk, argv: Argv) -> str | None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    text = " ".join(words)
    shown = text if marks.is_known(text) else walk.text
    return walk.inside("eval", text=shown).run_text(text)


def _source(walk: Walk, argv: Argv) -> str | None:
    if len(argv) < 2:
        return ""
    walk.report_file(argv[1], argv=argv)
    text = file_text(walk, argv[1])
    inner = walk.inside("source")
    if text == marks.LIST and argv[1] not in ("/dev/stdin", "/dev/fd/0"):
        if (on_disk := text_on_disk(walk, argv[1])) is not None:
            with only_certain_effects(walk):
                inner.run_text(on_disk)
        return marks.LIST
    return inner.run_text(text)


def _exec(walk: Walk, argv: Argv) -> str | None:
    words = tuple([word for _, word in parse(argv, "a", permutes=False).operands])
    return walk.inside("exec").command(words)


def _command(walk: Walk, argv: Argv) -> str | None:
    rest = argv[1:]
    while rest and rest[0][:1] == "-":
        if rest[0] != "--" and set(rest[0]) & set("vV"):
            return " ".join(rest[1:])
        rest = rest[1:]
    inner = walk.inside(argv[0])
    state = walk.state
    if rest and rest[0] in state.functions:
        functions = state.functions
        state.functions = {}
        output = inner.command(rest)
        state.functions = functions
        return output
    return inner.command(rest)


def _declare(walk: Walk, argv: Argv) -> str | None:
    """Run `export`, `declare`, `local`, `readonly`, `typeset`."""
    state = walk.state
    flags = "".join(word[1:] for word in argv[1:] if re.fullmatch(r"[-+][A-Za-z]+", word))
    exports = argv[0] == "export" or "x" in flags
    for word in argv[1:]:
        run_subscripts(walk, word.partition("=")[0])
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[[^]]*\])?(\+?=)(.*)", word, re.DOTALL)
        if match is None:
            state.integers |= {word} if "i" in flags else frozenset()
            if exports and word.isidentifier():
                state.export(word)
                consider_variable(walk, word)
            continue
        name, value = match[1], match[3]
        if value[:1] == "(" and value[-1:] == ")":
            items = value[1:-1].split(FIELD_BREAK)
            state.assign(name, ("",), tuple(re.sub(_KEY, "", item) for item in items))
        else:
            old = state.lookup(name)
            before = old.values if old and match[2] == "+=" else ("",)
            state.assign(name, tuple(prefix + value for prefix in before))
            if "i" in flags or name in state.integers:
                state.integers |= {name}
                run_subscripts(walk, value)
            if "n" in flags:  # a name reference: what it refers to is not followed
                state.assign(name, (marks.DECODED,))
        if exports:
            state.export(name)
        consider_variable(walk, name)
    return ""


def _set(walk: Walk, argv: Argv) -> str | None:
    words = argv[1:]
    while words and words[0][:1] in ("-", "+") and words[0] not in ("-", "--"):
        words = words[2:] if words[0][-1:] == "o" else words[1:]
    if words[:1] in (("--",), ("-",)):
        walk.state.parameters = words[1:]
    elif words:
        walk.state.parameters = words
    return ""


def _shift(walk: Walk, argv: Argv) -> str | None:
    state = walk.state
    if any(map(marks.splits, state.parameters)):
        return ""
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    state.parameters = state.parameters[count:]
    return ""


def _unset(walk: Walk, argv: Argv) -> str | None:
    for name in argv[1:]:
        run_subscripts(walk, name)
        walk.state.functions.pop(name, None) if "-f" in argv else walk.state.variables.pop(
            name, None
        )
    return ""


def _read(walk: Walk, argv: Argv) -> str | None:
    """Assign each line of known input as a possible value."""
    state = walk.state
    parsed = parse(argv, "adinNptu")
    array = next(parsed.values("a"), "")
    names = [word for _, word in parsed.operands] or ["REPLY"]
    for name in names:
        run_subscripts(walk, name)
    text = walk.stdin
    lines = text.removesuffix("\n").split("\n") if text and len(text) < 4096 else []
    if array:
        state.assign(array, ("",), tuple(lines[0].split()) if lines else (marks.LIST,))
    separators = field_separators(state)
    for position, name in enumerate(names):
        is_last = position == len(names) - 1
        columns = (_column(line, position, is_last, separators) for line in lines)
        if name.isidentifier():
            state.assign(name, tuple(dict.fromkeys(columns)) or (marks.LIST,))
    return ""


def _column(line: str, position: int, is_last: bool, separators: str) -> str:
    if separators.strip():
        line = "\n".join(re.split(f"[{re.escape(separators)}]", line, maxsplit=position + 1))
        words = line.split("\n", position + (not is_last))
        return words[position].replace("\n", separators[:1]) if position < len(words) else ""
    words = line.split(None, position)
    if len(words) <= position:
        return ""
    return words[position].strip() if is_last else words[position].split(None, 1)[0]


def _printf(walk: Walk, argv: Argv) -> str | None:
    if len(argv) < 4 or argv[1] != "-v":
        return None
    run_subscripts(walk, argv[2])
    name = argv[2].partition("[")[0]
    walk.state.assign(name, (format_printf(argv[3], list(argv[4:])),))
    return ""


def _trap(walk: Walk, argv: Argv) -> str | None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    if len(words) < 2 or words[0] in ("-", "") or words[0][:1] == "-" or words[0].isdigit():
        return ""
    walk.apart().inside("trap", text=words[0]).run_text(words[0])
    return ""


def _alias(walk: Walk, argv: Argv) -> str | None:
    for word in argv[1:]:
        name, defines, text = word.partition("=")
        if defines and not name.startswith("-"):
            walk.state.aliases[name] = text
    return None


def _hash(walk: Walk, argv: Argv) -> str | None:
    """Run `hash -p path name`, which makes `name` run `path`."""
    if argv[1:2] == ("-p",) and len(argv) > 3:
        walk.state.aliases[argv[3]] = argv[2]
    return ""


def _mapfile(walk: Walk, argv: Argv) -> str | None:
    _bind(walk, argv)
    operands = parse(argv, "CcdnOsu").operands
    name = operands[0][1] if operands else "MAPFILE"
    lines = walk.stdin.removesuffix("\n").split("\n") if walk.stdin else [marks.LIST]
    walk.state.assign(name, ("",), tuple(lines[:256]))
    return ""


def _bind(walk: Walk, argv: Argv) -> str | None:
    """Run `complete -C command`, `mapfile -C command`, `bind -x '"key": command'`."""
    for option, text in pairwise(argv):
        if option in ("-C", "-x"):
            command = text.partition(":")[2].strip().strip("\"'") if option == "-x" else text
            walk.apart().inside(f"{argv[0]} {option}", text=text).run_text(command)
    return None


def _test(walk: Walk, argv: Argv) -> str | None:
    for word in argv[1:]:
        run_subscripts(walk, word)
    return None


def _let(walk: Walk, argv: Argv) -> str | None:
    for word in argv[1:]:
        run_subscripts(walk, word)
        name = re.match(r"([A-Za-z_]\w*)\s*[-+*/%]?=", word)
        if name:
            walk.state.assign(name[1], (marks.WORD,))
    return ""


def _getopts(walk: Walk, argv: Argv) -> str | None:
    if len(argv) > 2:
        walk.state.assign(argv[2], (marks.WORD,))
        walk.state.assign("OPTARG", (marks.WORD,))
    return ""


DECLARES = word_set("export declare typeset local readonly")
BUILTINS: dict[str, Handler] = {
    **dict.fromkeys(word_set("cd chdir pushd popd"), _cd),
    **dict.fromkeys(word_set(". source"), _source),
    **dict.fromkeys(word_set("command builtin"), _command),
    **dict.fromkeys(DECLARES, _declare),
    **dict.fromkeys(word_set("mapfile readarray"), _mapfile),
    **dict.fromkeys(word_set("test wait ["), _test),
    **dict.fromkeys(word_set("complete bind"), _bind),
    "eval": _eval, "exec": _exec, "set": _set, "shift": _shift, "unset": _unset, "read": _read,
    "printf": _printf, "trap": _trap, "alias": _alias, "hash": _hash, "let": _let,
    "getopts": _getopts,
}  # fmt: skip


# Commands that show no part of a substitution given as a word: whether they store it.
_HIDES = dict.fromkeys(word_set("eval source . sh bash dash zsh ksh [ test"), False)
_HIDES |= dict.fromkeys(DECLARES | {""}, True)


def walk_of_words(walk: Walk, words: Sequence[Word]) -> Walk:
    """Return the walk through the substitutions in a command's words: who sees what they print."""
    first = words[0].parts[:1] if words else ()
    keeps = _HIDES.get(getattr(first[0], "text", "?") if first else "")
    return walk if keeps is None else walk._replace(is_visible=False, is_captured=keeps)


def report_printed(walk: Walk, word: Word, argv: Argv) -> None:
    """Report `$(cat f) x`: the output of a command, or an unknown text, is run."""
    is_unknown = marks.is_only_hole(argv[0]) and marks.PATHS not in argv[0]
    if is_unknown and any(map(_is_printed, word.parts)):
        walk.report_opaque("a command that is not known before it is printed", argv)


def _is_printed(part: Part) -> bool:
    is_text = isinstance(part, Literal) and marks.has_hole(part.text)
    return is_text or isinstance(part, Substitution)


def run_after_unknown(walk: Walk, argv: Argv) -> None:
    """Run the words of `$SUDO rm x`: an unknown program may run them, or be nothing at all."""
    words = enumerate(argv)
    first = next((at for at, word in words if at and word[:1] != "-" and program_name(word)), 0)
    if first:
        walk.apart().inside("unknown")._replace(is_syntactic=False).command(argv[first:])


def run_alias(walk: Walk, argv: Argv) -> None:
    """Run what an alias of this program stands for."""
    if f"alias {argv[0]}" in walk.calls:
        return
    alias = walk.state.aliases[argv[0]]
    if (len(alias) - len(alias.rstrip("\\"))) % 2:
        walk.report_opaque("an alias that joins what follows it", argv)
    text = " ".join([alias, *map(outputs.quote, argv[1:])])
    walk.inside("alias")._replace(calls=(*walk.calls, f"alias {argv[0]}")).run_text(text)
