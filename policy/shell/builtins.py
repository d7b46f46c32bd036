"""Builtins that change the meaning of later commands, or run text themselves.

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
from policy.shell.assignments import consider_variable
from policy.shell.fields import FIELD_BREAK, field_separators
from policy.shell.options import parse
from policy.shell.outputs import format_printf
from policy.shell.redirections import file_text
from policy.shell.script_files import only_certain_effects, text_on_disk
from policy.shell.state import ShellState
from policy.shell.syntax import Literal, Part, Substitution, Word

if TYPE_CHECKING:
    from policy.shell.state import Frame, ShellState
    from policy.shell.walk import Walker

PATH_MAX = 4096  # characters of a folder's path before it counts as unknown

_KEY = r"^\[[^]]*\]\+?="  # of an array's item

Argv = tuple[str, ...]
Handler = Callable[["Walker", Argv, ShellState, "Frame"], str | None]


def _cd(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    """Run `cd`, and `pushd` and `popd`, which without a folder go to one that is not known."""
    operands = [word for word in argv[1:] if not re.fullmatch(r"-[LPe@]+|--", word)]
    target = operands[0] if operands else "-" if argv[0][0] == "p" else state.home
    if target == "-" or (target and marks.is_only_hole(target)):
        state.cwd = marks.WORD
    elif target.startswith("/") or marks.has_hole(target[:1]):
        state.cwd = normal(target)
    else:
        state.cwd = normal(f"{state.cwd}/{target}")
    walker.budget.spend(len(state.cwd) // 64)  # it may grow with each call
    state.cwd = state.links.get(state.cwd, state.cwd)
    if len(state.cwd) > PATH_MAX:
        state.cwd = marks.WORD
    return ""


def _eval(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    text = " ".join(words)
    shown = text if marks.is_known(text) else frame.text
    return walker.run_text(text, state, frame.inside("eval", text=shown))


def _source(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    if len(argv) < 2:
        return ""
    walker.report_file(argv[1], state, frame, is_write=False, argv=argv)
    text = file_text(argv[1], state, frame)
    inner = frame.inside("source")
    if text == marks.LIST and argv[1] not in ("/dev/stdin", "/dev/fd/0"):
        if (on_disk := text_on_disk(walker, argv[1], state)) is not None:
            with only_certain_effects(walker):
                walker.run_text(on_disk, state, inner)
        return marks.LIST
    return walker.run_text(text, state, inner)


def _exec(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    words = tuple([word for _, word in parse(argv, "a", permutes=False).operands])
    return walker.command(words, state, frame.inside("exec"))


def _command(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    rest = argv[1:]
    while rest and rest[0][:1] == "-":
        if rest[0] != "--" and set(rest[0]) & set("vV"):
            return " ".join(rest[1:])
        rest = rest[1:]
    inner = frame.inside(argv[0])
    if rest and rest[0] in state.functions:
        functions = state.functions
        state.functions = {}
        output = walker.command(rest, state, inner)
        state.functions = functions
        return output
    return walker.command(rest, state, inner)


def _declare(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    """Run `export`, `declare`, `local`, `readonly`, `typeset`."""
    flags = "".join(word[1:] for word in argv[1:] if re.fullmatch(r"[-+][A-Za-z]+", word))
    exports = argv[0] == "export" or "x" in flags
    for word in argv[1:]:
        walker.expander.run_subscripts(word.partition("=")[0], state)
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[[^]]*\])?(\+?=)(.*)", word, re.DOTALL)
        if match is None:
            state.integers |= {word} if "i" in flags else frozenset()
            if exports and word.isidentifier():
                state.export(word)
                consider_variable(walker, word, state, frame)
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
                walker.expander.run_subscripts(value, state)
            if "n" in flags:  # a name reference: what it refers to is not followed
                state.assign(name, (marks.DECODED,))
        if exports:
            state.export(name)
        consider_variable(walker, name, state, frame)
    return ""


def _set(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    words = argv[1:]
    while words and words[0][:1] in ("-", "+") and words[0] not in ("-", "--"):
        words = words[2:] if words[0][-1:] == "o" else words[1:]
    if words[:1] in (("--",), ("-",)):
        state.parameters = words[1:]
    elif words:
        state.parameters = words
    return ""


def _shift(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    if any(map(marks.splits, state.parameters)):
        return ""
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    state.parameters = state.parameters[count:]
    return ""


def _unset(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    for name in argv[1:]:
        walker.expander.run_subscripts(name, state)
        state.functions.pop(name, None) if "-f" in argv else state.variables.pop(name, None)
    return ""


def _read(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    """Assign each line of known input as a possible value."""
    parsed = parse(argv, "adinNptu")
    array = next(parsed.values("a"), "")
    names = [word for _, word in parsed.operands] or ["REPLY"]
    for name in names:
        walker.expander.run_subscripts(name, state)
    text = frame.stdin
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


def _printf(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    if len(argv) < 4 or argv[1] != "-v":
        return None
    walker.expander.run_subscripts(argv[2], state)
    name = argv[2].partition("[")[0]
    state.assign(name, (format_printf(argv[3], list(argv[4:])),))
    return ""


def _trap(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    words = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    if len(words) < 2 or words[0] in ("-", "") or words[0][:1] == "-" or words[0].isdigit():
        return ""
    walker.run_text(words[0], state.copy(), frame.inside("trap", text=words[0]))
    return ""


def _alias(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    for word in argv[1:]:
        name, defines, text = word.partition("=")
        if defines and not name.startswith("-"):
            state.aliases[name] = text
    return None


def _hash(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    """Run `hash -p path name`, which makes `name` run `path`."""
    if argv[1:2] == ("-p",) and len(argv) > 3:
        state.aliases[argv[3]] = argv[2]
    return ""


def _mapfile(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    _bind(walker, argv, state, frame)
    operands = parse(argv, "CcdnOsu").operands
    name = operands[0][1] if operands else "MAPFILE"
    lines = frame.stdin.removesuffix("\n").split("\n") if frame.stdin else [marks.LIST]
    state.assign(name, ("",), tuple(lines[:256]))
    return ""


def _bind(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    """Run `complete -C command`, `mapfile -C command`, `bind -x '"key": command'`."""
    for option, text in pairwise(argv):
        if option in ("-C", "-x"):
            command = text.partition(":")[2].strip().strip("\"'") if option == "-x" else text
            inner = frame.inside(f"{argv[0]} {option}", text=text)
            walker.run_text(command, state.copy(), inner)
    return None


def _test(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    for word in argv[1:]:
        walker.expander.run_subscripts(word, state)
    return None


def _let(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    for word in argv[1:]:
        walker.expander.run_subscripts(word, state)
        name = re.match(r"([A-Za-z_]\w*)\s*[-+*/%]?=", word)
        if name:
            state.assign(name[1], (marks.WORD,))
    return ""


def _getopts(walker: Walker, argv: Argv, state: ShellState, frame: Frame) -> str | None:
    if len(argv) > 2:
        state.assign(argv[2], (marks.WORD,))
        state.assign("OPTARG", (marks.WORD,))
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


def frame_of_words(words: Sequence[Word], frame: Frame) -> Frame:
    """Return the frame of the substitutions in a command's words: who sees what they print."""
    first = words[0].parts[:1] if words else ()
    keeps = _HIDES.get(getattr(first[0], "text", "?") if first else "")
    return frame if keeps is None else frame._replace(is_visible=False, is_captured=keeps)


