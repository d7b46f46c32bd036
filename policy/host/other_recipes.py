"""Recipes of calls that open files, run code, or call other functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from policy import marks
from policy.host.arguments import Arguments
from policy.host.recipe import Recipe
from policy.host.tree import Role

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.screen import Screening


def _file(screening: Screening, is_write: bool) -> Callable[..., None]:
    def report(words: list[str], name: str, node: Node, arguments: Arguments) -> None:
        target = screening.target(words[0], node, arguments)
        if target is None:
            return
        frame = screening.inside(node, name)
        for path in screening.folder.texts(target):
            if not marks.is_only_hole(path):
                whole = screening.state.home + path[1:] if path.startswith("~/") else path
                screening.walker.report_file(whole, screening.state, frame, is_write=is_write)

    return report


def _read(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    _file(screening, False)(words, name, node, arguments)


def _write(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    _file(screening, True)(words, name, node, arguments)


def _open(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    mode = arguments.get(words[1])
    texts = screening.folder.texts(mode) if mode is not None else ["r"]
    is_write = any(set(text) & set("wax+>") for text in texts if marks.is_known(text))
    _file(screening, is_write)(words, name, node, arguments)


def _source(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A file or an address whose content is run as code."""
    target = arguments.get(words[1])
    frame = screening.inside(node, name)
    for path in screening.folder.texts(target) if target is not None else ():
        if "://" in path or marks.is_tainted(path):
            screening.walker.run_code(words[0], marks.FETCHED, screening.state.copy(), frame)
    _file(screening, False)(words[1:], name, node, arguments)


