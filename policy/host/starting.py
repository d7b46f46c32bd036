"""Recipes of calls that start programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policy import marks
from policy.host.arguments import Arguments
from policy.host.recipe import Recipe
from policy.shell.frame import Frame
from policy.shell.outputs import quoted

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.screen import Screening


def _shell(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    target = screening.target(words[0], node, arguments)
    if target is None:
        return
    frame = screening.inside(node, name, arguments)
    for text in screening.folder.texts(target):
        screening.run_text(text, frame, arguments)


def _argv(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    target = screening.target(words[0], node, arguments)
    if target is None:
        return
    frame = screening.inside(node, name, arguments)
    for argv in screening.folder.lists(target):
        screening.run_list(argv, frame, arguments)


def _auto(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    target = screening.target(words[0], node, arguments)
    if target is None:
        return
    frame = screening.inside(node, name, arguments)
    for value in screening.folder.values(target):
        if isinstance(value, str):
            screening.run_text(value, frame, arguments)
            continue
        screening.run_list(value, frame, arguments)
        if "shell" in arguments.named and value:
            screening.run_text(value[0], frame, arguments)


def _program(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    target = screening.target(words[0], node, arguments)
    if target is None:
        return
    frame = screening.inside(node, name, arguments)
    rest = arguments.get(words[2]) if len(words) > 2 else None
    if rest is not None and screening.is_map(rest):
        rest = None  # options where the list would be
    for program in screening.folder.texts(target):
        if rest is None:
            _run_program_alone(screening, program, frame, arguments)
        elif words[1] == "list":
            for items in screening.folder.lists(rest):
                screening.run_list((program, *items), frame, arguments)
                if "shell" in arguments.named:
                    screening.run_text(" ".join((program, *items)), frame, arguments)
        else:
            _run_with_text(screening, program, rest, frame, arguments)


def _run_program_alone(
    screening: Screening, program: str, frame: Frame, arguments: Arguments
) -> None:
    if "shell" in arguments.named or " " in program:
        screening.run_text(program, frame, arguments)
    else:
        screening.run_list((program,), frame, arguments)


def _run_with_text(
    screening: Screening, program: str, rest: Node, frame: Frame, arguments: Arguments
) -> None:
    for value in screening.folder.values(rest):
        if isinstance(value, tuple):
            screening.run_list((program, *value), frame, arguments)
        else:
            screening.run_text(f"{quoted(program)} {value}", frame, arguments)


def _varargs(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    first = int(words[0])
    nodes = list(arguments.positional[first:])
    if "skip" in words:
        nodes = nodes[:1] + nodes[2:]
    while nodes and "map" in words and screening.is_map(nodes[0]):
        nodes.pop(0)  # an environment before the command
    if not nodes:
        return
    frame = screening.inside(node, name, arguments)
    if "auto" in words and len(nodes) == 1:
        for value in screening.folder.values(nodes[0]):
            if isinstance(value, str):
                screening.run_text(value, frame, arguments)
            else:
                screening.run_list(value, frame, arguments)
        return
    for argv in screening.words_of(nodes):
        screening.run_list(argv, frame, arguments)


def _program_argv(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """`execv(program, argv)`: the list's first word is only what the program is told it is."""
    program, argv = arguments.get(words[0]), arguments.get(words[1])
    frame = screening.inside(node, name, arguments)
    for path in screening.folder.texts(program):
        for items in screening.folder.lists(argv) if argv is not None else [()]:
            rest = items[1:] if items and not marks.splits(items[0]) else items
            screening.run_list((path, *rest), frame, arguments)


def _program_line(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A command line in one text, or a program with a list."""
    if arguments.get(words[1]) is None:
        _shell(screening, words[:1], name, node, arguments)
    else:
        _program(screening, [words[0], "list", words[1]], name, node, arguments)


def _named(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A function that is called like the program it stands for."""
    frame = screening.inside(node, name, arguments)
    for argv in screening.words_of(arguments.positional):
        screening.run_list((name.rsplit(".", 1)[-1], *argv), frame, arguments)


def _popen(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """Ruby's `IO.popen`: an environment first, then a text or a list."""
    nodes = [n for n in arguments.positional if not screening.is_map(n)]
    if nodes:
        _auto(screening, words, name, node, Arguments(nodes, arguments.named))


def _each(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """Every argument is a command of its own."""
    for argument in arguments.positional:
        _auto(screening, ["0"], name, node, Arguments([argument], {}))


def _builder(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    frame = screening.inside(node, name, arguments)
    added = screening.chained(node)
    for head in screening.words_of(arguments.positional[int(words[0]) :]):
        screening.run_list((*head, *added), frame, arguments)


def _start(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """.NET's way: a file name with one text of arguments, or with a list of them."""
    program, rest = arguments.get(words[0]), arguments.get(words[1])
    if program is None or _is_constructed(screening, program):
        return
    frame = screening.inside(node, name, arguments)
    for path in screening.folder.texts(program):
        if rest is None:
            screening.run_list((path, *screening.chained(node)), frame, arguments)
        else:
            _run_with_text(screening, path, rest, frame, arguments)


def _is_constructed(screening: Screening, node: Node) -> bool:
    """`Process.Start(info)`: what the info holds is judged where it is filled."""
    return any("ProcessStartInfo" in ref for ref in screening.folder.references(node))


def _port(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """Elixir's `Port.open({:spawn, text}, opts)` and `{:spawn_executable, path}, args: list`."""
    target = arguments.get(words[0])
    frame = screening.inside(node, name)
    for value in screening.folder.lists(target):
        if value[:1] == (":spawn",) or value[:1] == ("spawn",):
            screening.run_text(" ".join(value[1:]), frame)
        elif len(value) > 1:
            rest = arguments.named.get("args")
            for items in screening.folder.lists(rest) if rest is not None else [()]:
                screening.run_list((value[1], *items), frame, arguments)


RECIPES: dict[str, Recipe] = {
    "shell": _shell,
    "argv": _argv,
    "auto": _auto,
    "program": _program,
    "varargs": _varargs,
    "program_argv": _program_argv,
    "program_line": _program_line,
    "named": _named,
    "popen": _popen,
    "each": _each,
    "builder": _builder,
    "port": _port,
    "start": _start,
}