def report_printed(walker: Walker, word: Word, argv: tuple[str, ...], frame: Frame) -> None:
    """Report `$(cat f) x`: the output of a command, or an unknown text, is run."""
    is_unknown = marks.is_only_hole(argv[0]) and marks.PATHS not in argv[0]
    if is_unknown and any(map(_is_printed, word.parts)):
        walker.report_opaque("a command that is not known before it is printed", argv, frame)


def _is_printed(part: Part) -> bool:
    is_text = isinstance(part, Literal) and marks.has_hole(part.text)
    return is_text or isinstance(part, Substitution)


def run_after_unknown(
    walker: Walker, argv: tuple[str, ...], state: ShellState, frame: Frame
) -> None:
    """Run the words of `$SUDO rm x`: an unknown program may run them, or be nothing at all."""
    words = enumerate(argv)
    first = next((at for at, word in words if at and word[:1] != "-" and program_name(word)), 0)
    if first:
        inner = frame.inside("unknown")._replace(is_syntactic=False)
        walker.command(argv[first:], state.copy(), inner)


def run_alias(walker: Walker, argv: tuple[str, ...], state: ShellState, frame: Frame) -> None:
    """Run what an alias of this program stands for."""
    if f"alias {argv[0]}" in frame.calls:
        return
    alias = state.aliases[argv[0]]
    if (len(alias) - len(alias.rstrip("\\"))) % 2:
        walker.report_opaque("an alias that joins what follows it", argv, frame)
    text = " ".join([alias, *map(outputs.quote, argv[1:])])
    inner = frame.inside("alias")
    walker.run_text(text, state, inner._replace(calls=(*inner.calls, f"alias {argv[0]}")))