def _read_or_shell(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A file's path, or with a space in it a command whose output is read."""
    target = arguments.get(words[0])
    frame = screening.inside(node, name)
    for text in screening.folder.texts(target) if target is not None else ():
        if " " in text.strip():
            screening.run_text(text, frame)
        else:
            _file(screening, False)(words, name, node, arguments)


def _dotenv(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """Loaders that read `.env` when they are not told otherwise."""
    if arguments.get(words[0]) is not None:
        _file(screening, False)(words, name, node, arguments)
    else:
        frame = screening.inside(node, name)
        screening.walker.report_file(".env", screening.state, frame, is_write=False)


def _perl_open(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """`open(F, "cmd |")`, `open(F, "-|", "cmd", args)`, `open(F, "<", path)`."""
    rest = arguments.positional[1:]
    if not rest:
        return
    frame = screening.inside(node, name)
    modes = [text.strip() for text in screening.folder.texts(rest[0])]
    for mode in modes:
        if len(rest) > 1 and mode in ("-|", "|-"):
            for argv in screening.words_of(rest[1:]):
                text = argv[0] if len(argv) == 1 else None
                if text is not None:
                    screening.run_text(text, frame)
                else:
                    screening.run_list(argv, frame, arguments)
        elif len(rest) > 1:
            for path in screening.folder.texts(rest[1]):
                is_write = bool(set(mode) & set(">+"))
                screening.walker.report_file(path, screening.state, frame, is_write=is_write)
        elif mode.startswith("|") or mode.endswith("|"):
            screening.run_text(mode.strip("|"), frame)
        else:
            path = mode.lstrip("<>+ ")
            screening.walker.report_file(path, screening.state, frame, is_write=mode[:1] in ">+")


def _pipe_open(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """Ruby's `open("|cmd")`; anything else is a file."""
    target = arguments.get(words[0])
    if target is None:
        return
    frame = screening.inside(node, name)
    for text in screening.folder.texts(target):
        if text.startswith("|"):
            screening.run_text(text[1:], frame)
        elif not marks.is_only_hole(text):
            _open(screening, words, name, node, arguments)


def _chdir(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    for folder in screening.folder.texts(arguments.get(words[0]))[:1]:
        if folder.startswith("~/"):
            screening.state.cwd = screening.state.home + folder[1:]
        elif folder.startswith("/") or marks.has_hole(folder):
            screening.state.cwd = folder
        else:
            screening.state.cwd = f"{screening.state.cwd}/{folder}"


def _eval(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    target = screening.target(words[1], node, arguments)
    if target is None or target.type in _BLOCKS:
        return
    frame = screening.inside(node, name, arguments)
    for text in screening.folder.texts(target):
        if words[0] == "shell":
            screening.run_text(text, frame, arguments)
        else:
            screening.walker.run_code(words[0], text, screening.state.copy(), frame)


_BLOCKS = frozenset(("block", "do_block", "lambda", "function", "block_argument"))


def _tagged(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A template with a tag that runs it; called in any other way the name is somebody else's."""
    target = arguments.get(words[0])
    if target is not None and target.type == "template_string":
        _eval(screening, ["shell", *words], name, node, arguments)


def _eval_text(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """A function is called; a text is run as code. What is not known is taken for a function."""
    target = arguments.get(words[1])
    for text in screening.folder.texts(target) if target is not None else ():
        if not marks.is_only_hole(text):
            frame = screening.inside(node, name, arguments)
            screening.walker.run_code(words[0], text, screening.state.copy(), frame)


def _eval_parsed(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """R's `eval(parse(text = ...))` or `eval(parse(file))`; what is written out is code already."""
    target = arguments.get(words[0])
    role = screening.tree.role(target) if target is not None else None
    if target is None or role is None or role.name != "call":
        return
    inner = screening.folder.reader.arguments(target)
    text = inner.get("text") or (inner.get("0") if _calls(screening, role, "str2") else None)
    if text is not None:
        frame = screening.inside(node, name)
        for code in screening.folder.texts(text):
            screening.walker.run_code("r", code, screening.state.copy(), frame)
    elif _calls(screening, role, "parse"):
        _source(screening, ["r", "0/file"], name, target, inner)


def _calls(screening: Screening, role: Role, start: str) -> bool:
    """Whether a function is called whose own name begins so."""
    names = (ref.rsplit(".", 1)[-1] for ref in screening.folder.callees(role))
    return any(name.startswith(start) for name in names)


def _apply_function(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """The function in one argument is called with others."""
    language = screening.tree.language
    target = screening.target(words[0], node, arguments)
    refs = list(screening.folder.references(target))
    for text in screening.folder.texts(target):
        if marks.is_known(text):
            refs += [text.lstrip(":"), *_qualified(screening, text.lstrip(":"), node)]
    positional = _passed_on(screening, words, arguments)
    for ref in dict.fromkeys(refs):
        recipe = language.lookup(language.sinks, ref)
        if recipe is not None and not recipe.startswith("apply"):
            screening.apply_recipe(recipe, ref, node, Arguments(positional, arguments.named))


def _apply_each(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """`map(function, items)`: the function is called with each item of a list."""
    items = arguments.get(words[1])
    recipes = [
        (ref, recipe)
        for ref in screening.folder.references(arguments.get(words[0]))
        if (recipe := screening.tree.language.lookup(screening.tree.language.sinks, ref))
    ]
    if items is None or not recipes:
        return
    for item in _written_out(screening, items):
        for ref, recipe in recipes:
            screening.apply_recipe(recipe, ref, node, Arguments([item], {}))


def _written_out(screening: Screening, items: Node) -> list[Node]:
    """The items of a list that is written out; anything else stands for its items."""
    role = screening.tree.role(items)
    if role is not None and role.name == "list":
        return screening.folder.reader.children(items)
    if role is not None and role.name == "call":
        operations = map(screening.folder.operation, screening.folder.callees(role))
        if "list" in operations:
            return screening.folder.reader.arguments(items).positional
    return [items]


def _apply_elixir(
    screening: Screening, words: list[str], name: str, node: Node, arguments: Arguments
) -> None:
    """`apply(Module, :function, arguments)`."""
    language = screening.tree.language
    group = arguments.get(words[2])
    if group is None:
        return
    for module in screening.folder.references(arguments.get(words[0])):
        for function in screening.folder.texts(arguments.get(words[1])):
            recipe = language.lookup(language.sinks, f"{module}.{function}")
            if recipe is not None:
                positional = screening.folder.reader.children(group)
                screening.apply_recipe(
                    recipe, f"{module}.{function}", node, Arguments(positional, {})
                )


def _qualified(screening: Screening, text: str, node: Node) -> list[str]:
    """`Kernel.send(:exec, ...)`: the name on what the method is called on."""
    return [f"{ref}.{text}" for ref in screening.folder.references(screening.target("self", node,
                                                              Arguments([], {})))]  # fmt: skip


def _passed_on(screening: Screening, words: list[str], arguments: Arguments) -> list[Node]:
    if len(words) < 2:
        return (
            arguments.positional[int(words[0].split("/")[0]) + 1 :]
            if words[0][0].isdigit()
            else arguments.positional
        )
    group = arguments.get(words[1])
    if group is None:
        return []
    role = screening.tree.role(group)
    if role is not None and role.name == "call":
        return screening.folder.reader.arguments(group).positional
    return screening.folder.reader.children(group)


RECIPES: dict[str, Recipe] = {
    "eval": _eval,
    "read": _read,
    "source": _source,
    "read_or_shell": _read_or_shell,
    "write": _write,
    "open": _open,
    "dotenv": _dotenv,
    "perl_open": _perl_open,
    "pipe_open": _pipe_open,
    "eval_parsed": _eval_parsed,
    "eval_text": _eval_text,
    "tagged": _tagged,
    "apply_elixir": _apply_elixir,
    "apply": _apply_function,
    "apply_each": _apply_each,
    "chdir": _chdir,
}
